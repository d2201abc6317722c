//! Of how many names the paths are by which a program looks for files: the kernel looks for each in the folder of the one before, so a
//! call costs more the more its path has.

use std::collections::BTreeMap;

use tollway_watch::{Calls, FileKind, Paths, Thread, numbers};

/// Names of a path, in the mean, and by how many that may be off: half of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Names {
    /// The mean.
    pub mean: f64,
    /// By how many it may be off.
    pub off_by: f64,
}

/// Names of the paths by which such calls look for files; `None` where none of them was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Walks {
    /// Of those that found what they looked for.
    pub done: Option<Names>,
    /// Of those that failed.
    pub failed: Option<Names>,
}

/// Names of all paths that were looked at, by the calls' number and what they are made on: of one thread alone they would be few.
#[derive(Debug, Default)]
pub(crate) struct AllWalks(BTreeMap<(u32, FileKind), Sums>);

/// Of calls that were done, and of those that failed: how many, and the paths of those that were looked at.
#[derive(Debug, Default)]
struct Sums([(f64, Paths); 2]);

impl AllWalks {
    pub(crate) fn of(all: &[Thread]) -> AllWalks {
        let mut sums: BTreeMap<_, Sums> = BTreeMap::new();
        for calls in all.iter().flat_map(|thread| &thread.calls).filter(|calls| looks_for_a_file(calls)) {
            let failed = calls.failed.unwrap_or(0).min(calls.count);
            let of_all = [(calls.count - failed, calls.paths), (failed, calls.paths_failed)];
            let Sums(sums) = sums.entry((calls.number, calls.file.kind)).or_default();
            for ((count, paths), (more, looked_at)) in sums.iter_mut().zip(of_all) {
                *count += more as f64;
                *paths = *paths + looked_at.unwrap_or_default();
            }
        }
        AllWalks(sums)
    }

    /// Of calls like these; `None` of calls that look for no file, or for two.
    pub(crate) fn like(&self, calls: &Calls) -> Option<Walks> {
        let Sums([done, failed]) = self.0.get(&(calls.number, calls.file.kind))?;
        Some(Walks { done: names(*done), failed: names(*failed) })
    }
}

/// A descriptor of what is no folder is itself what is asked about, as glibc makes fstat of it.
fn looks_for_a_file(calls: &Calls) -> bool {
    let from = calls.file.kind;
    numbers::path(calls.number).is_some()
        && matches!(from, FileKind::None | FileKind::Created | FileKind::Folder)
}

/// The mean number of names in the paths of `count` calls, from the paths that were looked at. Twice the standard deviation of the paths of a kind of calls is their mean, or less: it was 0 to
/// 1.25 times that, and 0.53 in the median, of the 23 kinds that git, Python, find, gcc and ls made (METHODOLOGY, "Names").
fn names((count, seen): (f64, Paths)) -> Option<Names> {
    let paths = seen.paths as f64;
    let mean = (paths > 0.0).then(|| seen.names as f64 / paths)?;
    let off_by = if paths < count { mean / paths.sqrt() } else { 0.0 };
    Some(Names { mean, off_by })
}

#[cfg(test)]
mod tests {
    use tollway_watch::File;

    use super::*;

    fn calls(name: &str, kind: FileKind, count: u64, paths: Paths) -> Calls {
        let number = (0..500).find(|number| numbers::name(*number) == Some(name)).unwrap();
        let file = File { kind, ..File::default() };
        Calls { number, file, count, failed: Some(0), paths: Some(paths), ..Calls::default() }
    }

    #[test]
    fn paths_of_all_threads_tell_of_each() {
        let seen = |paths, names| Paths { paths, names };
        let one = calls("openat", FileKind::None, 160, seen(9, 30));
        let other = calls("openat", FileKind::None, 40, seen(0, 0));
        let in_folder = calls("openat", FileKind::Folder, 50, seen(50, 50));
        let missing = Calls {
            failed: Some(10),
            paths: None,
            paths_failed: Some(seen(1, 7)),
            ..calls("openat", FileKind::None, 10, seen(0, 0))
        };
        let threads = [vec![one, in_folder.clone()], vec![other.clone(), missing]];
        let threads = threads.map(|calls| Thread { calls, ..Thread::default() });
        let walks = AllWalks::of(&threads);
        let of_one = walks.like(&other).unwrap();
        assert_eq!(of_one.done, Some(Names { mean: 30.0 / 9.0, off_by: 10.0 / 9.0 }));
        assert_eq!(of_one.failed, Some(Names { mean: 7.0, off_by: 7.0 }));
        // All of these were looked at, and none failed.
        let exact = Names { mean: 1.0, off_by: 0.0 };
        assert_eq!(walks.like(&in_folder), Some(Walks { done: Some(exact), failed: None }));
        // What is asked of a descriptor, by two paths, or by none.
        for (name, kind) in
            [("newfstatat", FileKind::Regular), ("rename", FileKind::None), ("read", FileKind::Regular)]
        {
            let other = calls(name, kind, 10, seen(0, 0));
            let threads = [Thread { calls: vec![other.clone()], ..Thread::default() }];
            assert_eq!(AllWalks::of(&threads).like(&other), None, "{name}");
        }
    }
}
