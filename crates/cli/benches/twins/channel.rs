//! The bars of the channel: its round trips beside a bare cache line, what the kernel offers and other people's channels, and plain
//! synchronous requests beside plain C.
//!
//! Every trial is two processes on two processors (or two threads, where a peer has no processes): ours are the channel's example
//! `round_trips`. Each looks at every reply.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_core::Requirement;
use tollway_host::requirement::check;
use tollway_stats::Interval;

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict, number};
use crate::figures::Twin;
use crate::only::Only;
use crate::turns::{in_turns, ratio};
use crate::twin::Twins;

/// What was built beside this benchmark.
pub struct Channel<'a> {
    /// The channel's example `round_trips`.
    pub example: &'a Path,
    /// The folder with the peers: `release/channel-threads` and `release/channel-iceoryx`.
    pub peers: &'a Path,
    /// The processors that may be used.
    pub cpus: &'a [u32],
}

/// Round trips of a trial: of ours and of the peers that poll, and of those that sleep.
const TRIPS: &str = "100000";
const FEW: &str = "20000";

/// On two processors, and both ends on one.
const ACROSS: &[usize] = &[0, 1];
const SAME: &[usize] = &[0, 0];

/// What ours is held against.
#[derive(Clone, Copy)]
enum Peer {
    /// A plain C program.
    C(&'static str, &'static [usize]),
    /// Another program: its file and its words, up to the processors.
    Rust(&'static str, [&'static str; 3]),
}

impl Peer {
    /// What it takes that not every kernel has, or allows.
    fn needs(self) -> &'static [Requirement] {
        match self {
            Peer::C("queue", _) => &[Requirement::PosixQueues],
            Peer::C("uring", _) => &[Requirement::IoUring],
            _ => &[],
        }
    }
}

/// Ours and a peer.
struct Contest {
    name: &'static str,
    /// Words of the example.
    ours: &'static [&'static str],
    on: &'static [usize],
    peer: Peer,
    bar: Bar,
}

const fn contest(name: &'static str, ours: &'static [&'static str], peer: Peer, bar: Bar) -> Contest {
    Contest { name, ours, on: ACROSS, peer, bar }
}

const RING: &[&str] = &["ring", "--trips", TRIPS];
const DEEP: &[&str] = &["ring", "--depth", "64", "--trips", TRIPS];

/// Ten times better than the peer, twice, and one and a half times.
const TEN_TIMES: Bar = Bar::AtMost(0.1, "× peer");
const TWICE: Bar = Bar::AtMost(0.5, "× peer");
const BY_HALF: Bar = Bar::AtMost(0.667, "× peer");

const THREADS: &str = "channel-threads";
const ICEORYX: &str = "channel-iceoryx";

const CONTESTS: &[Contest] = &[
    contest("channel: ring / cache line", RING, Peer::C("line", ACROSS), Bar::AtMost(1.3, "× twin")),
    contest(
        "channel: futures / cache line",
        &["futures", "--trips", TRIPS],
        Peer::C("line", ACROSS),
        Bar::AtMost(1.8, "× twin"),
    ),
    contest("channel: ring / pipe", RING, Peer::C("pipe", ACROSS), TEN_TIMES),
    contest("channel: ring / Unix socket", RING, Peer::C("socket", ACROSS), TEN_TIMES),
    contest("channel: ring / futex", RING, Peer::C("futex", ACROSS), TEN_TIMES),
    contest("channel: ring / eventfd", RING, Peer::C("eventfd", ACROSS), TEN_TIMES),
    contest("channel: ring / POSIX queue", RING, Peer::C("queue", ACROSS), TEN_TIMES),
    contest("channel: ring / io_uring", RING, Peer::C("uring", ACROSS), TEN_TIMES),
    contest(
        "channel: ring / iceoryx2 topics",
        RING,
        Peer::Rust(ICEORYX, ["publish-subscribe", "1", FEW]),
        TWICE,
    ),
    contest(
        "channel: ring / iceoryx2 requests",
        RING,
        Peer::Rust(ICEORYX, ["request-response", "1", FEW]),
        TWICE,
    ),
    contest("channel: 64 deep / rtrb", DEEP, Peer::Rust(THREADS, ["rtrb", "64", TRIPS]), BY_HALF),
    contest("channel: 64 deep / crossbeam", DEEP, Peer::Rust(THREADS, ["crossbeam", "64", TRIPS]), BY_HALF),
    contest("channel: 64 deep / tokio", DEEP, Peer::Rust(THREADS, ["tokio", "64", FEW]), BY_HALF),
    contest(
        "channel: 64 deep / iceoryx2 topics",
        DEEP,
        Peer::Rust(ICEORYX, ["publish-subscribe", "64", FEW]),
        TWICE,
    ),
    contest(
        "channel: 64 deep / iceoryx2 requests",
        DEEP,
        Peer::Rust(ICEORYX, ["request-response", "64", FEW]),
        TWICE,
    ),
    contest("channel: idle, woken / futex", &["idle"], Peer::C("wake", ACROSS), Bar::AtMost(1.2, "× twin")),
    contest(
        "channel: slow path, across",
        &["slow-path", "--trips", FEW],
        Peer::C("slow_path", ACROSS),
        Bar::Agrees(0.10),
    ),
    Contest {
        name: "channel: slow path, same core",
        ours: &["slow-path", "--trips", FEW],
        on: SAME,
        peer: Peer::C("slow_path", SAME),
        bar: Bar::Agrees(0.10),
    },
    contest(
        "channel: fast path, across",
        &["fast-path", "--trips", FEW],
        Peer::C("fast_path", ACROSS),
        Bar::Agrees(0.10),
    ),
    Contest {
        name: "channel: fast path, same core",
        ours: &["fast-path", "--trips", FEW],
        on: SAME,
        peer: Peer::C("fast_path", SAME),
        bar: Bar::Agrees(0.10),
    },
];

/// A figure of ours that is held against a number, or only told.
struct Alone {
    name: &'static str,
    /// Words of the example, and the line of its that is looked at.
    ours: &'static [&'static str],
    line: &'static str,
    unit: &'static str,
    bar: Option<Bar>,
}

const ALONE: &[Alone] = &[
    // A round trip has two messages, each of which a side sends or takes.
    Alone {
        name: "channel: 64 deep, client's side alone",
        ours: &["sides", "--depth", "64", "--trips", TRIPS],
        line: "client",
        unit: "ticks a round trip",
        bar: None,
    },
    Alone {
        name: "channel: 64 deep, server's side alone",
        ours: &["sides", "--depth", "64", "--trips", TRIPS],
        line: "server",
        unit: "ticks a round trip",
        bar: None,
    },
    Alone {
        name: "channel: notices a message, 64 deep",
        ours: DEEP,
        line: "notices",
        unit: "",
        bar: Some(Bar::AtMost(0.01, "")),
    },
    // None, but for those while both ends begin and end.
    Alone {
        name: "channel: notices a message, loaded server",
        ours: &["ring", "--depth", "64", "--work", "2000", "--trips", TRIPS],
        line: "notices",
        unit: "",
        bar: Some(Bar::AtMost(0.0001, "")),
    },
    // One that works for longer than its client looks: tasks wake that once for all that they found, which is 1/128, and `serve` for each reply.
    Alone {
        name: "channel: notices a message, server busy for long, tasks",
        ours: &["futures", "--depth", "64", "--work", "200000", "--trips", "4000"],
        line: "notices",
        unit: "",
        bar: None,
    },
    Alone {
        name: "channel: notices a message, server busy for long, serve",
        ours: &["ring", "--depth", "64", "--work", "200000", "--trips", "4000"],
        line: "notices",
        unit: "",
        bar: None,
    },
    Alone {
        name: "channel: idle for 100 ms, processor time",
        ours: &["idle"],
        line: "used",
        unit: "µs",
        bar: Some(Bar::AtMost(1000.0, "µs")),
    },
];

impl Channel<'_> {
    /// Measures those of which one of `only` is in the name, or all.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Result<Vec<Row>> {
        let contests: Vec<&Contest> = CONTESTS.iter().filter(|contest| only.wants(contest.name)).collect();
        let alone = ALONE.iter().filter(|alone| only.wants(alone.name));
        let programs = contests.iter().filter_map(|contest| match contest.peer {
            Peer::C(program, _) => Some(program),
            Peer::Rust(..) => None,
        });
        let twins = Twins::compile_channel(programs)?;
        let mut rows: Vec<Row> =
            contests.into_iter().map(|contest| self.beside(contest, &twins, rounds, seed)).collect();
        rows.extend(alone.map(|alone| self.alone(alone, rounds)));
        Ok(rows)
    }

    fn beside(&self, contest: &Contest, twins: &Twins, rounds: u32, seed: u64) -> Row {
        row(contest.name, Some(contest.bar), contest.peer.needs(), || {
            let pairs = in_turns(rounds, &mut StdRng::seed_from_u64(seed), |is_ours| {
                if is_ours {
                    return self.ours(contest.ours, contest.on, "median");
                }
                match contest.peer {
                    Peer::C(program, cpus) => twins.run(&Twin { program, cpus, rest: &[] }, self.cpus),
                    Peer::Rust(program, words) => {
                        let program = self.peers.join("release").join(program);
                        let mut words: Vec<String> = words.iter().map(|word| (*word).into()).collect();
                        words.extend(self.cores(ACROSS)?.map(|cpu| cpu.to_string()));
                        said(&program, &words, "median")
                    }
                }
            })?;
            ratio(&pairs, number)
        })
    }

    fn alone(&self, alone: &Alone, rounds: u32) -> Row {
        row(alone.name, alone.bar, &[], || {
            let figures: Result<Vec<f64>> =
                (0..rounds).map(|_| self.ours(alone.ours, ACROSS, alone.line)).collect();
            let measured = tollway_stats::figure(&[figures?], CONFIDENCE)?;
            let text =
                format!("{:.5} [{:.5}, {:.5}] {}", measured.estimate, measured.lo, measured.hi, alone.unit);
            Ok((Row { measured: text, ..Row::default() }, measured))
        })
    }

    /// One line of the example's, of one trial.
    fn ours(&self, words: &[&str], on: &[usize], line: &str) -> Result<f64> {
        let [here, there] = self.cores(on)?;
        let mut words: Vec<String> = words.iter().map(|word| (*word).into()).collect();
        words.extend(["--cores".into(), format!("{here},{there}")]);
        said(self.example, &words, line)
    }

    fn cores(&self, on: &[usize]) -> Result<[u32; 2]> {
        let cpu = |at: usize| self.cpus.get(on[at]).copied().context("this needs another processor");
        Ok([cpu(0)?, cpu(1)?])
    }
}

/// A figure held against its bar, or only told; two processors, and what else it needs, are asked for first.
fn row(
    name: &str,
    bar: Option<Bar>,
    needs: &[Requirement],
    measure: impl FnOnce() -> Result<(Row, Interval)>,
) -> Row {
    let missing = [Requirement::Cores(2)].iter().chain(needs).find_map(|need| check(need).err());
    let (row, verdict) = match missing {
        Some(missing) => (Row::default(), Verdict::Skipped(missing.to_string())),
        None => match measure() {
            Ok((row, measured)) => (row, bar.map_or(Verdict::Holds, |bar| bar.judge(&measured))),
            Err(error) => (Row::default(), Verdict::Broken(format!("{error:#}"))),
        },
    };
    let bar = bar.map_or("reported".into(), |bar| bar.to_string());
    Row { name: name.into(), bar, verdict, ..row }
}

/// The number on the line of a program that begins with that word.
fn said(program: &Path, words: &[String], line: &str) -> Result<f64> {
    let output = Command::new(program).args(words).output();
    let output =
        output.with_context(|| format!("starting {}; `scripts/bench` builds it", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let figure = said.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
    match figure {
        Some(figure) if output.status.success() => Ok(figure),
        _ => bail!("{words:?} failed: {said}{}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}
