//! The end that sends.

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};

use rustix::event::PollFlags;
use rustix::net::sockopt::socket_send_buffer_size;
use tollway_core::{Error, Result};

use super::{Moved, Shape, sent_again};
use crate::engine::network::content::Block;
use crate::engine::network::control::Control;
use crate::engine::network::listener::{Purpose, come, send_from};
use crate::engine::network::wait::{failed, which_are_ready};

const DOING: &str = "sending over TCP";

/// Blocks at most between two looks at who else can send.
const TURN: usize = 10;

/// Streams to somebody who [receives](super::receive).
#[derive(Debug)]
pub struct Sender {
    control: Control,
    streams: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    socket: TcpStream,
    block: Block,
    sent: u64,
}

impl Sender {
    /// Comes to who receives.
    ///
    /// # Errors
    /// Nobody is there; [`Missing`](Error::Missing) where the kernel grants no such buffer.
    pub fn come(to: SocketAddrV4, shape: &Shape) -> Result<Sender> {
        let control = Control::come(to)?;
        let stream = |_| {
            let socket = come(to, Purpose::Content)?;
            shape.buffer.map_or(Ok(()), |bytes| send_from(&socket, bytes))?;
            socket.set_nonblocking(true).map_err(|e| Error::system(DOING, e))?;
            Ok(Stream { socket, block: Block::of(shape.block), sent: 0 })
        };
        Ok(Sender { control, streams: (0..shape.streams).map(stream).collect::<Result<_>>()? })
    }

    /// Sends for as long as it shall; at least a block each, and whole ones.
    ///
    /// # Errors
    /// The other end has gone, or takes nothing.
    pub fn send(&mut self, mut shall: impl FnMut() -> bool) -> Result<()> {
        loop {
            let more = shall();
            let waiting = self.streams.iter().enumerate().filter(|(_, stream)| more || stream.owes());
            let ready =
                which_are_ready(waiting.map(|(at, stream)| (at, &stream.socket)), PollFlags::OUT, DOING)?;
            if ready.is_empty() {
                return Ok(());
            }
            for at in ready {
                self.streams[at].turn(&mut shall)?;
            }
        }
    }

    /// Says that this was all, and hears from the other end whether it has everything.
    ///
    /// # Errors
    /// It has not.
    pub fn finish(mut self) -> Result<Moved> {
        for stream in &self.streams {
            stream.socket.shutdown(Shutdown::Write).map_err(|e| failed(DOING, e))?;
        }
        let mut sent =
            Moved { bytes: self.streams.iter().map(|stream| stream.sent).sum(), ..Moved::default() };
        self.control.settle(sent.bytes, "bytes")?;
        for Stream { socket, .. } in &self.streams {
            let buffer = socket_send_buffer_size(socket).map_err(|e| Error::system(DOING, e))?;
            sent.buffer = sent.buffer.max(buffer as u64 / 2);
            sent.again += sent_again(socket)?;
        }
        Ok(sent)
    }
}

impl Stream {
    /// Whether its first block has not been sent, or not the whole of the last one.
    fn owes(&self) -> bool {
        self.sent == 0 || !self.sent.is_multiple_of(self.block.bytes().len() as u64)
    }

    /// Hands over what the kernel takes at once, up to some blocks.
    fn turn(&mut self, shall: &mut impl FnMut() -> bool) -> Result<()> {
        let length = self.block.bytes().len() as u64;
        for _ in 0..TURN {
            let from = (self.sent % length) as usize;
            if from == 0 {
                if self.sent > 0 && !shall() {
                    return Ok(());
                }
                self.block.number(self.sent / length);
            }
            let rest = &self.block.bytes()[from..];
            match self.socket.write(rest) {
                Ok(taken) => {
                    self.sent += taken as u64;
                    if taken < rest.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(DOING, error)),
            }
        }
        Ok(())
    }
}
