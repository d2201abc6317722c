//! The end that sends.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};

use super::HEADER;
use crate::engine::network::PATIENCE;
use crate::engine::network::content::{Block, NUMBER};
use crate::engine::network::control::Control;
use crate::engine::network::wait::failed;

const DOING: &str = "sending over UDP";

/// Who has longer than this to wait sleeps until so long before its time; who has less looks at the clock.
const SLEEPS_UNTIL: Duration = Duration::from_micros(200);

/// Datagrams to somebody who [receives](super::Receiver), at a rate.
#[derive(Debug)]
pub struct Sender {
    control: Control,
    socket: UdpSocket,
    datagram: Block,
    sent: u64,
    late: Lateness,
}

/// How late datagrams were sent, against their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// All of them together.
    pub sum: Duration,
    /// The latest.
    pub worst: Duration,
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams.
    pub datagrams: u64,
    /// Those of them that arrived.
    pub arrived: u64,
    /// How late they were sent.
    pub late: Lateness,
}

impl Sender {
    /// Comes to who receives datagrams of so many bytes.
    ///
    /// # Errors
    /// Nobody is there.
    pub fn come(to: SocketAddrV4, bytes: usize) -> Result<Sender> {
        let control = Control::come(to)?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
            socket.connect(to)?;
            socket.set_write_timeout(Some(PATIENCE))?;
            Ok(socket)
        });
        let socket = socket.map_err(|e| Error::system(DOING, e))?;
        Ok(Sender { control, socket, datagram: Block::of(bytes), sent: 0, late: Lateness::default() })
    }

    /// Sends a datagram and then one more after each `gap`, for as long as it shall; one that is late is sent at once, and those
    /// after it at their time.
    ///
    /// # Errors
    /// The other end has gone.
    pub fn send(&mut self, gap: Duration, mut shall: impl FnMut() -> bool) -> Result<()> {
        let begun = Instant::now();
        let mut number = 0u32;
        loop {
            let due = begun + gap * number;
            wait_for(due);
            if number > 0 && !shall() {
                return Ok(());
            }
            let now = Instant::now();
            let late = now.saturating_duration_since(due);
            self.late.sum += late;
            self.late.worst = self.late.worst.max(late);
            self.datagram.number(self.sent);
            let stamp = (now - begun).as_nanos() as u64;
            self.datagram.bytes_mut()[NUMBER..HEADER].copy_from_slice(&stamp.to_le_bytes());
            self.socket.send(self.datagram.bytes()).map_err(|e| failed(DOING, e))?;
            self.sent += 1;
            number += 1;
        }
    }

    /// Says that this was all, and hears how much of it arrived.
    ///
    /// # Errors
    /// The other end has gone.
    pub fn finish(mut self) -> Result<Sent> {
        self.control.say(self.sent)?;
        let arrived = self.control.hear()?;
        Ok(Sent { datagrams: self.sent, arrived, late: self.late })
    }
}

fn wait_for(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if left > SLEEPS_UNTIL {
        sleep(left - SLEEPS_UNTIL);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
