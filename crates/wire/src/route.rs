//! Ways that lead through others, in the network namespace of the calling thread: routes, and whether packets of others are passed on.
//! Source: SIOCADDRT and struct rtentry, net/route.h; Linux, Documentation/networking/ip-sysctl.rst.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use crate::WireError;
use crate::call::done;

/// Has packets for a network, whose addresses begin with the same `prefix` bits, go by a neighbour.
///
/// # Errors
/// No neighbour of that address, no privileges, a network that is there already, or a prefix of more than 32 bits.
pub fn add_route(network: Ipv4Addr, prefix: u8, by: Ipv4Addr) -> Result<(), WireError> {
    let doing = format!("having packets for {network}/{prefix} go by {by}");
    let Some(host) = 32u32.checked_sub(prefix.into()) else {
        return Err(WireError::input(doing, "IPv4 addresses have 32 bits", "take a prefix of at most 32"));
    };
    let mask = Ipv4Addr::from_bits(u32::MAX.checked_shl(host).unwrap_or(0));
    // SAFETY: all-zero is a valid rtentry, whose pointer is null then.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    (route.rt_dst, route.rt_genmask, route.rt_gateway) = (place(network), place(mask), place(by));
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|error| WireError::system(&*doing, error))?;
    // SAFETY: the kernel reads the route, which names no device.
    let told = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as libc::Ioctl, &raw const route) };
    done(told).map_err(|error| WireError::system(doing, error))
}

/// Has packets that are for others passed on.
///
/// # Errors
/// No privileges.
pub fn pass_on() -> Result<(), WireError> {
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")
        .map_err(|error| WireError::system("having packets for others passed on", error))
}

fn place(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all-zero is a valid sockaddr_in.
    let mut place: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    place.sin_family = libc::AF_INET as libc::sa_family_t;
    place.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
    // SAFETY: a sockaddr_in is a sockaddr of that family, and as long (ip(7)).
    unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(place) }
}
