//! Clients and servers by every way, played by threads of this process: every request is answered once and rightly, and counted.

use tollway_core::{CpuFeature, Requirement, Value};

use crate::played::{play, played, point};

#[test]
fn every_way_answers_every_request() {
    for way in ["slow-path", "fast-path", "ring", "async"] {
        for (concurrency, cores) in [(1, "one"), (1, "two"), (7, "two"), (64, "one")] {
            let axes = [("concurrency", concurrency.into()), ("cores", cores.into()), ("matrix", 5.into())];
            let Some((spread, tally)) = played(way, &axes) else { continue };
            assert_eq!(tally.counters["operations"], tally.counters["served"], "{way} {axes:?}");
            assert!(spread.ops <= tally.counters["operations"]);
            // Each sixteenth is timed; of a thread that had its processor for few there may be none.
            if let [latency] = &tally.stages[..] {
                assert!(latency.spread.ops <= spread.ops / 16 + concurrency + 1, "{way} {axes:?}");
            }
            assert!(tally.counters["client_processor_ns"] > 0);
        }
    }
}

#[test]
fn messages_of_all_sizes_are_whole() {
    for size in [8u64, 9, 63, 64, 65, 1000, 4096] {
        for way in ["slow-path", "fast-path", "ring", "async"] {
            played(way, &[("size", size.into()), ("concurrency", 3.into())]);
        }
    }
    let refused = point("ring", &[("size", 7.into())]).unwrap_err().to_string();
    assert!(refused.contains("axis `size`") && refused.contains("from 8 to 4096"), "{refused}");
}

/// Who sleeps at once is woken for each request, and each reply; who looks without end never is.
#[test]
fn notices_are_counted_by_how_patient_ends_are() {
    let of = |patience: &str, notice: &str| {
        let axes: [(&str, Value); 3] =
            [("patience", patience.into()), ("notice", notice.into()), ("cores", "one".into())];
        played("async", &axes).unwrap().1
    };
    for notice in ["futex", "eventfd"] {
        let tally = of("sleep", notice);
        let count = |name: &str| tally.counters[name];
        let (notices, asleep) =
            (count("notices"), count("client_waits_asleep") + count("server_waits_asleep"));
        // One that wakes up says once more that it sleeps before it looks, and may be woken then once more.
        assert!(notices <= 4 * count("operations") + 2, "{tally:?}");
        assert!(2 * notices >= count("operations") && 2 * asleep >= count("operations"), "{tally:?}");
        assert_eq!(notices, count("client_notices") + count("server_notices"));
    }
    let tally = of("spin", "futex");
    // An end sleeps after its last answer. Where other programs have the processor it may wait for longer than it looks: 3 times in 32.
    assert!(tally.counters["notices"] <= 2 + tally.counters["operations"] / 4, "{tally:?}");
}

#[test]
fn messages_alone_are_measured() {
    for kind in ["ring", "futures"] {
        for (placement, depth) in [("same", 1), ("same", 64), ("across", 1), ("across", 5)] {
            let axes = [("kind", kind.into()), ("placement", placement.into()), ("depth", depth.into())];
            let Some((_, tally)) = played("message", &axes) else { continue };
            assert!(tally.counters["operations"] > 0);
            let (plan, _) = point("message", &axes).unwrap();
            let key = plan.provides.unwrap().to_string();
            assert_eq!(key, format!("message/kind={kind}/{placement}/size=64/depth={depth}"));
        }
    }
}

/// Who is woken wakes the other, so often as it was woken itself.
#[test]
fn notices_alone_are_measured() {
    for kind in ["futex", "eventfd"] {
        for placement in ["same", "across"] {
            let axes = [("kind", kind.into()), ("placement", placement.into())];
            let Some((_, tally)) = played("notice", &axes) else { continue };
            assert_eq!(tally.counters["operations"], tally.counters["served"], "{kind} {placement}");
            let (plan, _) = point("notice", &axes).unwrap();
            assert_eq!(plan.provides.unwrap().to_string(), format!("notice/kind={kind}/{placement}"));
        }
    }
}

#[test]
fn calls_of_many_threads_are_measured() {
    for (placement, depth) in [("same", 48u64), ("across", 3)] {
        let axes = [("placement", placement.into()), ("depth", depth.into())];
        let Some((_, tally)) = played("crowded-call", &axes) else { continue };
        assert_eq!(tally.counters["operations"], tally.counters["served"]);
        // Each thread at either end sleeps for its next message.
        assert!(tally.counters["client_sleeps"] + tally.counters["server_sleeps"] > 0, "{tally:?}");
        let (plan, _) = point("crowded-call", &axes).unwrap();
        let key = plan.provides.unwrap().to_string();
        assert_eq!(key, format!("crowded-call/{placement}/size=64/depth={depth}"));
    }
}

#[test]
fn work_alone_is_measured() {
    for (name, size) in [("request-work", 5_000), ("matrix-product", 10), ("matrix-product", 0)] {
        let (spread, _) = played(name, &[("size", size.into())]).unwrap();
        if name == "request-work" {
            // By a clock that other programs of the machine are on, too: no less than was asked for, about.
            assert!(spread.quantile(0.5).unwrap() > 0.5 * size as f64, "{spread:?}");
        }
    }
}

#[test]
fn user_interrupts_are_a_requirement() {
    let axes = [("notice", "user-interrupt".into())];
    let (plan, _) = point("ring", &axes).unwrap();
    assert!(plan.requires.contains(&Requirement::Cpu(CpuFeature::UserInterrupts)), "{:?}", plan.requires);
    // Where the processor has them there is still no kernel that would send one.
    let error = play("ring", &axes).unwrap_err().to_string();
    assert!(error.contains("axis `notice`") && error.contains("take `futex` or `eventfd`"), "{error}");
}
