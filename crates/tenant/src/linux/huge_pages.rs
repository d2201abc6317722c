//! Whether a guest's memory can be made of this machine's huge pages.

use std::fs;

/// What is free of the pool of huge pages, in MiB: `HugePages_Free` × `Hugepagesize` of /proc/meminfo (the kernel's
/// Documentation/admin-guide/mm/hugetlbpage.rst). 0 where there is no pool.
pub(super) fn free_mib() -> u64 {
    fs::read_to_string("/proc/meminfo").map_or(0, |text| free_of(&text))
}

fn free_of(meminfo: &str) -> u64 {
    let field = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    };
    let kib = field("HugePages_Free").zip(field("Hugepagesize"));
    kib.map_or(0, |(pages, kib)| pages.saturating_mul(kib) / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_what_is_free_of_it() {
        let text = "HugePages_Total:     300\nHugePages_Free:      256\nHugepagesize:       2048 kB\n";
        assert_eq!(free_of(text), 512);
        assert_eq!((free_of("HugePages_Free: 3\n"), free_of("")), (0, 0));
    }
}
