//! Capture from an interface, by every way that there is: a generator on one core sends over a cable of its own, the
//! capture on another reads.
//!
//! ```text
//! generator ── send ── veth ── tap, filter in the kernel ── socket's memory ── wake-up and read ── filter here ── application
//! ╰──────────── the generator's core pays ─────────────╯                       ╰───── the capture's core pays ─────╯
//! ```
//!
//! The figure is the processor time of the capture's thread a packet, user and system: waiting costs nothing. What the
//! kernel does on the generator's core no instrument of this machine tells apart, and the bill says so.

mod capture;
mod generator;
mod meeting;
mod observer;
mod setting;

use tollway_core::{
    Actor, Axis, Crossing, Error, Gate, Params, Plan, Requirement, Result, Role, TollKey, Variant, Visits,
};

use self::capture::Capture;
use self::generator::Sender;
use self::setting::Setting;
use crate::engine::source::{Kind, Placement};

const CAPTURE: &str = "capture";
const GENERATOR: &str = "generator";

/// Gates whose visits are counted, as tallies name them.
const SENDING: &str = "send, driver and tap (kernel)";
const READING: &str = "wake-up and read";
const FILTERING: &str = "filter";

/// Capture by one kind of source.
struct Live {
    name: &'static str,
    about: &'static str,
    kind: Kind,
}

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let of = |name, about, kind| Box::new(Live { name, about, kind }) as Box<dyn Variant>;
    vec![
        of("live-recv", "an interface, a system call and a copy for each packet", Kind::Recv),
        of(
            "live-recvmmsg",
            "an interface, a system call for up to 64 packets, a copy for each",
            Kind::Recvmmsg,
        ),
        of("live-v2", "an interface, packets in a ring of slots shared with the kernel", Kind::TpacketV2),
        of("live-v3", "an interface, packets in a ring of blocks shared with the kernel", Kind::TpacketV3),
        of("live-xdp", "an interface, packets taken before the kernel's network stack (AF_XDP)", Kind::AfXdp),
    ]
}

fn gates(setting: &Setting) -> Vec<Gate> {
    let mut gates = vec![Gate::counted(SENDING, GENERATOR), Gate::counted(READING, CAPTURE)];
    if let Some(filter) = setting.filter.filter(|_| setting.filters_here()) {
        // Traffic of which only a share is wanted takes ways through the filter that no toll was measured on.
        let kind = format!("jit-{}-uniform", filter.name);
        let toll = TollKey::of(Crossing::PacketFilter).kind(kind).size(setting.size.handed() as u64);
        let gate = Gate::counted(FILTERING, CAPTURE);
        gates.push(Gate { toll: (setting.share == 1.0).then_some(toll), ..gate });
    }
    if setting.kind == Kind::AfXdp {
        gates.push(Gate::new("timestamp", CAPTURE, TollKey::of(Crossing::PacketStamp).kind("vdso")));
    }
    gates.push(Gate::counted("application", CAPTURE).visits(Visits::Fixed(1.0)));
    gates
}

impl Variant for Live {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn caveats(&self) -> &str {
        "Processor time of the capture's thread (CLOCK_THREAD_CPUTIME_ID), not elapsed time; a sample is 64 packets of reads \
         that brought as many or more, and reading the clock is in it: 5 cycles a packet at the most. The path through \
         the kernel up to the socket's memory runs on the generator's core and is not in it; an interrupt on the \
         capture's core is. A veth pair has no adapter and no interrupt of its own. The application sums up each packet's \
         first bytes and checks its number."
    }

    fn axes(&self) -> Vec<Axis> {
        setting::axes(self.kind)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let gates = gates(&Setting::of(self.kind, params)?);
        let mut requires =
            vec![Requirement::NetworkNamespaces, Requirement::PacketSockets, Requirement::Cores(2)];
        if self.kind == Kind::AfXdp {
            requires.push(Requirement::AfXdp);
        }
        Ok(Plan {
            operation: "packet".into(),
            roles: vec![Role::measured(CAPTURE), Role::serving(GENERATOR).core(1)],
            needs: gates.iter().filter_map(|gate| gate.toll.clone()).collect(),
            gates,
            provides: None,
            requires,
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let setting = Setting::of(self.kind, params)?;
        match role {
            CAPTURE => Ok(Box::new(Capture::new(setting))),
            GENERATOR => Ok(Box::new(Sender::new(setting))),
            other => Err(Error::Input {
                place: format!("role `{other}`"),
                reason: format!("`{}` has no such role", self.name),
                remedy: format!("it has: {CAPTURE}, {GENERATOR}"),
            }),
        }
    }
}

impl Setting {
    /// Whether every frame passes a filter in this process.
    fn filters_here(&self) -> bool {
        self.filter.is_some() && (self.placement != Placement::Kernel || self.kind == Kind::AfXdp)
    }

    /// Whether frames are filtered before they need room.
    fn filters_first(&self) -> bool {
        self.placement != Placement::User && self.kind != Kind::AfXdp
    }
}
