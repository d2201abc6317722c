//! What control groups of either version say of a quota of processor time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, garbled, line};

const WHAT: &str = "throttling by a control group (cpu.stat)";

/// What quotas held back since the groups were made: this process's group and all above it together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Periods in which a quota was used up.
    pub periods: u64,
    /// For how long processors were held back, in µs, over all of them.
    pub held_us: u64,
}

/// Where the groups of processor time are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// Which group stands at the mount point.
    root: PathBuf,
    at: PathBuf,
    /// Of the first version, or of the second.
    first: bool,
}

/// The groups that this process is in, its own first; the words that the version has for them.
#[derive(Debug, PartialEq, Eq)]
struct Chain {
    folders: Vec<PathBuf>,
    first: bool,
}

/// What the versions call the file of a quota.
const QUOTA_OF_FIRST: &str = "cpu.cfs_quota_us";
const QUOTA_OF_SECOND: &str = "cpu.max";

impl Chain {
    fn quota_file(&self) -> &'static str {
        if self.first { QUOTA_OF_FIRST } else { QUOTA_OF_SECOND }
    }
}

/// What quotas held back, in this process's group and all above it that can be seen.
///
/// # Errors
/// [`Missing`] where no such group can be seen, or none says so.
pub fn quota() -> Found<Quota> {
    quota_of(&chain()?)
}

/// The processors' worth of time that the tightest quota allows; `None` where none is set.
///
/// # Errors
/// As of [`quota`].
pub fn ceiling() -> Found<Option<f64>> {
    Ok(ceiling_of(&chain()?))
}

/// The file in which this process's control groups have their quota, by their version.
pub fn quota_file() -> &'static str {
    chain().map_or(QUOTA_OF_SECOND, |chain| chain.quota_file())
}

fn chain() -> Found<Chain> {
    static MOUNTS: OnceLock<Vec<Mount>> = OnceLock::new();
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let mounts = MOUNTS.get_or_init(|| mounts(&read("/proc/self/mountinfo")));
    // Read anew: a process can be put into another group.
    find(mounts, &read("/proc/self/cgroup")).ok_or_else(|| {
        Missing::new(WHAT, "no control group of processor time is mounted", "mount cgroup2 at /sys/fs/cgroup")
    })
}

/// The mounts of groups of processor time, from the text of /proc/self/mountinfo (proc_pid_mountinfo(5)).
fn mounts(mountinfo: &str) -> Vec<Mount> {
    let of = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, at) = (plain(before.next()?), plain(before.next()?));
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        match kind {
            "cgroup2" => Some(Mount { root, at, first: false }),
            "cgroup" if options.split(',').any(|o| o == "cpu") => Some(Mount { root, at, first: true }),
            _ => None,
        }
    };
    mountinfo.lines().filter_map(of).collect()
}

/// A path as the kernel writes it: blanks and backslashes as three octal digits.
fn plain(written: &str) -> PathBuf {
    let mut text = written.to_owned();
    for (escape, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        text = text.replace(escape, plain);
    }
    text.into()
}

/// The groups of a process whose /proc/PID/cgroup has that text. Where the first version has processor time, the second
/// does not.
fn find(mounts: &[Mount], cgroup: &str) -> Option<Chain> {
    let group = |wanted: &dyn Fn(&str, &str) -> bool| {
        cgroup.lines().find_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            wanted(number, controllers).then(|| PathBuf::from(path))
        })
    };
    let first = group(&|_, controllers| controllers.split(',').any(|c| c == "cpu"));
    let is_first = first.is_some();
    let path = first.or_else(|| group(&|number, controllers| number == "0" && controllers.is_empty()))?;
    let mount = mounts.iter().find(|mount| mount.first == is_first)?;
    let below = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(Path::new(""));
    let own = mount.at.join(below);
    // In a container the path may be the host's, which is not below the mount.
    let own = if own.is_dir() { own } else { mount.at.clone() };
    let folders =
        own.ancestors().take_while(|folder| folder.starts_with(&mount.at)).map(PathBuf::from).collect();
    Some(Chain { folders, first: is_first })
}

fn quota_of(chain: &Chain) -> Found<Quota> {
    let mut all: Option<Quota> = None;
    for folder in &chain.folders {
        let Ok(text) = fs::read_to_string(folder.join("cpu.stat")) else { continue };
        if let Some(one) = parse(&text).map_err(|detail| garbled(WHAT, detail))? {
            let sum = all.get_or_insert_default();
            sum.periods = sum.periods.saturating_add(one.periods);
            sum.held_us = sum.held_us.saturating_add(one.held_us);
        }
    }
    // Of the second version the topmost group alone has no events, and no quota either.
    let topmost = chain.folders.last().is_some_and(|top| !chain.first && !top.join("cgroup.events").exists());
    match all {
        Some(quota) => Ok(quota),
        None if topmost => Ok(Quota::default()),
        None => Err(Missing::new(
            WHAT,
            "no group that can be seen counts it",
            match chain.first {
                true => "a kernel with CONFIG_CFS_BANDWIDTH",
                false => "switch the controller `cpu` on for this group (cgroup.subtree_control)",
            },
        )),
    }
}

/// The text of cpu.stat of either version; `None` where it says nothing of quotas.
fn parse(text: &str) -> Result<Option<Quota>, String> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
        Some(line.trim().parse::<u64>().map_err(|_| format!("`{key} {line}`")))
    };
    let Some(periods) = value("nr_throttled").transpose()? else { return Ok(None) };
    let held = match value("throttled_usec").transpose()? {
        Some(us) => Some(us),
        None => value("throttled_time").transpose()?.map(|ns| ns / 1000),
    };
    let held_us = held.ok_or_else(|| "it counts periods and no time".to_string())?;
    Ok(Some(Quota { periods, held_us }))
}

fn ceiling_of(chain: &Chain) -> Option<f64> {
    let of = |folder: &PathBuf| {
        let (quota, period) = if chain.first {
            (line(folder.join(QUOTA_OF_FIRST))?, line(folder.join("cpu.cfs_period_us"))?)
        } else {
            let text = line(folder.join(QUOTA_OF_SECOND))?;
            let (quota, period) = text.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        };
        // `max` and -1 are none.
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    };
    chain.folders.iter().filter_map(of).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: &str = "usage_usec 8712345\nuser_usec 8000000\nsystem_usec 712345\nnr_periods 120\nnr_throttled 37\n\
                          throttled_usec 1851234\nnr_bursts 0\nburst_usec 0\n";
    const FIRST: &str =
        "nr_periods 120\nnr_throttled 37\nthrottled_time 1851234567\nnr_bursts 0\nburst_time 0\n";
    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
                          32 31 0:29 / /sys/fs/cgroup/cpu\\040time rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
                          41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn both_versions_say_the_same() {
        assert_eq!(parse(SECOND), Ok(Some(Quota { periods: 37, held_us: 1_851_234 })));
        assert_eq!(parse(FIRST), Ok(Some(Quota { periods: 37, held_us: 1_851_234 })));
        assert_eq!(parse("usage_usec 8\nuser_usec 8\nsystem_usec 0\n"), Ok(None));
        assert!(parse("nr_throttled many\n").unwrap_err().contains("many"));
        assert!(parse("nr_throttled 3\n").is_err());
    }

    #[test]
    fn the_first_version_is_read_where_it_has_processor_time() {
        let mounts = mounts(HYBRID);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].at, PathBuf::from("/sys/fs/cgroup/cpu time"));
        let chain = find(&mounts, "3:cpuset:/x\n1:cpu,cpuacct:/a/b\n0::/y\n").unwrap();
        // There is no such folder here, so that it is the mount itself.
        assert_eq!((chain.first, chain.folders), (true, vec![PathBuf::from("/sys/fs/cgroup/cpu time")]));
        assert!(!find(&mounts, "0::/no/such\n").unwrap().first);
        assert_eq!(find(&mounts, "5:devices:/\n"), None);
        assert_eq!(find(&[], "0::/\n"), None);
    }

    /// A tree of the second version in which the upper group is held back more than the lower one.
    fn tree(top_has_events: bool) -> (tempfile::TempDir, Chain) {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("a/b");
        fs::create_dir_all(&own).unwrap();
        if top_has_events {
            fs::write(root.path().join("cgroup.events"), "populated 1\n").unwrap();
        }
        let mount = Mount { root: "/".into(), at: root.path().into(), first: false };
        let chain = find(&[mount], "0::/a/b\n").unwrap();
        assert_eq!(chain.folders.len(), 3);
        (root, chain)
    }

    #[test]
    fn a_group_is_held_back_by_all_above_it() {
        let (root, chain) = tree(false);
        fs::write(root.path().join("a/b/cpu.stat"), SECOND).unwrap();
        fs::write(root.path().join("a/cpu.stat"), "nr_throttled 3\nthrottled_usec 1000\n").unwrap();
        assert_eq!(quota_of(&chain), Ok(Quota { periods: 40, held_us: 1_852_234 }));
        fs::write(root.path().join("a/b/cpu.max"), "max 100000\n").unwrap();
        assert_eq!(ceiling_of(&chain), None);
        fs::write(root.path().join("a/cpu.max"), "150000 100000\n").unwrap();
        assert_eq!(ceiling_of(&chain), Some(1.5));
    }

    #[test]
    fn without_a_quota_nothing_is_held_back_and_in_a_container_that_is_unknown() {
        let usage = "usage_usec 8\nuser_usec 8\nsystem_usec 0\n";
        for (container, known) in [(false, true), (true, false)] {
            let (root, chain) = tree(container);
            fs::write(root.path().join("cpu.stat"), usage).unwrap();
            assert_eq!(quota_of(&chain).ok(), known.then(Quota::default), "{container}");
        }
    }

    #[test]
    fn a_quota_of_the_first_version_is_read() {
        let root = tempfile::tempdir().unwrap();
        let mount = Mount { root: "/docker/1".into(), at: root.path().into(), first: true };
        let chain = find(&[mount], "4:cpu:/docker/1\n").unwrap();
        fs::write(root.path().join("cpu.cfs_quota_us"), "-1\n").unwrap();
        fs::write(root.path().join("cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(ceiling_of(&chain), None);
        fs::write(root.path().join("cpu.cfs_quota_us"), "25000\n").unwrap();
        assert_eq!(ceiling_of(&chain), Some(0.25));
    }

    /// The first version has no cpu.max to raise and no cgroup.subtree_control to switch anything on.
    #[test]
    fn each_version_has_its_own_files() {
        let (_root, second) = tree(true);
        let first = find(&mounts(HYBRID), "1:cpu,cpuacct:/a/b\n").unwrap();
        assert_eq!([first.quota_file(), second.quota_file()], ["cpu.cfs_quota_us", "cpu.max"]);
        let remedy = |chain: &Chain| quota_of(chain).unwrap_err().remedy;
        assert!(!remedy(&first).contains("subtree") && remedy(&second).contains("subtree"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(nr_throttled|throttled_(usec|time)|[a-z:/\\\\ -]{0,8}) ?[0-9]{0,22}(\n.{0,40})?") {
            let _ = (parse(&text), mounts(&text), find(&[], &text));
        }
    }
}
