//! Networks of guests: private wires between two of them, and a way to the host.
//!
//! A wire is a pair of connected sockets that two QEMUs inherit: nothing has a name, nobody else is on it, and it needs
//! no privilege. The guests' ends have the addresses `10.128.N.1` and `10.128.N.2` (for wires above 255, `10.129.…` and so
//! on); agents find theirs in the environment variable `TOLLWAY_WIRE_N` ([`crate::guest_settings::WIRE`]).
//!
//! The way to the host is QEMU's user-mode network: the guest is `10.0.2.15`, and `10.0.2.2` is the host's loopback, so a
//! guest can connect to a server that listens there, not the other way round. The guest gets no route to anywhere
//! else. QEMU itself would let it: its `restrict` would close the way to the host as well.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tollway_core::{Error, Result};

use super::device::Devices;
use crate::guest_settings::{Address, HOST_NETWORK, WIRE};

/// Wires have numbers below this.
const WIRES: u32 = 128 << 8;
/// The address of a guest on the way to the host, and its network's prefix.
const OURS: Address =
    Address { mac: [0x52, 0x54, 0, 0x54, 0xff, 0xff], ip: Ipv4Addr::new(10, 0, 2, 15), prefix: 24 };

/// What networks ask of the guest's kernel.
const MODULE: &str = "virtio_net";

impl Devices {
    /// Adds one end of a wire. The first guest that names a number gets one end, the next the other.
    pub(super) fn add_wire(&mut self, number: u32) -> Result<()> {
        let (socket, end) = take_end(number)?;
        let address = address(number, end);
        let fd = self.hold(socket);
        self.say("-netdev", format!("stream,id=wire{number},server=off,addr.type=fd,addr.str={fd}"));
        self.add_card(&format!("wire{number}"), address, format!("{WIRE}{number}"));
        Ok(())
    }

    /// Adds the way to the host.
    pub(super) fn add_host_network(&mut self) -> Result<()> {
        if self.settings.iter().any(|word| word.starts_with(HOST_NETWORK)) {
            return Err(Error::Input {
                place: "devices of a guest".into(),
                reason: "it has two networks to the host".into(),
                remedy: "name one".into(),
            });
        }
        self.say("-netdev", "user,id=host,ipv6=off".into());
        self.add_card("host", OURS, HOST_NETWORK.into());
        Ok(())
    }

    fn add_card(&mut self, netdev: &str, address: Address, setting: String) {
        let mac = address.mac_text();
        // No boot ROM: nothing boots from it.
        self.say("-device", format!("virtio-net-pci,netdev={netdev},mac={mac},romfile="));
        self.settings.push(format!("{setting}={address}"));
        self.modules.push(MODULE);
    }
}

/// The address of an end of a wire.
fn address(number: u32, end: u8) -> Address {
    let [_, _, high, low] = number.to_be_bytes();
    Address {
        // Locally administered, in the range that QEMU uses.
        mac: [0x52, 0x54, 0, high, low, end],
        ip: Ipv4Addr::new(10, 128 + high, low, end),
        prefix: 24,
    }
}

/// An end of a wire, and which one it is: 1 or 2.
fn take_end(number: u32) -> Result<(OwnedFd, u8)> {
    static OTHER_ENDS: Mutex<Option<HashMap<u32, UnixStream>>> = Mutex::new(None);
    if number >= WIRES {
        return Err(Error::Input {
            place: format!("wire {number} of a guest"),
            reason: "there are no addresses for it".into(),
            remedy: format!("number wires below {WIRES}"),
        });
    }
    let mut waiting = OTHER_ENDS.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = waiting.get_or_insert_default();
    // An end whose guest has ended in the meantime leads nowhere: what comes now is the first of a new wire.
    if let Some(other) = waiting.remove(&number).filter(|other| !hung_up(other)) {
        return Ok((other.into(), 2));
    }
    let (one, other) = UnixStream::pair().map_err(|e| Error::system("making a wire between guests", e))?;
    waiting.insert(number, other);
    Ok((one.into(), 1))
}

fn hung_up(socket: &UnixStream) -> bool {
    let fd = socket.as_fd();
    let mut one = [PollFd::new(&fd, PollFlags::empty())];
    poll(&mut one, Some(&Timespec::default())).is_ok() && one[0].revents().contains(PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn two_guests_get_the_two_ends_and_a_third_a_new_wire() {
        let (one, first) = take_end(32_000).unwrap();
        let (two, second) = take_end(32_000).unwrap();
        assert_eq!((first, second), (1, 2));
        UnixStream::from(one).write_all(b"there").unwrap();
        let mut read = String::new();
        UnixStream::from(two).read_to_string(&mut read).unwrap();
        assert_eq!(read, "there");
        let (_, third) = take_end(32_000).unwrap();
        assert_eq!(third, 1);
        // That end is closed by now, so the fourth is not connected to it.
        assert_eq!(take_end(32_000).unwrap().1, 1);
        assert!(take_end(WIRES).unwrap_err().to_string().contains("wire 32768"));
    }

    #[test]
    fn ends_have_addresses_of_their_own() {
        assert_eq!(address(0, 1).to_string(), "52:54:00:00:00:01/10.128.0.1/24");
        assert_eq!(address(0x7f02, 2).to_string(), "52:54:00:7f:02:02/10.255.2.2/24");
    }
}
