//! Two POSIX message queues, one for each direction.
//!
//! On Linux a queue's handle is a file descriptor, so it is passed like any other; the queues' names are gone before
//! anybody else could open them.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollway_core::{Error, Missing, Params, Place, Result};
use tollway_host::watch::Release;

use super::sequence::{STOP, Sequence};
use super::{Caller, Exchange, Server};

/// A message of four bytes.
const BYTES: usize = size_of::<u32>();

/// A message through one queue, and the same back through the other.
pub struct QueueExchange;

/// The end that asks.
pub struct QueueCaller {
    to: OwnedFd,
    from: Arc<OwnedFd>,
    sequence: Sequence,
}

/// The end that answers.
pub struct QueueServer {
    from: Arc<OwnedFd>,
    to: OwnedFd,
}

impl Exchange for QueueExchange {
    type Caller = QueueCaller;
    type Server = QueueServer;

    fn caller(_: &Params, _: &Place) -> Result<(QueueCaller, Vec<OwnedFd>)> {
        let (to, from) = (create()?, create()?);
        let share = |q: &OwnedFd| q.try_clone().map_err(|e| Error::system("sharing a message queue", e));
        let for_server = vec![share(&to)?, share(&from)?];
        Ok((QueueCaller { to, from: Arc::new(from), sequence: Sequence::default() }, for_server))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<QueueServer> {
        let [from, to] = super::exactly(descriptors)?;
        Ok(QueueServer { from: Arc::new(from), to })
    }
}

impl Caller for QueueCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        let sent = send(&self.to, number).is_ok();
        match receive(&self.from) {
            Ok(STOP) | Err(_) => self.sequence.end(),
            Ok(answer) => self.sequence.note(sent && answer == number),
        }
    }

    fn stop(&mut self) -> Result<()> {
        send(&self.to, STOP).map_err(|e| Error::system("stopping the server", e))
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        stopping(&self.from)
    }
}

impl Server for QueueServer {
    fn serve(&mut self) -> Result<u64> {
        let mut served = 0;
        loop {
            match receive(&self.from).map_err(|e| Error::system("receiving from a message queue", e))? {
                STOP => return Ok(served),
                number => {
                    send(&self.to, number).map_err(|e| Error::system("answering through a queue", e))?
                }
            }
            served += 1;
        }
    }

    fn release(&self) -> Release {
        stopping(&self.from)
    }
}

fn stopping(queue: &Arc<OwnedFd>) -> Release {
    let queue = queue.clone();
    Box::new(move || {
        // It would fail on a queue that is full: then whoever reads it is not asleep, and finds a closed link later.
        let _ = send(&queue, STOP);
    })
}

/// A queue without a name, for reading and writing by whoever has the descriptor.
fn create() -> Result<OwnedFd> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("/tollway-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let name = CString::new(name).map_err(|e| Error::system("naming a message queue", e))?;
    // SAFETY: all zero is a valid `mq_attr`: it is made of integers.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    // Request, stop and a released reader's stop: three at most.
    attributes.mq_maxmsg = 4;
    attributes.mq_msgsize = BYTES as _;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the name ends with a zero; with O_CREAT the call takes a mode and a pointer to attributes, both given.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600 as libc::mode_t, &raw mut attributes) };
    if queue < 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EMFILE | libc::ENOSPC | libc::EACCES | libc::EPERM) => {
                Error::Missing(Missing::new(
                    "POSIX message queues",
                    format!("mq_open: {error}"),
                    "build the kernel with CONFIG_POSIX_MQUEUE; raise `ulimit -q` and fs.mqueue.queues_max",
                ))
            }
            _ => Error::system("making a message queue", error),
        });
    }
    // SAFETY: as above. The queue lives on until its last descriptor is closed.
    unsafe { libc::mq_unlink(name.as_ptr()) };
    // SAFETY: mq_open has just returned this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(queue) })
}

#[inline]
fn send(queue: &OwnedFd, number: u32) -> io::Result<()> {
    let message = number.to_ne_bytes();
    loop {
        // SAFETY: the kernel reads BYTES bytes of `message`, which has as many.
        if unsafe { libc::mq_send(queue.as_raw_fd(), message.as_ptr().cast(), BYTES, 0) } == 0 {
            return Ok(());
        }
        retry()?;
    }
}

#[inline]
fn receive(queue: &OwnedFd) -> io::Result<u32> {
    let mut message = [0; BYTES];
    loop {
        let into = message.as_mut_ptr().cast();
        // SAFETY: the kernel writes at most BYTES bytes to `message`, which has as many; a queue of longer messages,
        // which another process could have sent, is refused with EMSGSIZE.
        if unsafe { libc::mq_receive(queue.as_raw_fd(), into, BYTES, std::ptr::null_mut()) } >= 0 {
            return Ok(u32::from_ne_bytes(message));
        }
        retry()?;
    }
}

/// `Ok` where the last call was only interrupted.
#[cold]
fn retry() -> io::Result<()> {
    match io::Error::last_os_error() {
        e if e.kind() == io::ErrorKind::Interrupted => Ok(()),
        e => Err(e),
    }
}
