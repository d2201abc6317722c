//! A peer's memory, mapped: only such that the peer cannot take away again.
//!
//! Whoever maps a file that somebody else then shortens is killed by SIGBUS at the next touch; whoever maps a file of a
//! FUSE file system waits at each touch for whoever serves that. Memory that is sealed against shrinking (memfd_create(2),
//! F_SEAL_SHRINK) is neither: it is the kernel's own, and keeps its size. QEMU's `memory-backend-memfd` seals by default.
//! Sealed huge pages are refused all the same: holes can be punched into those, and what then fails to be filled
//! again, since no huge page is free, is a SIGBUS too.

use std::fs::File;
use std::os::fd::BorrowedFd;

use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};
use rustix::param::page_size;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

use super::Refused;
use super::message::MOST_DESCRIPTORS;
use super::received::Received;

/// The magic number of huge pages' file system (statfs(2), HUGETLBFS_MAGIC).
const HUGE_PAGES: u64 = 0x958458f6;

/// What a peer told of a region ("Memory region description"). All in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Where the guest sees it.
    pub(crate) guest: u64,
    /// How long it is.
    pub(crate) size: u64,
    /// Where the peer sees it: the rings are told so.
    pub(crate) user: u64,
    /// Where it begins in the file.
    pub(crate) offset: u64,
}

/// A peer's memory.
#[derive(Debug)]
pub struct Memory {
    guest: GuestMemoryMmap,
    regions: Vec<Region>,
}

impl Memory {
    /// Maps regions, of `most` bytes in all.
    pub(crate) fn map(regions: Vec<Region>, files: Vec<Received>, most: u64) -> Result<Memory, Refused> {
        if regions.is_empty() || regions.len() > MOST_DESCRIPTORS || regions.len() != files.len() {
            return Err(Refused::Memory(format!("{} regions with {} files", regions.len(), files.len())));
        }
        let all = regions.iter().try_fold(0u64, |all, region| all.checked_add(region.size));
        if all.is_none_or(|all| all > most) {
            return Err(Refused::Memory(format!(
                "it is more than the {} GiB that a tenant may share here; share less, or serve fewer tenants",
                most >> 30
            )));
        }
        let mut both: Vec<(Region, Received)> = regions.into_iter().zip(files).collect();
        both.sort_by_key(|(region, _)| region.guest);
        let mut mapped = Vec::with_capacity(both.len());
        let mut kept = Vec::with_capacity(both.len());
        for (region, file) in both {
            let file = check(&region, file)?;
            let refused =
                |reason: String| Refused::Memory(format!("region at {:#x}: {reason}", region.guest));
            let size = usize::try_from(region.size).map_err(|e| refused(e.to_string()))?;
            let mapping = MmapRegion::from_file(FileOffset::new(file, region.offset), size)
                .map_err(|e| refused(e.to_string()))?;
            let placed = GuestRegionMmap::new(mapping, GuestAddress(region.guest))
                .ok_or_else(|| refused("it ends beyond the last address".into()))?;
            mapped.push(placed);
            kept.push(region);
        }
        let guest = GuestMemoryMmap::from_regions(mapped).map_err(|e| Refused::Memory(e.to_string()))?;
        Ok(Memory { guest, regions: kept })
    }

    /// Memory of this process, for tests: `bytes` from address 0 on, seen there by the guest and the peer alike.
    #[doc(hidden)]
    pub fn anonymous(bytes: usize) -> Memory {
        let guest = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), bytes)]).expect("memory for a test");
        let region = Region { guest: 0, size: bytes as u64, user: 0, offset: 0 };
        Memory { guest, regions: vec![region] }
    }

    /// The memory by the guest's addresses.
    pub fn guest(&self) -> &GuestMemoryMmap {
        &self.guest
    }

    /// Where the guest sees what the peer sees at `user`.
    pub(crate) fn guest_address(&self, user: u64) -> Option<GuestAddress> {
        let holds = |region: &&Region| user.checked_sub(region.user).is_some_and(|at| at < region.size);
        let region = self.regions.iter().find(holds)?;
        Some(GuestAddress(region.guest + (user - region.user)))
    }
}

/// What a tenant may share at most, in bytes, where there are so many. A peer's files are as large as it says, whatever is in
/// them; all that are mapped share one address space, of which the other half is for all else.
pub(crate) fn most_shared(tenants: usize) -> u64 {
    /// User space of x86-64 with four levels of page tables, and of aarch64 (Linux, `Documentation/arch/x86/x86_64/mm.rst`).
    const ADDRESS_SPACE: u64 = 1 << 47;
    const MOST: u64 = 4 << 40;
    // Twice: what a tenant shares anew is mapped before the old is unmapped.
    let each = ADDRESS_SPACE / 2 / (2 * tenants as u64);
    MOST.min(each - each % page_size() as u64)
}

/// The file, if it can be mapped without ever being a danger.
fn check(region: &Region, file: Received) -> Result<File, Refused> {
    let refused = |reason: String| Refused::Memory(format!("region at {:#x}: {reason}", region.guest));
    let page = page_size() as u64;
    if region.size == 0 || [region.guest, region.size, region.offset].iter().any(|n| n % page != 0) {
        return Err(refused(format!("its {} bytes are not whole pages", region.size)));
    }
    let sealed =
        |file: BorrowedFd<'_>| fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    let file = file.into_if(sealed).map(File::from).ok_or_else(|| {
        let remedy = "use memory-backend-memfd with share=on and seal=on (QEMU's default)";
        refused(format!("it is not sealed against shrinking; {remedy}"))
    })?;
    let kind = fstatfs(&file).map_err(|e| refused(e.to_string()))?;
    if kind.f_type as u64 == HUGE_PAGES {
        return Err(refused("it is of huge pages, which can be taken away; use ordinary ones".into()));
    }
    let length = fstat(&file).map_err(|e| refused(e.to_string()))?.st_size;
    let end = region.offset.checked_add(region.size);
    if end.is_none_or(|end| end > length as u64) {
        return Err(refused(format!("it goes beyond its file's {length} bytes")));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};
    use vm_memory::Bytes;

    use super::*;

    const PAGES: u64 = 16 * 4096;

    fn region() -> Region {
        Region { guest: 0x1000, size: PAGES, user: 0x7000_0000, offset: 0 }
    }

    fn file(seals: SealFlags) -> File {
        let file = memfd_create("memory", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, PAGES).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file.into()
    }

    fn reason(regions: Vec<Region>, files: Vec<File>) -> String {
        let files = files.into_iter().map(Received::from).collect();
        Memory::map(regions, files, most_shared(1)).unwrap_err().to_string()
    }

    #[test]
    fn sealed_memory_is_shared_and_cannot_be_truncated() {
        let theirs = file(SealFlags::SHRINK);
        let memory = Memory::map(vec![region()], vec![theirs.try_clone().unwrap().into()], PAGES).unwrap();
        ftruncate(&theirs, 0).unwrap_err();
        memory.guest().write_slice(b"here", GuestAddress(0x1ffe)).unwrap();
        let mut there = [0; 4];
        rustix::io::pread(&theirs, &mut there, 0xffe).unwrap();
        assert_eq!(&there, b"here");
        assert_eq!(memory.guest_address(0x7000_0010), Some(GuestAddress(0x1010)));
        assert_eq!(memory.guest_address(0x7000_0000 + PAGES), None);
        assert_eq!(memory.guest_address(0x6fff_ffff), None);
    }

    #[test]
    fn memory_that_could_be_taken_away_is_refused() {
        assert!(reason(vec![region()], vec![file(SealFlags::GROW)]).contains("not sealed against shrinking"));
        let plain = tempfile::tempfile().unwrap();
        plain.set_len(PAGES).unwrap();
        assert!(reason(vec![region()], vec![plain]).contains("memory-backend-memfd"));
        // Sealed, but so that it cannot be written to.
        let read_only = SealFlags::SHRINK | SealFlags::WRITE;
        assert!(reason(vec![region()], vec![file(read_only)]).contains("region at 0x1000"));
    }

    #[test]
    fn regions_that_cannot_be_are_refused() {
        let sealed = || file(SealFlags::SHRINK);
        for wrong in [
            Region { size: PAGES + 4096, ..region() },
            Region { offset: u64::MAX - 4095, ..region() },
            Region { size: 0, ..region() },
            Region { size: 100, ..region() },
            Region { guest: u64::MAX - 4095, size: 8192, ..region() },
            Region { guest: 1, ..region() },
        ] {
            assert!(reason(vec![wrong], vec![sealed()]).contains("region at"), "{wrong:?}");
        }
        let overlapping = vec![region(), Region { guest: 0x2000, ..region() }];
        assert!(reason(overlapping, vec![sealed(), sealed()]).starts_with("memory: "));
        assert!(reason(vec![], vec![]).contains("0 regions"));
        assert!(reason(vec![region()], vec![]).contains("0 files"));
    }

    /// Each is no more than its file, and takes no memory: only the address space can bound them.
    #[test]
    fn no_tenant_takes_all_of_the_address_space() {
        let huge = || {
            let file = memfd_create("memory", MemfdFlags::ALLOW_SEALING).unwrap();
            ftruncate(&file, 1 << 46).unwrap();
            fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
            File::from(file)
        };
        let most = most_shared(1);
        assert_eq!(most, 4 << 40);
        let half = Region { guest: 0, size: most / 2, user: 0, offset: 0 };
        let both = |more: u64| {
            vec![half, Region { guest: 1 << 45, size: most / 2 + more, user: 1 << 45, offset: 0 }]
        };
        let told = reason(both(4096), vec![huge(), huge()]);
        assert!(told.contains("more than the 4096 GiB") && told.contains("share less"), "{told}");
        let wrapping = vec![half, Region { size: u64::MAX - 4095, ..half }];
        assert!(reason(wrapping, vec![huge(), huge()]).contains("share less"));
        Memory::map(both(0), vec![huge().into(), huge().into()], most).unwrap();
        for tenants in [1, 15, 16, 601, 4096] {
            assert!(most_shared(tenants) * 2 * tenants as u64 <= 1 << 46, "{tenants}");
        }
    }
}
