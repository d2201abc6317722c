//! What can be asked of the kernel, and how that is written into a submission queue entry.

use std::os::fd::{FromRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use io_uring::squeue::Entry;
use io_uring::types::{Fd, Fixed, Timespec};
use io_uring::{cqueue, opcode};

use super::file::{File, Named, Table};
use super::memory::{Arena, Buffer, Pages};
use super::provided::Pool;

/// As the offset of a read or write: where the file is (io_uring_enter(2), IORING_OP_READ).
pub(super) const HERE: u64 = u64::MAX;

/// What to do with the pages that [`Kernel::madvise`](super::Kernel::madvise) names (madvise(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Have them in memory, to be written without a fault (MADV_POPULATE_WRITE, Linux 5.14).
    PopulateWrite,
    /// Give them back: they are zero from then on, and take no memory until touched (MADV_DONTNEED).
    DontNeed,
}

/// One operation.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    Nop,
    Read {
        offset: u64,
    },
    Write {
        offset: u64,
    },
    Send,
    Receive,
    ReceiveMany,
    Accept,
    AcceptMany,
    /// Of the pages that it holds.
    Advise {
        offset: usize,
        len: u32,
        advice: Advice,
    },
    Allocate {
        mode: i32,
        offset: u64,
        len: u64,
    },
    Timeout(Duration),
    Poll {
        events: u32,
    },
}

/// What an operation has until the kernel is done with it.
#[derive(Default)]
pub(super) struct Held {
    pub file: Option<(File, Named)>,
    pub buffer: Option<Buffer>,
    pub pages: Option<Pages>,
    pub pool: Option<Rc<Pool>>,
}

/// With a file by whichever name it has.
macro_rules! on {
    ($held:expr, $file:ident => $build:expr) => {
        match $held.file.as_ref().map_or(Named::Descriptor(-1), |(_, named)| *named) {
            Named::Descriptor(number) => {
                let $file = Fd(number);
                $build
            }
            Named::Registered(at) => {
                let $file = Fixed(at);
                $build
            }
        }
    };
}

impl Deed {
    /// As an entry of the ring that has these buffers. `time` is where a timeout's duration lies until the entry is consumed.
    pub fn entry(&self, held: &Held, arena: &Rc<Arena>, time: *mut Timespec) -> Entry {
        let (start, len) = held
            .buffer
            .as_ref()
            .map_or((std::ptr::null_mut(), 0), |buffer| (buffer.start(), buffer.len() as u32));
        let is_registered = held.buffer.as_ref().is_some_and(|buffer| buffer.is_registered(arena));
        match *self {
            Deed::Nop => opcode::Nop::new().build(),
            Deed::Read { offset } if is_registered => {
                on!(held, file => opcode::ReadFixed::new(file, start, len, 0).offset(offset).build())
            }
            Deed::Read { offset } => {
                on!(held, file => opcode::Read::new(file, start, len).offset(offset).build())
            }
            Deed::Write { offset } if is_registered => {
                on!(held, file => opcode::WriteFixed::new(file, start, len, 0).offset(offset).build())
            }
            Deed::Write { offset } => {
                on!(held, file => opcode::Write::new(file, start, len).offset(offset).build())
            }
            // A broken connection is an error, not a signal.
            Deed::Send => {
                on!(held, file => opcode::Send::new(file, start, len).flags(libc::MSG_NOSIGNAL).build())
            }
            Deed::Receive => on!(held, file => opcode::Recv::new(file, start, len).build()),
            Deed::ReceiveMany => on!(held, file => opcode::RecvMulti::new(file, Pool::GROUP).build()),
            Deed::Accept => on!(held, file =>
                opcode::Accept::new(file, std::ptr::null_mut(), std::ptr::null_mut()).flags(libc::SOCK_CLOEXEC).build()),
            Deed::AcceptMany => {
                on!(held, file => opcode::AcceptMulti::new(file).flags(libc::SOCK_CLOEXEC).build())
            }
            Deed::Advise { offset, len, advice } => {
                // Of one that is over and polled again there are none any more: what is there now may be another's.
                let (start, len) = held
                    .pages
                    .as_ref()
                    .map_or((std::ptr::null_mut(), 0), |pages| (pages.as_ptr().wrapping_add(offset), len));
                let advice = match advice {
                    Advice::PopulateWrite => libc::MADV_POPULATE_WRITE,
                    Advice::DontNeed => libc::MADV_DONTNEED,
                };
                opcode::Madvise::new(start.cast(), len.into(), advice).build()
            }
            Deed::Allocate { mode, offset, len } => {
                on!(held, file => opcode::Fallocate::new(file, len).offset(offset).mode(mode).build())
            }
            Deed::Timeout(duration) => {
                // SAFETY: the slot's own cell, which the kernel reads only between submission and consumption of an entry of this slot: there is none
                // yet.
                unsafe { time.write(duration.into()) };
                opcode::Timeout::new(time).build()
            }
            Deed::Poll { events } => on!(held, file => opcode::PollAdd::new(file, events).build()),
        }
    }

    /// What came of it that nobody wants any more: a connection is closed, a piece goes back.
    pub fn disposes(&self, came: Came, held: &Held) {
        match self {
            Deed::Accept | Deed::AcceptMany => drop(came.descriptor()),
            Deed::ReceiveMany => {
                if let (Some(pool), Some(piece)) = (&held.pool, cqueue::buffer_select(came.flags)) {
                    pool.gives(piece);
                }
            }
            _ => {}
        }
    }
}

/// A completion: the result, a negative one being an error's number, and its flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub result: i32,
    pub flags: u32,
}

impl Came {
    /// Of an operation that could not be submitted, or whose completion does not come any more.
    pub fn failed(errno: i32) -> Came {
        Came { result: -errno, flags: 0 }
    }

    /// What it says.
    pub fn count(self) -> std::io::Result<usize> {
        usize::try_from(self.result).map_err(|_| std::io::Error::from_raw_os_error(-self.result))
    }

    /// The connection that it names.
    pub fn descriptor(self) -> std::io::Result<OwnedFd> {
        self.count()?;
        // SAFETY: the kernel has made this descriptor for this completion, of which there is one.
        Ok(unsafe { OwnedFd::from_raw_fd(self.result) })
    }
}

impl Held {
    /// A file, by the name that the ring of that table has for it.
    pub fn file(file: &File, table: &Rc<impl Table>) -> Held {
        Held { file: Some((file.clone(), file.named(table))), ..Held::default() }
    }

    /// A file and a buffer.
    pub fn buffered(file: &File, table: &Rc<impl Table>, buffer: Buffer) -> Held {
        Held { buffer: Some(buffer), ..Held::file(file, table) }
    }

    /// Pages.
    pub fn pages(pages: &Pages) -> Held {
        Held { pages: Some(pages.clone()), ..Held::default() }
    }
}
