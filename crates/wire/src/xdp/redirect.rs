//! The program on an interface, with the maps that it looks into. It is detached when the last of its sockets is dropped
//! or the process ends: a link dies with its descriptor.

use std::os::fd::{AsRawFd, BorrowedFd};

use tollway_bpf::{Attached, Map, MapKind, Program, ProgramKind};
use tollway_core::Missing;

use super::program::redirect_and_count;
use crate::{Interface, WireError};

/// `XDP_FLAGS_SKB_MODE`, `XDP_FLAGS_DRV_MODE` (linux/if_link.h).
const SKB_MODE: u32 = 1 << 1;
const DRIVER_MODE: u32 = 1 << 2;

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel has a buffer of its own for the frame. Not every driver can.
    Native,
    /// In the kernel's stack, as soon as it sees the frame. Every interface can.
    Generic,
}

/// A program on an interface that sends frames to sockets.
#[derive(Debug)]
pub struct Redirect {
    sockets: Map,
    counts: Map,
    mode: Mode,
    _program: Program,
    _attached: Attached,
}

impl Redirect {
    /// Attaches the program in the first of `modes` that the interface can do. As long as no socket is registered, frames
    /// go on as if it were not there.
    ///
    /// # Errors
    /// Another program on the interface, privileges or a kernel that are lacking.
    pub fn attach(interface: &Interface, modes: &[Mode]) -> Result<Redirect, WireError> {
        let doing = |what: &str| format!("{what} for interface {}", interface.name);
        let failed = |what: &str, error: std::io::Error| match error.raw_os_error() {
            Some(libc::EPERM) => WireError::Missing(Missing::new(
                doing(what),
                error.to_string(),
                "run as root, or with CAP_BPF and CAP_NET_ADMIN",
            )),
            _ => WireError::system(doing(what), error),
        };
        let queues = interface.receive_queues.max(1);
        let map = |kind, value| Map::new(kind, 4, value, queues);
        let sockets = map(MapKind::Sockets, 4).map_err(|e| failed("making a map of sockets", e))?;
        let counts = map(MapKind::ArrayOnEach, 8).map_err(|e| failed("making a map of counts", e))?;
        let program = Program::load(ProgramKind::Xdp, &redirect_and_count(&sockets, &counts));
        let program = program.map_err(|e| failed("loading an XDP program", e))?;
        let mut refused = std::io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        for &mode in modes {
            let flags = if mode == Mode::Native { DRIVER_MODE } else { SKB_MODE };
            match program.at_interface(interface.index, flags) {
                Ok(attached) => {
                    return Ok(Redirect { sockets, counts, mode, _program: program, _attached: attached });
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST)) => {
                    return Err(WireError::input(
                        format!("interface {}", interface.name),
                        "it has an XDP program already, and there is room for one",
                        format!(
                            "end who attached it, or take it off (ip link set {} xdp off)",
                            interface.name
                        ),
                    ));
                }
                Err(error) => refused = error,
            }
        }
        Err(failed("attaching an XDP program", refused))
    }

    /// Where the program runs.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// From now on frames of a receive queue go to a socket that is bound to that queue.
    pub(super) fn register(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), WireError> {
        self.sockets
            .set(&queue.to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes())
            .map_err(|error| WireError::system(format!("sending frames of queue {queue} to a socket"), error))
    }

    /// Frames of a queue that the program sent to a socket so far.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn redirected(&self, queue: u32) -> Result<u64, WireError> {
        let each = self.counts.get(&queue.to_ne_bytes());
        let each = each.map_err(|error| WireError::system("reading an XDP program's counts", error))?;
        Ok(self.counts.summed(&each.unwrap_or_default()).iter().sum())
    }
}
