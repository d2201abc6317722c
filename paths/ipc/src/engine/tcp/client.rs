//! The client: so many connections, each with one message outstanding, on Linux's own TCP. It checks every reply, and times each message from
//! when the reply before it had been read: what keeps the client from sending the next one is part of that one's time, and not left out.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use tollway_core::{Clock, Error, Result, Ticks};
use tollway_host::clock::RunClock;
use tollway_wire::Namespace;

use super::message::{BYTES, Message, check, request};

/// How long a connection may take to be made.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

/// How long a reply may take. One that takes longer is taken for lost.
pub const REPLIED_WITHIN: Duration = Duration::from_secs(10);

/// What a client looks at the clock for, while it waits for replies, at the latest.
const LOOKS_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A client with its connections.
pub struct Client {
    connections: Vec<Connection>,
    epoll: rustix::fd::OwnedFd,
    clock: RunClock,
}

/// One connection, and the message that is on its way.
struct Connection {
    stream: TcpStream,
    number: u32,
    is_out: bool,
    asked: Ticks,
    reply: Message,
    came: usize,
}

/// A message that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Over which connection.
    pub connection: usize,
    /// When it could be sent: the reply before it had been read.
    pub asked: Ticks,
    /// When its reply had been read.
    pub came: Ticks,
}

impl Client {
    /// Makes so many connections to that address, in a network namespace, which the calling thread need not be in.
    ///
    /// # Errors
    /// [`Error::System`] if one cannot be made within ten seconds.
    pub fn connect(namespace: &Namespace, address: SocketAddrV4, connections: usize) -> Result<Client> {
        let doing = |number: usize| format!("making connection {number} of {connections} to {address}");
        let connect = |number| -> Result<Connection> {
            let failed = |e| Error::system(doing(number), e);
            let stream = TcpStream::connect_timeout(&address.into(), CONNECTED_WITHIN).map_err(failed)?;
            stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
            Ok(Connection { stream, number: 0, is_out: false, asked: 0, reply: [0; BYTES], came: 0 })
        };
        let connections = namespace.run(|| (0..connections).map(connect).collect::<Result<Vec<_>>>())??;
        let failed = |e| Error::system("waiting for replies", e);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        for (number, connection) in connections.iter().enumerate() {
            epoll::add(&epoll, &connection.stream, EventData::new_u64(number as u64), EventFlags::IN)
                .map_err(failed)?;
        }
        Ok(Client { connections, epoll, clock: RunClock::chosen() })
    }

    /// Sends a message over every connection. `told` is told of every reply, and says whether one more message is to be sent over its
    /// connection; over when no reply is outstanding.
    ///
    /// # Errors
    /// [`Error::Wrong`] if a reply is not the one to what was asked, or none has come for ten seconds; [`Error::System`] if a connection
    /// ended.
    pub fn run(&mut self, mut told: impl FnMut(Answered) -> bool) -> Result<()> {
        for at in 0..self.connections.len() {
            self.connections[at].sends(at, self.clock.now())?;
        }
        let mut out = self.connections.len();
        let mut heard = Instant::now();
        let mut events: Vec<Event> = Vec::with_capacity(self.connections.len().max(1));
        while out > 0 {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&LOOKS_EVERY)) {
                Ok(0) if heard.elapsed() > REPLIED_WITHIN => return Err(self.unanswered(out)),
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => heard = Instant::now(),
                Err(error) => return Err(Error::system("waiting for replies", error)),
            }
            for event in &events {
                let at = event.data.u64() as usize;
                let connection = &mut self.connections[at];
                if !connection.hears(at)? {
                    continue;
                }
                let came = self.clock.now();
                check(&connection.reply, at as u32, connection.number)
                    .map_err(|wrong| Error::Wrong(wrong.to_string()))?;
                connection.number = connection.number.wrapping_add(1);
                if told(Answered { connection: at, asked: connection.asked, came }) {
                    connection.sends(at, came)?;
                } else {
                    out -= 1;
                }
            }
        }
        Ok(())
    }

    fn unanswered(&self, out: usize) -> Error {
        let silent: Vec<String> = self
            .connections
            .iter()
            .enumerate()
            .filter(|(_, one)| one.is_out)
            .map(|(at, _)| at.to_string())
            .collect();
        Error::Wrong(format!(
            "no reply came for {REPLIED_WITHIN:?}: {out} are outstanding, over connections {}",
            silent.join(", ")
        ))
    }
}

impl Connection {
    /// Sends the next message, which could be sent since `asked`.
    fn sends(&mut self, at: usize, asked: Ticks) -> Result<()> {
        let message = request(at as u32, self.number);
        self.asked = asked;
        // One message: there is always room for it where the one before was answered.
        self.stream.write_all(&message).map_err(|e| self.ended(at, e))?;
        (self.is_out, self.came) = (true, 0);
        Ok(())
    }

    /// Reads what has come; whether the reply is whole.
    fn hears(&mut self, at: usize) -> Result<bool> {
        match self.stream.read(&mut self.reply[self.came..]) {
            Ok(0) => Err(self.ended(at, "the server closed it")),
            Ok(_) if !self.is_out => Err(Error::Wrong(format!("connection {at}: a reply to nothing"))),
            Ok(bytes) => {
                self.came += bytes;
                let whole = self.came == BYTES;
                if whole {
                    // There is room for what may come unasked, else it would look as if the server had closed it.
                    (self.is_out, self.came) = (false, 0);
                }
                Ok(whole)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(self.ended(at, error)),
        }
    }

    fn ended(&self, at: usize, why: impl std::fmt::Display) -> Error {
        Error::system(format!("connection {at} after {} replies", self.number), why)
    }
}
