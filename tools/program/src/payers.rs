//! Who pays most: threads and files.

use std::collections::BTreeMap;

use tollway_watch::{File, FileKind};

use crate::bill::{price_of, worth_of};
use crate::observed::Observed;
use crate::prices::Prices;
use crate::rhythm::Rhythm;

/// A payer, and what it pays in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Payer {
    /// What it is called.
    pub name: String,
    /// Nanoseconds.
    pub ns: f64,
}

/// Threads, the dearest first.
pub(crate) fn threads(observed: &Observed, prices: &Prices<'_>) -> Vec<Payer> {
    let threads = observed.counts.in_all();
    let payers = threads.iter().map(|thread| Payer {
        name: match thread.number {
            0 => format!("{} (ended ones of process {})", thread.name, thread.process),
            number => format!("{} ({number})", thread.name),
        },
        ns: match thread.ran.filter(|_| thread.is_kernel_worker) {
            // It makes no calls: all that it ran is the kernel's time.
            Some(ran) => ran.as_secs_f64() * 1e9,
            None => worth_of(thread, &threads, prices),
        },
    });
    sorted(payers.collect())
}

/// Files, the dearest first: what the calls on them cost by themselves.
pub(crate) fn files(observed: &Observed, prices: &Prices<'_>) -> Vec<Payer> {
    let mut by_file: BTreeMap<File, f64> = BTreeMap::new();
    let threads = observed.counts.in_all();
    for thread in &threads {
        let rhythm = Rhythm::of(thread, &threads);
        for calls in thread.calls.iter().filter(|calls| calls.file.kind != FileKind::None) {
            let ns = price_of(calls, &rhythm, prices).map_or(0.0, |price| price.ns);
            *by_file.entry(calls.file).or_default() += ns;
        }
    }
    let payers = by_file.into_iter().map(|(file, ns)| {
        let name = match (observed.names.of(&file), file.inode) {
            (Some(name), _) => format!("{} {name}", word(file.kind)),
            (None, 0) => format!("other files of this kind: {}", word(file.kind)),
            (None, _) if file.kind == FileKind::Anonymous => word(file.kind).into(),
            // These have names only if somebody gave them one, or connected them.
            (None, inode) if !file.kind.is_of_a_file_system() => {
                format!("{} without a name (inode {inode})", word(file.kind))
            }
            (None, inode) => {
                format!("{} that was closed before its name was asked for (inode {inode})", word(file.kind))
            }
        };
        Payer { name, ns }
    });
    sorted(payers.collect())
}

fn sorted(mut payers: Vec<Payer>) -> Vec<Payer> {
    payers.retain(|payer| payer.ns > 0.0);
    payers.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    payers
}

/// A kind of file, as a person reads it.
pub(crate) fn word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::None => "",
        FileKind::Pipe => "pipe",
        FileKind::Unix => "Unix socket",
        FileKind::Tcp => "TCP",
        FileKind::Udp => "UDP",
        FileKind::Socket => "socket",
        FileKind::Regular => "file",
        FileKind::Folder => "folder",
        FileKind::Null => "/dev/null",
        FileKind::Zero => "/dev/zero",
        FileKind::Terminal => "terminal",
        FileKind::Character => "device",
        FileKind::Block => "disk",
        FileKind::Anonymous => "eventfd or the like",
    }
}
