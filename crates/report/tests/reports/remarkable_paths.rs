//! What is remarkable of each path: made from constructed figures, and silent where the intervals do not carry it.

use crate::synthetic;
use crate::synthetic::{Behaviour, HZ, Made, Noise};
use tollway_core::{Crossing, Forecast, Gate, Params, Quoted, TollKey, Unit, Visits, Yield};
use tollway_report::RunReport;
use tollway_store::{NewTrial, PointSpec, PointState, RunId};

const BLOCKS: u32 = 12;

/// A point, how long an operation takes in nanoseconds, and what of that was foretold.
struct At {
    spec: PointSpec,
    ns: f64,
    between: f64,
    foretold: Option<f64>,
}

fn at(path: &str, variant: &str, axes: &[(&str, &str)], ns: f64) -> At {
    let params = axes.iter().fold(Params::new(), |params, (axis, value)| match value.parse::<u64>() {
        Ok(number) => params.with(*axis, number),
        Err(_) => params.with(*axis, *value),
    });
    let spec = PointSpec {
        path: path.into(),
        variant: variant.into(),
        params,
        toll: None,
        boundary: None,
        title: format!("{path} {variant}"),
        ..synthetic::toll(TollKey::of(Crossing::Futex))
    };
    At { spec, ns, between: 0.004, foretold: None }
}

impl At {
    fn foretold(self, ns: f64) -> At {
        At { foretold: Some(ns), ..self }
    }

    /// One whose blocks differ so.
    fn differing(self, between: f64) -> At {
        At { between, ..self }
    }

    fn yields(self, yields: &[Yield]) -> At {
        At { spec: PointSpec { yields: yields.to_vec(), ..self.spec }, ..self }
    }
}

fn measured(points: Vec<At>) -> (Made, RunId) {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("remarks", &[])).unwrap();
    let specs: Vec<PointSpec> = points.iter().map(|p| p.spec.clone()).collect();
    let ids = made.store.add_points(run, &specs).unwrap();
    let ticks = |ns: f64| ns * HZ / 1e9;
    for (point, id) in points.iter().zip(&ids) {
        let Some(ns) = point.foretold else { continue };
        let forecast = Forecast {
            of: Quoted::Median,
            ticks: ticks(ns),
            lo: ticks(ns) * 0.9,
            hi: ticks(ns) * 1.1,
            model: "as it was".into(),
            from: Vec::new(),
            p99: None,
            counts: Default::default(),
            sharing: None,
        };
        made.store.predict(*id, &forecast, synthetic::start()).unwrap();
    }
    let mut noise = Noise::seeded(5);
    for block in 0..BLOCKS {
        for (number, (point, id)) in points.iter().zip(&ids).enumerate() {
            let behaviour = Behaviour { noisy: 0.0, within: 0.004, ..Behaviour::calm(ticks(point.ns)) };
            let level = (1.0 + point.between * noise.normal()).max(0.05);
            let ordinal = block * points.len() as u32 + number as u32;
            let trial = behaviour.trial(&mut noise, level, block, ordinal);
            made.store.record_trial(*id, &synthetic::one_after_the_other(trial)).unwrap();
        }
    }
    for id in ids {
        made.store.set_point_state(id, &PointState::Done).unwrap();
    }
    (made, run)
}

/// What a rule says of these points.
fn said(rule: &str, points: Vec<At>) -> Option<String> {
    let (made, run) = measured(points);
    let report = RunReport::from_store(&made.store, run).unwrap();
    report.document().remarks.iter().find(|remark| remark.rule == rule).map(|remark| remark.text.clone())
}

fn ipc(variant: &str, concurrency: &str, ns: f64) -> At {
    at("ipc", variant, &[("concurrency", concurrency), ("cores", "one")], ns)
}

#[test]
fn async_pays_from_where_it_is_cheaper_for_good() {
    let ladder = |four: f64| {
        vec![
            ipc("slow-path", "1", 8000.0).foretold(7000.0),
            ipc("fast-path", "1", 3000.0).foretold(2800.0),
            ipc("async", "1", 3300.0).foretold(3000.0),
            ipc("async", "4", four).foretold(1000.0),
            ipc("async", "16", 300.0).foretold(250.0),
        ]
    };
    let text = said("async-pays", ladder(900.0)).unwrap();
    assert!(text.contains("pay from 4 at once on, of 1, 4, 16, foretold 4:"), "{text}");
    assert!(text.contains("by fast-path, the best synchronous way"), "{text}");
    assert!(text.contains("10.0 × [") || text.contains("9.9 × [") || text.contains("10.1 × ["), "{text}");
    // Dearer again at 4: what is cheaper at 1 by chance is no crossing.
    let text = said("async-pays", ladder(3100.0)).unwrap();
    assert!(text.contains("pay from 16 at once on"), "{text}");
    let never = vec![ipc("fast-path", "1", 300.0), ipc("async", "1", 900.0), ipc("async", "4", 800.0)];
    let text = said("async-pays", never).unwrap();
    assert!(text.contains("never pay here, of 1, 4 at once"), "{text}");
    let same = vec![ipc("fast-path", "1", 300.0), ipc("async", "4", 300.0)];
    assert_eq!(said("async-pays", same), None);
    assert_eq!(said("async-pays", vec![ipc("async", "4", 300.0)]), None, "nothing to hold it against");
}

#[test]
fn a_card_that_interrupts_is_told_only_where_it_is_certainly_slower() {
    let card = |interrupt: f64, between: f64| {
        vec![
            at("cipher", "interrupt", &[("size", "16384")], interrupt).differing(between),
            at("cipher", "busy", &[("size", "16384")], 20_000.0),
            at("cipher", "library", &[("size", "16384")], 12_000.0),
        ]
    };
    let text = said("told-or-looking", card(40_000.0, 0.004)).unwrap();
    assert!(
        text.contains("16 KiB") && text.contains("2.0") && text.contains("the library alone takes 12.0 µs"),
        "{text}"
    );
    assert_eq!(said("told-or-looking", card(20_000.0, 0.004)), None);
    assert_eq!(said("told-or-looking", card(40_000.0, 1.2)), None, "of no use");
}

#[test]
fn a_generator_is_shared_where_two_get_little_more_than_one() {
    let draws = |two: f64| {
        let draw = |kind, depth, ns| at("entropy", "entropy-draw", &[("kind", kind), ("depth", depth)], ns);
        vec![
            draw("rdseed", "1", 500.0),
            draw("rdseed", "2", two),
            draw("rdrand", "1", 20.0),
            draw("rdrand", "2", 20.0),
        ]
    };
    let text = said("shared-generator", draws(1000.0)).unwrap();
    // 2 × 8 B in 1000 ns are 16 MB/s, of which a sixtieth is 267 kB/s.
    assert!(
        text.starts_with("RDSEED is shared: two who draw at once get 1.00") || text.contains("get 0.99"),
        "{text}"
    );
    assert!((text.contains("of RDRAND 2.0") || text.contains("of RDRAND 1.99")), "{text}");
    let share: f64 = text.split("machines ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((266.0..275.0).contains(&share) && text.contains("kB/s at most"), "{text}");
    assert_eq!(said("shared-generator", draws(500.0)), None, "two get twice as much");
}

fn disk(pattern: &str, size: u64, ns: f64) -> At {
    let mut yields = vec![Yield::one(Unit::Accesses), Yield::bytes(size)];
    if size > 4096 {
        yields.reverse();
    }
    at("machine", "disk", &[("pattern", pattern), ("size", &size.to_string())], ns).yields(&yields)
}

#[test]
fn what_large_blocks_bring_and_a_durable_one_costs() {
    // 4096 B in 10 µs are 410 MB/s, 1 MiB in 1 ms 1.05 GB/s.
    let reads = || vec![disk("read", 4096, 10_000.0), disk("read", 1 << 20, 1e6)];
    let text = said("block-size", reads()).unwrap();
    assert!(text.contains("1 MiB the disk reads 2.5") && text.contains("MB/s."), "{text}");
    let alike = vec![disk("read", 4096, 10_000.0), disk("read", 1 << 20, 2.56e6)];
    assert_eq!(said("block-size", alike), None);
    // 100,000 writes a second, and 1.2 ms for one that stays: 120 in that time.
    let durable = vec![at("machine", "fsync", &[], 1.2e6), disk("write", 4096, 10_000.0)];
    let text = said("durable", durable).unwrap();
    assert!(text.contains("takes 1.2") && (text.contains("takes 12") || text.contains("takes 11")), "{text}");
    let lone = vec![at("machine", "fsync", &[], 1.2e6)];
    assert_eq!(said("durable", lone), None, "nothing to hold it against");
}

#[test]
fn memory_against_network_counts_a_copy_once() {
    let network = at("machine", "tcp-streams", &[("between", "loopback")], 131_072.0)
        .yields(&[Yield { unit: Unit::Bits, each: 131_072.0 * 8.0 }]);
    let copy = at("machine", "stream", &[("kernel", "copy")], 1e5).yields(&[Yield::bytes(2_000_000)]);
    // 1 GB/s against 20 GB/s by STREAM's count, which are 10 of a copy.
    let text = said("network-and-memory", vec![network, copy]).unwrap();
    assert!(
        text.contains("TCP within the machine carries 9") || text.contains("carries 1.00 GB/s"),
        "{text}"
    );
    assert!(text.contains(" as much, 10.0 GB/s") || text.contains(" as much, 9."), "{text}");
}

#[test]
fn a_service_and_threads_are_told() {
    let service = at("machine", "service", &[("of", "all"), ("clients", "4")], 100_000.0)
        .yields(&[Yield::one(Unit::Requests)]);
    let text = said("service", vec![service]).unwrap();
    assert!(text.contains("requests/s of 4 clients: half of them within"), "{text}");
    let beside = |threads, business, ns| {
        at("machine", "events", &[("threads", threads), ("business", business)], ns)
            .yields(&[Yield::one(Unit::Events)])
    };
    let events = |threads, ns| beside(threads, "none", ns);
    // Both threads together take as long as one: they get nothing more of it.
    let text = said("threads", vec![events("1", 300_000.0), events("2", 300_000.0)]).unwrap();
    assert!(
        text.starts_with("2 threads compute 1.0") || text.starts_with("2 threads compute 0.99"),
        "{text}"
    );
    assert_eq!(said("threads", vec![events("1", 300_000.0), events("2", 150_000.0)]), None, "twice as much");
    // Four on two processors are no finding, and neither is what a business left of them.
    let shared = vec![events("1", 300_000.0), events("4", 150_000.0), events("2", 150_000.0)];
    assert_eq!(said("threads", shared), None, "as much as two");
    let busy = beside("2", "service", 300_000.0);
    assert_eq!(said("threads", vec![events("1", 300_000.0), busy]), None, "of something else");
}

#[test]
fn a_packet_has_its_dearest_gate_and_what_its_changes_save() {
    use tollway_core::Crossing::{PacketFilter, PacketStamp};
    let stamp = |kind: &str| TollKey::of(PacketStamp).kind(kind);
    let filter = |kind: &str| TollKey::of(PacketFilter).kind(kind);
    let gates = |clock: &str, engine: &str| {
        vec![
            Gate::new("timestamp", "path", stamp(clock)).visits(Visits::Fixed(1.0)),
            Gate::new("filter", "path", filter(engine)).visits(Visits::Fixed(1.0)),
        ]
    };
    let toll = |key: TollKey, ns| At { spec: synthetic::toll(key), ..at("capture", "", &[], ns) };
    let whole = |variant: &str, gates, ns| {
        let mut whole = at("capture", variant, &[("size", "60")], ns);
        whole.spec.gates = gates;
        whole.spec.changes = (variant == "after").then(|| "before".into());
        whole
    };
    let points = |dear: f64| {
        vec![
            toll(stamp("system-call"), dear),
            toll(stamp("tsc"), 10.0),
            toll(filter("interpreter"), 20.0),
            toll(filter("jit"), 5.0),
            whole("before", gates("system-call", "interpreter"), dear + 20.0),
            whole("after", gates("tsc", "jit"), 15.0),
        ]
    };
    let text = said("packet", points(180.0)).unwrap();
    assert!(text.contains("90 % [") || text.contains("89 % ["), "{text}");
    assert!(text.contains("are the gate “timestamp”, ") && text.contains(" % the filter"), "{text}");
    assert!(text.contains("compiling it saves 7."), "{text}");
    assert!(text.contains("all changes save 92 %") || text.contains("all changes save 93 %"), "{text}");
    assert_eq!(said("packet", points(20.0)), None, "neither gate is certainly the dearest");
}

#[test]
fn every_path_has_a_word_before_one_has_two() {
    let mut points = vec![
        ipc("fast-path", "1", 3000.0),
        ipc("async", "4", 300.0),
        ipc("tcp-async", "4", 100.0),
        ipc("tcp-sync", "4", 100_000.0),
        at("cipher", "interrupt", &[("size", "64")], 4000.0),
        at("cipher", "busy", &[("size", "64")], 2000.0),
        at("cipher", "library", &[("size", "64")], 80.0),
    ];
    points.push(disk("read", 4096, 10_000.0));
    points.push(disk("read", 1 << 20, 1e6));
    let (made, run) = measured(points);
    let report = RunReport::from_store(&made.store, run).unwrap();
    let rules: Vec<&str> = report.document().remarks.iter().map(|r| r.rule.as_str()).collect();
    assert_eq!(rules, ["async-pays", "block-size", "told-or-looking", "stack"]);
}

#[test]
fn a_headline_says_how_narrow_it_is_and_why_it_is_not() {
    let headline = |mut point: At| {
        point.spec.headline = true;
        point
    };
    let narrow = headline(at("ipc", "async", &[("concurrency", "1"), ("cores", "one")], 3000.0));
    let wide = headline(disk("randread", 4096, 10_000.0).differing(0.4));
    let none = at("ipc", "ring", &[], 3000.0);
    let (made, run) = measured(vec![narrow, wide, none]);
    let report = RunReport::from_store(&made.store, run).unwrap();
    let [narrow, wide, none] = &report.document().points[..] else { panic!() };
    let of = |point: &tollway_report::document::PointDocument| point.headline.clone();
    assert!(of(narrow).is_some_and(|h| h.half_width.unwrap() < 0.05 && h.wide.is_none()), "{:?}", of(narrow));
    let why = of(wide).unwrap();
    assert!(why.half_width.unwrap() > 0.05, "{why:?}");
    assert_eq!(why.wide.as_deref(), Some("its blocks differ; time was up after 12 blocks"));
    assert_eq!(of(none), None);
    for form in [report.terminal(None), report.summary(Some(90)), report.markdown(), report.html().unwrap()] {
        assert!(form.contains("In short") && form.contains("time was up after 12 blocks"), "{form}");
    }
}

/// Seventeen rows of a noisy run each said that the machine was noisy, and the first line did not.
#[test]
fn a_noisy_machine_is_said_in_the_first_line_and_once() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("noisy", &[])).unwrap();
    let named = |title: &str| PointSpec { title: title.into(), headline: true, ..synthetic::rated(title) };
    let specs = [named("one"), named("another"), named("a third")];
    let ids = made.store.add_points(run, &specs).unwrap();
    let mut noise = Noise::seeded(3);
    for block in 0..6 {
        for (at, id) in ids.iter().enumerate() {
            // What disturbs differs, so that no reason is that of all rows.
            let disturbed = ["7.1 % stolen", "3.0 % foreign processor time", "12 page faults"][at];
            let (calm, level) = (Behaviour::calm(21_000.0), if block % 2 == 0 { 1.0 } else { 1.2 });
            let trial = calm.trial(&mut noise, level, block, block * 10 + at as u32);
            let trial = NewTrial { noise: Some(disturbed.into()), ..trial };
            made.store.record_trial(*id, &synthetic::one_after_the_other(trial)).unwrap();
        }
    }
    let report = RunReport::from_store(&made.store, run).unwrap();
    let text = synthetic::unstyled(&report.terminal(Some(140)));
    assert!(text.lines().next().unwrap().contains("noisy machine: 100 % of the trials disturbed"), "{text}");
    for row in ["noise in ", "trials noisy"] {
        assert!(!text.contains(row), "{row}: {text}");
    }
    assert!(text.matches("noisy machine").count() == 1 && text.contains("! known less well"), "{text}");
    let page = report.markdown();
    assert!(page.contains("**noisy machine") && !page.contains("noise in "), "{page}");
}
