//! KVM's own statistics for the whole host, from debugfs: exits by cause, summed over all virtual machines.
//!
//! Counts are of every machine on this host, not only ours, and exist only while KVM is loaded here: inside a guest
//! without nested virtualisation there are none. Which counters there are depends on the kernel and the processor.
//! Root only. (What one virtual machine did is in its statistics descriptor, KVM_GET_STATS_FD, which belongs to the
//! program that made it.)

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, risen};

const FOLDER: &str = "/sys/kernel/debug/kvm";
const WHAT: &str = "KVM's statistics";

/// All counters at one moment, by KVM's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvmStats {
    /// Name and value.
    pub counters: BTreeMap<String, u64>,
}

impl KvmStats {
    /// Reads every counter: some 50 small files.
    ///
    /// # Errors
    /// [`Missing`] where debugfs is not mounted, not allowed, or has no KVM in it.
    pub fn read() -> Found<KvmStats> {
        KvmStats::read_in(Path::new(FOLDER))
    }

    fn read_in(folder: &Path) -> Found<KvmStats> {
        let missing = |reason: String| {
            Missing::new(
                WHAT,
                reason,
                "as root: mount -t debugfs none /sys/kernel/debug, on a kernel with CONFIG_DEBUG_FS and kvm loaded",
            )
        };
        let entries =
            fs::read_dir(folder).map_err(|error| missing(format!("{}: {error}", folder.display())))?;
        let counters: BTreeMap<String, u64> = entries
            .flatten()
            .filter_map(|entry| {
                let value = fs::read_to_string(entry.path()).ok()?.trim().parse().ok()?;
                Some((entry.file_name().to_string_lossy().into_owned(), value))
            })
            .collect();
        if counters.is_empty() {
            return Err(missing(format!("{} holds no counter that can be read", folder.display())));
        }
        Ok(KvmStats { counters })
    }
}

/// How far each counter rose between two readings; `None` for one that went backwards. Some (`pages_*`, `mmu_*`) are
/// levels, not counts: they go both ways by nature.
pub fn delta(before: &KvmStats, after: &KvmStats) -> BTreeMap<String, Option<u64>> {
    after
        .counters
        .iter()
        .filter_map(|(name, now)| Some((name.clone(), risen(*before.counters.get(name)?, *now))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_folder_is_missing_with_a_remedy() {
        let missing = KvmStats::read_in(Path::new("/nowhere/kvm")).unwrap_err();
        assert!(missing.remedy.contains("debugfs"), "{missing}");
    }

    #[test]
    fn counters_are_read_and_other_files_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put("exits", "12\n");
        put("halt_exits", "9");
        put("odd", "0x3 rubbish");
        fs::create_dir(folder.path().join("1234-5")).unwrap();
        let before = KvmStats::read_in(folder.path()).unwrap();
        assert_eq!(before.counters.len(), 2);
        put("exits", "20\n");
        put("halt_exits", "3");
        put("fresh", "1");
        let d = delta(&before, &KvmStats::read_in(folder.path()).unwrap());
        assert_eq!(d.get("exits"), Some(&Some(8)));
        assert_eq!(d.get("halt_exits"), Some(&None));
        assert_eq!(d.get("fresh"), None);
    }

    #[test]
    fn this_machine_is_read_or_says_why_not() {
        if let Err(missing) = KvmStats::read() {
            eprintln!("skipped: {missing}");
        }
    }
}
