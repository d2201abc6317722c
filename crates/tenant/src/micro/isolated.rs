//! A guest with memory of its own, for code that is not trusted. It can reach that memory, a [`Window`] that it shares
//! with the host, and its devices; nothing of the program. So calling it is safe: whatever the code does, it does to
//! itself, and the host hears of it as an error.

use std::ops::Range;
use std::sync::Arc;

use kvm_bindings::kvm_regs;

use super::devices::Devices;
use super::error::MicroError;
use super::guest;
use super::image::Image;
use super::layout::{self, Layout};
use super::machine::Machine;
use super::memory::Region;
use super::own::{LARGE, PAGE, Slot};
use super::run::{End, Ways};
use super::space::{self, OWN, Space, View};
use super::tables::Access;
use super::vcpu::{FLAGS, Ring, Vcpu};
use super::window::Window;
use super::{CallOutcome, Limits, kind};

/// How an isolated guest is made.
#[derive(Debug, Clone)]
pub struct IsolatedOptions {
    /// Size of the stack of each virtual processor, at most 16 MiB; a page without access lies below it.
    pub stack_bytes: usize,
    /// Size of the guest's own memory, zero at first, at most 1 GiB. It takes room when it is touched.
    pub memory_bytes: usize,
    /// The ring that the code runs in. [`Ring::Kernel`] is refused where the KVM would emulate it.
    pub ring: Ring,
}

impl Default for IsolatedOptions {
    fn default() -> Self {
        IsolatedOptions { stack_bytes: 64 << 10, memory_bytes: 256 << 10, ring: Ring::User }
    }
}

/// A virtual machine with memory of its own, for code that is not trusted. Dropping it gives everything back.
///
/// ```no_run
/// use tollway_tenant::micro::{Devices, Image, IsolatedGuest, IsolatedOptions, Limits, Window};
///
/// # let elf: &[u8] = &[];
/// let image = Image::from_elf(elf)?;
/// let window = Window::new(4096)?;
/// let options = IsolatedOptions::default();
/// let mut guest = IsolatedGuest::new(&image, &window, &Devices::new(0)?, &options)?;
/// window.write(0, b"what to work on")?;
/// let outcome = guest.call(0, 15, Limits::default())?;
/// # Ok::<(), tollway_core::Error>(())
/// ```
///
/// # What it can reach
/// Its image, of which only data may be written and only text executed; a stack between pages without access; memory of
/// its own; the window; the devices. Page tables, descriptors and exception handlers are out of its reach, and none of
/// the program's memory is in the machine at all. In ring 3 it may use ports: all but one end the call. What it does
/// wrong ends the call as an error that names the address and what lies there: see [`Fault`](super::Fault). How long it
/// can take is [`Limits`]' affair. Before each call the processor is reset, all vector state included: nothing in a
/// register is the host's, or the last call's.
///
/// Devices have other addresses here than [`Devices`] says, which are for functions of the program; the room that an
/// entry gets has them. (Events and wakers are the same.)
///
/// # What it costs
/// On software KVM, AMD family 26, 2.6 GHz, two cores shared with five others' work: `cargo test --release -p tollway-tenant --test isolated --
/// --nocapture` prints it.
///
/// | | |
/// |---|---|
/// | integer work, inside : outside, in turns | 0.999–1.003 |
/// | one guest made, with its image and window | 0.45–0.6 ms |
/// | sixty made; made and called | 30–63 ms; 39–70 ms |
/// | memory of a guest, with 64 KiB of window | 177 KiB |
/// | an empty call, all in | 142,000–290,000 cycles, most of it to reset the processor and to leave the guest |
/// | two doorbells for a guest | some 8 ms more for making it |
#[derive(Debug)]
pub struct IsolatedGuest {
    /// At least one.
    processors: Vec<IsolatedProcessor>,
}

/// A virtual processor of an isolated guest. Those of one guest see the same memory and can be called at the same time,
/// each from a thread of its own.
#[derive(Debug)]
pub struct IsolatedProcessor {
    // First what uses the memory, then the memory.
    vcpu: Vcpu,
    devices: Devices,
    layout: Arc<Layout>,
    number: usize,
    _window: Window,
}

impl IsolatedGuest {
    /// Makes a guest that runs the code of `image`, and sees `window` and `devices`. Several guests may see one window.
    ///
    /// # Errors
    /// [`MicroError::Unavailable`] without a usable KVM, or where ring 0 is asked of one that emulates it;
    /// [`MicroError::TooMany`] for sizes beyond the limits; [`MicroError::Setup`] with the step that was refused.
    pub fn new(
        image: &Image,
        window: &Window,
        devices: &Devices,
        options: &IsolatedOptions,
    ) -> Result<IsolatedGuest, MicroError> {
        guest::possible(options.ring)?;
        let kvm = kind::open()?;
        let layout = Arc::new(Layout::new(image, window, devices, options)?);
        let space = describe(&layout, window, devices, options.ring == Ring::User)?;
        let machine = Machine::new(&kvm, &space, devices, space::DEVICES)?;
        let processor = |number| {
            let mut vcpu = machine.processor(&kvm, number, options.ring)?;
            vcpu.trap_system_calls(devices.trap())?;
            let (devices, layout) = (devices.clone(), Arc::clone(&layout));
            Ok(IsolatedProcessor { vcpu, devices, layout, number, _window: window.clone() })
        };
        let processors = (0..layout.processors).map(processor).collect::<Result<_, MicroError>>()?;
        Ok(IsolatedGuest { processors })
    }

    /// Calls an entry on the first processor: see [`IsolatedProcessor::call`].
    ///
    /// # Errors
    /// As there.
    pub fn call(&mut self, entry: usize, argument: usize, limits: Limits) -> Result<CallOutcome, MicroError> {
        self.processors[0].call(entry, argument, limits)
    }

    /// The processors, at least one, to be called from threads of their own.
    pub fn processors(&mut self) -> &mut [IsolatedProcessor] {
        &mut self.processors
    }

    /// The processors on their own: the machine lives until the last of them is dropped.
    pub fn into_processors(self) -> Vec<IsolatedProcessor> {
        self.processors
    }

    /// Where every guest sees its window, for arguments that point into it.
    pub const WINDOW: usize = layout::WINDOW;
}

impl IsolatedProcessor {
    /// Calls entry `entry` of the image, with `argument` and a pointer to the room (`tollway_payload::Room`), on the
    /// processor's own stack. Continues it after each exit, until it returns. Every call begins with the same registers;
    /// memory is as the last call left it.
    ///
    /// # Errors
    /// [`MicroError::NoEntry`]; [`MicroError::Fault`] with what is at the address, [`MicroError::TimedOut`],
    /// [`MicroError::WildPort`], [`MicroError::NoDevice`] or [`MicroError::Unexpected`] if it does not return. The
    /// processor can be called again.
    pub fn call(&mut self, entry: usize, argument: usize, limits: Limits) -> Result<CallOutcome, MicroError> {
        let image = &self.layout.image;
        let Some(address) = image.entry(entry) else {
            return Err(MicroError::NoEntry { wanted: entry, has: image.entries() });
        };
        let regs = kvm_regs {
            rip: layout::START as u64,
            // Some room above, as a caller's frame would be.
            rsp: layout::stack(self.number, self.layout.stack_bytes).end as u64 - 256,
            rdi: argument as u64,
            rsi: layout::room(self.number) as u64,
            r12: address,
            r13: layout::DEVICES as u64,
            rflags: FLAGS,
            ..Default::default()
        };
        let ways = Ways { base: space::DEVICES, wake: self.devices.wake_of(self.number) };
        // The code may have changed what a compiler's code does not: segments, their bases, control words.
        self.vcpu.clean = false;
        match self.vcpu.run(&regs, 0, limits, ways)? {
            (End::Returned(value), exits) => Ok(CallOutcome { value, exits }),
            (End::Stopped(exception), _) => Err(MicroError::Fault(Box::new(self.layout.fault(exception)))),
        }
    }

    /// Its number among those of its guest, counted from 0.
    pub fn number(&self) -> usize {
        self.number
    }
}

impl Layout {
    fn new(
        image: &Image,
        window: &Window,
        devices: &Devices,
        options: &IsolatedOptions,
    ) -> Result<Layout, MicroError> {
        MicroError::limit("bytes of stack", options.stack_bytes, 0, layout::MOST_STACK)?;
        MicroError::limit("bytes of memory", options.memory_bytes, 0, layout::MOST_MEMORY)?;
        MicroError::limit("bytes of window", window.len(), 1, layout::MOST_MEMORY)?;
        Ok(Layout {
            image: image.clone(),
            stack_bytes: options.stack_bytes.next_multiple_of(PAGE).max(PAGE),
            memory_bytes: options.memory_bytes.next_multiple_of(PAGE).max(PAGE),
            window_bytes: window.len(),
            device_bytes: devices.view(0).range.len(),
            processors: devices.processors(),
        })
    }
}

/// Describes what the guest sees, fills its memory with the image, and tells each processor of its room.
fn describe(
    layout: &Layout,
    window: &Window,
    devices: &Devices,
    user: bool,
) -> Result<Arc<Space>, MicroError> {
    let access = |write, execute| Access { user, write, execute };
    // The guest's memory comes first, so that it lies on large pages.
    let mut parts = vec![
        (layout::MEMORY..layout::MEMORY + layout.memory_bytes, access(true, false)),
        (layout::START..layout::START + PAGE, access(false, true)),
        (layout::ROOMS..layout::ROOMS + PAGE, access(false, false)),
    ];
    parts.extend(layout.image.segments().iter().map(|segment| (segment.range.clone(), segment.access(user))));
    let stacks = (0..layout.processors).map(|number| layout::stack(number, layout.stack_bytes));
    parts.extend(stacks.map(|range| (range, access(true, false))));

    let mut views = Vec::with_capacity(parts.len() + 2);
    let mut bytes = 0;
    for (range, access) in parts {
        let len = range.len();
        views.push(View { range, physical: OWN + bytes as u64, access });
        bytes += len;
    }
    let memory = Region::anonymous(bytes)?;
    // SAFETY: the region was just mapped, readable and writable, and nobody else knows of it.
    let own = unsafe { std::slice::from_raw_parts_mut(memory.range().start as *mut u8, bytes) };
    let mut put = |at: usize, bytes: &[u8]| {
        let view = views.iter().find(|view| view.range.contains(&at));
        let offset = view.map_or(0, |view| (view.physical - OWN) as usize + at - view.range.start);
        own[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    put(layout::START, layout::FIRST_CODE);
    for number in 0..layout.processors {
        let room = layout.tell(devices, number);
        // SAFETY: the room is made of words only.
        put(layout::room(number), unsafe {
            std::slice::from_raw_parts((&raw const room).cast(), size_of_val(&room))
        });
    }
    for segment in layout.image.segments() {
        put(segment.range.start, &segment.bytes);
    }

    let window_at = (OWN + bytes as u64).next_multiple_of(LARGE as u64);
    let shared = layout::WINDOW..layout::WINDOW + window.len();
    views.push(View { range: shared, physical: window_at, access: access(true, false) });
    let ways = layout::DEVICES..layout::DEVICES + layout.device_bytes;
    views.push(View { range: ways, physical: space::DEVICES, access: access(true, false) });
    let slots = vec![
        Slot { range: memory.range(), physical: OWN },
        Slot { range: window.range(), physical: window_at },
    ];
    // A table for every 2 MiB, a directory for every GiB, and both for ragged ends; what the machine adds of its own.
    let tables = |range: &Range<usize>| range.len() / LARGE + (range.len() >> 30) + 4;
    let pages = views.iter().map(|view| tables(&view.range)).sum::<usize>() + 16;
    Space::new(slots, &views, pages, vec![memory])
}
