//! The two ends of what goes through pipes and sockets: whether one asks and the other answers, or all of it
//! goes one way.

use std::collections::{BTreeMap, BTreeSet};

use tollway_watch::{Calls, FileKind, Thread};

use super::{TURNS, WAITED, is_read, waits_for_several};
use crate::bill::name_of;
use crate::route::moves_bytes;

/// The share of messages from which on a kind of channel is what they are.
const MOST: f64 = 0.5;

/// Kinds of channels, and what goes through them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Channels {
    /// Those through which ends mostly ask and answer.
    talks: BTreeSet<FileKind>,
    /// Whether pipes have both ends among the watched, and most goes through them one way.
    pub has_streams: bool,
}

/// One end: a thread for pipes, which go one way each; a process for sockets.
#[derive(Default)]
struct End {
    reads: f64,
    writes: f64,
    waits: f64,
    read: BTreeSet<u64>,
    written: BTreeSet<u64>,
}

impl Channels {
    pub fn of(threads: &[Thread]) -> Channels {
        use FileKind::{Pipe, Socket, Tcp, Udp, Unix};
        let mut channels = Channels::default();
        for kind in [Tcp, Udp, Unix, Socket, Pipe] {
            let ends = ends(threads, kind);
            let moved = |end: &&End| end.reads + end.writes;
            let all: f64 = ends.iter().map(|end| moved(&end)).sum();
            let talking: f64 = ends.iter().filter(|end| talks(end, &ends, kind)).map(|end| moved(&end)).sum();
            if all > 0.0 && talking > MOST * all {
                channels.talks.insert(kind);
            } else if kind == Pipe && all > 0.0 {
                let read_by = |pipe: &u64| ends.iter().any(|end| end.read.contains(pipe));
                let one_way = ends.iter().filter(|end| end.written.iter().any(read_by));
                let (one_way, written) = (
                    one_way.map(|end| end.writes).sum::<f64>(),
                    ends.iter().map(|end| end.writes).sum::<f64>(),
                );
                channels.has_streams = written > 0.0 && one_way > MOST * written;
            }
        }
        channels
    }

    /// Whether one end asks and the other answers on such files.
    pub fn talk_by(&self, file: FileKind) -> bool {
        self.talks.contains(&file)
    }
}

fn ends(threads: &[Thread], kind: FileKind) -> Vec<End> {
    let mut ends: BTreeMap<(u32, u32), End> = BTreeMap::new();
    for thread in threads {
        let number = if kind == FileKind::Pipe { thread.number } else { 0 };
        let end = ends.entry((thread.process, number)).or_default();
        for calls in &thread.calls {
            let call = name_of(calls);
            if calls.file.kind == kind || waits_for_several(call) {
                end.waits += waits(calls);
            }
            if calls.file.kind != kind || !moves_bytes(call) {
                continue;
            }
            let done = calls.done() as f64;
            let (moved, of) = match is_read(call) {
                true => (&mut end.reads, &mut end.read),
                false => (&mut end.writes, &mut end.written),
            };
            *moved += done;
            if calls.file.inode != 0 {
                of.insert(calls.file.inode);
            }
        }
    }
    ends.into_values().collect()
}

fn waits(calls: &Calls) -> f64 {
    let all = [calls.slept, calls.woke_here, calls.woke_across, calls.woke_busy];
    all.into_iter().flatten().sum::<u64>() as f64
}

/// Whether an end asks, or answers: it has about as many reads as writes, and waits. A filter, which hands on
/// what it reads, has as many as well; but who writes what it reads does not read what it writes.
fn talks(end: &End, ends: &[End], kind: FileKind) -> bool {
    let (reads, writes) = (end.reads, end.writes);
    if reads.min(writes) <= TURNS * reads.max(writes) || end.waits <= WAITED * (reads + writes) {
        return false;
    }
    if kind != FileKind::Pipe {
        return true;
    }
    let others = ends.iter().filter(|other| !std::ptr::eq(*other, end));
    let mut asks = others.filter(|other| !other.written.is_disjoint(&end.read)).peekable();
    asks.peek().is_none() || asks.any(|other| !other.read.is_disjoint(&end.written))
}
