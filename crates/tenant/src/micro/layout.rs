//! Where things are in an isolated guest, the same in every guest; and what is at an address.
//!
//! | from | what | the guest may |
//! |---|---|---|
//! | `0x1_0000` | the first code, which calls an entry | execute |
//! | `0x2_0000` | the rooms: what each processor is told of its surroundings | read |
//! | `0x10_0000` … `0x1000_0000` | the image's segments, at the addresses it was linked for | as the image says |
//! | `0x4000_0000` + 32 MiB × processor | its stack, after a page without access | read, write |
//! | `0x10_0000_0000` | memory of the guest's own | read, write |
//! | `0x20_0000_0000` | the window | read, write |
//! | `0x30_0000_0000` | devices, a page each: no memory | load, store |

use std::ops::Range;

use super::culprit;
use super::devices::Devices;
use super::error::Fault;
use super::image::Image;
use super::own::PAGE;
use super::vcpu::Exception;

/// The first code.
pub(super) const START: usize = 0x1_0000;
/// It calls the entry, whose address is in R12, and stores what that returns to the address in R13, which ends the call:
/// `call r12`, `mov [r13], rax`, `ud2`.
pub(super) const FIRST_CODE: &[u8] = &[0x41, 0xff, 0xd4, 0x49, 0x89, 0x45, 0x00, 0x0f, 0x0b];
/// The rooms, one after another on one page.
pub(super) const ROOMS: usize = 0x2_0000;
/// Room for images.
pub(super) const IMAGE: Range<usize> = 0x10_0000..0x1000_0000;
/// The page below the first stack.
const STACKS: usize = 0x4000_0000;
/// From one processor's stack to the next one's; a stack and its page must fit.
const STACK_STRIDE: usize = 32 << 20;
/// Most bytes of a stack.
pub(super) const MOST_STACK: usize = 16 << 20;
/// Memory of the guest's own.
pub(super) const MEMORY: usize = 0x10_0000_0000;
/// Most bytes of it.
pub(super) const MOST_MEMORY: usize = 1 << 30;
/// The window.
pub(super) const WINDOW: usize = 0x20_0000_0000;
/// The devices.
pub(super) const DEVICES: usize = 0x30_0000_0000;

/// The guest-virtual stack of a processor.
pub(super) fn stack(processor: usize, bytes: usize) -> Range<usize> {
    let start = STACKS + processor * STACK_STRIDE + PAGE;
    start..start + bytes
}

/// What a processor is told of its surroundings, as `tollway_payload::Room` has it, field by field.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Room {
    pub(super) window: usize,
    pub(super) window_bytes: usize,
    pub(super) memory: usize,
    pub(super) memory_bytes: usize,
    pub(super) exit: usize,
    pub(super) exit_port: usize,
    pub(super) doorbells: usize,
    pub(super) doorbell_count: usize,
    pub(super) doorbell_stride: usize,
    pub(super) idle: usize,
    pub(super) processor: usize,
}

/// Where the room of a processor is.
pub(super) fn room(processor: usize) -> usize {
    ROOMS + processor * size_of::<Room>().next_multiple_of(64)
}

/// What is where in one guest.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) image: Image,
    pub(super) stack_bytes: usize,
    pub(super) memory_bytes: usize,
    pub(super) window_bytes: usize,
    pub(super) device_bytes: usize,
    pub(super) processors: usize,
}

impl Layout {
    /// What processor `number` is told.
    pub(super) fn tell(&self, devices: &Devices, number: usize) -> Room {
        let there = |address: usize| DEVICES + (address - devices.end());
        let bells = devices.doorbells();
        Room {
            window: WINDOW,
            window_bytes: self.window_bytes,
            memory: MEMORY,
            memory_bytes: self.memory_bytes,
            exit: there(devices.exits().store_to),
            exit_port: devices.exits().port.into(),
            doorbells: bells.first().map_or(0, |bell| there(bell.store_to)),
            doorbell_count: bells.len(),
            doorbell_stride: PAGE,
            idle: there(devices.idle_at()),
            processor: number,
        }
    }

    /// What is at `address`.
    pub(super) fn name(&self, address: u64) -> &'static str {
        let Ok(at) = usize::try_from(address) else { return "nothing" };
        if let Some((segment, _)) = self.image.bytes_at(address) {
            return segment.name();
        }
        let within = |start: usize, len: usize| (start..start + len).contains(&at);
        let stacks = (0..self.processors).map(|number| stack(number, self.stack_bytes));
        for stack in stacks {
            if stack.contains(&at) {
                return "the stack";
            }
            if within(stack.start - PAGE, PAGE) {
                return "the guard page below the stack";
            }
        }
        match at {
            0..PAGE => "the null page",
            _ if within(START, PAGE) => "the first code",
            _ if within(ROOMS, PAGE) => "the room",
            _ if within(MEMORY, self.memory_bytes) => "the guest's memory",
            _ if within(WINDOW, self.window_bytes) => "the window",
            _ if within(DEVICES, self.device_bytes) => "the devices",
            _ => "no memory of the guest",
        }
    }

    /// What the guest's code did.
    pub(super) fn fault(&self, exception: Exception) -> Fault {
        let Exception { vector, error_code, address, rip, rsp, system_call } = exception;
        let code = match self.image.bytes_at(rip) {
            Some((_, bytes)) => bytes,
            None => FIRST_CODE.get((rip as usize).wrapping_sub(START)..).unwrap_or_default(),
        };
        let named = culprit::name(&code[..code.len().min(culprit::LONGEST)]);
        Fault {
            vector,
            error_code,
            address,
            rip,
            rsp,
            instruction: if system_call { Some("syscall") } else { named },
            address_in: address.map(|address| self.name(address).to_owned()),
            code_in: Some(self.name(rip).to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The payload's idea of its room is the host's.
    #[test]
    fn the_room_is_what_the_payload_expects() {
        type Theirs = tollway_payload::Room;
        assert_eq!(size_of::<Room>(), size_of::<Theirs>());
        macro_rules! same {
            ($($field:ident)*) => { $(assert_eq!(offset_of!(Room, $field), offset_of!(Theirs, $field));)* };
        }
        same!(window window_bytes memory memory_bytes exit exit_port doorbells doorbell_count doorbell_stride idle
            processor);
    }

    /// Everything has its name, and what lies just outside has not.
    #[test]
    fn addresses_have_names() {
        let layout = Layout {
            image: Image::from_code(&[0x90; 5000]).unwrap(),
            stack_bytes: 8192,
            memory_bytes: 4096,
            window_bytes: 4096,
            device_bytes: 4096,
            processors: 2,
        };
        let second = stack(1, 8192);
        for (address, name) in [
            (0, "the null page"),
            (START, "the first code"),
            (ROOMS + 1, "the room"),
            (IMAGE.start + 8191, "the text"),
            (IMAGE.start + 8192, "no memory of the guest"),
            (second.start - 1, "the guard page below the stack"),
            (second.start, "the stack"),
            (second.end, "no memory of the guest"),
            (stack(2, 8192).start, "no memory of the guest"),
            (MEMORY + 4095, "the guest's memory"),
            (WINDOW, "the window"),
            (WINDOW + 4096, "no memory of the guest"),
            (DEVICES, "the devices"),
            (usize::MAX, "no memory of the guest"),
        ] {
            assert_eq!(layout.name(address as u64), name, "{address:#x}");
        }
    }
}
