//! The variants of memory, played by a plain thread of this process.
//!
//! What is proven is that each can be planned, made, run, verified and tallied at its points, and that figures stand in the right relation.

use tollway_core::{
    Clock, Error, Lot, Params, Place, Recorder, Result, Spread, Tally, TenantKind, Value, Variant, Window,
};
use tollway_host::clock::{RunClock, hz};

/// How often a relation between two figures may fail to show before it is held to be wrong.
const TRIES: usize = 8;

struct Played {
    spread: Spread,
    stretch: Option<u64>,
    tally: Tally,
    /// What an operation gives.
    each: Option<f64>,
}

fn at<const N: usize>(axes: [(&str, Value); N]) -> Params {
    axes.into_iter().fold(Params::new(), |params, (name, value)| params.with(name, value))
}

fn complete(name: &str, params: &Params) -> Result<(Box<dyn Variant>, Params)> {
    let variants = tollway_machine::path().variants;
    let variant = variants.into_iter().find(|variant| variant.name() == name).unwrap();
    let params = params.clone().complete(&variant.axes())?;
    Ok((variant, params))
}

/// The measured role's first actor.
fn play(name: &str, params: &Params) -> Result<Played> {
    let (variant, params) = complete(name, params)?;
    let plan = variant.plan(&params)?;
    let mut actor = variant.actor(&plan.roles[0].name, &params)?;
    let (tenant, lot) = (TenantKind::Thread, Lot { number: 0, seed: u64::MAX });
    let place = Place { tenant, peers: Vec::new(), doorbells: Vec::new(), exits: None, lot };
    actor.ready(&place)?;
    let clock = RunClock::chosen();
    let (warm, ms) = (clock.now(), (hz()? / 1e3) as u64);
    let window = Window { warm, open: warm + ms, close: warm + 3 * ms, batch: 0, planted: 0 };
    let mut recorder = Recorder::new();
    actor.run(&window, &mut recorder)?;
    actor.park();
    actor.verify()?;
    let each = variant.yields(&params).first().map(|first| first.each);
    Ok(Played { spread: recorder.spread(), stretch: recorder.stretch(), tally: actor.tally(), each })
}

/// The median in nanoseconds; what this machine lacks is said, and nothing.
fn median(name: &str, params: &Params) -> Option<f64> {
    match play(name, params) {
        Ok(played) => Some(played.spread.quantile(0.5).unwrap() / hz().unwrap() * 1e9),
        Err(Error::Missing(missing)) => {
            println!("{name} {params} skipped: {missing}");
            None
        }
        Err(error) => panic!("{name} {params}: {error}"),
    }
}

/// Checks a relation of two figures; what other programs do to them is tried again.
fn cheaper(name: &str, less: Params, more: Params) {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (Some(a), Some(b)) = (median(name, &less), median(name, &more)) else { return };
        if a < b {
            return;
        }
        seen.push((a, b));
    }
    panic!("{name} {less} should cost less than {more}: {seen:?}");
}

#[test]
fn every_kernel_has_a_rate_with_ordinary_stores_and_past_the_caches() {
    for stores in ["plain", "non-temporal"] {
        for kernel in ["copy", "scale", "add", "triad"] {
            let params = at([("kernel", kernel.into()), ("stores", stores.into()), ("mib", 4.into())]);
            let played = play("stream", &params).unwrap();
            assert_eq!(played.tally.gauges["array_MiB"], 4);
            let bytes = played.each.unwrap();
            assert_eq!(
                bytes,
                if kernel == "copy" || kernel == "scale" { 2.0 } else { 3.0 } * f64::from(1 << 20)
            );
            // Between what no memory is too slow for and what no cache is as fast as.
            let rate = bytes / (played.spread.mean().unwrap() / hz().unwrap());
            assert!((1e7..1e13).contains(&rate), "{kernel}: {rate} B/s");
            let best = played.tally.gauges["best_MB/s"] as f64 * 1e6;
            assert!(best >= rate * 0.99, "{kernel}: best {best}, mean {rate}");
        }
    }
}

#[test]
fn by_the_rule_the_arrays_are_four_times_the_cache_or_what_there_is_room_for() {
    let mib = match play("stream", &at([("kernel", "copy".into())])) {
        Err(Error::Missing(missing)) => return println!("skipped: {missing}"),
        played => played.unwrap().tally.gauges,
    };
    let (array, cache) = (mib["array_MiB"], mib["last_level_cache_MiB"]);
    let room = tollway_host::memory::total().unwrap() * 3 / 10 / (3 << 20);
    assert!(
        array == 4 * cache || array.abs_diff(room) <= 1 && array < 4 * cache,
        "{array} MiB for {cache} MiB of cache, and room for {room}"
    );
}

#[test]
fn a_load_costs_more_from_further_away() {
    let kib = |kib: u64| at([("kib", kib.into())]);
    cheaper("latency", kib(16), kib(65_536));
    let nearest = median("latency", &kib(4)).unwrap();
    assert!((0.2..100.0).contains(&nearest), "{nearest} ns");
}

#[test]
fn each_kind_of_fault_is_timed_alone() {
    let kind = |kind: &str| at([("kind", kind.into())]);
    // A huge page has 512 times as much to be zeroed.
    cheaper("faults", kind("anonymous"), kind("huge"));
    let played = play("faults", &kind("file")).unwrap();
    assert!(played.tally.counters["faults"] >= played.tally.counters["operations"]);
    assert_eq!(played.stretch, Some(played.spread.ticks));
}

#[test]
fn what_stream_itself_says_is_recorded_where_it_is() {
    let played = match play("stream", &at([("by", "stream".into()), ("kernel", "add".into())])) {
        Err(Error::Missing(missing)) => {
            return tollway_host::requirement::skip_test(&["stream"], &missing);
        }
        played => played.unwrap(),
    };
    let rate =
        played.each.unwrap() * played.spread.ops as f64 / (played.stretch.unwrap() as f64 / hz().unwrap());
    let best = played.tally.gauges["best_MB/s"] as f64 * 1e6;
    assert!(rate <= best * 1.001 && rate > best / 20.0, "{rate} and at best {best}");
}

#[test]
fn what_does_not_go_together_is_refused_by_the_name_of_its_axis() {
    let refused = |name: &str, params: Params| {
        let (variant, params) = complete(name, &params).unwrap();
        match variant.plan(&params) {
            Err(Error::Input { place, .. }) => place,
            other => panic!("{params}: {other:?}"),
        }
    };
    let stream = |axis: &str, value: Value| refused("stream", at([("by", "stream".into()), (axis, value)]));
    assert!(stream("mib", 5.into()).contains("`mib`"));
    assert!(stream("stores", "non-temporal".into()).contains("`stores`"));
    assert!(stream("tenant", "linux-guest".into()).contains("`tenant`"));
    assert!(refused("stream", at([("mib", 1.into()), ("threads", 2.into())])).contains("`mib`"));
}

#[test]
fn threads_in_a_guest_share_it() {
    let two = at([("tenant", "linux-guest".into()), ("threads", 2.into())]);
    for name in ["faults", "stream"] {
        let (variant, params) = complete(name, &two).unwrap();
        let plan = variant.plan(&params).unwrap();
        let [role] = &plan.roles[..] else { panic!("{name}: {:?}", plan.roles) };
        assert_eq!((role.count, role.guest, role.together, plan.guests.len()), (2, 0, true, 1), "{name}");
    }
}
