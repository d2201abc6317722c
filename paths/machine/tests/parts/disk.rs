//! The disk's variants played in a thread of this process: each point can be planned, made, run and verified, and gives a rate.

use std::time::Duration;

use tollway_core::{Clock, Error, Lot, Params, Place, Recorder, Result, Tally, TenantKind, Value, Window};
use tollway_host::clock::{self, RunClock};
use tollway_host::requirement;

use crate::quiet::is_quiet;
use crate::turn::turn;

struct Played {
    ops: u64,
    /// Operations a second.
    rate: f64,
    /// The median, in seconds.
    median: f64,
    tally: Tally,
}

/// A trial with a window of so long; `None` where this machine lacks something, and why is printed.
fn play(variant: &str, params: &Params, window: Duration) -> Option<Played> {
    match played(variant, params, window) {
        Ok(played) => Some(played),
        Err(Error::Missing(missing)) => {
            requirement::skip_test(&["io-uring", "fio"], &missing);
            None
        }
        Err(error) => panic!("{variant} {params}: {error}"),
    }
}

fn played(variant: &str, params: &Params, window: Duration) -> Result<Played> {
    let path = tollway_machine::path();
    let variant = path.variant(variant)?;
    let params = params.clone().complete(&variant.axes())?;
    let plan = variant.plan(&params)?;
    plan.requires.iter().try_for_each(requirement::check).map_err(Error::Missing)?;
    let mut actor = variant.actor(&plan.roles[0].name, &params)?;
    // As large as a seed can be: a tool that takes none as large is found.
    let lot = Lot { number: 0, seed: u64::MAX };
    let tenant = TenantKind::Process;
    actor.ready(&Place { tenant, peers: Vec::new(), doorbells: Vec::new(), exits: None, lot })?;
    let hz = clock::hz()?;
    let ticks = |time: Duration| (time.as_secs_f64() * hz) as u64;
    let warm = RunClock::chosen().now() + ticks(Duration::from_millis(1));
    let open = warm + ticks(Duration::from_millis(5));
    let close = open + ticks(window);
    let mut recorder = Recorder::new();
    actor.run(&Window { warm, open, close, batch: 0, planted: 0 }, &mut recorder)?;
    actor.park();
    actor.verify()?;
    let (ops, _) = recorder.total();
    let took = recorder.stretch().unwrap_or(close - open) as f64 / hz;
    let median = recorder.spread().quantile(0.5).expect("nothing was recorded") / hz;
    Ok(Played { ops, rate: ops as f64 / took, median, tally: actor.tally() })
}

fn at<const N: usize>(axes: [(&str, Value); N]) -> Params {
    axes.into_iter().fold(Params::new(), |params, (name, value)| params.with(name, value))
}

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn every_pattern_runs_by_this_program_and_by_fio() {
    let _turn = turn();
    for by in ["tollway", "fio"] {
        for pattern in ["randread", "randwrite", "read", "write", "randrw"] {
            for (size, depth, access) in [(4096, 32, "direct"), (1 << 20, 4, "direct"), (8192, 8, "buffered")]
            {
                let params = at([
                    ("by", by.into()),
                    ("pattern", pattern.into()),
                    ("size", u64::into(size)),
                    ("depth", u64::into(depth)),
                    ("access", access.into()),
                    ("mib", 16.into()),
                ]);
                let Some(played) = play("disk", &params, SHORT) else { continue };
                let (read, written) =
                    (played.tally.counters["blocks read"], played.tally.counters["blocks written"]);
                println!("{params}: {:.0}/s, median {:.1} µs", played.rate, played.median * 1e6);
                assert!(read + written >= played.ops.min(1), "{params}: {read} and {written}");
                // What is mixed is by chance: of a few all may be of one kind.
                assert!(pattern == "randrw" || (read > 0) != (written > 0), "{params}: {read} and {written}");
                assert!(written == 0 || !pattern.ends_with("read"), "{params}");
            }
        }
    }
}

#[test]
fn a_rate_agrees_with_how_long_accesses_take() {
    let _turn = turn();
    // Little's law: as many are under way as come in a second, times how long each takes; the median is below the mean.
    let params = at([("pattern", "randread".into()), ("depth", 16.into()), ("mib", 16.into())]);
    if let Some(played) = play("disk", &params, Duration::from_millis(100)) {
        let under_way = played.rate * played.median;
        // The less there is of the machine, the fewer come in a second, and those that are displaced are not the median.
        assert!(under_way < 24.0 && (under_way > 2.0 || !is_quiet()), "{under_way}");
    }
}

#[test]
fn a_block_is_made_durable_by_either_call() {
    let _turn = turn();
    for call in ["fsync", "fdatasync"] {
        let params = at([("call", call.into()), ("mib", 4.into())]);
        let Some(played) = play("fsync", &params, SHORT) else { continue };
        println!("{params}: median {:.1} µs", played.median * 1e6);
        assert!(played.ops > 0 && played.median > 1e-6, "{}", played.median);
    }
}

#[test]
fn what_cannot_be_is_refused_by_the_name_of_its_axis() {
    let refused = |axes: &Params| played("disk", axes, SHORT).err().unwrap().to_string();
    let guest = at([("by", "fio".into()), ("tenant", "linux-guest".into())]);
    assert!(refused(&guest).contains("axis `tenant`, value `linux-guest`: fio is a program of this machine"));
    assert!(refused(&at([("size", 5000.into())])).contains("multiple of 512"));
    assert!(refused(&at([("size", (1 << 20).into()), ("mib", 63.into())])).contains("take 64 MiB"));
    assert!(refused(&at([("disk", "luks".into())])).contains("axis `disk`"));
}

#[test]
fn a_file_that_no_disk_has_room_for_is_missing_room() {
    let _turn = turn();
    match played("disk", &at([("mib", (1 << 20).into())]), SHORT) {
        Err(Error::Missing(missing)) => assert!(missing.remedy.len() > 8, "{missing}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("a file of a TiB was written"),
    }
}

#[test]
fn a_guest_is_given_a_disk_with_room() {
    let path = tollway_machine::path();
    let variant = path.variant("disk").unwrap();
    let params = at([("tenant", "linux-guest".into()), ("disk", "luks".into()), ("mib", 4096.into())]);
    let plan = variant.plan(&params.complete(&variant.axes()).unwrap()).unwrap();
    let Some(tollway_core::GuestDevice::Disk { format, mib, mounted }) = plan.guests[0].devices.first()
    else {
        panic!("{plan:?}")
    };
    assert_eq!((*format, *mounted), (tollway_core::DiskFormat::Luks, true));
    assert!(*mib >= 4096 + 512, "{mib}");
}
