//! What a variant answers when it is asked how it would run at a point of its axes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Axis, Domain, Error, GuestSpec, Requirement, Result, TollKey, Value};

/// Where an actor lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TenantKind {
    /// A thread of a process that it shares with the trial's other threads.
    Thread,
    /// A process of its own.
    Process,
    /// A virtual machine without an operating system, made by a process of its own.
    MicroGuest,
    /// A process of a virtual machine with Linux.
    LinuxGuest,
}

impl TenantKind {
    /// The name in presets and reports.
    pub fn name(self) -> &'static str {
        match self {
            TenantKind::Thread => "thread",
            TenantKind::Process => "process",
            TenantKind::MicroGuest => "micro-guest",
            TenantKind::LinuxGuest => "linux-guest",
        }
    }

    /// What a person reads.
    pub fn title(self) -> &'static str {
        match self {
            TenantKind::LinuxGuest => "Linux guest",
            other => other.name(),
        }
    }

    /// Every kind.
    pub const ALL: &[TenantKind] =
        &[TenantKind::Process, TenantKind::Thread, TenantKind::MicroGuest, TenantKind::LinuxGuest];

    /// The axis by which one word decides where actors live. `words` are the names of the kinds that suit a variant;
    /// `process` must be among them and is the default.
    pub fn axis(words: &'static [&'static str]) -> Axis {
        Axis {
            name: "tenant",
            about: "where the actors live",
            domain: Domain::Words(words),
            default: Value::Text(TenantKind::Process.name().into()),
        }
    }
}

impl fmt::Display for TenantKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TenantKind {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        TenantKind::ALL.iter().copied().find(|kind| kind.name() == word).ok_or_else(|| Error::Input {
            place: format!("tenant `{word}`"),
            reason: "there is no such kind of tenant".into(),
            remedy: format!(
                "there are: {}",
                TenantKind::ALL.iter().map(|k| k.name()).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

/// Who takes part in a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its name, unique in the plan.
    pub name: String,
    /// How many actors play it. In Linux guests each has a guest of its own, unless they are [`together`](Role::together).
    pub count: u32,
    /// Where they live.
    pub tenant: TenantKind,
    /// Which of the trial's cores it runs on; roles with the same slot share a core. Where several actors play the role
    /// the first has this one, and the others the next ones in turn.
    pub core: u32,
    /// Whether its core is no other role's of several actors, where there is another for them.
    #[serde(default)]
    pub alone: bool,
    /// How many doorbells its tenant provides (micro-guests only): the host's end goes to the roles after it.
    pub doorbells: u32,
    /// Which of the plan's Linux guests it lives in; roles that name the same share it (Linux guests only).
    pub guest: u32,
    /// What its tenant must have, where that is not this machine: checked in the tenant when the actor is made.
    pub requires: Vec<Requirement>,
    /// Whether its recorder holds the figure of the trial. Exactly one role of a plan has it.
    pub measured: bool,
    /// Of which class the first of its actors is, the second, …, where what they record is to be kept by classes as well; empty
    /// where all are alike.
    #[serde(default)]
    pub classes: Vec<String>,
    /// Whether its actors share a Linux guest, each on a virtual processor of its own (Linux guests only).
    #[serde(default)]
    pub together: bool,
}

impl Role {
    /// A single measured actor on the first core, in a process.
    pub fn measured(name: impl Into<String>) -> Self {
        Role {
            name: name.into(),
            count: 1,
            tenant: TenantKind::Process,
            core: 0,
            alone: false,
            doorbells: 0,
            guest: 0,
            requires: Vec::new(),
            measured: true,
            classes: Vec::new(),
            together: false,
        }
    }

    /// A single actor that only serves the measured one, on the first core, in a process.
    pub fn serving(name: impl Into<String>) -> Self {
        Role { measured: false, ..Role::measured(name) }
    }

    /// The same role in another kind of tenant.
    pub fn tenant(mut self, tenant: TenantKind) -> Self {
        self.tenant = tenant;
        self
    }

    /// The same role on another core slot.
    pub fn core(mut self, slot: u32) -> Self {
        self.core = slot;
        self
    }

    /// The same role, and those of several actors keep off its core.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// The same role with doorbells.
    pub fn doorbells(mut self, count: u32) -> Self {
        self.doorbells = count;
        self
    }
}

/// How often a gate is passed per operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visits {
    /// Always so often.
    Fixed(f64),
    /// So often for each byte moved.
    PerByte(f64),
    /// Counted while it runs; the tally has the figure.
    Counted,
}

/// A crossing or a piece of work on a variant's route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name, unique in the plan.
    pub name: String,
    /// The role that pays for it.
    pub role: String,
    /// How often it is passed per operation.
    pub visits: Visits,
    /// The toll that explains it, if one is measured on its own.
    pub toll: Option<TollKey>,
    /// What of that toll another gate has already: a long read less a short one is the copying alone.
    #[serde(default)]
    pub less: Option<TollKey>,
    /// Whether another role than the measured one pays for it: it is listed apart and is no part of a bill's sum.
    #[serde(default)]
    pub apart: bool,
    /// Whether its cost is what is saved by switching it off: the toll with it less the toll without. It is shown, and
    /// never makes a bill close.
    #[serde(default)]
    pub knock_out: bool,
}

impl Gate {
    /// A gate with a toll, passed once an operation.
    pub fn new(name: impl Into<String>, role: impl Into<String>, toll: TollKey) -> Gate {
        Gate {
            name: name.into(),
            role: role.into(),
            visits: Visits::Fixed(1.0),
            toll: Some(toll),
            less: None,
            apart: false,
            knock_out: false,
        }
    }

    /// A gate whose visits are counted and which has no toll of its own.
    pub fn counted(name: impl Into<String>, role: impl Into<String>) -> Gate {
        Gate {
            name: name.into(),
            role: role.into(),
            visits: Visits::Counted,
            toll: None,
            less: None,
            apart: false,
            knock_out: false,
        }
    }

    /// The same gate, explained by that toll.
    pub fn toll(mut self, toll: TollKey) -> Gate {
        self.toll = Some(toll);
        self
    }

    /// The same gate, passed so often.
    pub fn visits(mut self, visits: Visits) -> Gate {
        self.visits = visits;
        self
    }

    /// The same gate less what another one has of its toll.
    pub fn less(mut self, toll: TollKey) -> Gate {
        self.less = Some(toll);
        self
    }

    /// The same gate, of which only a knock-out is known: what its toll is more than `without`.
    pub fn knock_out(self, without: TollKey) -> Gate {
        Gate { knock_out: true, ..self.less(without) }
    }

    /// The same gate, paid by another role than the measured one.
    pub fn apart(self) -> Gate {
        Gate { apart: true, ..self }
    }
}

/// How a variant runs at one point of its axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What one operation is, in a few words: "round trip", "4 KiB copied".
    pub operation: String,
    /// Who takes part. Actors are made ready in this order, each told the addresses of those before it.
    pub roles: Vec<Role>,
    /// What an operation passes.
    pub gates: Vec<Gate>,
    /// The toll that the trial measures, where it measures one.
    pub provides: Option<TollKey>,
    /// The tolls that a prediction of this point needs; they are measured first.
    pub needs: Vec<TollKey>,
    /// What the machine must have.
    pub requires: Vec<Requirement>,
    /// The Linux guests that roles name by their place here; those that are not here are ordinary ones.
    pub guests: Vec<GuestSpec>,
}

impl Plan {
    /// How many core slots the roles name.
    pub fn cores(&self) -> u32 {
        self.roles.iter().map(|r| r.core + 1).max().unwrap_or(0)
    }

    /// Whether a role lives in this kind of tenant.
    pub fn uses(&self, tenant: TenantKind) -> bool {
        self.roles.iter().any(|r| r.tenant == tenant)
    }

    /// What the Linux guest of that number has.
    pub fn guest(&self, number: u32) -> GuestSpec {
        self.guests.get(number as usize).cloned().unwrap_or_default()
    }
}
