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

use tollway_core::{Actor, Axis, Error, Params, Plan, Requirement, Result, Role, TenantKind, Variant};

use super::card::{CardActor, Setting};
use super::demand::Demand;
use super::load::Load;
use super::tenant::Tenant;
use super::way::Way;
use super::{CARD, TENANT, gates, guest, trace};
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
            gates: gates::of(self.0, params, &demand)?,
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
