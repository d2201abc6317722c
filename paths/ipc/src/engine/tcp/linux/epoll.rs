//! The application over Linux's TCP by epoll(7): level-triggered, one thread.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use tollway_core::{Error, Result};

use super::super::message::BYTES;
use super::{Begun, Served, begins};

/// What is read at a time, in bytes: 32 messages.
const READ: usize = 32 * BYTES;

/// Events that are taken at a time.
const EVENTS: usize = 256;

/// What of the table of events is no connection.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

struct Connection {
    stream: TcpStream,
    begun: Begun,
    /// Replies for which there was no room; while there are any, nothing is read.
    unsent: Vec<u8>,
}

/// What becomes of a connection.
enum Next {
    Reads,
    Writes,
    Ends,
}

impl Connection {
    fn reads(&mut self, served: &mut Served) -> Next {
        let mut bytes = [0; READ];
        let count = match self.stream.read(&mut bytes) {
            Ok(0) => return Next::Ends,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Next::Reads;
            }
            Err(_) => return Next::Ends,
        };
        let unsent = &mut self.unsent;
        let all = self.begun.answers(&bytes[..count], |reply| {
            unsent.extend_from_slice(reply);
            served.replies += 1;
        });
        if all { self.writes() } else { Next::Ends }
    }

    fn writes(&mut self) -> Next {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Next::Ends,
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Writes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Next::Ends,
            }
        }
        Next::Reads
    }
}

pub(super) fn serves(listener: TcpListener, stop: &OwnedFd, tell: &Sender<()>) -> Result<Served> {
    let failed = |e| Error::system("waiting for connections", e);
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
    listener.set_nonblocking(true).map_err(|e| Error::system("waiting for connections", e))?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN).map_err(failed)?;
    epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN).map_err(failed)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
    let mut served = Served::default();
    begins(tell);
    loop {
        events.clear();
        served.waits += 1;
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
        for event in &events {
            let at = match event.data.u64() {
                STOP => return Ok(served),
                LISTENER => {
                    accepts(&listener, &epoll, &mut connections)?;
                    continue;
                }
                at => at as usize,
            };
            // One that ended by an earlier event of these has none.
            let Some(connection) = connections.get_mut(at).and_then(Option::as_mut) else { continue };
            let writes = !connection.unsent.is_empty();
            let next = if writes { connection.writes() } else { connection.reads(&mut served) };
            let waits_for = match next {
                Next::Reads if writes => EventFlags::IN,
                Next::Writes if !writes => EventFlags::OUT,
                Next::Reads | Next::Writes => continue,
                Next::Ends => {
                    connections[at] = None;
                    continue;
                }
            };
            epoll::modify(&epoll, &connection.stream, EventData::new_u64(at as u64), waits_for)
                .map_err(failed)?;
        }
    }
}

/// Takes the connections that have come.
fn accepts(listener: &TcpListener, epoll: &OwnedFd, connections: &mut Vec<Option<Connection>>) -> Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // It was given up while it waited (accept(2)).
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {
                continue;
            }
            Err(error) => return Err(Error::system("taking a connection", error)),
        };
        let failed = |e: std::io::Error| Error::system("taking a connection", e);
        stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).map_err(failed)?;
        let at = connections.iter().position(Option::is_none).unwrap_or(connections.len());
        epoll::add(epoll, &stream, EventData::new_u64(at as u64), EventFlags::IN)
            .map_err(|e| Error::system("taking a connection", e))?;
        let connection = Some(Connection { stream, begun: Begun::new(), unsent: Vec::with_capacity(READ) });
        match connections.get_mut(at) {
            Some(place) => *place = connection,
            None => connections.push(connection),
        }
    }
}
