//! The axes of the path's variants, and what their words mean.

use tollway_core::{Axis, Domain, Error, Params, Result, Value};

use crate::engine::in_process::{ClockKind, Design, Locking, TransferBy};
use crate::filters::{self, StudyFilter, Traffic};

/// How a filter is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    Interpreter,
    Jit,
}

/// A word of an axis and what it stands for.
type Words<T> = [(&'static str, T)];

pub(crate) const MACHINES: &Words<Machine> = &[("interpreter", Machine::Interpreter), ("jit", Machine::Jit)];
pub(crate) const CLOCKS: &Words<ClockKind> =
    &[("system-call", ClockKind::SystemCall), ("vdso", ClockKind::Vdso), ("tsc", ClockKind::Tsc)];
pub(crate) const TRANSFERS: &Words<TransferBy> =
    &[("driver", TransferBy::Driver), ("plain", TransferBy::Copy)];
pub(crate) const LOCKS: &Words<Locking> = &[("locked", Locking::PerFrame), ("alone", Locking::None)];
/// Sizes of the packet buffer, from in a cache to far beyond.
pub(crate) const BUFFERS: &Words<usize> = &[
    ("64KiB", 64 << 10),
    ("256KiB", 256 << 10),
    ("1MiB", 1 << 20),
    ("4MiB", 4 << 20),
    ("16MiB", 16 << 20),
    ("64MiB", 64 << 20),
];
pub(crate) const BUFFER_NAMES: &[&str] = &["64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB"];
pub(crate) const TRAFFICS: &Words<Traffic> = &[("uniform", Traffic::Uniform), ("mixed", Traffic::Mixed)];

/// What a word stands for.
pub(crate) fn meant<T: Copy>(words: &Words<T>, word: &str) -> Result<T> {
    words.iter().find(|(w, _)| *w == word).map(|(_, meant)| *meant).ok_or_else(|| Error::Input {
        place: format!("`{word}`"),
        reason: "it is no word of that axis".into(),
        remedy: format!("there are: {}", words.iter().map(|(w, _)| *w).collect::<Vec<_>>().join(", ")),
    })
}

/// The word for it.
pub(crate) fn word<T: PartialEq>(words: &'static Words<T>, meant: &T) -> &'static str {
    words.iter().find(|(_, m)| m == meant).map_or("", |(w, _)| *w)
}

/// Which filter.
pub(crate) fn filter() -> Axis {
    Axis {
        name: "filter",
        about: "the study's filter: is it IP (3 instructions executed), five TCP ports (21), ten addresses and ten ports (52)",
        domain: Domain::Words(filters::NAMES),
        default: Value::Text("ports".into()),
    }
}

/// How frames differ.
pub(crate) fn traffic() -> Axis {
    Axis {
        name: "traffic",
        about: "whether all frames take the same way through the filter, or each its own at random",
        domain: Domain::Words(&["uniform", "mixed"]),
        default: Value::Text("uniform".into()),
    }
}

/// Bytes of a frame.
pub(crate) fn size() -> Axis {
    Axis {
        name: "size",
        about: "bytes of a frame, without its check sequence",
        domain: Domain::Whole(60, 1514),
        default: Value::Int(60),
    }
}

/// Bytes kept of a frame.
pub(crate) fn snapshot() -> Axis {
    Axis {
        name: "snapshot",
        about: "bytes kept of a frame at the most",
        domain: Domain::Whole(1, 262_144),
        default: Value::Int(262_144),
    }
}

/// Frames that pass a gate together.
pub(crate) fn group() -> Axis {
    Axis {
        name: "group",
        about: "frames that pass each gate together, as many as an interrupt brings; with 1 each frame passes all gates \
                before the next comes, and the processor overlaps the gates",
        domain: Domain::Whole(1, 256),
        default: Value::Int(50),
    }
}

/// Whether groups are announced.
pub(crate) fn interrupt() -> Axis {
    Axis {
        name: "interrupt",
        about: "whether a signal announces each group, as an interrupt does",
        domain: Domain::Words(&["none", "signal"]),
        default: Value::Text("none".into()),
    }
}

/// Bytes of a read.
pub(crate) fn batch() -> Axis {
    Axis {
        name: "batch",
        about: "bytes of a read at the most; with 0 each packet is read on its own",
        domain: Domain::Whole(0, 1 << 24),
        default: Value::Int(1 << 18),
    }
}

/// Bytes of the buffer.
pub(crate) fn buffer() -> Axis {
    Axis {
        name: "buffer",
        about: "the size of the packet buffer",
        domain: Domain::Words(BUFFER_NAMES),
        default: Value::Text("1MiB".into()),
    }
}

/// A delay that no gate owns.
pub(crate) fn planted() -> Axis {
    Axis {
        name: "planted",
        about: "cycles of a delay per frame that no gate owns, to see it unexplained",
        domain: Domain::Whole(0, 1_000_000),
        default: Value::Int(0),
    }
}

/// Samples of where the path is.
pub(crate) fn profile() -> Axis {
    Axis {
        name: Axis::PROFILE,
        about: "how often a second a timer's signal looks which gate the path is at; 0: never",
        domain: Domain::Whole(0, 20_000),
        default: Value::Int(0),
    }
}

/// A point of the whole path, and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) filter: &'static StudyFilter,
    pub(crate) traffic: Traffic,
    pub(crate) machine: Machine,
    pub(crate) design: Design,
    /// Bytes of a frame.
    pub(crate) size: usize,
    /// Whether a signal announces each group.
    pub(crate) interrupted: bool,
    /// Cycles of the delay per frame that no gate owns.
    pub(crate) planted: u32,
    /// Samples per second of where the path is.
    pub(crate) profile: u32,
}

impl Setting {
    /// What the axes of the whole path say; `machine` and the rest of the design are the variant's.
    pub(crate) fn of(params: &Params, machine: Machine, gates: GateDesign) -> Result<Setting> {
        let buffer = meant(BUFFERS, params.word("buffer")?)?;
        let setting = Setting {
            filter: StudyFilter::named(params.word("filter")?)?,
            traffic: meant(TRAFFICS, params.word("traffic")?)?,
            machine,
            design: Design {
                clock: gates.clock,
                transfer: gates.transfer,
                locking: gates.locking,
                group: params.int("group")? as u32,
                batch: if gates.batched { params.int("batch")? as usize } else { 0 },
                buffer,
                snapshot: params.int("snapshot")? as u32,
            },
            size: params.int("size")? as usize,
            interrupted: params.word("interrupt")? == "signal",
            planted: params.int("planted")? as u32,
            profile: params.int(Axis::PROFILE)? as u32,
        };
        let (group, room) = (setting.design.group as usize, setting.record());
        let batch = setting.design.batch;
        if batch > 0 && batch < group * room {
            return Err(Error::Input {
                place: format!("axis `batch` = {batch}"),
                reason: format!("a group of {group} packets of {room} bytes does not fit into a read"),
                remedy: format!("take at least {}, or 0 to read each packet on its own", group * room),
            });
        }
        if 2 * group * room > buffer {
            return Err(Error::Input {
                place: format!("axis `buffer` = {buffer}"),
                reason: format!("{group} packets of {room} bytes do not fit into half of it"),
                remedy: "take a larger buffer, a smaller group or a smaller snapshot".into(),
            });
        }
        Ok(setting)
    }

    /// Bytes kept of each frame.
    pub(crate) fn kept(&self) -> u32 {
        (self.size as u32).min(self.design.snapshot)
    }

    /// Bytes that a packet takes in the buffer.
    pub(crate) fn record(&self) -> usize {
        crate::engine::buffer::room_for(self.kept())
    }

    /// Packets of a read.
    pub(crate) fn packets_a_read(&self) -> u64 {
        self.design.packets_a_read(self.record()) as u64
    }
}

/// The gates in which variants differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GateDesign {
    pub(crate) clock: ClockKind,
    pub(crate) transfer: TransferBy,
    pub(crate) locking: Locking,
    pub(crate) batched: bool,
}
