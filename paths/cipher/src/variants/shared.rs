//! The card and its tenants, by one way of telling.
//!
//! ```text
//! tenant ── submit ── kick ─╮                            ╭─ interrupt ── take ── tenant
//!                           ╰── card: wake, turn, cipher ─╯
//! ╰───── tenants' core ─────╯╰──── the card's core ──────╯╰─── tenants' core ───╯
//! ```
//!
//! The figure is the time from a request's beginning, its bytes not yet written, to its result read and compared. The work is the
//! processor time of all, which each counts for itself.

use std::time::Duration;

use tollway_core::{
    Actor, Axis, Crossing, Error, Gate, Params, Plan, Requirement, Result, Role, TenantKind, TollKey,
    Variant, Visits, Warmth,
};

use super::alone::{self, How, Waker};

use super::card::{CardActor, Setting};
use super::demand::Demand;
use super::load::Load;
use super::tenant::Tenant;
use super::way::Way;
use super::{
    CALLING, CARD, CIPHER, IDLING, KICKING, LOOKING, PAUSING, RINGING, ROUSING, SLEEPING, STIRRING, SUBMIT,
    TAKE, TENANT, TIMING, TURN, WAITING, WAKING, guest, of_bytes, trace,
};
use crate::engine::driver::Waiting;
use crate::params;

/// A card by that way.
pub(super) struct Shared(pub(super) Way);

impl Shared {
    /// Whether a tenant in a micro-guest can be told that way.
    fn fits_a_guest(&self, params: &Params, load: &Load) -> Result<()> {
        let refused = |reason: String, remedy: &str| {
            let place = "axis `tenant`, value `micro-guest`".into();
            Err(Error::Input { place, reason, remedy: remedy.into() })
        };
        if let Some(reason) = self.0.needs_a_kernel(load.is_open()) {
            return refused(
                format!("`{}` needs a kernel: {reason}", self.name()),
                "take `busy`, or processes",
            );
        }
        if params.int("tasks")? > 1 {
            return refused("it has one processor and no threads".into(), "take tasks=1, and more tenants");
        }
        Ok(())
    }

    /// Whether anybody is ever told.
    fn is_told(&self, params: &Params, load: &Load) -> Result<()> {
        let Some(count) = self.0.awaits(params)? else { return Ok(()) };
        let refused = |reason: String, remedy: &str| {
            let place = "axes `count` and `hold`".into();
            Err(Error::Input { place, reason, remedy: remedy.into() })
        };
        if !load.is_open() && load.depth < count as usize {
            let depth = load.depth;
            return refused(
                format!(
                    "an interrupt for {count} requests, of which a task has {depth} on their way, and no time: it never comes"
                ),
                "give a `hold`, a `rate`, or a `depth` that is larger",
            );
        }
        if params.tenant()? == TenantKind::MicroGuest {
            let reason = "the last requests are fewer than an interrupt tells of, and nothing in a micro-guest ends a sleep";
            return refused(reason.into(), "give a `hold`, or take processes");
        }
        Ok(())
    }

    fn gates(&self, params: &Params, demand: &Demand) -> Result<Vec<Gate>> {
        let load = demand.load;
        let waiting = self.0.waiting(params)?;
        let is_guest = params.tenant()? == TenantKind::MicroGuest;
        // About how long the two sleep: until a request is done, or the next is due.
        let soon = self.0.holds(params)?.unwrap_or(Duration::from_micros(20));
        let gap = |sharing: f64| load.gap().map_or(soon, |gap| gap.div_f64(sharing));
        let all = params.real("tasks")? * params.real("tenants")?;
        let (asleep, long) = match waiting {
            Waiting::Interrupt | Waiting::Busy => (How::Poll, gap(1.0)),
            // A guest's program polls.
            Waiting::Hybrid(_) if is_guest => (How::Poll, gap(1.0)),
            Waiting::Epoll | Waiting::Hybrid(_) => (How::Epoll, gap(1.0)),
            Waiting::Periodic(period) => (How::Nap, period),
        };
        let counted = |name: &str, role: &str, toll: TollKey| Gate::counted(name, role).toll(toll);
        // While one of them waits the other sleeps, too, or does not.
        let card = if params.word("card")? == "awake" { Waker::Awake } else { Waker::Woken };
        let tenant = match waiting {
            Waiting::Busy | Waiting::Hybrid(_) => Waker::Awake,
            Waiting::Interrupt | Waiting::Epoll | Waiting::Periodic(_) => Waker::Woken,
        };
        // What was done before a sleep is not in the caches after it.
        let warmth = if tenant == Waker::Awake { Warmth::Hot } else { Warmth::Cold };
        // A tenant that looks asks again as soon as it has written and compared the bytes, of which it does some four a nanosecond.
        // Most of its kicks find the card before that sleeps; one that does sleep by then does so for a few microseconds.
        let pause = match (tenant, load.gap()) {
            (Waker::Awake, None) => Duration::from_nanos(load.size as u64 / 2).max(Duration::from_micros(5)),
            _ => gap(all),
        };
        let kick = alone::asleep(Crossing::KickAsleep, How::Epoll, pause, tenant);
        let wake = alone::asleep(Crossing::SleepWake, How::Epoll, pause, tenant);
        let before = |crossing, how| alone::asleep(crossing, how, Duration::ZERO, Waker::Before);
        let kick_before = before(Crossing::KickAsleep, How::Epoll);
        let mut gates = of_each(demand, SUBMIT, TENANT, |load| {
            (alone::laid(Crossing::RequestSubmit, load, warmth), None)
        });
        if is_guest {
            gates.push(counted(RINGING, TENANT, TollKey::of(Crossing::ExitIoeventfd)));
            // The kernel writes the eventfd then: no system call is in it.
            gates.push(counted(KICKING, TENANT, kick_before.clone()).less(TollKey::of(Crossing::WriteByte)));
        } else {
            gates.push(counted(KICKING, TENANT, kick_before.clone()));
        }
        gates.push(counted(ROUSING, TENANT, kick).less(kick_before));
        let card_before = before(Crossing::SleepWake, How::Epoll);
        let round = Load { depth: 1, ..load };
        gates.push(
            counted(PAUSING, CARD, alone::laid(Crossing::RequestRound, &round, Warmth::Hot))
                .less(alone::laid(Crossing::RequestTurn, &round, Warmth::Hot)),
        );
        gates.push(counted(WAKING, CARD, wake).less(card_before.clone()));
        gates.extend(of_each(demand, TURN, CARD, |load| {
            (alone::laid(Crossing::RequestTurn, load, Warmth::Hot), Some(alone::cipher_key(load)))
        }));
        gates.extend(of_each(demand, CIPHER, CARD, |load| (alone::cipher_key(load), None)));
        if self.0.has_deadlines() {
            let toll = alone::asleep(Crossing::SleepWake, How::Nap, soon, card);
            gates.push(counted(TIMING, CARD, toll).less(card_before));
        }
        if self.0.is_called() {
            let toll = before(Crossing::KickAsleep, asleep);
            gates.push(counted(CALLING, CARD, toll.clone()));
            let stirring = alone::asleep(Crossing::KickAsleep, asleep, long, card);
            gates.push(counted(STIRRING, CARD, stirring).less(toll));
        }
        if is_guest && waiting != Waiting::Busy {
            gates.push(counted(IDLING, TENANT, TollKey::of(Crossing::ExitMmio)));
        }
        if waiting != Waiting::Busy {
            let toll = alone::asleep(Crossing::SleepWake, asleep, long, card);
            if asleep == How::Nap {
                gates.push(counted(SLEEPING, TENANT, toll));
            } else {
                let wait = before(Crossing::SleepWake, asleep);
                gates.push(counted(WAITING, TENANT, wait.clone()));
                gates.push(counted(SLEEPING, TENANT, toll).less(wait));
            }
        }
        gates.push(counted(LOOKING, TENANT, alone::look_key()));
        gates.extend(of_each(demand, TAKE, TENANT, |load| {
            (alone::laid(Crossing::RequestTake, load, warmth), None)
        }));
        Ok(gates)
    }
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

impl Variant for Shared {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.about()
    }

    fn caveats(&self) -> &str {
        "The card is software: a process on another core. Requests go to it through queues in the tenant's memory and eventfds \
         (virtio-crypto over vhost-user). A tenant writes each request's bytes and reads and compares the result, which is in the \
         figure. With a rate, latency counts from when a request was to begin: a tenant that sleeps wakes up late for that, too. \
         The card has a core to itself; of several tenants those share one that have to. Of a micro-guest's exits those are counted \
         that its requests make; what its host's own interrupts and timers make of it is in the figure and in no count."
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            params::cipher(),
            params::size(),
            params::tasks(),
            params::depth(),
            params::tenants(),
            params::tenant(),
            params::rate(),
            params::arrivals(),
            params::trace(),
            params::mix(),
            params::card(),
            params::order(),
            params::classes(),
            params::planted(),
        ];
        axes.extend(self.0.axes());
        axes
    }

    fn pinned(&self, params: Params) -> Result<Params> {
        trace::pinned(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let setting = Setting::of(self.0, params)?;
        // Once: a trace is read for it.
        let demand = Demand::of(params)?;
        self.is_told(params, &demand.load)?;
        let mut tenant = Role::measured(TENANT).tenant(params.tenant()?);
        let mut requires = vec![Requirement::Cores(2)];
        if tenant.tenant == TenantKind::MicroGuest {
            self.fits_a_guest(params, &demand.load)?;
            tenant = tenant.doorbells(guest::BELLS);
            requires.extend([Requirement::Kvm, Requirement::InvariantTsc]);
        }
        let tenants = u32::try_from(params.int("tenants")?).unwrap_or(u32::MAX);
        let classes = setting.classes.names(tenants);
        Ok(Plan {
            operation: "request".into(),
            roles: vec![Role::serving(CARD).core(1).alone(), Role { count: tenants, classes, ..tenant }],
            gates: self.gates(params, &demand)?,
            provides: None,
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        match role {
            CARD => Ok(Box::new(CardActor::new(Setting::of(self.0, params)?))),
            TENANT => Ok(Box::new(Tenant::new(self.0, params)?)),
            other => Err(Error::Input {
                place: format!("role `{other}`"),
                reason: format!("`{}` has no such role", self.name()),
                remedy: format!("it has: {CARD}, {TENANT}"),
            }),
        }
    }
}
