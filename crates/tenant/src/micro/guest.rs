//! The guest itself: made over the program's memory, one or many at once.

use std::arch::x86_64::__cpuid;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kvm_ioctls::Kvm;
use tollway_core::Missing;

use super::devices::Devices;
use super::error::MicroError;
use super::interrupts::{self, Return};
use super::kind;
use super::machine::Machine;
use super::memory::Region;
use super::own::{self, PAGE};
use super::processor::Processor;
use super::space::{DEVICES, OWN, Space, View};
use super::tables::Access;
use super::vcpu::Ring;
use super::{CallOutcome, Entry, Limits, Options};

/// A virtual machine over the calling program's own memory. Dropping it gives everything back.
#[derive(Debug)]
pub struct MicroGuest {
    /// At least one.
    processors: Vec<Processor>,
}

impl MicroGuest {
    /// Makes a guest that sees the memory of this program as it is now: what is mapped later, or grows later (the heap,
    /// the stack of the first thread), it does not see. Make what it works on first.
    ///
    /// # Errors
    /// [`MicroError::Unavailable`] without a usable KVM, or where ring 0 is asked of one that emulates it;
    /// [`MicroError::TooMuchMapped`]; [`MicroError::Setup`] with the step that was refused.
    pub fn over_own_memory(devices: &Devices, options: &Options) -> Result<MicroGuest, MicroError> {
        let mut guests = MicroGuest::several(std::slice::from_ref(devices), options)?;
        Ok(guests.remove(0))
    }

    /// Makes a guest for each of `devices`, all over the memory of this program as it is now. It is described once for
    /// all of them, and as many threads as there are processors make the machines. Memory of theirs that lies outside
    /// of machines (stacks, page tables) is given back when the last of them is dropped.
    ///
    /// # Errors
    /// As [`MicroGuest::over_own_memory`]: all of them are made or none.
    pub fn several(devices: &[Devices], options: &Options) -> Result<Vec<MicroGuest>, MicroError> {
        possible(options.ring)?;
        let way = if options.interrupts.is_empty() { Return::Native } else { interrupts::way_to_return()? };
        make(devices, options, way)
    }

    /// Runs `entry(argument)` on the first processor: see [`Processor::call`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn call(
        &mut self,
        entry: Entry,
        argument: usize,
        limits: Limits,
    ) -> Result<CallOutcome, MicroError> {
        // SAFETY: the caller's.
        unsafe { self.processors[0].call(entry, argument, limits) }
    }

    /// Runs a closure on the first processor: see [`Processor::run`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn run<F, R>(&mut self, limits: Limits, f: F) -> Result<CallOutcome<R>, MicroError>
    where
        F: FnOnce() -> R,
    {
        // SAFETY: the caller's.
        unsafe { self.processors[0].run(limits, f) }
    }

    /// The processors, at least one, to be called from threads of their own.
    pub fn processors(&mut self) -> &mut [Processor] {
        &mut self.processors
    }

    /// The processors on their own: the machine lives until the last of them is dropped.
    pub fn into_processors(self) -> Vec<Processor> {
        self.processors
    }
}

/// An error where code in `ring` would be emulated.
pub(super) fn possible(ring: Ring) -> Result<(), MicroError> {
    if ring == Ring::Kernel && !kind::check()?.kind.is_hardware() {
        return Err(MicroError::Unavailable(Missing::new(
            "micro-guests in ring 0",
            "the KVM here is a software one, which emulates ring 0 instruction by instruction",
            "use a machine whose KVM has VMX or SVM beneath it, or stay in ring 3",
        )));
    }
    Ok(())
}

/// What the guests that are made together share.
struct Plan {
    kvm: Kvm,
    space: Arc<Space>,
    /// The stack of each processor of each guest, and where the guest's devices are in guest-physical memory.
    stacks: Vec<Vec<Range<usize>>>,
    interruptible: bool,
    bases: Vec<u64>,
    ring: Ring,
}

/// [`MicroGuest::several`], in ring 0 even where that is emulated, and with handlers of interrupts that return in this
/// way.
pub(super) fn make(
    devices: &[Devices],
    options: &Options,
    way: Return,
) -> Result<Vec<MicroGuest>, MicroError> {
    let plan = Plan::of_own_memory(devices, options, way)?;
    if devices.len() < 2 {
        return devices.iter().enumerate().map(|(number, devices)| plan.guest(number, devices)).collect();
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(devices.len());
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, MicroGuest)>, MicroError> {
        let mut made = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(devices) = devices.get(number) else { return Ok(made) };
            // An error here keeps the other threads from beginning more.
            let guest =
                plan.guest(number, devices).inspect_err(|_| next.store(usize::MAX / 2, Ordering::Relaxed))?;
            made.push((number, guest));
        }
    };
    let mut made = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        for other in others {
            let more = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            made = made.and_then(|mut made| {
                made.extend(more?);
                Ok(made)
            });
        }
        made
    })?;
    made.sort_unstable_by_key(|(number, _)| *number);
    Ok(made.into_iter().map(|(_, guest)| guest).collect())
}

impl Plan {
    fn of_own_memory(devices: &[Devices], options: &Options, way: Return) -> Result<Plan, MicroError> {
        let kvm = kind::open()?;
        // One mapping has the stacks of all; the page below each is missing in the guests.
        let interruptible = !options.interrupts.is_empty();
        if interruptible && options.ring == Ring::Kernel {
            return Err(MicroError::Unavailable(Missing::new(
                "interrupts in ring 0",
                "handlers run in ring 3",
                "leave out Options::interrupts, or stay in ring 3",
            )));
        }
        for (vector, _) in &options.interrupts {
            MicroError::limit(
                "as the vector of an interrupt",
                (*vector).into(),
                interrupts::FIRST.into(),
                255,
            )?;
        }
        // The upper part of each stack is for interrupts, where there are some.
        let more = if interruptible { interrupts::STACK_BYTES } else { 0 };
        let stack = options.stack_bytes.next_multiple_of(PAGE).max(2 * PAGE) + more;
        let count: usize = devices.iter().map(Devices::processors).sum();
        let memory = Region::anonymous(count.max(1) * (PAGE + stack))?;
        let mut guards = memory.range().step_by(PAGE + stack).map(|start| start..start + PAGE);
        let mut leave_out = options.leave_out.clone();
        let mut stacks = Vec::with_capacity(devices.len());
        for guest in devices {
            let guards: Vec<_> = guards.by_ref().take(guest.processors()).collect();
            stacks.push(guards.iter().map(|guard| guard.end..guard.end + stack).collect());
            leave_out.extend(guards);
        }

        let maps = own::read()?;
        let mappings = own::visible(&maps, &leave_out);
        // Half of what the processor can address leaves room for what lies between mappings.
        let half = 1 << ((__cpuid(0x8000_0008).eax & 0xff).clamp(36, 52) - 1);
        let slots = own::lay_out(&mappings, OWN, options.mapped_bytes.min(half))?;
        let mut views = Vec::with_capacity(mappings.len() + devices.len());
        let bases = place_devices(devices, &mut views);
        let mut slot = 0;
        for mapping in &mappings {
            while !slots[slot].range.contains(&mapping.range.start) {
                slot += 1;
            }
            let physical = slots[slot].physical + (mapping.range.start - slots[slot].range.start) as u64;
            let access =
                Access { user: options.ring == Ring::User, write: mapping.write, execute: mapping.execute };
            views.push(View { range: mapping.range.clone(), physical, access });
        }
        let pages = own::table_pages(&mappings) + 3 * devices.len();
        let space = Space::interruptible(slots, &views, pages, vec![memory], &options.interrupts, way)?;
        Ok(Plan { kvm, space, stacks, interruptible, bases, ring: options.ring })
    }

    /// Makes guest `number`.
    fn guest(&self, number: usize, devices: &Devices) -> Result<MicroGuest, MicroError> {
        let (stacks, base) = (&self.stacks[number], self.bases[number]);
        let machine = Machine::new(&self.kvm, &self.space, devices, base)?;
        let processor = |(number, stack): (usize, &Range<usize>)| {
            let mut vcpu = machine.processor(&self.kvm, number, self.ring)?;
            vcpu.trap_system_calls(devices.trap())?;
            if !self.interruptible {
                return Ok(Processor::new(vcpu, stack.clone(), devices.clone(), base, number));
            }
            let own = stack.start..stack.end - interrupts::STACK_BYTES;
            let mut processor = Processor::new(vcpu, own, devices.clone(), base, number);
            processor.take_interrupts(stack.end)?;
            Ok(processor)
        };
        let processors = stacks.iter().enumerate().map(processor).collect::<Result<_, MicroError>>()?;
        Ok(MicroGuest { processors })
    }
}

/// Lays the devices of all guests out in guest-physical memory, one after another; devices that are shared, once.
fn place_devices(devices: &[Devices], views: &mut Vec<View>) -> Vec<u64> {
    let mut next = DEVICES;
    let mut place = |devices: &Devices| {
        if let Some(known) = views.iter().find(|view| view.range.start == devices.end()) {
            return known.physical;
        }
        let view = devices.view(next);
        next += view.range.len() as u64;
        let base = view.physical;
        views.push(view);
        base
    };
    devices.iter().map(&mut place).collect()
}
