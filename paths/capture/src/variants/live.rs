//! Capture from an interface, by every way that there is: a generator on one core sends over a cable of its own, the
//! capture on another reads.
//!
//! ```text
//! generator ── send ── veth ── tap, filter in the kernel ── socket's memory ── wake-up and read ── filter here ── application
//! ╰──────────── the generator's core pays ─────────────╯                       ╰───── the capture's core pays ─────╯
//! ```
//!
//! The figure is the processor time of the capture's thread a packet, user and system: waiting costs nothing but to fall
//! asleep and to wake up. Each gate of the capture's is measured alone (`alone.rs`, `checking.rs`). What the kernel does on
//! the generator's core is listed apart, and of driver and tap only a knock-out is known: sending with a socket that hears
//! it, less sending without.

mod alone;
mod books;
mod capture;
mod checking;
mod filler;
mod generator;
mod latency;
mod meeting;
mod observer;
mod setting;
mod taking;
mod turns;

use tollway_core::{
    Actor, Axis, Crossing, Error, Gate, Params, Plan, Requirement, Result, Role, TollKey, Variant, Visits,
};
use tollway_host::samplers::usage::Usage;

use self::alone::Tolls;
use self::capture::Capture;
use self::generator::Sender;
use self::setting::Setting;
use crate::engine::source::{Kind, Placement};

const CAPTURE: &str = "capture";
const GENERATOR: &str = "generator";

/// Gates whose visits are counted, as tallies name them.
const SENDING: &str = "send";
const TAPPING: &str = "driver and tap";
const FILTERING_BEFORE: &str = "filter (kernel)";
const WAKING: &str = "wait: sleep and wake-up";
const WAITING: &str = "wait: frames are there";
const NAPPING: &str = "nap for more";
const LOOKING: &str = "read: finds no more";
const TAKING_FIRST: &str = "read: first frame after sleep";
const TAKING: &str = "read: further frames";
const FILTERING: &str = "filter";

/// Capture by one kind of source.
struct Live {
    name: &'static str,
    about: &'static str,
    kind: Kind,
}

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let of = |name, about, kind| Box::new(Live { name, about, kind }) as Box<dyn Variant>;
    let mut all = vec![
        of("live-recv", "an interface, a system call and a copy for each packet", Kind::Recv),
        of(
            "live-recvmmsg",
            "an interface, a system call for up to 64 packets, a copy for each",
            Kind::Recvmmsg,
        ),
        of("live-v2", "an interface, packets in a ring of slots shared with the kernel", Kind::TpacketV2),
        of("live-v3", "an interface, packets in a ring of blocks shared with the kernel", Kind::TpacketV3),
        of("live-xdp", "an interface, packets taken before the kernel's network stack (AF_XDP)", Kind::AfXdp),
    ];
    all.extend(alone::variants());
    all.extend(checking::variants());
    all
}

/// What a packet passes: on the generator's core first, which is not measured, then on the capture's.
fn gates(setting: &Setting) -> Vec<Gate> {
    let tolls = Tolls(setting);
    let size = setting.size.handed() as u64;
    let counted = |name, role| Gate::counted(name, role);
    let mut gates = vec![
        counted(SENDING, GENERATOR).toll(tolls.sent_unheard()).apart(),
        counted(TAPPING, GENERATOR).toll(tolls.sent_heard()).knock_out(tolls.sent_unheard()).apart(),
    ];
    if setting.filters_first() && setting.filter.is_some() {
        gates.push(counted(FILTERING_BEFORE, GENERATOR).apart());
    }
    gates.push(counted(WAKING, CAPTURE).toll(tolls.asleep()));
    gates.push(counted(WAITING, CAPTURE).toll(tolls.ready()));
    if setting.naps() {
        gates.push(counted(NAPPING, CAPTURE).toll(tolls.nap()));
    }
    gates.push(counted(LOOKING, CAPTURE).toll(tolls.nothing()));
    // No toll was measured of frames that are cut.
    let whole = setting.kept() == setting.size.handed();
    for (name, toll) in [(TAKING_FIRST, tolls.take_one()), (TAKING, tolls.take())] {
        let take = counted(name, CAPTURE);
        gates.push(if whole { take.toll(toll) } else { take });
    }
    if let Some(filter) = setting.filter.filter(|_| setting.filters_here()) {
        // Traffic of which only a share is wanted takes ways through the filter that no toll was measured on.
        let toll =
            TollKey::of(Crossing::PacketFilter).kind(format!("jit-{}-uniform", filter.name)).size(size);
        let gate = counted(FILTERING, CAPTURE);
        gates.push(if setting.share == 1.0 { gate.toll(toll) } else { gate });
    }
    if setting.kind == Kind::AfXdp {
        gates.push(Gate::new("timestamp", CAPTURE, TollKey::of(Crossing::PacketStamp).kind("vdso")));
    }
    let check = TollKey::of(Crossing::PacketCheck).size(size);
    let application = counted("application", CAPTURE).visits(Visits::Fixed(1.0));
    gates.push(if whole { application.toll(check) } else { application });
    if setting.work > 0 {
        let work = TollKey::of(Crossing::PacketWork).size(u64::from(setting.work));
        gates.push(Gate::new("its work", CAPTURE, work));
    }
    gates
}

/// How often the calling thread slept so far.
fn sleeps() -> Result<u64> {
    match Usage::read() {
        Ok(usage) => Ok(usage.voluntary),
        Err(missing) => Err(Error::system("counting context switches", missing)),
    }
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
         that brought as many or more. Reading the clock is in it, 5 cycles a packet at the most, and asking, after a wait, \
         whether the thread slept (300 cycles). The path through \
         the kernel up to the socket's memory runs on the generator's core and is not in it; an interrupt on the \
         capture's core is. What ends a core's halt (interrupt, idle task, exit to the hypervisor) is charged to no thread. \
         A veth pair has no adapter and no interrupt of its own. The application sums up each packet's \
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
            // Nothing is predicted from them: a bill has them measured.
            needs: Vec::new(),
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
