//! The end that receives.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;

use rustix::event::PollFlags;
use rustix::net::sockopt::socket_recv_buffer_size;
use tollway_core::{Error, Result};

use super::{Moved, Shape};
use crate::engine::network::Listener;
use crate::engine::network::content::{Block, NUMBER};
use crate::engine::network::control::Control;
use crate::engine::network::listener::Purpose;
use crate::engine::network::wait::{failed, which_are_ready};

const DOING: &str = "receiving over TCP";

struct Stream {
    socket: TcpStream,
    block: Vec<u8>,
    got: u64,
    ended: bool,
}

/// Receives until who comes has no more, and calls `each` when another block is there: of any stream, and whole.
///
/// # Errors
/// Nobody comes, or who came goes without saying that this was all, or says nothing; what arrived is not what is sent, or
/// not as much.
pub fn receive(listener: &Listener, shape: &Shape, mut each: impl FnMut()) -> Result<Moved> {
    let (mut control, mut streams) = welcome(listener, shape)?;
    let model = Block::of(shape.block);
    loop {
        let open = streams.iter().enumerate().filter(|(_, stream)| !stream.ended);
        let ready = which_are_ready(open.map(|(at, stream)| (at, &stream.socket)), PollFlags::IN, DOING)?;
        if ready.is_empty() {
            break;
        }
        for at in ready {
            if streams[at].read(&model)? {
                each();
            }
        }
    }
    let (mut bytes, mut buffer) = (0, 0);
    for stream in &streams {
        let held = socket_recv_buffer_size(&stream.socket).map_err(|e| Error::system(DOING, e))?;
        (bytes, buffer) = (bytes + stream.got, buffer.max(held as u64 / 2));
    }
    let sent = control.hear()?;
    control.say(bytes)?;
    if bytes != sent {
        return Err(Error::Wrong(format!("{sent} bytes were sent, {bytes} have arrived")));
    }
    Ok(Moved { bytes, buffer, again: 0 })
}

/// The control connection and as many streams, in whichever order they come.
fn welcome(listener: &Listener, shape: &Shape) -> Result<(Control, Vec<Stream>)> {
    let (mut control, mut streams) = (None, Vec::new());
    while control.is_none() || streams.len() < shape.streams {
        match listener.accept()? {
            (Purpose::Control, socket) => control = Some(Control::of(socket)?),
            (Purpose::Content, socket) => {
                socket.set_nonblocking(true).map_err(|e| Error::system(DOING, e))?;
                streams.push(Stream { socket, block: vec![0; shape.block], got: 0, ended: false });
            }
        }
    }
    let control = control.ok_or_else(|| Error::system(DOING, "nobody said how much was sent"))?;
    Ok((control, streams))
}

impl Stream {
    /// Takes what is there, up to the end of a block; whether that is there now. As iperf3 does, it asks until the block is whole or nothing is
    /// left: most blocks come in pieces, and who waited after each made half as many calls to read.
    #[inline]
    fn read(&mut self, model: &Block) -> Result<bool> {
        let length = self.block.len() as u64;
        loop {
            let (number, from) = (self.got / length, (self.got % length) as usize);
            let came = match self.socket.read(&mut self.block[from..]) {
                Ok(0) if from == 0 || model.begins(&self.block[..from], number) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(0) => return Err(wrong(number)),
                Ok(came) => came,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(failed(DOING, error)),
            };
            self.got += came as u64;
            if from + came == self.block.len() {
                return if model.agrees(&self.block, number, NUMBER) { Ok(true) } else { Err(wrong(number)) };
            }
        }
    }
}

fn wrong(number: u64) -> Error {
    Error::Wrong(format!("block {number} of a stream is not as it was sent"))
}
