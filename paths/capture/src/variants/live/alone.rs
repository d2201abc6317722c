//! The gates of a live capture, each alone, as variants: what they measure are the tolls that its bill adds up.

use std::time::Duration;

use tollway_core::{
    Actor, Axis, Crossing, Domain, Error, Gate, Params, Plan, Requirement, Result, Role, TollKey, Value,
    Variant,
};

use super::filler::Filler;
use super::setting::{self, Setting};
use super::taking::{Passed, Taking};
use super::{CAPTURE, GENERATOR};
use crate::engine::source::Kind;
use crate::params::{self, BUFFERS, word};

/// A gate of a cable with two ends.
struct Lone {
    crossing: Crossing,
    caveats: &'static str,
    kinds: &'static [&'static str],
    default: &'static str,
    /// Whether it is a function of frames' size and number as well.
    of_frames: bool,
}

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(Lone {
            crossing: Crossing::PacketTake,
            caveats: "Processor time of the thread that takes frames (CLOCK_THREAD_CPUTIME_ID): so many (`depth`) were sent \
                      by the other core just before and lie in the socket's memory, the ring or the queue; all are taken \
                      without waiting, and of each frame the first 60 bytes are fetched, as from the other core's cache. \
                      The thread has slept before, so the first ones cost more. `depth=0` is a look that finds no frame, 256 \
                      of them in a row. The kind's second part is the memory for frames.",
            kinds: SOURCES,
            default: "tpacket-v3-16MiB",
            of_frames: true,
        }),
        Box::new(Lone {
            crossing: Crossing::PacketWait,
            caveats: "Processor time of the thread that waits. `asleep`: one poll(2), in which it sleeps until the other core \
                      sends a frame after the time that the kind names: the longer the sleep, the colder the core; `ready`: one that finds a frame at once; `nap`: the sleep in which \
                      more frames come, as long as the buffer allows. What a sleeping thread cannot be charged for is not in \
                      it: the idle task, the interrupt or the hypervisor's exit that ends its halt. Waking it is the \
                      sender's. Reading the clock is in it: some 300 cycles.",
            kinds: WAITS,
            default: "tpacket-v3-asleep-10ms",
            of_frames: false,
        }),
        Box::new(Lone {
            crossing: Crossing::PacketSend,
            caveats: "Processor time of the thread that sends: so many frames (`depth`) are written and sent as fast as \
                      they can be, one sendmmsg(2) for 64. On a veth pair all that the kernel does with a frame until it lies \
                      in a socket's memory is in it, if a socket of that kind hears the other end: nobody sleeps there, and \
                      nobody reads meanwhile. `none`: nobody hears them. What the kernel puts off to a thread of its own \
                      (ksoftirqd) is not in it.",
            kinds: HEARERS,
            default: "none",
            of_frames: true,
        }),
    ]
}

macro_rules! kinds {
    ($($first:literal,)* ; $($source:literal)*) => {
        &[$($first,)* $(
            concat!($source, "-64KiB"), concat!($source, "-256KiB"), concat!($source, "-1MiB"),
            concat!($source, "-4MiB"), concat!($source, "-16MiB"), concat!($source, "-64MiB"),
        )*]
    };
}

const SOURCES: &[&str] = kinds!(; "recv" "recvmmsg" "tpacket-v2" "tpacket-v3" "af-xdp");
const HEARERS: &[&str] = kinds!("none", ; "recv" "recvmmsg" "tpacket-v2" "tpacket-v3" "af-xdp");
const WAITS: &[&str] = &[
    "recv-ready",
    "recv-asleep-10us",
    "recv-asleep-100us",
    "recv-asleep-1ms",
    "recv-asleep-10ms",
    "recvmmsg-ready",
    "recvmmsg-asleep-10us",
    "recvmmsg-asleep-100us",
    "recvmmsg-asleep-1ms",
    "recvmmsg-asleep-10ms",
    "tpacket-v2-ready",
    "tpacket-v2-asleep-10us",
    "tpacket-v2-asleep-100us",
    "tpacket-v2-asleep-1ms",
    "tpacket-v2-asleep-10ms",
    "tpacket-v3-ready",
    "tpacket-v3-asleep-10us",
    "tpacket-v3-asleep-100us",
    "tpacket-v3-asleep-1ms",
    "tpacket-v3-asleep-10ms",
    "af-xdp-ready",
    "af-xdp-asleep-10us",
    "af-xdp-asleep-100us",
    "af-xdp-asleep-1ms",
    "af-xdp-asleep-10ms",
    "nap-64KiB",
    "nap-256KiB",
    "nap-1MiB",
    "nap-4MiB",
    "nap-16MiB",
    "nap-64MiB",
];

/// How long a wait sleeps.
const SLEEPS: &[(&str, Duration)] = &[
    ("10us", Duration::from_micros(10)),
    ("100us", Duration::from_micros(100)),
    ("1ms", Duration::from_millis(1)),
    ("10ms", Duration::from_millis(10)),
];

/// What else than frames a kind's last part names.
const ASLEEP: &str = "-asleep";
const READY: &str = "ready";
const NAP: &str = "nap";
const NOBODY: &str = "none";

/// The tolls of a point of a live variant.
pub(super) struct Tolls<'s>(pub(super) &'s Setting);

impl Tolls<'_> {
    /// Of taking frames that lie ready.
    pub(super) fn take(&self) -> TollKey {
        self.frames(Crossing::PacketTake, self.source(), self.depth())
    }

    /// Of taking one, after a sleep.
    pub(super) fn take_one(&self) -> TollKey {
        self.frames(Crossing::PacketTake, self.source(), 1)
    }

    /// Of a look that finds none.
    pub(super) fn nothing(&self) -> TollKey {
        self.frames(Crossing::PacketTake, self.source(), 0)
    }

    /// Of sending while the socket hears it.
    pub(super) fn sent_heard(&self) -> TollKey {
        self.frames(Crossing::PacketSend, self.source(), self.depth())
    }

    /// Of sending while nobody hears it.
    pub(super) fn sent_unheard(&self) -> TollKey {
        self.frames(Crossing::PacketSend, NOBODY.into(), self.depth())
    }

    /// Of a wait that sleeps, about as long as it is expected to.
    pub(super) fn asleep(&self) -> TollKey {
        let expected = self.0.sleep().as_secs_f64();
        let far = |sleep: &Duration| (sleep.as_secs_f64() / expected).ln().abs();
        let nearest = SLEEPS.iter().min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)));
        let long = nearest.map_or("", |(name, _)| name);
        TollKey::of(Crossing::PacketWait).kind(format!("{}{ASLEEP}-{long}", self.0.kind))
    }

    /// Of one that need not.
    pub(super) fn ready(&self) -> TollKey {
        TollKey::of(Crossing::PacketWait).kind(format!("{}-{READY}", self.0.kind))
    }

    /// Of a nap.
    pub(super) fn nap(&self) -> TollKey {
        TollKey::of(Crossing::PacketWait).kind(format!("{NAP}-{}", word(BUFFERS, &self.0.buffer)))
    }

    fn source(&self) -> String {
        format!("{}-{}", self.0.kind, word(BUFFERS, &self.0.buffer))
    }

    fn frames(&self, crossing: Crossing, kind: String, depth: u32) -> TollKey {
        TollKey::of(crossing).kind(kind).size(self.0.size.handed() as u64).depth(depth)
    }

    /// As many frames as every source's memory of that size has room for at once, with as much to spare.
    fn depth(&self) -> u32 {
        const ROOM: usize = 8 << 10;
        const MOST: usize = 1024;
        (self.0.buffer / ROOM).min(MOST) as u32
    }
}

/// What a point measures.
struct Point {
    setting: Setting,
    passed: Passed,
    /// Whether a socket hears the cable, and whether frames are needed at all.
    heard: bool,
}

impl Lone {
    fn point(&self, params: &Params) -> Result<Point> {
        let kind = params.word("kind")?;
        let (first, last) = kind.rsplit_once('-').unwrap_or((kind, ""));
        let source: Option<Kind> = first.trim_end_matches(ASLEEP).parse().ok();
        let mut live = Params::new().with("immediate", "yes");
        if BUFFERS.iter().any(|(name, _)| *name == last) {
            live.set("buffer", Value::Text(last.into()));
        }
        let mut frames = 0;
        if self.of_frames {
            live.set("size", Value::Int(params.int("size")?));
            frames = params.int("depth")?;
        }
        if first == NAP {
            // At once, there are no naps.
            live.set("immediate", Value::Text("no".into()));
        }
        // What nobody hears has a setting for its frames alone.
        let of = if first == NAP || kind == NOBODY { Kind::Recv } else { source.unwrap_or(Kind::Recv) };
        let setting = Setting::of(of, &live.complete(&setting::axes(of))?)?;
        let passed = match (self.crossing, last) {
            (Crossing::PacketSend, _) if frames == 0 => {
                return Err(Error::Input {
                    place: "axis `depth` = 0".into(),
                    reason: "nothing would be sent".into(),
                    remedy: "take 1 or more".into(),
                });
            }
            (Crossing::PacketSend, _) => Passed::Drained(frames),
            (Crossing::PacketTake, _) if frames == 0 => Passed::Nothing,
            (Crossing::PacketTake, _) => Passed::Frames(frames),
            (_, READY) => Passed::Ready,
            (_, long) => match SLEEPS.iter().find(|(name, _)| *name == long) {
                Some((_, long)) => Passed::Asleep(*long),
                None => Passed::Nap,
            },
        };
        if frames > 0 && kind != NOBODY {
            room(&setting, frames)?;
        }
        Ok(Point { setting, passed, heard: source.is_some() && first != NAP })
    }
}

/// Whether so many frames find room.
fn room(setting: &Setting, frames: u64) -> Result<()> {
    // The most that any source needs for a frame of up to 1514 bytes: a chunk of AF_XDP is 4 KiB.
    const MOST: usize = 4 << 10;
    match setting.buffer / MOST >= frames as usize {
        true => Ok(()),
        false => Err(Error::Input {
            place: format!("axis `depth` = {frames}"),
            reason: format!("so many frames may not find room in {} bytes", setting.buffer),
            remedy: format!("take {} or fewer, or a larger buffer", setting.buffer / MOST),
        }),
    }
}

impl Variant for Lone {
    fn name(&self) -> &str {
        self.crossing.name()
    }

    fn about(&self) -> &str {
        self.crossing.title()
    }

    fn caveats(&self) -> &str {
        self.caveats
    }

    fn axes(&self) -> Vec<Axis> {
        let kind = Axis {
            name: "kind",
            about: "the source, and what of it",
            domain: Domain::Words(self.kinds),
            default: Value::Text(self.default.into()),
        };
        let mut axes = vec![kind];
        if self.of_frames {
            let depth = Axis {
                name: "depth",
                about: "frames one after the other",
                domain: Domain::Whole(0, 1 << 14),
                default: Value::Int(1024),
            };
            axes.extend([params::size(), depth]);
        }
        axes
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let Point { setting, passed, heard } = self.point(params)?;
        let mut key = TollKey::of(self.crossing).kind(params.word("kind")?);
        if self.of_frames {
            key = key.size(params.int("size")?).depth(params.int("depth")? as u32);
        }
        let mut requires =
            vec![Requirement::NetworkNamespaces, Requirement::PacketSockets, Requirement::Cores(2)];
        if heard && setting.kind == Kind::AfXdp {
            requires.push(Requirement::AfXdp);
        }
        let sending = matches!(passed, Passed::Drained(_));
        let (capture, generator) = (Role::serving(CAPTURE), Role::serving(GENERATOR).core(1));
        let payer = if sending { GENERATOR } else { CAPTURE };
        Ok(Plan {
            operation: match passed {
                Passed::Frames(_) | Passed::Drained(_) => "packet",
                Passed::Nothing => "look",
                Passed::Ready | Passed::Asleep(_) => "wait",
                Passed::Nap => "nap",
            }
            .into(),
            roles: vec![Role { measured: !sending, ..capture }, Role { measured: sending, ..generator }],
            gates: vec![Gate::new(self.crossing.name(), payer, key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let Point { setting, passed, heard } = self.point(params)?;
        Ok(match role {
            CAPTURE => Box::new(Taking::new(setting, passed, heard)),
            _ => Box::new(Filler::new(setting, matches!(passed, Passed::Drained(_)))),
        })
    }
}
