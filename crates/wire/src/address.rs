//! What Linux's own network stack needs of an interface before programs can speak over it, in the network namespace of the calling
//! thread: an address, and checksums that are there. Source: netdevice(7), linux/sockios.h, linux/ethtool.h.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use crate::WireError;
use crate::call::{done, named};

/// `SIOCETHTOOL` (linux/sockios.h).
const ETHTOOL: libc::Ioctl = 0x8946;

/// `ETHTOOL_STXCSUM` (linux/ethtool.h): whether the device works out checksums of what is sent.
const SET_SENDING_CHECKSUMS: u32 = 0x17;

/// `struct ethtool_value` (linux/ethtool.h).
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Gives an interface its IPv4 address, in a network whose addresses begin with the same `prefix` bits. The kernel adds the route.
///
/// # Errors
/// No such interface, no privileges, or a prefix of more than 32 bits.
pub fn set_address(name: &str, address: Ipv4Addr, prefix: u8) -> Result<(), WireError> {
    let doing = format!("giving interface {name} the address {address}/{prefix}");
    let Some(host) = 32u32.checked_sub(prefix.into()) else {
        return Err(WireError::input(doing, "IPv4 addresses have 32 bits", "take a prefix of at most 32"));
    };
    let mask = Ipv4Addr::from_bits(u32::MAX.checked_shl(host).unwrap_or(0));
    for (what, address) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, mask)] {
        let mut request = named(name).ok_or_else(|| WireError::no_interface(name))?;
        // SAFETY: all-zero is a valid sockaddr_in.
        let mut to: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        to.sin_family = libc::AF_INET as libc::sa_family_t;
        to.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
        // SAFETY: a sockaddr_in is a sockaddr of that family, and as long (ip(7)).
        request.ifr_ifru.ifru_addr = unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(to) };
        ask(what as libc::Ioctl, &mut request, name, &doing)?;
    }
    Ok(())
}

/// Whether an interface leaves the checksums of what is sent to its device, as a veth does, which works out none: who reads the
/// frames at the other end by a packet socket then finds them wrong. Without it segments are no longer than the MTU, too.
///
/// # Errors
/// No such interface, no privileges, or a device that cannot do otherwise.
pub fn leave_checksums_to_device(name: &str, leave: bool) -> Result<(), WireError> {
    let mut value = Value { command: SET_SENDING_CHECKSUMS, data: leave.into() };
    let mut request = named(name).ok_or_else(|| WireError::no_interface(name))?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    let doing =
        format!("having checksums of interface {name} worked out {}", if leave { "by it" } else { "before" });
    ask(ETHTOOL, &mut request, name, &doing)
}

/// An ioctl about an interface; any socket of the protocol serves.
fn ask(what: libc::Ioctl, request: &mut libc::ifreq, name: &str, doing: &str) -> Result<(), WireError> {
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|error| WireError::system(doing, error))?;
    // SAFETY: the kernel reads and writes the request, and what it points to: an ethtool_value of a caller's that lives on, or nothing.
    let told = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut *request) };
    done(told).map_err(|error| match error.raw_os_error() {
        Some(libc::ENODEV) => WireError::no_interface(name),
        _ => WireError::system(doing, error),
    })
}
