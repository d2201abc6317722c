//! The ways out of a guest: addresses without memory behind them, and the events that some of them raise. They exist
//! before the guest does, because whoever prepares what will run there wants to know them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use kvm_bindings::kvm_ioeventfd;
use kvm_ioctls::VmFd;
use rustix::event::{EventfdFlags, eventfd};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use tollway_core::{Doorbell, ExitCounts, Exits};

use super::error::MicroError;
use super::machine;
use super::memory::Region;
use super::own::PAGE;
use super::space::{MOST_PROCESSORS, View};
use super::tables::Access;

/// The port whose outputs are counted; any other is an error. (KVM has had a shortcut for 0x80.)
pub(super) const PORT: u16 = 0xe9;
/// The page whose stores end a call, the one whose stores are counted, the one whose loads sleep, and the one whose loads tell
/// the processor time.
pub(super) const END: usize = 0;
pub(super) const COUNTED: usize = 1;
pub(super) const IDLE: usize = 2;
pub(super) const TIME: usize = 3;
/// Doorbells follow.
const FIRST_BELL: usize = 4;
/// Most doorbells of one guest.
const MOST: u32 = 1024;

/// What a guest's devices shall be.
#[derive(Debug, Clone)]
pub struct Wiring {
    /// Doorbells with an event each.
    pub doorbells: u32,
    /// Doorbells that wake a processor of another guest, one each; they come after the others.
    pub wakes: Vec<Waker>,
    /// How many virtual processors the guest has: 1 to 16.
    pub processors: u32,
    /// What wakes the first of them; those that are left over get wakers of their own. For guests that wake each other.
    pub woken_by: Vec<Waker>,
}

impl Default for Wiring {
    fn default() -> Self {
        Wiring { doorbells: 0, wakes: Vec::new(), processors: 1, woken_by: Vec::new() }
    }
}

/// Wakes one processor of a guest that idles, or keeps it from its next sleep. Nothing is lost: what rings while it is
/// awake ends its next sleep at once.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// A waker for a processor of a guest that is yet to be made.
    ///
    /// # Errors
    /// [`MicroError::Setup`] if the kernel refuses an event.
    pub fn new() -> Result<Waker, MicroError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(MicroError::system("create an event"))?;
        Ok(Waker(Arc::new(event)))
    }

    /// Rings once.
    pub fn ring(&self) {
        // It fails only where 2⁶⁴ − 2 rings are waiting: then one more changes nothing.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl AsFd for Waker {
    /// The eventfd, for whoever wants to ring it in other ways: adding one rings once.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Doorbells and exits for a guest, to be made before it. Clones share them; they live as long as any clone or guest.
#[derive(Debug, Clone)]
pub struct Devices(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Addresses that the program itself cannot touch: a page for each way out, and a last one that not even the guest
    /// can reach.
    pages: Region,
    /// Events of the doorbells, in their order.
    events: Vec<Arc<OwnedFd>>,
    /// One for each processor.
    wakers: Vec<Waker>,
    seen: Arc<ExitCounts>,
}

impl Devices {
    /// Exits, and so many doorbells, for a guest with one processor.
    ///
    /// # Errors
    /// As [`Devices::wired`].
    pub fn new(doorbells: u32) -> Result<Devices, MicroError> {
        Devices::wired(&Wiring { doorbells, ..Wiring::default() })
    }

    /// Exits, and the doorbells of `wiring`, for a guest with so many processors.
    ///
    /// # Errors
    /// [`MicroError::TooMany`], or [`MicroError::Setup`] if the kernel refuses events or addresses.
    pub fn wired(wiring: &Wiring) -> Result<Devices, MicroError> {
        let bells = wiring.doorbells as usize + wiring.wakes.len();
        MicroError::limit("doorbells", bells, 0, MOST as usize)?;
        MicroError::limit("virtual processors", wiring.processors as usize, 1, MOST_PROCESSORS)?;
        let pages = Region::reserve((FIRST_BELL + bells + 1) * PAGE)?;
        let event = |_| {
            eventfd(0, EventfdFlags::CLOEXEC).map(Arc::new).map_err(MicroError::system("create an event"))
        };
        let mut events = (0..wiring.doorbells).map(event).collect::<Result<Vec<_>, _>>()?;
        events.extend(wiring.wakes.iter().map(|waker| Arc::clone(&waker.0)));
        let mut wakers = wiring.woken_by.clone();
        MicroError::limit("wakers", wakers.len(), 0, wiring.processors as usize)?;
        while wakers.len() < wiring.processors as usize {
            wakers.push(Waker::new()?);
        }
        Ok(Devices(Arc::new(Inner { pages, events, wakers, seen: Arc::default() })))
    }

    /// The doorbells: a store of any size to one is caught in the kernel, which adds one to its event. The descriptors
    /// stay open as long as `self`, a clone of it or a guest.
    pub fn doorbells(&self) -> Vec<Doorbell> {
        let bell = |(number, event): (usize, &Arc<OwnedFd>)| Doorbell {
            store_to: self.page(FIRST_BELL + number),
            wakes: event.as_raw_fd(),
        };
        self.0.events.iter().enumerate().map(bell).collect()
    }

    /// The exits: a port to write to and an address to store to, each of which leaves for the program, which counts it
    /// and continues the guest; and where its first processor idles and asks for the time.
    pub fn exits(&self) -> Exits {
        Exits {
            port: PORT,
            store_to: self.page(COUNTED),
            idle_at: self.idle_at(),
            woken_by: self.wake_of(0).as_raw_fd(),
            time_at: self.time_at(),
            seen: Arc::clone(&self.0.seen),
        }
    }

    /// The address to idle at: a load from it leaves the guest, and its thread sleeps until the processor's waker has
    /// been rung since its last sleep. The value loaded is the number of rings. The time limit of the call goes on.
    pub fn idle_at(&self) -> usize {
        self.page(IDLE)
    }

    /// The address to ask for processor time at: a load of 64 bits from it leaves the guest and brings the nanoseconds that the
    /// calling thread has had, in the guest and outside, as CLOCK_THREAD_CPUTIME_ID has them.
    pub fn time_at(&self) -> usize {
        self.page(TIME)
    }

    /// What wakes processor `number`, counted from 0.
    ///
    /// # Panics
    /// If there is no such processor.
    pub fn waker(&self, number: usize) -> Waker {
        self.0.wakers[number].clone()
    }

    /// How many processors the guest has.
    pub fn processors(&self) -> usize {
        self.0.wakers.len()
    }

    /// The address whose store ends a call.
    pub(super) fn end(&self) -> usize {
        self.page(END)
    }

    /// The address that nobody can reach.
    pub(super) fn trap(&self) -> usize {
        self.page(FIRST_BELL + self.0.events.len())
    }

    pub(super) fn wake_of(&self, number: usize) -> BorrowedFd<'_> {
        self.0.wakers[number].as_fd()
    }

    /// What the guest sees of them, from the guest-physical address `base` on.
    pub(super) fn view(&self, base: u64) -> View {
        let access = Access { user: true, write: true, execute: false };
        View { range: self.end()..self.trap(), physical: base, access }
    }

    /// Has the doorbells of the machine `vm` caught in the kernel.
    pub(super) fn register(&self, vm: &VmFd, base: u64) -> Result<(), MicroError> {
        const OPCODE: Opcode = opcode::write::<kvm_ioeventfd>(0xae, 0x79);
        for (number, event) in self.0.events.iter().enumerate() {
            let addr = base + ((FIRST_BELL + number) * PAGE) as u64;
            // A length of 0 takes stores of every size; hardware KVM then need not even decode the instruction.
            let bell = kvm_ioeventfd { addr, len: 0, fd: event.as_raw_fd(), ..Default::default() };
            // SAFETY: KVM_IOEVENTFD reads one `kvm_ioeventfd` and writes nothing.
            unsafe { ioctl(machine::borrow(vm), Setter::<OPCODE, _>::new(bell)) }
                .map_err(MicroError::system("register a doorbell"))?;
        }
        Ok(())
    }

    fn page(&self, number: usize) -> usize {
        self.0.pages.range().start + number * PAGE
    }
}
