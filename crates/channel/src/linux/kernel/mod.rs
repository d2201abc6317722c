//! Asynchronous system calls: io_uring behind the same futures and the same executor.
//!
//! ```text
//!   ring       opened by options; the executor's driver: submits, takes what has come, sleeps, closes
//!   slot       a place in the table of operations
//!   queue      that table, and the two queues that are shared with the kernel
//!   deed       what can be asked, as entries of the submission queue
//!   flight     an operation as a future
//!   advising   advice on pages, piece by piece
//!   stream     operations with many results: connections, and what arrives
//!   memory     buffers that are leased, pages that are given and taken back
//!   provided   pieces of memory of which the kernel chooses one for what has arrived
//!   file       open files, registered or not
//!   offers     whether this kernel has an operation
//!   both       the same thread at another process's channel and at the ring
//! ```
//!
//! Of `memory`, `provided`, `file`, `deed`, `slot` and `queue` each knows only those before it, and nothing else of these.
//!
//! What tasks ask between two turns of their executor enters the kernel by one call. Whatever the kernel may read or write belongs to the ring's
//! table until the completion has come: a future that is dropped leaves it there, asks the kernel to give the operation up
//! (IORING_OP_ASYNC_CANCEL), and is waited for when the ring is closed. After the ring was opened no request is given memory of its own;
//! only streams of results, and lines of more tasks than ever waited before, grow.
//!
//! In a child that fork(2) made the ring is its parent's: operations fail there (EPERM), and the child opens
//! one of its own.
//!
//! Sources: io_uring_setup(2), io_uring_enter(2), io_uring_register(2), and liburing's manual pages of each operation.

mod advising;
mod both;
mod deed;
mod file;
mod flight;
mod memory;
mod offers;
mod provided;
mod queue;
mod ring;
mod slot;
mod stream;

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use tollway_core::{Error, Result};

pub use advising::Advising;
pub use both::Both;
pub use deed::Advice;
pub use file::File;
pub use flight::Operation;
pub use memory::{Buffer, Lease, Pages};
pub use offers::Offer;
pub use provided::Piece;
pub use queue::Counts;
pub use ring::{Options, Ring};
pub use stream::{Accepting, Receiving};

use deed::{Deed, HERE, Held};
use flight::Flight;
use queue::Queue;

/// Of what is asked of a ring in a child that fork(2) made.
fn forked() -> &'static str {
    "the ring is another process', of which fork(2) made a copy: open one in this process"
}

/// The kernel, asked by the tasks of a thread. [`Ring`] brings them the results.
#[derive(Clone)]
pub struct Kernel(Rc<RefCell<Queue>>);

impl core::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Kernel")
            .field("in_flight", &self.in_flight())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Kernel {
    /// A file or socket, to be named by its descriptor.
    pub fn file(&self, descriptor: impl Into<OwnedFd>) -> File {
        File::new(descriptor.into())
    }

    /// A file or socket, put into the ring's table of files: the kernel need not look it up, and count its users, in each operation. One call of
    /// the kernel, and another when it is closed. Other rings name it by its descriptor.
    ///
    /// # Errors
    /// [`Error::Input`] if the table is full ([`Options::files`]); [`Error::System`] if the kernel refuses.
    pub fn register(&self, descriptor: impl Into<OwnedFd>) -> Result<File> {
        let descriptor = descriptor.into();
        let mut queue = self.0.borrow_mut();
        if !queue.is_own() {
            return Err(Error::system("registering a file with io_uring", forked()));
        }
        let at = queue.files.pop().ok_or_else(|| Error::Input {
            place: "a file to be registered".into(),
            reason: "the ring's table of files is full".into(),
            remedy: "open the ring with a longer one, or close a file".into(),
        })?;
        match queue.ring().submitter().register_files_update(at, &[descriptor.as_raw_fd()]) {
            Ok(_) => Ok(File::registered(descriptor, at, &self.0)),
            Err(error) => {
                queue.files.push(at);
                Err(Error::system("registering a file with io_uring", error))
            }
        }
    }

    /// One of the ring's buffers, as soon as one is free.
    pub fn buffer(&self) -> Lease {
        Lease { arena: self.0.borrow().arena.clone(), ticket: None }
    }

    /// One of the ring's buffers, if one is free.
    pub fn try_buffer(&self) -> Option<Buffer> {
        let arena = self.0.borrow().arena.clone();
        arena.take()
    }

    /// What was counted; the waits only by who has the [ring](Ring::counts).
    pub fn counts(&self) -> Counts {
        self.0.borrow().counts
    }

    /// Calls of io_uring_enter(2).
    pub fn entries(&self) -> u64 {
        self.counts().entries
    }

    /// How many operations are on their way, streams among them.
    pub fn in_flight(&self) -> usize {
        self.0.borrow().in_flight()
    }

    fn asks<T>(
        &self,
        deed: Deed,
        held: Held,
        says: fn(deed::Came, Held) -> io::Result<T>,
    ) -> Operation<'_, T> {
        Operation { flight: Flight::new(self, deed, held), says }
    }

    fn moves(&self, deed: Deed, file: &File, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.asks(deed, Held::buffered(file, &self.0, buffer), |came, held| {
            let count = came.count()?;
            // It was held since the operation was asked for.
            held.buffer.map(|buffer| (count, buffer)).ok_or_else(|| io::ErrorKind::Other.into())
        })
    }

    /// Nothing: a way through the queues (IORING_OP_NOP).
    pub fn nop(&self) -> Operation<'_, ()> {
        self.asks(Deed::Nop, Held::default(), |came, _| came.count().map(drop))
    }

    /// Reads as many bytes as the buffer has, from there on; how many there were, and the buffer (pread(2)).
    pub fn read_at(&self, file: &File, offset: u64, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.moves(Deed::Read { offset }, file, buffer)
    }

    /// Reads from where the file is, or what can be read that has no places (read(2)).
    pub fn read(&self, file: &File, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.read_at(file, HERE, buffer)
    }

    /// Writes the buffer's bytes from there on; how many were written, and the buffer (pwrite(2)).
    pub fn write_at(&self, file: &File, offset: u64, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.moves(Deed::Write { offset }, file, buffer)
    }

    /// Writes to where the file is, or to what has no places (write(2)).
    pub fn write(&self, file: &File, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.write_at(file, HERE, buffer)
    }

    /// Sends the buffer's bytes; how many were sent, and the buffer (send(2) with MSG_NOSIGNAL).
    pub fn send(&self, socket: &File, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.moves(Deed::Send, socket, buffer)
    }

    /// Receives at most as many bytes as the buffer has; how many came, 0 when the other side has closed, and the buffer (recv(2)).
    pub fn receive(&self, socket: &File, buffer: Buffer) -> Operation<'_, (usize, Buffer)> {
        self.moves(Deed::Receive, socket, buffer)
    }

    /// What arrives, in pieces that the kernel chooses when it has arrived ([`Options::pieces`]).
    pub fn receiving(&self, socket: &File) -> Receiving<'_> {
        let mut receiving =
            Receiving { flight: Flight::new(self, Deed::ReceiveMany, Held::default()), file: socket.clone() };
        let held = receiving.held();
        receiving.flight.again(held);
        receiving
    }

    /// The next connection to a listening socket (accept4(2) with SOCK_CLOEXEC).
    pub fn accept(&self, socket: &File) -> Operation<'_, OwnedFd> {
        self.asks(Deed::Accept, Held::file(socket, &self.0), |came, _| came.descriptor())
    }

    /// Connections as they come.
    pub fn accepting(&self, socket: &File) -> Accepting<'_> {
        Accepting {
            flight: Flight::new(self, Deed::AcceptMany, Held::file(socket, &self.0)),
            file: socket.clone(),
        }
    }

    /// What is to be done with that part of the pages, in bytes; it must begin at a page (madvise(2)). The kernel has a thread of its own do it, 2 GiB
    /// at a time: where it cannot do a piece, those before it are done.
    ///
    /// # Panics
    /// If there are no such pages.
    pub fn madvise(&self, pages: &Pages, part: Range<usize>, advice: Advice) -> Advising<'_> {
        Advising::new(self, pages, part, advice)
    }

    /// Gives a file room, or takes it back: `mode` as fallocate(2) has it, offset and length in bytes. The kernel has a thread of its own do it.
    pub fn fallocate(&self, file: &File, mode: i32, offset: u64, len: u64) -> Operation<'_, ()> {
        self.asks(Deed::Allocate { mode, offset, len }, Held::file(file, &self.0), |came, _| {
            came.count().map(drop)
        })
    }

    /// Is over after so long.
    pub fn timeout(&self, duration: Duration) -> Operation<'_, ()> {
        self.asks(Deed::Timeout(duration), Held::default(), |came, _| match came.result {
            result if result == -libc::ETIME => Ok(()),
            _ => came.count().map(drop),
        })
    }

    /// Is over when the descriptor has one of those events, as poll(2) has them; which ones it has.
    pub fn poll(&self, file: &File, events: u32) -> Operation<'_, u32> {
        self.asks(Deed::Poll { events }, Held::file(file, &self.0), |came, _| {
            came.count().map(|events| events as u32)
        })
    }
}
