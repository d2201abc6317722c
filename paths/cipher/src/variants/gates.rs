//! The bill of a request: its gates, who pays for each, and the toll of each alone.
//!
//! A call is paid whether or not it wakes anybody, and a wait whether or not it is a sleep. What calls and waits cost more that
//! do, and are, is a gate of its own, which is passed as often as the kernel counts sleeps.

use std::time::Duration;

use tollway_core::{Crossing, Gate, Params, Result, TenantKind, TollKey, Visits, Warmth};

use super::alone::{self, How, Waker};
use super::demand::Demand;
use super::load::Load;
use super::way::Way;
use super::{
    CALLING, CARD, CIPHER, IDLING, KICKING, LOOKING, PAUSING, RINGING, ROUSING, SLEEPING, STIRRING, SUBMIT,
    TAKE, TENANT, TIMING, TURN, WAITING, WAKING, of_bytes,
};
use crate::engine::driver::Waiting;

/// How long the two sleep where nothing else says, about: until a request is done.
const SOON: Duration = Duration::from_micros(20);

/// A tenant that looks finds the card asleep only if that sleeps at all by then, for a few microseconds.
const SHORTLY: Duration = Duration::from_micros(5);

/// How one of the two sleeps: by which call, for about how long, and what the other did before it ends that.
#[derive(Clone, Copy)]
struct Asleep {
    how: How,
    long: Duration,
    by: Waker,
}

impl Asleep {
    /// The toll of a crossing that ends such a sleep, or that is one.
    fn toll(self, crossing: Crossing) -> TollKey {
        alone::asleep(crossing, self.how, self.long, self.by)
    }

    /// The toll of the same where there is no sleep.
    fn before(self, crossing: Crossing) -> TollKey {
        Asleep { long: Duration::ZERO, by: Waker::Before, ..self }.toll(crossing)
    }

    /// Two gates: each such crossing, and what those cost more where there is a sleep.
    fn gates(self, [each, asleep]: [&str; 2], payer: &str, crossing: Crossing) -> [Gate; 2] {
        let before = self.before(crossing);
        [counted(each, payer, before.clone()), counted(asleep, payer, self.toll(crossing)).less(before)]
    }
}

fn counted(name: &str, payer: &str, toll: TollKey) -> Gate {
    Gate::counted(name, payer).toll(toll)
}

/// The gates of a request by that way.
///
/// # Errors
/// Those of parameters that cannot be.
pub(super) fn of(way: Way, params: &Params, demand: &Demand) -> Result<Vec<Gate>> {
    let load = demand.load;
    let waiting = way.waiting(params)?;
    let is_guest = params.tenant()? == TenantKind::MicroGuest;
    let looks = matches!(waiting, Waiting::Busy | Waiting::Hybrid(_));
    let soon = way.holds(params)?.unwrap_or(SOON);
    let gap = |sharing: f64| load.gap().map_or(soon, |gap| gap.div_f64(sharing));
    // A tenant that looks asks again as soon as it has written and compared the bytes, of which it does some four a nanosecond.
    let pause = match load.gap() {
        None if looks => Duration::from_nanos(load.size as u64 / 2).max(SHORTLY),
        _ => gap(params.real("tasks")? * params.real("tenants")?),
    };
    // While one of them waits the other sleeps, too, or does not.
    let awake = |is_awake| if is_awake { Waker::Awake } else { Waker::Woken };
    let card = Asleep { how: How::Epoll, long: pause, by: awake(looks) };
    let (how, long) = match waiting {
        Waiting::Interrupt | Waiting::Busy => (How::Poll, gap(1.0)),
        // A guest's program polls.
        Waiting::Hybrid(_) if is_guest => (How::Poll, gap(1.0)),
        Waiting::Epoll | Waiting::Hybrid(_) => (How::Epoll, gap(1.0)),
        Waiting::Periodic(period) => (How::Nap, period),
    };
    let tenant = Asleep { how, long, by: awake(params.word("card")? == "awake") };
    // What was done before a sleep is not in the caches after it.
    let warmth = if looks { Warmth::Hot } else { Warmth::Cold };

    let mut gates =
        of_each(demand, SUBMIT, TENANT, |load| (alone::laid(Crossing::RequestSubmit, load, warmth), None));
    let [kick, rousing] = card.gates([KICKING, ROUSING], TENANT, Crossing::KickAsleep);
    if is_guest {
        gates.push(counted(RINGING, TENANT, TollKey::of(Crossing::ExitIoeventfd)));
        // The kernel writes the eventfd then: no system call is in it.
        gates.push(kick.less(TollKey::of(Crossing::WriteByte)));
    } else {
        gates.push(kick);
    }
    gates.push(rousing);
    let laid = |crossing, load: &Load| alone::laid(crossing, load, Warmth::Hot);
    let one = Load { depth: 1, ..load };
    let round = laid(Crossing::RequestRound, &one);
    gates.push(counted(PAUSING, CARD, round).less(laid(Crossing::RequestTurn, &one)));
    let pausing = card.before(Crossing::SleepWake);
    gates.push(counted(WAKING, CARD, card.toll(Crossing::SleepWake)).less(pausing.clone()));
    gates.extend(of_each(demand, TURN, CARD, |load| {
        (laid(Crossing::RequestTurn, load), Some(alone::cipher_key(load)))
    }));
    gates.extend(of_each(demand, CIPHER, CARD, |load| (alone::cipher_key(load), None)));
    if way.has_deadlines() {
        let nap = Asleep { how: How::Nap, long: soon, by: tenant.by };
        gates.push(counted(TIMING, CARD, nap.toll(Crossing::SleepWake)).less(pausing));
    }
    if way.is_called() {
        gates.extend(tenant.gates([CALLING, STIRRING], CARD, Crossing::KickAsleep));
    }
    if is_guest && waiting != Waiting::Busy {
        gates.push(counted(IDLING, TENANT, TollKey::of(Crossing::ExitMmio)));
    }
    match waiting {
        Waiting::Busy => {}
        Waiting::Periodic(_) => gates.push(counted(SLEEPING, TENANT, tenant.toll(Crossing::SleepWake))),
        _ => gates.extend(tenant.gates([WAITING, SLEEPING], TENANT, Crossing::SleepWake)),
    }
    gates.push(counted(LOOKING, TENANT, alone::look_key()));
    gates.extend(of_each(demand, TAKE, TENANT, |load| {
        (alone::laid(Crossing::RequestTake, load, warmth), None)
    }));
    Ok(gates)
}

/// Sizes of which a bill has tolls each: of a trace with more, these gates are left unexplained.
pub(super) const BILLED: usize = 8;

/// A gate of each request: of several sizes one of each, visited as often as there were such requests.
fn of_each(
    demand: &Demand,
    name: &str,
    role: &str,
    toll: impl Fn(&Load) -> (TollKey, Option<TollKey>),
) -> Vec<Gate> {
    let explained = demand.loads().len() <= BILLED;
    let gate = |load: Load| {
        let (toll, less) = toll(&load);
        let gate = match demand.loads().len() {
            1 => Gate::new(name, role, toll),
            _ => Gate::counted(of_bytes(name, load.size), role).toll(toll),
        };
        Gate { less, ..gate }
    };
    match explained {
        true => demand.loads().map(gate).collect(),
        false => vec![Gate { visits: Visits::Fixed(1.0), ..Gate::counted(name, role) }],
    }
}
