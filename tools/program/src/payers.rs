//! Who pays most: threads and files.

use std::collections::BTreeMap;

use tollway_watch::{File, FileKind};

use crate::bill::{price_of, worth_of};
use crate::observed::Observed;
use crate::prices::Prices;
use crate::rhythm::{Rhythm, Together};

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
    let together = Together::of(&threads, observed.cost_of_counting() * 1e9);
    let payers = threads.iter().map(|thread| Payer {
        name: match thread.number {
            0 => format!("{} (ended ones of process {})", thread.name, thread.process),
            number => format!("{} ({number})", thread.name),
        },
        ns: match thread.ran.filter(|_| thread.is_kernel_worker) {
            // It makes no calls: all that it ran is the kernel's time.
            Some(ran) => ran.as_secs_f64() * 1e9,
            None => worth_of(thread, &together, prices),
        },
    });
    sorted(payers.collect())
}

/// Files, the dearest first: what the calls on them cost by themselves.
pub(crate) fn files(observed: &Observed, prices: &Prices<'_>) -> Vec<Payer> {
    let mut by_file: BTreeMap<File, f64> = BTreeMap::new();
    let threads = observed.counts.in_all();
    let together = Together::of(&threads, observed.cost_of_counting() * 1e9);
    for thread in &threads {
        let rhythm = Rhythm::of(thread, &together);
        for calls in thread.calls.iter().filter(|calls| calls.file.kind.is_open()) {
            let ns = price_of(calls, &rhythm, &together, prices).map_or(0.0, |price| price.ns);
            *by_file.entry(calls.file.opened()).or_default() += ns;
        }
    }
    let (mut named, mut others) = (Vec::new(), BTreeMap::<FileKind, (u64, f64)>::new());
    for (file, ns) in by_file.into_iter().filter(|(_, ns)| *ns > 0.0) {
        match observed.names.of(&file) {
            Some(name) if name == word(file.kind) => named.push(Payer { name: name.into(), ns }),
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
        FileKind::Created => "new file",
        FileKind::Pipe => "pipe",
        FileKind::Unix => "Unix socket",
        FileKind::Tcp => "TCP",
        FileKind::Udp => "UDP",
        FileKind::Socket => "socket",
        FileKind::Regular => "file",
        FileKind::Folder => "folder",
        FileKind::FolderItself => "folder itself",
        FileKind::Null => "/dev/null",
        FileKind::Zero => "/dev/zero",
        FileKind::Terminal => "terminal",
        FileKind::Character => "device",
        FileKind::Block => "disk",
        FileKind::Anonymous => "eventfd or the like",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollway_core::{Toll, TollKey, TollSource};
    use tollway_watch::{Calls, Counts, Thread};

    use super::*;
    use crate::made_up;
    use crate::names::Names;

    /// All there is costs 100 ns, and nothing of it in user mode.
    struct Tolls;

    impl TollSource for Tolls {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            let is_less = matches!(key.kind.as_deref(), Some("user-side" | "shared-descriptors"));
            (!is_less).then(|| made_up::toll(key, 100.0, 0.0))
        }
    }

    fn of(files: &[(FileKind, u64, u64)], known: &[(u64, &str)]) -> Vec<String> {
        let file = |kind: FileKind, inode: u64| File { kind, inode, device: 0 };
        let call = |(kind, inode, count): &(FileKind, u64, u64)| Calls {
            number: 3,
            count: *count,
            file: file(*kind, *inode),
            ..Calls::default()
        };
        let calls = files.iter().map(call).collect();
        let mut names = Names::default();
        names.learn(
            known.iter().map(|(inode, name)| (file(FileKind::Regular, *inode), name.to_string())).collect(),
        );
        let thread = Thread { calls, ran: Some(Duration::from_secs(1)), ..Thread::default() };
        let counts = Counts { threads: vec![thread], ..Counts::default() };
        let observed = Observed { names, ..made_up::observed(counts) };
        super::files(&observed, &Prices(&Tolls)).into_iter().map(|payer| payer.name).collect()
    }

    #[test]
    fn files_without_names_stand_together() {
        let files = [
            (FileKind::Regular, 1, 50),
            (FileKind::Regular, 2, 40),
            (FileKind::Regular, 3, 40),
            (FileKind::Pipe, 4, 30),
            (FileKind::Pipe, 5, 30),
            (FileKind::Folder, 6, 20),
            (FileKind::Null, 7, 10),
        ];
        let expected = [
            "files whose names are not known",
            "pipe, 2 of them without a name",
            "file /dear",
            "a folder whose name is not known",
            "/dev/null",
        ];
        assert_eq!(of(&files, &[(1, "/dear"), (7, "/dev/null")]), expected);
    }

    /// Five lines of unknown files once stood where the dearest are named.
    #[test]
    fn where_no_name_is_known_there_is_no_list_of_files() {
        assert!(of(&[(FileKind::Regular, 1, 50), (FileKind::Folder, 2, 50)], &[]).is_empty());
        assert_eq!(of(&[(FileKind::Tcp, 1, 50)], &[]), ["TCP without a name"]);
    }
}
