//! What a machine sees, made once and shared by every machine that sees the same: memory slots, page tables, a
//! descriptor table, and an exception table whose 256 handlers each are one `hlt`, so that the address of the exit
//! tells the exception.
//!
//! ```text
//! guest-virtual (a window of addresses that nothing else uses)        guest-physical
//!   descriptors | exceptions | handlers | interrupts             →    SYSTEM …            shared by machines
//!   per processor: own page | ports | ports | end of ports       →    OWN_PAGES, SYSTEM … own page: not shared
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::error::MicroError;
use super::interrupts::{self, InterruptHandler, Return};
use super::memory::Region;
use super::own::{PAGE, Slot};
use super::tables::{Access, Full, Tables};

/// Guest-physical address of the pages of which each processor has one of its own.
pub(super) const OWN_PAGES: u64 = 0x8_0000;
/// Guest-physical address of the system pages that machines share.
const SYSTEM: u64 = 0x10_0000;
/// Guest-physical address of the pages without memory behind them.
pub(super) const DEVICES: u64 = 0xd000_0000;
/// Guest-physical address from which on the program's own memory is laid out.
pub(super) const OWN: u64 = 1 << 32;

/// Most processors of one machine.
pub(super) const MOST_PROCESSORS: usize = 16;

// System pages, in this order in guest-physical memory; the page tables follow.
const DESCRIPTORS: usize = 0;
const EXCEPTIONS: usize = PAGE;
const HANDLERS: usize = 2 * PAGE;
/// One bit a port, all clear: allowed. A software KVM looks here even though IOPL is 3. Seen twice: 65,536 ports.
const PORTS: usize = 3 * PAGE;
/// A byte of ones must follow the ports.
const PORTS_END: usize = 4 * PAGE;
/// Stubs of interrupts, and the addresses of their handlers.
const INTERRUPTS: usize = 5 * PAGE;
const SYSTEM_PAGES: usize = 7;

// The window: descriptors, exceptions, handlers; where interrupts are handled by the program, a page of stubs and one of
// addresses; and then four pages a processor.
const STUBS: usize = 3 * PAGE;
const FIRST_PROCESSOR: usize = 5 * PAGE;
const PROCESSOR_BYTES: usize = 4 * PAGE;
const WINDOW: usize = FIRST_PROCESSOR + MOST_PROCESSORS * PROCESSOR_BYTES;

/// From the task state, at the start of a processor's own page, to the last byte of the map of ports.
pub(super) const TASK_LIMIT: usize = 3 * PAGE;
const HANDLER_BYTES: usize = 16;
const HLT: u8 = 0xf4;

pub(super) const USER_CODE: u16 = 0x1b;
pub(super) const USER_DATA: u16 = 0x23;
pub(super) const KERNEL_CODE: u16 = 0x08;
pub(super) const KERNEL_DATA: u16 = 0x10;
/// The first processor's task; each following one's is two descriptors later.
const TASK: u16 = 0x28;

/// One range of virtual addresses to map, where, and for whom.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) range: Range<usize>,
    pub(super) physical: u64,
    pub(super) access: Access,
}

/// Memory, page tables and exception table, for any number of machines.
#[derive(Debug)]
pub(super) struct Space {
    system: Region,
    window: Region,
    pub(super) slots: Vec<Slot>,
    pub(super) root: u64,
    /// Memory that is given back when the last machine that may see it is gone.
    _memory: Vec<Region>,
}

impl Space {
    /// The memory `slots`, seen at the virtual addresses `views`, with at most `table_pages` pages of page table.
    /// `memory` is kept for as long as a machine lives.
    pub(super) fn new(
        slots: Vec<Slot>,
        views: &[View],
        table_pages: usize,
        memory: Vec<Region>,
    ) -> Result<Arc<Space>, MicroError> {
        Space::interruptible(slots, views, table_pages, memory, &[], Return::Native)
    }

    /// The same, with functions of this program, which `views` must show, to handle interrupts in ring 3.
    pub(super) fn interruptible(
        slots: Vec<Slot>,
        views: &[View],
        table_pages: usize,
        memory: Vec<Region>,
        interrupts: &[(u8, InterruptHandler)],
        way: Return,
    ) -> Result<Arc<Space>, MicroError> {
        let system = Region::system(SYSTEM_PAGES + table_pages)?;
        let window = Region::reserve(WINDOW)?;
        let mut space = Space { system, window, slots, root: 0, _memory: memory };
        space.root = space.fill(views, interrupts, way).map_err(|Full| MicroError::Setup {
            step: "build page tables",
            source: std::io::ErrorKind::OutOfMemory.into(),
        })?;
        Ok(Arc::new(space))
    }

    /// The slot of the system pages.
    pub(super) fn system_slot(&self) -> Slot {
        Slot { range: self.system.range(), physical: SYSTEM }
    }

    /// Virtual address of the descriptor table, and its limit.
    pub(super) fn descriptors(&self) -> (u64, u16) {
        ((self.window.range().start + DESCRIPTORS) as u64, TASK + 16 * MOST_PROCESSORS as u16 - 1)
    }

    /// Virtual address of the exception table, and its limit.
    pub(super) fn exceptions(&self) -> (u64, u16) {
        ((self.window.range().start + EXCEPTIONS) as u64, (PAGE - 1) as u16)
    }

    /// Virtual address of the task state of processor `number`, which is the start of its own page, and its selector.
    pub(super) fn task(&self, number: usize) -> (u64, u16) {
        let start = self.window.range().start + FIRST_PROCESSOR + number * PROCESSOR_BYTES;
        (start as u64, TASK + 16 * number as u16)
    }

    /// The exception whose handler the address `rip` lies in.
    pub(super) fn exception_at(&self, rip: u64) -> Option<u8> {
        let handlers = (self.window.range().start + HANDLERS) as u64;
        let offset = rip.checked_sub(handlers)?;
        (offset < PAGE as u64).then_some((offset / HANDLER_BYTES as u64) as u8)
    }

    /// Fills the system pages; returns the guest-physical address of the root of the page tables.
    fn fill(&self, views: &[View], interrupts: &[(u8, InterruptHandler)], way: Return) -> Result<u64, Full> {
        let memory = self.system.range();
        // SAFETY: the region is mapped, writable, page-aligned, zero, and known to nobody else until this returns.
        let memory =
            unsafe { std::slice::from_raw_parts_mut(memory.start as *mut [u64; 512], memory.len() / PAGE) };
        let (system, tables) = memory.split_at_mut(SYSTEM_PAGES);
        let window = self.window.range().start;

        // Intel SDM volume 3, sections 3.4.5, 6.14.1 and 7.2.3: segments, gates and tasks in 64-bit mode.
        let descriptors = &mut system[DESCRIPTORS / PAGE];
        descriptors[1] = 0x00af_9b00_0000_ffff;
        descriptors[2] = 0x00cf_9300_0000_ffff;
        descriptors[3] = 0x00af_fb00_0000_ffff;
        descriptors[4] = 0x00cf_f300_0000_ffff;
        for number in 0..MOST_PROCESSORS {
            let (state, selector) = self.task(number);
            let at = usize::from(selector) / 8;
            descriptors[at] = 0x0000_8b00_0000_0000
                | TASK_LIMIT as u64
                | (state & 0x00ff_ffff) << 16
                | (state >> 24 & 0xff) << 56;
            descriptors[at + 1] = state >> 32;
        }
        for vector in 0..256 {
            let handler = (window + HANDLERS + vector * HANDLER_BYTES) as u64;
            // An interrupt gate that ring 3 may not call by itself, with the first interrupt stack.
            let gate = 0x8e01 << 32 | u64::from(KERNEL_CODE) << 16;
            system[EXCEPTIONS / PAGE][2 * vector] = handler & 0xffff | gate | (handler >> 16 & 0xffff) << 48;
            system[EXCEPTIONS / PAGE][2 * vector + 1] = handler >> 32;
        }
        for (vector, handler) in interrupts {
            let at = usize::from(*vector);
            let stub = (window + STUBS + at * HANDLER_BYTES) as u64;
            // An interrupt gate into ring 3, with the second interrupt stack.
            let gate = 0x8e02 << 32 | u64::from(USER_CODE) << 16;
            system[EXCEPTIONS / PAGE][2 * at] = stub & 0xffff | gate | (stub >> 16 & 0xffff) << 48;
            system[EXCEPTIONS / PAGE][2 * at + 1] = stub >> 32;
            let code = u128::from_le_bytes(interrupts::stub(*vector));
            system[INTERRUPTS / PAGE][2 * at] = code as u64;
            system[INTERRUPTS / PAGE][2 * at + 1] = (code >> 64) as u64;
            system[INTERRUPTS / PAGE][0] = interrupts::common as *const () as u64;
            system[INTERRUPTS / PAGE + 1][0] = u64::from(way == Return::ByExit);
            system[INTERRUPTS / PAGE + 1][at] = *handler as usize as u64;
        }
        system[HANDLERS / PAGE].fill(u64::from_ne_bytes([HLT; 8]));
        system[PORTS_END / PAGE][0] = u64::MAX;

        let mut tables = Tables::new(tables, SYSTEM + (SYSTEM_PAGES * PAGE) as u64);
        let kernel = Access { user: false, write: true, execute: false };
        let mut map = |at: usize, pages: usize, physical: u64, access| {
            tables.map(window + at..window + at + pages * PAGE, physical, access)
        };
        map(DESCRIPTORS, 2, SYSTEM, kernel)?;
        map(HANDLERS, 1, SYSTEM + HANDLERS as u64, Access { execute: true, write: false, ..kernel })?;
        let user = Access { user: true, write: false, execute: true };
        map(STUBS, 1, SYSTEM + INTERRUPTS as u64, user)?;
        map(STUBS + PAGE, 1, SYSTEM + (INTERRUPTS + PAGE) as u64, Access { execute: false, ..user })?;
        for number in 0..MOST_PROCESSORS {
            let at = FIRST_PROCESSOR + number * PROCESSOR_BYTES;
            map(at, 1, OWN_PAGES + (number * PAGE) as u64, kernel)?;
            map(at + PAGE, 1, SYSTEM + PORTS as u64, kernel)?;
            map(at + 2 * PAGE, 1, SYSTEM + PORTS as u64, kernel)?;
            map(at + 3 * PAGE, 1, SYSTEM + PORTS_END as u64, kernel)?;
        }
        for view in views {
            tables.map(view.range.clone(), view.physical, view.access)?;
        }
        Ok(tables.root())
    }
}
