//! What a round trip will cost, from tolls alone.
//!
//! - **Rings.** The [`twin`] of both ends, whose steps are tolls: messages alone at two depths say what each costs and what a round does (across cores a third
//!   one, what is lost where all that is on its way is in one cache line), exchanges by sched_yield and by the channel's own doorbells what a switch, a
//!   sleep and a wake-up do.
//! - **Synchronous, one core.** Every call is an exchange of its own, however many there are: datagrams for the slow path, two switches for the fast
//!   one. By the slow path many threads add to it what they are measured to add, by the logarithm of how many there are.
//! - **Synchronous, two cores.** One call is the exchange across cores; by the fast path two cache lines go there and back, the turn and the message. Of
//!   several by the slow path no end can do more than its half of the exchange on one core, and no call takes less than the whole across: the larger of
//!   both bounds (P. J. Denning and J. P. Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 10:3, 1978, section 5.2). Of
//!   several by the fast path nothing is foretold: it depends on which threads the scheduler has on the two cores together.
//! - **Calls of the kernel.** One that is made is its own toll. Of those that are asked for, each costs something and all that are on their way together
//!   something once; two depths determine both.
//!
//! The server's work is its own toll. How far the figure may be off is in `reckoned`. The TCP server is in `tcp`.

mod reckoned;
pub(crate) mod tcp;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tollway_core::{Crossing, Forecast, Placement, Result, TollKey, TollSource};

use crate::setting::{Setting, Way};
use crate::tolls;
use crate::twin::{self, Answer, Cores, Parts, Patience, Question};
use reckoned::{How, Ticks, by_tolls};

/// Yields of an end that has learnt its patience, as `tollway_channel` has it.
const YIELDS: u32 = 4;

/// The depths that determine what calls asked of the kernel cost.
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
            (Model::Exchange, _) => "the exchange, what many threads add to it, and the server's work",
            (Model::Bounds, _) => {
                "the larger of each end's demand and of the whole exchange by the requests on their way"
            }
        }
    }
}

/// The tolls that a prediction of that point is made from; none where nothing is foretold.
pub(crate) fn needs(setting: &Setting, placement: Placement) -> Vec<TollKey> {
    let Some(model) = Model::of(setting, placement) else { return Vec::new() };
    let [same, across] = [Placement::Same, Placement::Across];
    let futex = |placement| TollKey::of(Crossing::Futex).placement(placement);
    let mut keys: Vec<TollKey> = match (model, setting.way, placement) {
        (Model::Rings, ..) => {
            // Across on one core, too: for as long as that ends look, who have learnt their patience between cores.
            let waits =
                [tolls::switching(), tolls::noticing(setting, same), tolls::noticing(setting, across)];
            let call = (placement == across).then(|| TollKey::of(Crossing::Getppid));
            tolls::messages(setting, placement).chain(waits).chain(call).collect()
        }
        (Model::Bounds, ..) => {
            vec![tolls::datagrams(setting, across), tolls::datagrams(setting, same), tolls::crowding(setting)]
        }
        (Model::Exchange, Way::Slow, _) => {
            let crowd = (setting.requests > 1).then(|| tolls::crowding(setting));
            [tolls::datagrams(setting, placement)].into_iter().chain(crowd).collect()
        }
        (Model::Exchange, _, Placement::Same) => vec![tolls::switching(), futex(same)],
        (Model::Exchange, _, Placement::Across) => {
            vec![tolls::line(), tolls::copying(setting), futex(across), TollKey::of(Crossing::Getppid)]
        }
    };
    keys.extend(tolls::labour(setting.load).map(|(_, key)| key));
    keys
}

/// What a round trip will cost; `None` where nothing is foretold.
///
/// # Errors
/// [`Error::Missing`](tollway_core::Error::Missing) where a toll is not known.
pub(crate) fn forecast(
    setting: &Setting,
    placement: Placement,
    tolls: &dyn TollSource,
) -> Option<Result<Forecast>> {
    let model = Model::of(setting, placement)?;
    let threads = if setting.way.is_synchronous() { setting.requests } else { 1 };
    let how = How { words: model.words(placement), placement, threads };
    let mut keys = needs(setting, placement);
    if placement == Placement::Same {
        // A machine of one core has none, and ends that look for about as long as they sleep there.
        keys.retain(|key| key.placement != Some(Placement::Across) || tolls.toll(key).is_some());
    }
    let answer = |ticks: &Ticks<'_>| foretold(model, setting, placement, ticks);
    let forecast = by_tolls(&keys, tolls, &how, |ticks| answer(ticks).cost);
    Some(forecast.map(|(forecast, medians)| match model {
        Model::Rings => {
            Forecast { counts: counts(&answer(&Ticks { keys: &keys, ticks: &medians })), ..forecast }
        }
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
/// [`Error::Missing`](tollway_core::Error::Missing) where a toll is not known.
pub(crate) fn of_the_kernel(key: &TollKey, requests: usize, tolls: &dyn TollSource) -> Result<Forecast> {
    let cost = |known: &Ticks<'_>| {
        let (work, round) = fitted([FEW, MANY].map(|depth| known.of(&key.clone().depth(depth))));
        work + round / requests as f64
    };
    // Whether the kernel's threads have the caller's core or another, they wait for each other.
    let words = "call + hand-over / n, fitted at depths 1 and 64";
    let how = How { words, placement: Placement::Across, threads: 1 };
    by_tolls(&kernel_needs(key), tolls, &how, cost).map(|(forecast, _)| forecast)
}

/// What a call will cost that is a toll itself.
///
/// # Errors
/// [`Error::Missing`](tollway_core::Error::Missing) where the toll is not known.
pub(crate) fn of_the_call(key: &TollKey, tolls: &dyn TollSource) -> Result<Forecast> {
    let how = How { words: "the call", placement: Placement::Same, threads: 1 };
    by_tolls(std::slice::from_ref(key), tolls, &how, |known| known.of(key)).map(|(forecast, _)| forecast)
}

/// Of `cost(1)` and `cost(64)` what each costs and what all do once: `cost(n) = each + once / n`. Neither is less than nothing.
fn fitted([few, many]: [f64; 2]) -> (f64, f64) {
    let n = f64::from(MANY);
    let once = ((few - many) * n / (n - 1.0)).max(0.0);
    ((few - once).max(0.0), once)
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

/// What is foretold of those tolls, which are those that it [needs].
fn foretold(model: Model, setting: &Setting, placement: Placement, known: &Ticks<'_>) -> Answer {
    let service: f64 = tolls::labour(setting.load).map(|(_, key)| known.of(&key)).sum();
    let is_sleepy = setting.sleeps_at_once();
    let costs = |cost: f64| Answer { cost, ..Answer::default() };
    let datagrams = |placement| known.of(&tolls::datagrams(setting, placement));
    let crowded = || {
        let alone = datagrams(Placement::Same);
        let more = (known.of(&tolls::crowding(setting)) - alone).max(0.0);
        alone + more * tolls::crowd_share(setting.requests)
    };
    let futex = |placement| known.of(&tolls::futex(placement));
    match (model, setting.way, placement) {
        (Model::Rings, ..) => rings(setting, placement, service, known),
        (Model::Bounds, ..) => {
            let requests = setting.requests as f64;
            costs(((datagrams(Placement::Across) + service) / requests).max(crowded() / 2.0 + service))
        }
        (Model::Exchange, Way::Slow, Placement::Same) if setting.requests > 1 => costs(crowded() + service),
        (Model::Exchange, Way::Slow, _) => costs(datagrams(placement) + service),
        (Model::Exchange, _, Placement::Same) => {
            costs(service + if is_sleepy { futex(Placement::Same) } else { known.of(&tolls::switching()) })
        }
        (Model::Exchange, _, Placement::Across) => {
            // A client that looks for as long as a wake-up takes, and gives way some times to nobody, sleeps if the server takes longer.
            let across = futex(Placement::Across);
            let giving_way = f64::from(YIELDS) * known.of(&TollKey::of(Crossing::Getppid));
            let late = match () {
                () if is_sleepy => across,
                () if service > across / 2.0 + giving_way && !setting.looks_without_end() => across / 2.0,
                () => 0.0,
            };
            costs(2.0 * known.of(&tolls::line()) + known.of(&tolls::copying(setting)) + service + late)
        }
    }
}

fn rings(setting: &Setting, placement: Placement, service: f64, known: &Ticks<'_>) -> Answer {
    let sleeping = known.of(&tolls::noticing(setting, Placement::Same));
    let across = known.get(&tolls::noticing(setting, Placement::Across));
    let messages: Vec<f64> = tolls::messages(setting, placement).map(|key| known.of(&key)).collect();
    let waits = [known.of(&tolls::switching()), sleeping];
    let parts = match messages[..] {
        [few, near, many] => {
            let elsewhere = [across.unwrap_or(sleeping), known.of(&TollKey::of(Crossing::Getppid))];
            on_two_cores([few, near, many], waits, elsewhere)
        }
        [few, .., many] => on_one_core([few, many], waits),
        _ => Parts::default(),
    };
    let patience = match () {
        () if setting.sleeps_at_once() => Patience { spin: 0.0, yields: 0 },
        () if setting.looks_without_end() => Patience { spin: f64::MAX, yields: 0 },
        // The library measures that by itself.
        () => Patience { spin: across.unwrap_or(sleeping) / 2.0, yields: YIELDS },
    };
    let cores = if placement == Placement::Across { Cores::Two } else { Cores::One };
    let (requests, hints) = (setting.requests as u32, setting.way == Way::Ring);
    twin::run(&parts, &Question { requests, service, cores, patience, hints })
}

/// What steps take on one core, in ticks, by what messages alone cost at depths 1 and 64, and by exchanges by sched_yield and by notices.
///
/// `cost(n) = work + 2 round / n`, both ends together; of two switches an exchange is made, and where ends sleep, of two sleeps and wake-ups more.
pub fn on_one_core([few, many]: [f64; 2], [yielding, sleeping]: [f64; 2]) -> Parts {
    let switch = yielding / 2.0;
    let more = (sleeping / 2.0 - switch).max(0.0);
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

/// The same on two cores, by what messages alone cost at depths 1, 8 and 64, by the exchanges on one core, and by notices across cores and a system call.
///
/// `cost(64)` is the slower end's, as which either is taken, and `cost(1)` both and two passages. With 8 both ends are at work all the time on one
/// line: what either takes longer there is lost to that.
pub fn on_two_cores(
    [few, near, many]: [f64; 3],
    [yielding, sleeping]: [f64; 2],
    [across, call]: [f64; 2],
) -> Parts {
    let switch = yielding / 2.0;
    let more = (sleeping / 2.0 - switch).max(0.0);
    let each = many.min(few / 2.0);
    let late = across / 2.0;
    Parts {
        ask: each,
        answer: each,
        beside: (near - each).max(0.0),
        passage: (few / 2.0 - each).max(0.0),
        switch,
        sleep: switch,
        call,
        wake: more.max(call).min(late),
        late,
        ..Parts::default()
    }
}
