//! One virtual machine: what it sees, and a page of system memory for each of its processors.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::{Kvm, VmFd};

use super::devices::Devices;
use super::error::MicroError;
use super::memory::Region;
use super::own::{PAGE, Slot};
use super::space::{OWN_PAGES, Space};
use super::vcpu::{Ring, Vcpu};

/// The machine. Its processors keep it alive. Fields are dropped in this order: its memory last.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) vm: VmFd,
    /// Its devices, and their guest-physical address.
    devices: Option<(Devices, u64)>,
    pages: Region,
    pub(super) space: Arc<Space>,
}

impl Machine {
    /// A machine that sees `space` and has no devices, with room for one processor, which does not exist yet.
    pub(super) fn bare(kvm: &Kvm, space: &Arc<Space>) -> Result<Arc<Machine>, MicroError> {
        Machine::build(kvm, space, None, 1)
    }

    /// A machine that sees `space` and `devices`, which lie at guest-physical address `base`, with room for as many
    /// processors as they have, none of which exists yet.
    pub(super) fn new(
        kvm: &Kvm,
        space: &Arc<Space>,
        devices: &Devices,
        base: u64,
    ) -> Result<Arc<Machine>, MicroError> {
        Machine::build(kvm, space, Some((devices.clone(), base)), devices.processors())
    }

    fn build(
        kvm: &Kvm,
        space: &Arc<Space>,
        devices: Option<(Devices, u64)>,
        processors: usize,
    ) -> Result<Arc<Machine>, MicroError> {
        let vm = kvm.create_vm().map_err(MicroError::setup("create a virtual machine"))?;
        let pages = Region::system(processors)?;
        let machine = Machine { vm, pages, devices, space: Arc::clone(space) };
        // Doorbells before memory: KVM frees what registering them left behind after a grace period, which the end of
        // the machine waits for (Linux 6.18: 13 ms); giving it memory afterwards shortens that to 8 ms since the start.
        if let Some((devices, base)) = &machine.devices {
            devices.register(&machine.vm, *base)?;
        }
        let own = Slot { range: machine.pages.range(), physical: OWN_PAGES };
        for (number, slot) in [&own, &space.system_slot()].into_iter().chain(&space.slots).enumerate() {
            set_slot(&machine.vm, number as u32, slot)?;
        }
        Ok(Arc::new(machine))
    }

    /// Processor `number`, counted from 0, which starts in `ring`. Each can be made once.
    pub(super) fn processor(
        self: &Arc<Machine>,
        kvm: &Kvm,
        number: usize,
        ring: Ring,
    ) -> Result<Vcpu, MicroError> {
        Vcpu::new(kvm, Arc::clone(self), number, ring)
    }

    /// Where this program sees the page that processor `number` has of its own.
    pub(super) fn own_page(&self, number: usize) -> usize {
        self.pages.range().start + number * PAGE
    }
}

/// Gives `slot` to the machine.
fn set_slot(vm: &VmFd, number: u32, slot: &Slot) -> Result<(), MicroError> {
    let region = kvm_userspace_memory_region {
        slot: number,
        flags: 0,
        guest_phys_addr: slot.physical,
        memory_size: slot.range.len() as u64,
        userspace_addr: slot.range.start as u64,
    };
    // SAFETY: the guest gets what the program itself may do with its memory; page tables of the guest keep it from
    // writing what the program may not write. What it does with writable memory is the contract of `Processor::call`.
    unsafe { vm.set_user_memory_region(region) }.map_err(MicroError::setup("give memory to the machine"))
}

/// A descriptor of KVM as rustix wants it.
pub(super) fn borrow(owner: &impl AsRawFd) -> BorrowedFd<'_> {
    // SAFETY: the descriptor is open as long as its owner lives, and the result borrows the owner.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}
