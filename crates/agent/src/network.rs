//! Network cards of a Linux guest: found by their address, given the one that the coordinator wants.

use std::env;
use std::fs;
use std::io::{self, Error};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};
use tollway_tenant::guest_settings::{Address, HOST_NETWORK, WIRE};

/// Gives every card that the environment names its address.
pub(crate) fn configure() -> io::Result<()> {
    for (name, value) in env::vars() {
        if name.starts_with(WIRE) || name == HOST_NETWORK {
            give(&value).map_err(|e| Error::new(e.kind(), format!("{name}={value}: {e}")))?;
        }
    }
    Ok(())
}

fn give(text: &str) -> io::Result<()> {
    let address: Address = text.parse().map_err(Error::other)?;
    let card = card(&address)?.ok_or_else(|| Error::other("there is no such card"))?;
    let interface = Interface::named(&card)?;
    interface.set(libc::SIOCSIFADDR, address.ip)?;
    interface.set(libc::SIOCSIFNETMASK, address.mask())?;
    interface.up()
}

fn card(address: &Address) -> io::Result<Option<String>> {
    for card in fs::read_dir("/sys/class/net")?.flatten() {
        if fs::read_to_string(card.path().join("address")).is_ok_and(|mac| mac.trim() == address.mac_text()) {
            return Ok(card.file_name().into_string().ok());
        }
    }
    Ok(None)
}

/// Brings a network interface up.
pub(crate) fn up(name: &str) -> io::Result<()> {
    Interface::named(name)?.up()
}

/// An interface as the requests of netdevice(7) see it.
struct Interface {
    socket: OwnedFd,
    request: libc::ifreq,
}

impl Interface {
    fn named(name: &str) -> io::Result<Interface> {
        // SAFETY: all-zero is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.len() >= request.ifr_name.len() {
            return Err(Error::other(format!("`{name}` is too long for an interface")));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed();
        }
        Ok(Interface { socket: socket(AddressFamily::INET, SocketType::DGRAM, None)?, request })
    }

    fn set(&self, what: libc::Ioctl, value: Ipv4Addr) -> io::Result<()> {
        let mut request = self.request;
        let value = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: value.to_bits().to_be() },
            sin_zero: [0; 8],
        };
        // SAFETY: both are plain data of 16 bytes, which the kernel tells apart by the family.
        request.ifr_ifru.ifru_addr =
            unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(value) };
        self.ask(what, &mut request)
    }

    fn up(&self) -> io::Result<()> {
        let mut request = self.request;
        self.ask(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the flags were just filled in.
        unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short };
        self.ask(libc::SIOCSIFFLAGS, &mut request)
    }

    fn ask(&self, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the request points to a live ifreq whose name is terminated, because it is shorter than its place.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), what, std::ptr::from_mut(request)) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(up("none-such").is_err());
        assert!(up("a-name-that-is-too-long").is_err());
        assert!(give("52:54:00:00:99:99/10.128.99.99/24").unwrap_err().to_string().contains("no such card"));
    }
}
