//! A packet socket that only sends, on one interface, and what the kernel's answers mean for a frame.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::{Interface, PacketSocket, Watch, WireError};

/// Bytes of an Ethernet header (IEEE 802.3, 3.1.1): two addresses and a type.
const HEADER: u32 = 14;

/// The longest frame that an interface takes, in bytes without the check sequence: its MTU and an Ethernet header.
pub fn longest(interface: &Interface) -> usize {
    (interface.mtu + HEADER) as usize
}

/// How long an answer about the carrier holds: to ask costs as much as some frames.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Outlet {
    socket: PacketSocket,
    name: String,
    longest: usize,
    watch: Watch,
    /// When the interface was last asked for its carrier, and whether it had one.
    carrier: Option<(Instant, bool)>,
}

/// What a refusal means for the frame that met it.
pub(super) enum Fate {
    /// The kernel did not take it.
    Refused(Refusal),
    /// A signal came first.
    AskAgain,
}

/// Why a frame was refused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    /// ENOBUFS, and there was no carrier.
    NoCarrier,
    /// ENOBUFS otherwise.
    NoBuffers,
    /// EAGAIN.
    TryAgain,
}

impl Outlet {
    pub(super) fn open(interface: &Interface) -> Result<Outlet, WireError> {
        let place = format!("interface {}", interface.name);
        if !interface.up {
            let remedy = format!("as root: ip link set {} up", interface.name);
            return Err(WireError::input(place, "it is down", remedy));
        }
        if !matches!(interface.hardware, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) {
            let reason = format!("it carries no Ethernet frames (hardware type {})", interface.hardware);
            return Err(WireError::input(place, reason, "name an Ethernet interface"));
        }
        let socket = PacketSocket::open()?;
        socket.bypass_queueing()?;
        socket.bind_deaf(interface)?;
        let watch = Watch::of(interface.clone())?;
        let (name, longest) = (interface.name.clone(), longest(interface));
        Ok(Outlet { socket, name, longest, watch, carrier: None })
    }

    pub(super) fn raw(&self) -> i32 {
        self.socket.as_fd().as_raw_fd()
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sets an option of packet sockets.
    pub(super) fn set<T: Copy>(&self, option: i32, value: &T, doing: &str) -> Result<(), WireError> {
        self.socket.set(libc::SOL_PACKET, option, value, doing)
    }

    pub(super) fn too_long(&self, length: usize) -> WireError {
        WireError::input(
            format!("interface {}", self.name),
            format!("it takes frames of {} bytes, not of {length}", self.longest),
            "send shorter ones, or raise its MTU",
        )
    }

    /// The kernel answers ENOBUFS to both a full queue and an interface without a carrier.
    fn has_carrier(&mut self) -> bool {
        match self.carrier {
            Some((at, has)) if at.elapsed() < BETWEEN_LOOKS => has,
            _ => {
                // Where it cannot be told the reason is left open, too.
                let has = self.watch.look().map_or(true, |now| now.carrier);
                self.carrier = Some((Instant::now(), has));
                has
            }
        }
    }

    /// Judges the last system call's error, which a frame of `length` bytes met.
    ///
    /// # Errors
    /// [`WireError`] if it is of a kind that every further frame would meet.
    pub(super) fn judge(&mut self, length: usize) -> Result<Fate, WireError> {
        let error = io::Error::last_os_error();
        let interface = self.name.clone();
        let lost =
            |reason: &str, remedy: String| WireError::Lost { interface, reason: reason.into(), remedy };
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(Fate::AskAgain),
            Some(libc::ENOBUFS) if self.has_carrier() => Ok(Fate::Refused(Refusal::NoBuffers)),
            Some(libc::ENOBUFS) => Ok(Fate::Refused(Refusal::NoCarrier)),
            Some(libc::EAGAIN) => Ok(Fate::Refused(Refusal::TryAgain)),
            Some(libc::EMSGSIZE) => Err(self.too_long(length)),
            Some(libc::ENETDOWN) => {
                Err(lost("it went down", format!("as root: ip link set {} up", self.name)))
            }
            Some(libc::ENXIO | libc::ENODEV) => Err(lost("it is gone", "name one that is there".into())),
            _ => Err(WireError::system(format!("sending on interface {}", self.name), error)),
        }
    }
}
