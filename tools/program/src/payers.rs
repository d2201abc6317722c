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
    let (mut named, mut others) = (Vec::new(), BTreeMap::<FileKind, (u64, f64)>::new());
    for (file, ns) in by_file.into_iter().filter(|(_, ns)| *ns > 0.0) {
        match observed.names.of(&file) {
            Some(name) => named.push(Payer { name: format!("{} {name}", word(file.kind)), ns }),
            None => {
                let (many, sum) = others.entry(file.kind).or_default();
                // One without a number stands for several.
                *many += if file.inode == 0 { 2 } else { 1 };
                *sum += ns;
            }
        }
    }
    // Where files have names and none is known, the others alone say nothing.
    let are_known = !named.is_empty() || !others.keys().all(|kind| has_name(*kind));
    let others = others.into_iter().filter(|_| are_known);
    named.extend(others.map(|(kind, (many, ns))| Payer { name: unnamed(kind, many), ns }));
    sorted(named)
}

/// Whether each such file has a name, at least when it is opened.
fn has_name(kind: FileKind) -> bool {
    matches!(kind, FileKind::Regular | FileKind::Folder)
}

/// What files of a kind are called that have no names, or none that is known.
fn unnamed(kind: FileKind, many: u64) -> String {
    let what = word(kind);
    match kind {
        FileKind::Null | FileKind::Zero | FileKind::Anonymous => what.into(),
        _ if many == 1 && has_name(kind) => format!("a {what} whose name is not known"),
        _ if has_name(kind) => format!("{what}s whose names are not known"),
        FileKind::Pipe | FileKind::Unix | FileKind::Tcp | FileKind::Udp | FileKind::Socket if many > 1 => {
            format!("{what}, {many} of them without a name")
        }
        _ => format!("{what} without a name"),
    }
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
