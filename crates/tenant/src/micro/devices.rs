//! The ways out of a guest: addresses without memory behind them, and the events that some of them raise. They exist
//! before the guest does, because whoever prepares what will run there wants to know them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use kvm_bindings::kvm_ioeventfd;
use rustix::event::{EventfdFlags, eventfd};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use tollway_core::{Doorbell, ExitCounts, Exits};

use super::error::MicroError;
use super::machine::{self, DEVICES, Machine, View};
use super::memory::Region;
use super::own::PAGE;
use super::tables::Access;

/// The port whose outputs are counted. (Every port leaves; but KVM has had a shortcut for 0x80.)
const PORT: u16 = 0xe9;
/// The page whose stores end a call, and the one whose stores are counted.
const END: usize = 0;
const COUNTED: usize = 1;
/// Doorbells follow.
const FIRST_BELL: usize = 2;
/// Most doorbells of one guest.
const MOST: u32 = 1024;

/// Doorbells and exits for a guest, to be made before it. Clones share them; they live as long as any clone or guest.
#[derive(Debug, Clone)]
pub struct Devices(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Addresses that the program itself cannot touch: a page for each way out, and a last one that not even the guest
    /// can reach.
    pages: Region,
    events: Vec<OwnedFd>,
    seen: Arc<ExitCounts>,
}

impl Devices {
    /// Exits, and so many doorbells.
    ///
    /// # Errors
    /// [`MicroError::TooManyDoorbells`], or [`MicroError::Setup`] if the kernel refuses events or addresses.
    pub fn new(doorbells: u32) -> Result<Devices, MicroError> {
        if doorbells > MOST {
            return Err(MicroError::TooManyDoorbells { wanted: doorbells, most: MOST });
        }
        let pages = Region::reserve((FIRST_BELL + doorbells as usize + 1) * PAGE)?;
        let event = |_| eventfd(0, EventfdFlags::CLOEXEC).map_err(MicroError::system("create an event"));
        let events = (0..doorbells).map(event).collect::<Result<_, _>>()?;
        Ok(Devices(Arc::new(Inner { pages, events, seen: Arc::default() })))
    }

    /// The doorbells: a store of any size to one is caught in the kernel, which adds one to its event. The descriptors
    /// stay open as long as `self`, a clone of it or a guest.
    pub fn doorbells(&self) -> Vec<Doorbell> {
        let bell = |(number, event): (usize, &OwnedFd)| Doorbell {
            store_to: self.page(FIRST_BELL + number),
            wakes: event.as_raw_fd(),
        };
        self.0.events.iter().enumerate().map(bell).collect()
    }

    /// The exits: a port to write to and an address to store to, each of which leaves for the program, which counts it
    /// and continues the guest.
    pub fn exits(&self) -> Exits {
        Exits { port: PORT, store_to: self.page(COUNTED), seen: Arc::clone(&self.0.seen) }
    }

    /// The address whose store ends a call.
    pub(super) fn end(&self) -> usize {
        self.page(END)
    }

    /// The address that nobody can reach.
    pub(super) fn trap(&self) -> usize {
        self.page(FIRST_BELL + self.0.events.len())
    }

    /// What the guest sees of them.
    pub(super) fn view(&self) -> View {
        let access = Access { user: true, write: true, execute: false };
        View { range: self.end()..self.trap(), physical: DEVICES, access }
    }

    /// Has the doorbells of `machine` caught in the kernel.
    pub(super) fn register(&self, machine: &Machine) -> Result<(), MicroError> {
        const OPCODE: Opcode = opcode::write::<kvm_ioeventfd>(0xae, 0x79);
        for (number, event) in self.0.events.iter().enumerate() {
            let addr = DEVICES + ((FIRST_BELL + number) * PAGE) as u64;
            // A length of 0 takes stores of every size; hardware KVM then need not even decode the instruction.
            let bell = kvm_ioeventfd { addr, len: 0, fd: event.as_raw_fd(), ..Default::default() };
            // SAFETY: KVM_IOEVENTFD reads one `kvm_ioeventfd` and writes nothing.
            unsafe { ioctl(machine::borrow(&machine.vm), Setter::<OPCODE, _>::new(bell)) }
                .map_err(MicroError::system("register a doorbell"))?;
        }
        Ok(())
    }

    fn page(&self, number: usize) -> usize {
        self.0.pages.range().start + number * PAGE
    }
}
