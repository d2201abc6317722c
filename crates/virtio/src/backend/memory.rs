//! A peer's memory, mapped: only such that the peer cannot take away again.
//!
//! Whoever maps a file that somebody else then shortens is killed by SIGBUS at the next touch; whoever maps a file of a
//! FUSE file system waits at each touch for whoever serves that. Memory that is sealed against shrinking (memfd_create(2),
//! F_SEAL_SHRINK) is neither: it is the kernel's own, and keeps its size. QEMU's `memory-backend-memfd` seals by default.
//! Sealed huge pages are refused all the same: holes can be punched into those, and what then fails to be filled
//! again, since no huge page is free, is a SIGBUS too.

use std::fs::File;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};
use rustix::param::page_size;
use vm_memory::{
    Address, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
    GuestRegionMmap, MmapRegion, VolatileMemory, VolatileSlice,
};

use super::Refused;
use super::message::MOST_DESCRIPTORS;
use super::received::Received;
use crate::area::Area;
use crate::descriptor::{DESCRIPTOR, Descriptor};

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
    /// Where each region is here. They are few, and looked up for every piece of every buffer.
    hosts: Vec<Host>,
}

/// A region as this process sees it.
#[derive(Debug)]
struct Host {
    guest: u64,
    len: u64,
    start: NonNull<u8>,
}

// SAFETY: the mappings belong to the process, and are only reached by volatile or atomic accesses.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

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
        for (region, file) in &both {
            let file = check(region, file)?;
            let refused =
                |reason: String| Refused::Memory(format!("region at {:#x}: {reason}", region.guest));
            let size = usize::try_from(region.size).map_err(|e| refused(e.to_string()))?;
            let mapping = MmapRegion::from_file(FileOffset::new(file, region.offset), size)
                .map_err(|e| refused(e.to_string()))?;
            let placed = GuestRegionMmap::new(mapping, GuestAddress(region.guest))
                .ok_or_else(|| refused("it ends beyond the last address".into()))?;
            mapped.push(placed);
            kept.push(*region);
        }
        let guest = GuestMemoryMmap::from_regions(mapped).map_err(|e| Refused::Memory(e.to_string()))?;
        // The mappings have them; until here a close of these would have been the last.
        both.into_iter().for_each(|(_, file)| drop(file.into_if(|_| true)));
        Ok(Memory::of(guest, kept))
    }

    fn of(guest: GuestMemoryMmap, regions: Vec<Region>) -> Memory {
        let host = |region: &GuestRegionMmap| Host {
            guest: region.start_addr().raw_value(),
            len: region.len(),
            start: NonNull::new(region.as_ptr()).expect("nothing is mapped at 0"),
        };
        let hosts = guest.iter().map(host).collect();
        Memory { guest, regions, hosts }
    }

    /// Memory of this process, for tests: `bytes` from address 0 on, seen there by the guest and the peer alike.
    #[doc(hidden)]
    pub fn anonymous(bytes: usize) -> Memory {
        Memory::of_ranges(&[(0, bytes)])
    }

    /// The same, of several regions: where each begins, and how long it is.
    #[doc(hidden)]
    pub fn of_ranges(ranges: &[(u64, usize)]) -> Memory {
        let places: Vec<_> = ranges.iter().map(|(at, bytes)| (GuestAddress(*at), *bytes)).collect();
        let guest = GuestMemoryMmap::from_ranges(&places).expect("memory for a test");
        let region =
            |(at, bytes): &(u64, usize)| Region { guest: *at, size: *bytes as u64, user: *at, offset: 0 };
        Memory::of(guest, ranges.iter().map(region).collect())
    }

    /// The memory by the guest's addresses.
    pub fn guest(&self) -> &GuestMemoryMmap {
        &self.guest
    }

    /// These bytes, if they are all in one region.
    #[inline]
    pub(super) fn slice(&self, address: u64, len: usize) -> Option<VolatileSlice<'_>> {
        for host in &self.hosts {
            let offset = address.wrapping_sub(host.guest);
            if offset < host.len && len as u64 <= host.len - offset {
                // SAFETY: the region is mapped for as long as `self` lives, and has these bytes: that was checked just now. Nobody
                // in this program reaches them but by volatile or atomic accesses.
                return Some(unsafe { VolatileSlice::new(host.start.as_ptr().add(offset as usize), len) });
            }
        }
        None
    }

    /// Does something with these bytes, region by region; whether all of them are there. Of such as are not, some may have been
    /// acted upon.
    #[inline]
    pub(super) fn each<'m>(
        &'m self,
        address: u64,
        len: usize,
        mut act: impl FnMut(VolatileSlice<'m>),
    ) -> bool {
        match self.slice(address, len) {
            Some(slice) => {
                act(slice);
                true
            }
            None => self.each_apart(address, len, act),
        }
    }

    #[cold]
    fn each_apart<'m>(
        &'m self,
        mut address: u64,
        mut len: usize,
        mut act: impl FnMut(VolatileSlice<'m>),
    ) -> bool {
        while len > 0 {
            let holds = |host: &&Host| address.wrapping_sub(host.guest) < host.len;
            let Some(host) = self.hosts.iter().find(holds) else { return false };
            let now = len.min((host.len - (address - host.guest)) as usize);
            let Some(slice) = self.slice(address, now) else { return false };
            act(slice);
            len -= now;
            match address.checked_add(now as u64) {
                Some(next) => address = next,
                None => return len == 0,
            }
        }
        true
    }

    /// Whether all of these bytes are there; if they are, the processor fetches their first cache line where
    /// `FETCH` says so.
    #[inline]
    pub(super) fn holds<const FETCH: bool>(&self, address: u64, len: usize) -> bool {
        self.each(address, len, |slice| {
            if FETCH {
                fetch(slice.ptr_guard().as_ptr());
            }
        })
    }

    /// A descriptor, read once.
    #[inline]
    pub(super) fn descriptor(&self, address: u64) -> Option<Descriptor> {
        if let Some(slice) = self.slice(address, DESCRIPTOR) {
            return Some(Descriptor::from_words(slice.get_ref(0).ok()?.load()));
        }
        let (mut bytes, mut done) = ([0; DESCRIPTOR], 0);
        let all = self.each(address, DESCRIPTOR, |slice| done += slice.copy_to(&mut bytes[done..]));
        let [first, second] =
            [0, 8].map(|at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte])));
        all.then(|| Descriptor::from_words([first, second]))
    }

    /// Has the processor fetch the first two cache lines of these bytes, if they are there.
    #[inline]
    pub(super) fn fetch(&self, address: u64, len: usize) {
        let Some(slice) = self.slice(address, len) else { return };
        let start = slice.ptr_guard().as_ptr();
        fetch(start);
        fetch(start.wrapping_add(64));
    }

    /// These bytes on their own, if they are in one region.
    pub fn area(self: &Arc<Memory>, address: u64, len: usize) -> Option<Area> {
        let start = NonNull::new(self.slice(address, len)?.ptr_guard_mut().as_ptr())?;
        // SAFETY: the region has these bytes, and is mapped for as long as the memory lives.
        Some(unsafe { Area::of(start, len, self.clone()) })
    }

    /// Where the guest sees what the peer sees at `user`.
    pub(crate) fn guest_address(&self, user: u64) -> Option<GuestAddress> {
        let holds = |region: &&Region| user.checked_sub(region.user).is_some_and(|at| at < region.size);
        let region = self.regions.iter().find(holds)?;
        Some(GuestAddress(region.guest + (user - region.user)))
    }
}

/// Has the processor fetch a cache line, whoever has it.
#[inline]
fn fetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
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

/// The file once more, if it can be mapped without ever being a danger.
fn check(region: &Region, file: &Received) -> Result<File, Refused> {
    let refused = |reason: String| Refused::Memory(format!("region at {:#x}: {reason}", region.guest));
    let page = page_size() as u64;
    if region.size == 0 || [region.guest, region.size, region.offset].iter().any(|n| n % page != 0) {
        return Err(refused(format!("its {} bytes are not whole pages", region.size)));
    }
    if !fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
        let remedy = "use memory-backend-memfd with share=on and seal=on (QEMU's default)";
        return Err(refused(format!("it is not sealed against shrinking; {remedy}")));
    }
    let kind = fstatfs(file).map_err(|e| refused(e.to_string()))?;
    if kind.f_type as u64 == HUGE_PAGES {
        return Err(refused("it is of huge pages, which can be taken away; use ordinary ones".into()));
    }
    let length = fstat(file).map_err(|e| refused(e.to_string()))?.st_size;
    let end = region.offset.checked_add(region.size);
    if end.is_none_or(|end| end > length as u64) {
        return Err(refused(format!("it goes beyond its file's {length} bytes")));
    }
    Ok(file.as_fd().try_clone_to_owned().map_err(|e| refused(e.to_string()))?.into())
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};
    use vm_memory::Bytes;

    use super::super::received::Bin;
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

    /// Whoever is the last to have it frees it: not the thread that refuses another region.
    #[test]
    fn what_was_fit_beside_what_was_not_is_put_into_the_bin() {
        let bin = Arc::new(Bin::default());
        let received = |file: File| Received::new(file.into(), bin.clone());
        let fit = || received(file(SealFlags::SHRINK));
        let second = Region { guest: 1 << 20, ..region() };
        for (second, other) in [
            (second, received(file(SealFlags::GROW))),
            (Region { size: 2 * PAGES, ..second }, fit()),
            (Region { guest: u64::MAX - PAGES + 1, ..second }, fit()),
            (region(), fit()),
        ] {
            Memory::map(vec![region(), second], vec![fit(), other], most_shared(1)).unwrap_err();
            assert_eq!(bin.files(), 2, "{second:?}");
            bin.empty();
            while bin.is_busy() {
                std::thread::yield_now();
            }
        }
        Memory::map(vec![region(), second], vec![fit(), fit()], most_shared(1)).unwrap();
        assert!(bin.is_empty());
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
