//! The end that receives.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tollway_core::{Error, Result};

use super::{HEADER, Jitter, Numbers};
use crate::engine::network::Listener;
use crate::engine::network::content::{Block, NUMBER};
use crate::engine::network::control::Control;
use crate::engine::network::wait::{failed, until_ready};

const DOING: &str = "receiving over UDP";

/// How long what is still missing may take once nothing more is sent and nothing comes.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// Where datagrams of so many bytes arrive.
#[derive(Debug)]
pub struct Receiver {
    listener: Listener,
    socket: UdpSocket,
    model: Block,
}

/// What arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// Datagrams that were sent.
    pub sent: u64,
    /// Which of them arrived.
    pub numbers: Numbers,
    /// How unevenly.
    pub jitter: Jitter,
}

impl Received {
    /// Datagrams that were sent and did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.numbers.different())
    }
}

impl Receiver {
    /// At the listener's address and port.
    ///
    /// # Errors
    /// Somebody else has that port of UDP.
    pub fn at(listener: Listener, bytes: usize) -> Result<Receiver> {
        let address = listener.address();
        let socket = UdpSocket::bind(address).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket = socket.map_err(|e| Error::system(format!("listening for UDP at {address}"), e))?;
        Ok(Receiver { listener, socket, model: Block::of(bytes) })
    }

    /// Where it is reached.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Receives until who comes has no more, and calls `each` when another datagram is there.
    ///
    /// # Errors
    /// Nobody comes, or who came goes without saying that this was all, or says nothing; what arrived is not what is sent.
    pub fn receive(&self, mut each: impl FnMut()) -> Result<Received> {
        let mut control = Control::accept(&self.listener)?;
        // Longer than any that is due: one that is cut would be taken for it.
        let mut buffer = vec![0; self.model.bytes().len() + 1];
        let begun = Instant::now();
        let mut received = Received { sent: 0, numbers: Numbers::default(), jitter: Jitter::default() };
        loop {
            let mut either = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&control, PollFlags::IN)];
            until_ready(&mut either, DOING)?;
            let done = !either[1].revents().is_empty();
            while self.take(&mut buffer, begun, &mut received)? {
                each();
            }
            if done {
                break;
            }
        }
        received.sent = control.hear()?;
        while received.lost() > 0 && self.comes_within(STRAGGLERS)? {
            while self.take(&mut buffer, begun, &mut received)? {
                each();
            }
        }
        control.say(received.numbers.different())?;
        if received.numbers.end() > received.sent {
            return Err(Error::Wrong(format!(
                "{} datagrams were sent, and number {} has arrived",
                received.sent,
                received.numbers.end() - 1
            )));
        }
        Ok(received)
    }

    /// Takes one that is there; `false` if none is.
    fn take(&self, buffer: &mut [u8], begun: Instant, received: &mut Received) -> Result<bool> {
        let length = match self.socket.recv(buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(false);
            }
            Err(error) => return Err(failed(DOING, error)),
        };
        let at = begun.elapsed().as_nanos() as u64;
        let word = |from: usize| {
            buffer.get(from..from + NUMBER).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
        };
        let (Some(number), Some(sent)) = (word(0), word(NUMBER)) else { return Err(wrong(0)) };
        if !self.model.agrees(&buffer[..length], number, HEADER) {
            return Err(wrong(number));
        }
        received.numbers.came(number);
        received.jitter.arrived(sent, at);
        Ok(true)
    }

    fn comes_within(&self, time: Duration) -> Result<bool> {
        let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        let mut one = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut one, Some(&time)).map(|ready| ready > 0).map_err(|e| Error::system(DOING, e))
    }
}

fn wrong(number: u64) -> Error {
    Error::Wrong(format!("datagram {number} is not as it was sent"))
}
