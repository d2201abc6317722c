//! Which figures are held against which twins.

use crate::bar::Bar;

/// A twin and what it is told: the figure's processors, then anything else.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    /// Its file, without `.c`.
    pub program: &'static str,
    /// Which of the allowed processors it gets as arguments, by position.
    pub cpus: &'static [usize],
    /// Arguments after the processors.
    pub rest: &'static [&'static str],
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// The twin, give or take a share.
    Agrees {
        /// The twin.
        twin: Twin,
        /// The share, as a factor in both directions.
        within: f64,
    },
    /// So many times the twin at most.
    AtMostTimes {
        /// The twin.
        twin: Twin,
        /// The factor.
        factor: f64,
    },
    /// So many ticks at most, without a twin.
    Floor {
        /// Ticks per operation.
        ticks: f64,
    },
}

impl Kind {
    /// The bar.
    pub fn bar(&self) -> Bar {
        match *self {
            Kind::Agrees { within, .. } => Bar::Agrees(within),
            Kind::AtMostTimes { factor, .. } => Bar::AtMost(factor, "× twin"),
            Kind::Floor { ticks } => Bar::AtMost(ticks, "ticks"),
        }
    }
}

/// A value on an axis.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// A word.
    Word(&'static str),
    /// A whole number.
    Whole(u64),
}

/// A figure of Tollway: a point of a path.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What the table calls it.
    pub name: &'static str,
    /// The path.
    pub path: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// The axes that are not at their default.
    pub at: &'static [(&'static str, At)],
    /// What it is held against.
    pub kind: Kind,
}

const fn agrees(program: &'static str, cpus: &'static [usize], rest: &'static [&'static str]) -> Kind {
    Kind::Agrees { twin: Twin { program, cpus, rest }, within: 0.10 }
}

const fn crossing(
    name: &'static str,
    variant: &'static str,
    at: &'static [(&'static str, At)],
    kind: Kind,
) -> Figure {
    Figure { name, path: "crossings", variant, at, kind }
}

/// A kernel of STREAM on arrays of 64 MiB, held against the same in C as its own bar has it.
const fn stream(
    name: &'static str,
    at: &'static [(&'static str, At)],
    rest: &'static [&'static str],
) -> Figure {
    let kind = Kind::Agrees { twin: Twin { program: "stream", cpus: &[0], rest }, within: 0.05 };
    Figure { name, path: "machine", variant: "stream", at, kind }
}

const SAME: (&str, At) = ("placement", At::Word("same"));
const ACROSS: (&str, At) = ("placement", At::Word("across"));

/// Every figure, in the order of the table.
pub const FIGURES: &[Figure] = &[
    crossing("getppid", "getppid", &[], agrees("getppid", &[0], &[])),
    crossing("clock, vDSO", "clock-vdso", &[("kind", At::Word("monotonic"))], agrees("clock", &[0], &[])),
    crossing("pipe, same core", "pipe", &[SAME], agrees("pipe", &[0, 0], &[])),
    crossing("pipe, across", "pipe", &[ACROSS], agrees("pipe", &[0, 1], &[])),
    crossing("futex, same core", "futex", &[SAME], agrees("futex", &[0, 0], &[])),
    crossing("futex, across", "futex", &[ACROSS], agrees("futex", &[0, 1], &[])),
    crossing("cache line", "cache-line", &[], agrees("line", &[0, 1], &[])),
    crossing(
        "copy, 64 B, hot",
        "copy",
        &[("warmth", At::Word("hot")), ("size", At::Whole(64))],
        agrees("copy", &[0], &["64"]),
    ),
    crossing("port exit", "exit-port", &[], agrees("port", &[0], &[])),
    stream("stream: copy", &[("kernel", At::Word("copy")), ("mib", At::Whole(64))], &["copy", "64"]),
    stream("stream: triad", &[("kernel", At::Word("triad")), ("mib", At::Whole(64))], &["triad", "64"]),
    Figure {
        name: "load from 128 MiB",
        path: "machine",
        variant: "latency",
        at: &[("kib", At::Whole(131_072))],
        kind: agrees("chase", &[0], &["131072"]),
    },
    Figure {
        name: "floor, batched",
        path: "null",
        variant: "batched",
        at: &[],
        kind: Kind::Floor { ticks: 2.0 },
    },
    Figure {
        name: "floor, stamped",
        path: "null",
        variant: "stamped",
        at: &[],
        kind: Kind::AtMostTimes { twin: Twin { program: "pair", cpus: &[0], rest: &[] }, factor: 1.2 },
    },
];
