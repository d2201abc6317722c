//! The network-stack server: TCP by smoltcp over the frames of one interface, and for each message that comes over a connection a
//! request to the application, in another process; its reply goes back into that connection.
//!
//! ```text
//!   device         frames received and sent
//!   (this file)    connections: listens, hears messages, says replies, listens again
//!   asynchronous   a task for each connection, requests by rings: one thread does all
//!   synchronous    a thread for each connection that calls and waits, and one for the frames
//!   alarm          how these wake that
//!   itself         the same two without an application: the stack answers
//!   running        a stack in a thread of its own, until it is stopped
//! ```
//!
//! What clients send is hostile, and so is what the application replies: a connection that breaks the rules is reset, and the others go on.

mod alarm;
mod asynchronous;
mod device;
mod itself;
mod running;
mod synchronous;

use std::os::fd::OwnedFd;
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use smoltcp::iface::{Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Cidr};
use tollway_core::{Error, Result};

pub use itself::Itself;
pub use running::{Running, Style};

use self::device::Device;
use super::message::{BYTES, Message};
use super::network::{Network, PREFIX};

/// The most connections of a stack: those of the study's measurements, and as many again.
pub const MOST_CONNECTIONS: usize = 256;

/// Room for what a client has sent and nobody has read, and for what it has not acknowledged, in bytes: 32 messages each.
const BUFFER: usize = 32 * BYTES;

/// A client that is silent for so long is asked whether it is there still …
const ASKED_AFTER: time::Duration = time::Duration::from_secs(10);

/// … and one that does not answer is given up.
const GIVEN_UP_AFTER: time::Duration = time::Duration::from_secs(30);

/// Frames that are received before what they call for is sent: who sends more and more of them keeps nobody waiting for longer.
const AT_ONCE: usize = 256;

/// Timers of a stack that is busy are looked after as often as that: none of them is shorter than ten times as long.
const TIMERS_EVERY: Duration = Duration::from_millis(1);

/// Longer than any stack runs.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// A stack with its connections, none of which has anybody at its end yet.
pub struct Stack {
    device: Device,
    interface: Interface,
    sockets: SocketSet<'static>,
    connections: Vec<SocketHandle>,
    began: Instant,
    /// Whether connections may have something to send that no frame has called for.
    has_said: bool,
    /// When timers are looked after although there is nothing else to do.
    due: Option<Instant>,
    counts: Counts,
}

/// What a stack did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that came.
    pub received: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Calls of the kernel by which they were sent.
    pub send_calls: u64,
    /// Messages that came, each of which was made a request to the application, where there is one.
    pub requests: u64,
    /// Replies that went back.
    pub replies: u64,
    /// Replies to connections that had ended by then.
    pub late: u64,
    /// Replies that were none, whose connections were reset: of another length than a message, or with another connection's number.
    pub malformed: u64,
    /// How often the thread that has the frames slept, whatever woke it.
    pub sleeps: u64,
    /// How often the application was woken, a call of the kernel each.
    pub notices: u64,
}

impl Stack {
    /// At the server's end of a network, where it listens for so many connections.
    ///
    /// # Errors
    /// [`Error::Input`] for no connections, or more than [`MOST_CONNECTIONS`]; [`Error::Missing`] if this process may not see whole frames.
    pub fn open(network: &Network, connections: usize) -> Result<Stack> {
        if !(1..=MOST_CONNECTIONS).contains(&connections) {
            return Err(Error::Input {
                place: format!("a network stack for {connections} connections"),
                reason: "it has none of that number".into(),
                remedy: format!("ask for 1 to {MOST_CONNECTIONS}"),
            });
        }
        let mut device = network.at_server(Device::open)?;
        let mut seed = [0; 8];
        getrandom(&mut seed, GetRandomFlags::empty())
            .map_err(|e| Error::system("drawing the first sequence numbers", e))?;
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(Network::HARDWARE)));
        config.random_seed = u64::from_ne_bytes(seed);
        let mut interface = Interface::new(config, &mut device, time::Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let own = Ipv4Cidr::new(*Network::APPLICATION.ip(), PREFIX);
            // There is room for two.
            let _ = addresses.push(IpCidr::Ipv4(own));
        });
        let mut sockets = SocketSet::new(Vec::with_capacity(connections));
        let connections = (0..connections).map(|_| sockets.add(listening())).collect();
        Ok(Stack {
            device,
            interface,
            sockets,
            connections,
            began: Instant::now(),
            has_said: false,
            due: None,
            counts: Counts::default(),
        })
    }

    /// How many connections it has at the most.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Asks a client that is silent for so long whether it is there still, and gives one up that has not said a word for so long, whether it was asked or has
    /// a reply to acknowledge: its place is another's then. Ten and thirty seconds if this is not called.
    pub fn gives_up(&mut self, asked_after: Duration, given_up_after: Duration) {
        for handle in &self.connections {
            let socket = self.sockets.get_mut::<Socket<'_>>(*handle);
            socket.set_keep_alive(Some(asked_after.into()));
            socket.set_timeout(Some(given_up_after.into()));
        }
    }

    /// Receives what has come and sends what is to be sent; whether there was anything. Where there is nothing it costs a look.
    ///
    /// # Errors
    /// If the interface is down or gone.
    pub fn turn(&mut self) -> Result<bool> {
        let at = Instant::now();
        let is_due = self.due.is_none_or(|due| due <= at);
        if !self.has_said && !is_due && !self.device.has_some() {
            return Ok(false);
        }
        (self.has_said, self.due) = (false, Some(at + TIMERS_EVERY));
        let (now, before) = (self.now(), self.device.received());
        let Stack { device, interface, sockets, .. } = self;
        interface.poll_maintenance(now);
        let mut changed = false;
        for _ in 0..AT_ONCE {
            match interface.poll_ingress_single(now, device, sockets) {
                PollIngressSingleResult::None => break,
                PollIngressSingleResult::PacketProcessed => {}
                PollIngressSingleResult::SocketStateChanged => changed = true,
            }
        }
        while interface.poll_egress(now, device, sockets) == PollResult::SocketStateChanged {
            changed = true;
        }
        device.flush()?;
        Ok(changed || device.received() != before)
    }

    /// Whether a frame has come that [`turn`](Stack::turn) would receive, or none can come any more, which that tells. Costs no system call but now and then.
    #[inline]
    pub fn has_frames(&self) -> bool {
        self.device.has_some()
    }

    /// What can be read when a frame has come.
    ///
    /// # Errors
    /// If this process has too many descriptors open.
    pub fn descriptor(&self) -> Result<OwnedFd> {
        self.device.descriptor().map_err(|e| Error::system("passing on a packet socket", e))
    }

    /// When [`turn`](Stack::turn) is to be called although no frame comes: something is to be sent again, or a client to be asked whether
    /// it is there. `None` where nothing is planned.
    pub fn due(&mut self) -> Option<Instant> {
        let now = self.now();
        let delay = self.interface.poll_delay(now, &self.sockets);
        let due = self.began + Duration::from_micros(now.total_micros() as u64);
        let due = delay.map(|delay| due + delay.into());
        // A stack that sleeps need not look after timers before.
        self.due = Some(due.unwrap_or(self.began + FOREVER));
        due
    }

    /// The next message of a connection, if one is there and there is room for its reply. One that its client has closed, or that was
    /// given up, listens again: nobody may be waiting for a reply to it then.
    ///
    /// # Panics
    /// If there is no connection of that number.
    pub fn hear(&mut self, connection: usize) -> Option<Message> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.connections[connection]);
        if socket.recv_queue() >= BYTES && socket.may_send() {
            if socket.send_capacity() - socket.send_queue() < BYTES {
                return None;
            }
            let mut message = [0; BYTES];
            // A client that was told to wait, as there was no room for more, is told that there is.
            self.has_said |= socket.recv_queue() > BUFFER / 2;
            // As much is there as was asked for.
            let Ok(BYTES) = socket.recv_slice(&mut message) else { return None };
            self.counts.requests += 1;
            return Some(message);
        }
        match socket.state() {
            State::CloseWait => {
                socket.close();
                self.has_said = true;
            }
            // That it was reset is told to the client first.
            State::Closed if socket.remote_endpoint().is_none() => listen(socket),
            _ => {}
        }
        None
    }

    /// Who is woken when [`hear`](Stack::hear) may have something else to say of a connection; once.
    ///
    /// # Panics
    /// If there is no connection of that number.
    pub fn wakes(&mut self, connection: usize, waker: &Waker) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.connections[connection]);
        socket.register_recv_waker(waker);
        socket.register_send_waker(waker);
    }

    /// Gives a connection the application's reply: sent at the next [`turn`](Stack::turn). One that is no message, or says that it is of
    /// another connection, resets this one.
    ///
    /// # Panics
    /// If there is no connection of that number.
    pub fn say(&mut self, connection: usize, says: usize, reply: &[u8]) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.connections[connection]);
        self.has_said = true;
        if says != connection || reply.len() != BYTES {
            self.counts.malformed += 1;
            socket.abort();
        } else if socket.send_slice(reply) == Ok(BYTES) {
            self.counts.replies += 1;
        } else {
            self.counts.late += 1;
        }
    }

    /// Resets all connections, as the application is gone.
    ///
    /// # Errors
    /// If the interface is down or gone.
    pub fn resets_all(&mut self) -> Result<()> {
        for handle in &self.connections {
            self.sockets.get_mut::<Socket<'_>>(*handle).abort();
        }
        self.has_said = true;
        self.turn().map(drop)
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        let sent = self.device.sent();
        Counts { received: self.device.received(), sent: sent.frames, send_calls: sent.calls, ..self.counts }
    }

    fn now(&self) -> time::Instant {
        time::Instant::from_micros(self.began.elapsed().as_micros() as i64)
    }
}

/// A socket that listens: replies go at once (no Nagle; RFC 896), and acknowledge the request that they answer (which alone would be
/// acknowledged after 10 ms).
fn listening() -> Socket<'static> {
    let buffer = || SocketBuffer::new(vec![0; BUFFER]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.set_nagle_enabled(false);
    socket.set_keep_alive(Some(ASKED_AFTER));
    socket.set_timeout(Some(GIVEN_UP_AFTER));
    listen(&mut socket);
    socket
}

fn listen(socket: &mut Socket<'_>) {
    // It is closed, and the port is not 0: there is no other error.
    let _ = socket.listen(Network::APPLICATION.port());
}
