//! What a round trip will cost, from tolls alone.
//!
//! - **Rings.** The [`twin`] of both ends, whose steps are tolls: messages alone at depths 1 and 64 say what each costs and what a
//!   round does, exchanges by sched_yield and by futex what a switch, a sleep and a wake-up do.
//! - **Synchronous, one core.** Every call is an exchange of its own, however many there are: datagrams for the slow path, two switches
//!   for the fast one.
//! - **Synchronous, two cores.** One call is the exchange across cores. Of several by the slow path no end can do more than its half of the exchange on
//!   one core, and no call takes less than the whole across: the larger of both bounds (P. J. Denning and J. P. Buzen, "The Operational
//!   Analysis of Queueing Network Models", ACM Computing Surveys 10:3, 1978, section 5.2). Of several by the fast path nothing is
//!   foretold: it depends on which threads the scheduler has on the two cores together.
//! - **Calls of the kernel.** One that is made is its own toll. Of those that are asked for, each costs something and all that are on their way together
//!   something once; two depths determine both.
//!
//! The server's work is its own toll. The interval has how well tolls are known, each on its own moved to either end of its interval and the differences
//! added in quadrature, and how well the model holds.

use std::collections::BTreeMap;

use tollway_core::{
    Crossing, Error, Forecast, Missing, Placement, Quoted, Result, Toll, TollKey, TollSource,
};

use crate::twin::{self, Answer, Cores, Parts, Patience, Question};
use crate::variants::{Setting, Way, labour_keys, message_key, seqpacket_key};

/// How far the model may be off where both ends have one core: what is counted there is processor time.
const ONE_CORE: f64 = 0.1;

/// And where each has one, so that they do not always wait as the model has them.
const TWO_CORES: f64 = 0.25;

/// Yields of an end that has learnt its patience, as `tollway_channel` has it.
const YIELDS: u32 = 4;

/// The depths that determine what messages cost.
const FEW: u32 = 1;
const MANY: u32 = 64;

/// How a point is foretold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    Rings,
    Exchange,
    Bounds,
}

impl Model {
    fn of(setting: &Setting, placement: Placement) -> Option<Model> {
        match (setting.way, placement) {
            (Way::Ring | Way::Tasks, Placement::Same) if setting.looks_without_end() => None,
            (Way::Ring | Way::Tasks, _) => Some(Model::Rings),
            (Way::Fast, Placement::Same) if setting.looks_without_end() => None,
            (_, Placement::Same) => Some(Model::Exchange),
            (_, Placement::Across) if setting.requests == 1 => Some(Model::Exchange),
            (Way::Slow, Placement::Across) => Some(Model::Bounds),
            (Way::Fast, Placement::Across) => None,
        }
    }

    fn words(self, placement: Placement) -> &'static str {
        match (self, placement) {
            (Model::Rings, Placement::Same) => {
                "messages, and by the requests on their way two switches or sleeps"
            }
            (Model::Rings, Placement::Across) => {
                "simulation of both ends: the slower one's pace, what passes between cores, who sleeps and is woken"
            }
            (Model::Exchange, _) => "the exchange, and the server's work",
            (Model::Bounds, _) => {
                "the larger of each end's demand and of the whole exchange by the requests on their way"
            }
        }
    }
}

/// The tolls that a prediction of that point is made from; none where nothing is foretold.
pub(crate) fn needs(setting: &Setting, placement: Placement) -> Vec<TollKey> {
    let Some(model) = Model::of(setting, placement) else { return Vec::new() };
    let of = |crossing, placement| TollKey::of(crossing).placement(placement);
    let [yielding, sleeping, across] = [
        of(Crossing::SchedYield, Placement::Same),
        of(Crossing::Futex, Placement::Same),
        of(Crossing::Futex, Placement::Across),
    ];
    let datagrams = |placement| seqpacket_key(setting, placement);
    let mut keys = match (model, setting.way, placement) {
        (Model::Rings, ..) => {
            let message = |depth| message_key(setting, placement, depth);
            // Across on one core, too: for as long as that ends look, who have learnt their patience between cores.
            let mut keys = vec![message(FEW), message(MANY), yielding, sleeping, across];
            keys.extend((placement == Placement::Across).then(|| TollKey::of(Crossing::Getppid)));
            keys
        }
        (Model::Bounds, ..) => vec![datagrams(Placement::Across), datagrams(Placement::Same)],
        (Model::Exchange, Way::Slow, _) => vec![datagrams(placement)],
        (Model::Exchange, _, Placement::Same) => vec![yielding, sleeping],
        (Model::Exchange, _, Placement::Across) => vec![of(Crossing::CacheLine, placement), across],
    };
    keys.extend(labour_keys(setting));
    keys
}

/// What a round trip will cost; `None` where nothing is foretold.
///
/// # Errors
/// [`Error::Missing`] where a toll is not known.
pub(crate) fn forecast(
    setting: &Setting,
    placement: Placement,
    tolls: &dyn TollSource,
) -> Option<Result<Forecast>> {
    let model = Model::of(setting, placement)?;
    let answer = |ticks: &[f64]| foretold(model, setting, placement, ticks);
    let how = How {
        words: model.words(placement),
        margin: if placement == Placement::Same { ONE_CORE } else { TWO_CORES },
    };
    let mut keys = needs(setting, placement);
    if placement == Placement::Same {
        // A machine of one core has none, and ends that look for about as long as they sleep there.
        keys.retain(|key| key.placement != Some(Placement::Across) || tolls.toll(key).is_some());
    }
    let forecast = by_tolls(&keys, tolls, how, |ticks| answer(ticks).cost);
    Some(forecast.map(|(forecast, medians)| match model {
        Model::Rings => Forecast { counts: counts(&answer(&medians)), ..forecast },
        _ => forecast,
    }))
}

/// The depths that determine what calls asked of the kernel cost, as tolls of that key.
pub(crate) fn kernel_needs(key: &TollKey) -> Vec<TollKey> {
    [FEW, MANY].map(|depth| key.clone().depth(depth)).into()
}

/// What a call asked of the kernel will cost with so many on their way: `work + hand-over / n`, as two depths have it.
///
/// # Errors
/// [`Error::Missing`] where a toll is not known.
pub(crate) fn of_the_kernel(key: &TollKey, requests: usize, tolls: &dyn TollSource) -> Result<Forecast> {
    let cost = |ticks: &[f64]| {
        let (work, round) = fitted([ticks[0], ticks[1]]);
        work + round / requests as f64
    };
    let how = How { words: "call + hand-over / n, fitted at depths 1 and 64", margin: TWO_CORES };
    by_tolls(&kernel_needs(key), tolls, how, cost).map(|(forecast, _)| forecast)
}

/// What a call will cost that is a toll itself.
///
/// # Errors
/// [`Error::Missing`] where the toll is not known.
pub(crate) fn of_the_call(key: &TollKey, tolls: &dyn TollSource) -> Result<Forecast> {
    let how = How { words: "the call", margin: ONE_CORE };
    by_tolls(std::slice::from_ref(key), tolls, how, |ticks| ticks[0]).map(|(forecast, _)| forecast)
}

/// Of `cost(1)` and `cost(64)` what each costs and what all do once: `cost(n) = each + once / n`. Neither is less than nothing.
fn fitted([few, many]: [f64; 2]) -> (f64, f64) {
    let n = f64::from(MANY);
    let once = ((few - many) * n / (n - 1.0)).max(0.0);
    ((few - once).max(0.0), once)
}

/// By which formula something is foretold, and how far it may be off.
struct How {
    words: &'static str,
    margin: f64,
}

/// A forecast by a formula over the medians of tolls, which are told besides.
fn by_tolls(
    keys: &[TollKey],
    known: &dyn TollSource,
    how: How,
    cost: impl Fn(&[f64]) -> f64,
) -> Result<(Forecast, Vec<f64>)> {
    let known = |key: &TollKey| {
        known.toll(key).ok_or_else(|| {
            Error::Missing(Missing::new(
                format!("toll {key}"),
                "it was not measured on this machine",
                "`tollway measure ipc` measures what a prediction needs first",
            ))
        })
    };
    let tolls = keys.iter().map(known).collect::<Result<Vec<Toll>>>()?;
    let medians: Vec<f64> = tolls.iter().map(|toll| toll.median).collect();
    let ticks = cost(&medians);
    let (mut down, mut up) = (0.0, 0.0);
    for (at, toll) in tolls.iter().enumerate() {
        let ends = [toll.lo, toll.hi].map(|end| {
            let mut moved = medians.clone();
            moved[at] = end;
            cost(&moved) - ticks
        });
        let (least, most) = (ends[0].min(ends[1]).min(0.0), ends[0].max(ends[1]).max(0.0));
        down += least * least;
        up += most * most;
    }
    let margin = ticks * how.margin;
    let forecast = Forecast {
        of: Quoted::Median,
        ticks,
        lo: (ticks - down.sqrt() - margin).max(0.0),
        hi: ticks + up.sqrt() + margin,
        model: how.words.into(),
        from: keys.to_vec(),
        p99: None,
        counts: BTreeMap::new(),
        sharing: None,
    };
    Ok((forecast, medians))
}

/// By the names that tallies have.
fn counts(answer: &Answer) -> BTreeMap<String, f64> {
    let counts = [
        ("notices", answer.notices()),
        ("client_notices", answer.request_notices),
        ("server_notices", answer.reply_notices),
    ];
    counts.map(|(name, count)| (name.to_owned(), count)).into()
}

/// What is foretold of tolls in the order of [`needs`].
fn foretold(model: Model, setting: &Setting, placement: Placement, ticks: &[f64]) -> Answer {
    let (tolls, labour) = ticks.split_at(ticks.len() - labour_keys(setting).len());
    let service: f64 = labour.iter().sum();
    let is_sleepy = setting.sleeps_at_once();
    let costs = |cost: f64| Answer { cost, ..Answer::default() };
    match (model, setting.way, tolls) {
        (Model::Rings, _, &[few, many, yielding, sleeping, ..]) => {
            let [across, call] = [4, 5].map(|at| tolls.get(at).copied());
            let parts = parts([few, many], [yielding, sleeping], across.zip(call).map(Into::into));
            let cores = if placement == Placement::Across { Cores::Two } else { Cores::One };
            let spin = across.unwrap_or(sleeping) / 2.0;
            let patience = match () {
                () if is_sleepy => Patience { spin: 0.0, yields: 0 },
                () if setting.looks_without_end() => Patience { spin: f64::MAX, yields: 0 },
                () => Patience { spin, yields: YIELDS },
            };
            let requests = setting.requests as u32;
            let hints = setting.way == Way::Ring;
            twin::run(&parts, &Question { requests, service, cores, patience, hints })
        }
        (Model::Bounds, _, &[across, same]) => {
            let requests = setting.requests as f64;
            costs(((across + service) / requests).max(same / 2.0 + service))
        }
        (Model::Exchange, Way::Slow, &[exchange]) => costs(exchange + service),
        (Model::Exchange, _, &[first, second]) if placement == Placement::Same => {
            costs(service + if is_sleepy { second } else { first })
        }
        (Model::Exchange, _, &[line, across]) => {
            // A client that looks for as long as a wake-up takes sleeps if the server takes longer.
            let late = match () {
                () if is_sleepy => across,
                () if service > across / 2.0 && !setting.looks_without_end() => across / 2.0,
                () => 0.0,
            };
            costs(line + service + late)
        }
        _ => Answer::default(),
    }
}

/// What steps take, in ticks, by what messages alone cost at depths 1 and 64, by exchanges by sched_yield and by futex on one core, and, of two cores, by
/// a futex across and a system call.
///
/// On one core `cost(n) = work + 2 round / n`, both ends together; of two switches an exchange is made, and where ends sleep, of two sleeps and wake-ups
/// more. On two `cost(64)` is the slower end's, as which either is taken, and `cost(1)` both and two passages.
pub fn parts([few, many]: [f64; 2], [yielding, sleeping]: [f64; 2], across: Option<[f64; 2]>) -> Parts {
    let switch = yielding / 2.0;
    let more = (sleeping / 2.0 - switch).max(0.0);
    match across {
        None => {
            let (work, once) = fitted([few, many]);
            Parts {
                ask: work / 2.0,
                answer: work / 2.0,
                round: once / 2.0,
                switch,
                sleep: switch,
                wake: more,
                late: more,
                ..Parts::default()
            }
        }
        Some([across, call]) => {
            let each = many.min(few / 2.0);
            let late = across / 2.0;
            Parts {
                ask: each,
                answer: each,
                passage: (few / 2.0 - each).max(0.0),
                switch,
                sleep: switch,
                call,
                wake: more.max(call).min(late),
                late,
                ..Parts::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tollway_core::Params;

    use super::*;

    /// Tolls of a machine that is made up, each known to 2 %.
    struct Known(BTreeMap<String, f64>);

    impl TollSource for Known {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            let ticks = *self.0.get(&key.to_string())?;
            let (lo, hi) = (0.98 * ticks, 1.02 * ticks);
            let key = key.clone();
            Some(Toll { key, median: ticks, lo, hi, work: ticks, work_lo: lo, work_hi: hi, hz: 1e9, run: 1 })
        }
    }

    fn known() -> Known {
        let tolls = [
            ("message/kind=futures/same/size=64/depth=1", 460.0),
            ("message/kind=futures/same/size=64/depth=64", 271.0),
            ("message/kind=futures/across/size=64/depth=1", 1_300.0),
            ("message/kind=futures/across/size=64/depth=64", 210.0),
            ("sched-yield/same", 2_800.0),
            ("futex/same", 4_800.0),
            ("futex/across", 18_000.0),
            ("getppid", 300.0),
            ("cache-line/across", 900.0),
            ("unix-seqpacket/same/size=64", 9_000.0),
            ("unix-seqpacket/across/size=64", 24_000.0),
            ("request-work/size=20000", 20_000.0),
            ("matrix-product/size=10", 1_500.0),
            ("page-call/size=4096", 2_000.0),
            ("kernel-call/same/size=4096/depth=1", 6_000.0 + 12_600.0),
            ("kernel-call/same/size=4096/depth=64", 6_000.0 + 12_600.0 / 64.0),
        ];
        Known(tolls.map(|(key, ticks)| (key.to_owned(), ticks)).into())
    }

    fn asked(variant: &str, axes: &[(&str, tollway_core::Value)]) -> Option<Forecast> {
        let path = crate::path();
        let variant = path.variant(variant).unwrap();
        let params =
            axes.iter().fold(Params::new(), |params, (axis, value)| params.with(*axis, value.clone()));
        let params = params.complete(&variant.axes()).unwrap();
        let forecast = variant.predict(&params, &known()).map(Result::unwrap);
        // What it is made from is what is measured first.
        assert_eq!(
            forecast.as_ref().map_or(Vec::new(), |f| f.from.clone()),
            variant.plan(&params).unwrap().needs
        );
        forecast
    }

    fn near(forecast: &Forecast, exact: f64) -> bool {
        let margin = 0.001 * exact;
        (forecast.ticks - exact).abs() < margin
            && forecast.lo < exact - margin
            && forecast.hi > exact + margin
    }

    #[test]
    fn a_synchronous_call_costs_its_exchange_however_many_there_are() {
        for requests in [1u64, 8, 256] {
            let at = |variant, work: u64| {
                let axes = [("concurrency", requests.into()), ("cores", "one".into()), ("work", work.into())];
                asked(variant, &axes).unwrap()
            };
            assert!(near(&at("slow-path", 0), 9_000.0) && near(&at("fast-path", 0), 2_800.0));
            assert!(near(&at("slow-path", 20_000), 29_000.0) && near(&at("fast-path", 20_000), 22_800.0));
        }
        let across = |variant, requests: u64| asked(variant, &[("concurrency", requests.into())]);
        assert!(near(&across("slow-path", 1).unwrap(), 24_000.0));
        assert!(near(&across("slow-path", 4).unwrap(), 6_000.0));
        assert!(near(&across("slow-path", 64).unwrap(), 4_500.0));
        assert!(near(&across("fast-path", 1).unwrap(), 900.0));
        assert!(across("fast-path", 2).is_none());
    }

    /// On one core: what messages cost, a share of two switches, and of two looks in vain of which one in 64 is tried: as long as a wake-up across
    /// cores takes, or, where there is but one, as one here.
    #[test]
    fn an_asynchronous_call_shares_its_switches() {
        for requests in [1u64, 2, 8, 64] {
            let n = requests as f64;
            let axes = [("concurrency", requests.into()), ("cores", "one".into()), ("matrix", 10.into())];
            let forecast = asked("async", &axes).unwrap();
            let messages = 268.0 + 192.0 / n;
            let exact = |looks: f64| messages + 1_500.0 + (2_800.0 + 2.0 * looks / 64.0) / n;
            assert!(near(&forecast, exact(9_000.0)), "{requests}: {}", forecast.ticks);
            let mut single = known();
            single.0.remove("futex/across");
            let path = crate::path();
            let variant = path.variant("async").unwrap();
            let params =
                axes.iter().fold(Params::new(), |params, (axis, value)| params.with(*axis, value.clone()));
            let params = params.complete(&variant.axes()).unwrap();
            let forecast = variant.predict(&params, &single).unwrap().unwrap();
            assert!(near(&forecast, exact(2_400.0)), "{requests}: {}", forecast.ticks);
        }
    }

    /// On two cores: one request goes there and back, many go at the slower end's pace.
    #[test]
    fn messages_between_cores_cost_latency_first_and_then_pace() {
        let at = |requests: u64| asked("async", &[("concurrency", requests.into())]).unwrap();
        assert!(near(&at(1), 1_300.0) && near(&at(64), 210.0), "{} {}", at(1).ticks, at(64).ticks);
        assert_eq!(at(64).counts["notices"], 0.0);
        let asleep = asked("async", &[("patience", "sleep".into())]).unwrap();
        assert_eq!((asleep.counts["client_notices"], asleep.counts["notices"]), (1.0, 2.0));
        let between = at(3).ticks;
        assert!((210.0..1_300.0).contains(&between));
        let loaded = asked("async", &[("concurrency", 64.into()), ("work", 20_000.into())]).unwrap();
        assert!((20_210.0..22_000.0).contains(&loaded.ticks), "{}", loaded.ticks);
    }

    #[test]
    fn calls_of_the_kernel_cost_themselves_and_a_share_of_what_is_done_once() {
        assert!(near(&asked("memory-sync", &[]).unwrap(), 2_000.0));
        let at = |requests: u64| {
            asked("memory-async", &[("concurrency", requests.into()), ("cores", "one".into())])
        };
        // 6000 each, and 12,600 once.
        assert!(at(1).is_none() && at(64).is_none());
        assert!(
            near(&at(4).unwrap(), 6_000.0 + 3_150.0) && near(&at(512).unwrap(), 6_000.0 + 12_600.0 / 512.0)
        );
        let served = [("concurrency", 8.into()), ("cores", "one".into())];
        let served = asked("memory-server", &served).unwrap();
        assert!(
            served.ticks > 2_268.0 + 350.0
                && served.from.iter().any(|key| key.crossing == Crossing::PageCall)
        );
    }

    #[test]
    fn a_toll_that_is_not_known_is_missing() {
        let path = crate::path();
        let variant = path.variant("slow-path").unwrap();
        let params = Params::new().with("size", 8).complete(&variant.axes()).unwrap();
        assert!(matches!(variant.predict(&params, &known()), Some(Err(Error::Missing(_)))));
    }
}
