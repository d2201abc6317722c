//! For scale: the same application over Linux's own TCP, in one thread of one process, without a stack of ours and without a request to
//! another process.
//!
//! ```text
//!   epoll     waits for connections at which something has come, reads, answers
//!   io_uring  a task for each connection; what arrives, and replies, by completions
//! ```

mod epoll;
mod io_uring;

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use rustix::event::{EventfdFlags, eventfd};
use tollway_channel::wait::Patience;
use tollway_core::{Error, Result};

use super::message::{BYTES, Message, answer};
use super::network::Network;

/// How the application waits for its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// epoll(7), and a read and a write for each message.
    Epoll,
    /// io_uring: what has arrived and what is to be sent by entries, of which many are one call of the kernel.
    IoUring,
}

/// What a server did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Messages that were answered.
    pub replies: u64,
    /// How often it called the kernel to wait (epoll_wait(2)) or to submit and wait (io_uring_enter(2)).
    pub waits: u64,
}

/// An application at work. Dropped, it is stopped.
pub struct LinuxServer {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Result<Served>>>,
}

impl LinuxServer {
    /// At the server's end of a network made for [Linux](super::Speaker::Linux). It listens when this returns.
    ///
    /// # Errors
    /// [`Error::Missing`] if this kernel has, or allows, no io_uring; [`Error::System`] if it refuses.
    pub fn start(network: &Network, by: By, patience: Option<Patience>) -> Result<LinuxServer> {
        let failed = |e: std::io::Error| Error::system("starting a TCP server", e);
        let listener = network.server().run(|| TcpListener::bind(Network::APPLICATION))?.map_err(failed)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::system("making an eventfd", e))?;
        let stop = Arc::new(stop);
        let (stops, (tell, told)) = (stop.clone(), channel());
        let thread = Builder::new()
            .name("TCP server".into())
            .spawn(move || match by {
                By::Epoll => epoll::serves(listener, &stops, &tell),
                By::IoUring => io_uring::serves(listener, &stops, patience, &tell),
            })
            .map_err(failed)?;
        let mut server = LinuxServer { stop, thread: Some(thread) };
        match told.recv() {
            Ok(()) => Ok(server),
            // It has ended without a word: why, it says at its end.
            Err(_) => Err(server.ends().map_or_else(|error| error, |_| ended())),
        }
    }

    /// Stops it. What it did.
    ///
    /// # Errors
    /// Why it had ended before.
    pub fn stop(mut self) -> Result<Served> {
        self.ends()
    }

    fn ends(&mut self) -> Result<Served> {
        // An error means that it was called 2^64 - 2 times before.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        let thread = self.thread.take().ok_or_else(ended)?;
        thread.join().unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for LinuxServer {
    fn drop(&mut self) {
        let _ = self.ends();
    }
}

fn ended() -> Error {
    Error::Tenant { tenant: "TCP server".into(), reason: "its thread ended".into() }
}

/// That the server is at work; nobody waits for it if it was dropped meanwhile.
fn begins(tell: &Sender<()>) {
    let _ = tell.send(());
}

/// The beginning of a message of which the rest has not come.
struct Begun {
    bytes: Message,
    count: usize,
}

impl Begun {
    fn new() -> Begun {
        Begun { bytes: [0; BYTES], count: 0 }
    }

    /// Answers the messages that are whole with these bytes, each by what `replies` does; whether all were messages.
    fn answers(&mut self, mut bytes: &[u8], mut replies: impl FnMut(&Message)) -> bool {
        while !bytes.is_empty() {
            let taken = bytes.len().min(BYTES - self.count);
            self.bytes[self.count..self.count + taken].copy_from_slice(&bytes[..taken]);
            (self.count, bytes) = (self.count + taken, &bytes[taken..]);
            if self.count < BYTES {
                return true;
            }
            self.count = 0;
            let mut reply = [0; BYTES];
            if answer(&self.bytes, &mut reply) != BYTES {
                return false;
            }
            replies(&reply);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tcp::message::{check, request};

    #[test]
    fn messages_are_answered_in_whatever_pieces_they_come() {
        let all: Vec<u8> = (0..5).flat_map(|number| request(9, number)).collect();
        for piece in [1, 7, 63, 64, 65, 200, 320] {
            let (mut begun, mut number) = (Begun::new(), 0);
            for bytes in all.chunks(piece) {
                assert!(begun.answers(bytes, |reply| {
                    check(reply, 9, number).unwrap();
                    number += 1;
                }));
            }
            assert_eq!(number, 5, "in pieces of {piece}");
        }
        assert!(!Begun::new().answers(&[1; BYTES], |_| ()));
    }
}
