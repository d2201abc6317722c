//! What comes between two cold calls: as a program does that does other things between its calls.
//!
//! Before each call, untimed and in this order:
//!
//! 1. a word of each line of as much memory as the second-level cache holds is read: of what the call works on, first- and second-level
//!    caches have next to nothing left, the third has it;
//! 2. other ways through the kernel are gone: 512 bytes over a TCP connection of the loopback device and back; a file of tmpfs made, written,
//!    read and closed, with which it is gone; a pipe written and read; a path looked up; memory given back and two pages
//!    touched again (page faults); a descriptor made ready, and an epoll asked.
//!
//! The second replaces, by other code of the kernel, most of what the first-level cache of instructions and the branch predictors know of the
//! call; what all calls have in common (the entry, descriptors, copies) is warm again after it, as in any program that calls at all.
//! So a cold call is cold in the nearest caches, mostly warm in the third and partly in the second, and finds its address
//! translations mostly replaced. It is no call after a long sleep, whose processor others have used, nor one whose caches were flushed.

use std::fs::read_to_string;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, memfd_create, stat};
use rustix::io::{pread, pwrite, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use tollway_core::{Error, Result};

use crate::engine::region::{PAGE, Region};

/// Bytes of a line of the caches of x86-64.
const LINE: usize = 64;

/// Bytes of a second-level cache that does not tell its size.
const SECOND_LEVEL: usize = 1 << 20;

/// Bytes of a message.
const MESSAGE: usize = 512;

/// Everything that the work between two calls is done with.
pub(super) struct Cooling {
    /// As much as the second-level cache holds.
    memory: Region,
    faulted: Region,
    here: TcpStream,
    there: TcpStream,
    pipe: (OwnedFd, OwnedFd),
    counter: OwnedFd,
    epoll: OwnedFd,
}

impl Cooling {
    pub(super) fn new() -> Result<Cooling> {
        let mut memory = Region::new(cache_size("2").unwrap_or(SECOND_LEVEL))?;
        memory.touch();
        let connect = || -> std::io::Result<_> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let here = TcpStream::connect(listener.local_addr()?)?;
            let (there, _) = listener.accept()?;
            here.set_nodelay(true)?;
            there.set_nodelay(true)?;
            Ok((here, there))
        };
        let (here, there) = connect().map_err(|e| Error::system("connecting through TCP on 127.0.0.1", e))?;
        let descriptors = || -> rustix::io::Result<_> {
            let pipe = pipe_with(PipeFlags::CLOEXEC)?;
            let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(&epoll, &counter, EventData::new_u64(1), EventFlags::IN)?;
            Ok((pipe, counter, epoll))
        };
        let (pipe, counter, epoll) =
            descriptors().map_err(|e| Error::system("making a pipe, an eventfd and an epoll", e))?;
        Ok(Cooling { memory, faulted: Region::new(2 * PAGE)?, here, there, pipe, counter, epoll })
    }

    /// All of it once; whether each part did what it is there for.
    pub(super) fn work(&mut self) -> bool {
        let lines = self.memory.bytes().iter().step_by(LINE);
        black_box(lines.fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
        let [said, mut heard] = [[7; MESSAGE], [0; MESSAGE]];
        let across = self.here.write_all(&said).is_ok()
            && self.there.read_exact(&mut heard).is_ok()
            && self.there.write_all(&heard).is_ok()
            && self.here.read_exact(&mut heard).is_ok();
        let piped =
            write(&self.pipe.1, &said) == Ok(MESSAGE) && read(&self.pipe.0, &mut heard) == Ok(MESSAGE);
        let filed = in_memory_file(&said, &mut heard);
        let found = stat(c"/dev/null").is_ok();
        let faulted = self.faulted.give_back();
        self.faulted.touch();
        across && piped && filed && found && faulted && self.ask()
    }

    /// Makes the counter ready, asks the epoll, and empties the counter.
    fn ask(&self) -> bool {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let told = write(&self.counter, &1u64.to_ne_bytes()) == Ok(8);
        // SAFETY: the event is one live place.
        let ready =
            unsafe { libc::syscall(libc::SYS_epoll_wait, self.epoll.as_raw_fd(), &raw mut event, 1, 0) };
        told && ready == 1 && read(&self.counter, &mut [0; 8]) == Ok(8)
    }
}

/// A file that is nowhere but in memory: made, written, read, and gone as it is closed.
fn in_memory_file(said: &[u8], heard: &mut [u8]) -> bool {
    memfd_create(c"tollway", MemfdFlags::CLOEXEC).is_ok_and(|file| {
        pwrite(&file, said, 0) == Ok(said.len()) && pread(&file, &mut *heard, 0) == Ok(said.len())
    })
}

/// Bytes of the first processor's cache of this level, as Linux tells them (sysfs-devices-system-cpu: `1024K`).
pub(super) fn cache_size(of_level: &str) -> Option<usize> {
    let cache = (0..8)
        .map(|index| format!("/sys/devices/system/cpu/cpu0/cache/index{index}"))
        .find(|cache| read_to_string(format!("{cache}/level")).is_ok_and(|level| level.trim() == of_level))?;
    let size = read_to_string(format!("{cache}/size")).ok()?;
    Some(size.trim().strip_suffix('K')?.parse::<usize>().ok()? << 10)
}
