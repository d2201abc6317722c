//! Making and changing interfaces by rtnetlink, in the network namespace of the calling thread. Nothing here touches an
//! interface that is not named.

use std::os::fd::{AsFd, AsRawFd};

use crate::netlink::{Netlink, Request};
use crate::{Interface, Namespace, WireError};

/// `VETH_INFO_PEER` (linux/veth.h).
const VETH_INFO_PEER: u16 = 1;

/// One end of a veth pair to be made.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Its name: 1 to 15 bytes.
    pub name: &'a str,
    /// Where it will be; `None` for the calling thread's namespace.
    pub namespace: Option<&'a Namespace>,
    /// Largest payload of a frame, in bytes; the frame has 14 more. The kernel's default is 1500.
    pub mtu: Option<u32>,
    /// Its hardware address; the kernel's choice is random.
    pub address: Option<[u8; 6]>,
    /// How many queues it has for sending, and as many for receiving.
    pub queues: u32,
}

impl<'a> End<'a> {
    /// An end with what the kernel chooses, and one queue.
    pub fn new(name: &'a str) -> End<'a> {
        End { name, namespace: None, mtu: None, address: None, queues: 1 }
    }

    /// In another namespace.
    pub fn within(self, namespace: &'a Namespace) -> End<'a> {
        End { namespace: Some(namespace), ..self }
    }

    fn describe(&self, request: &mut Request) {
        request.text(libc::IFLA_IFNAME, self.name);
        request.number(libc::IFLA_NUM_TX_QUEUES, self.queues);
        request.number(libc::IFLA_NUM_RX_QUEUES, self.queues);
        if let Some(mtu) = self.mtu {
            request.number(libc::IFLA_MTU, mtu);
        }
        if let Some(address) = self.address {
            request.attribute(libc::IFLA_ADDRESS, &address);
        }
        if let Some(namespace) = self.namespace {
            request.number(libc::IFLA_NET_NS_FD, namespace.as_fd().as_raw_fd() as u32);
        }
    }
}

/// Makes a veth pair: what one end sends, the other receives. Both are down. They are gone when one of them is deleted
/// or its namespace ends.
///
/// # Errors
/// A name that is taken or none, privileges that are lacking.
pub fn veth_pair(one: &End<'_>, other: &End<'_>) -> Result<(), WireError> {
    let mut request = Request::link(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, 0, 0, 0);
    one.describe(&mut request);
    request.nest(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, "veth");
        info.nest(libc::IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, |peer| {
                peer.interface(0, 0, 0);
                other.describe(peer);
            });
        });
    });
    let doing = format!("making the veth pair {} and {}", one.name, other.name);
    Netlink::open()?.ask(request, |_| ()).map_err(|error| match error.raw_os_error() {
        Some(libc::EEXIST) => {
            WireError::input(doing, "a name is taken", "take other names, or a namespace of your own")
        }
        _ => WireError::system(doing, error),
    })
}

/// Switches an interface on or off.
///
/// # Errors
/// No such interface, or no privileges.
pub fn set_up(name: &str, up: bool) -> Result<(), WireError> {
    let bit = libc::IFF_UP as u32;
    let doing = format!("switching interface {name} {}", if up { "on" } else { "off" });
    change(name, doing, if up { bit } else { 0 }, bit, |_| ())
}

/// Sets the largest payload of a frame, in bytes.
///
/// # Errors
/// No such interface, no privileges, or a size that it cannot do.
pub fn set_mtu(name: &str, mtu: u32) -> Result<(), WireError> {
    change(name, format!("setting the MTU of interface {name} to {mtu}"), 0, 0, |request| {
        request.number(libc::IFLA_MTU, mtu);
    })
}

/// Moves an interface to another namespace; it is down there.
///
/// # Errors
/// No such interface, no privileges, or one that must not be moved.
pub fn move_link(name: &str, to: &Namespace) -> Result<(), WireError> {
    change(name, format!("moving interface {name}"), 0, 0, |request| {
        request.number(libc::IFLA_NET_NS_FD, to.as_fd().as_raw_fd() as u32);
    })
}

/// Deletes an interface, and with a veth also its peer.
///
/// # Errors
/// No such interface, no privileges, or one that is there for good.
pub fn delete_link(name: &str) -> Result<(), WireError> {
    let index = Interface::named(name)?.index;
    let request = Request::link(libc::RTM_DELLINK, 0, index, 0, 0);
    Netlink::open()?
        .ask(request, |_| ())
        .map_err(|error| WireError::system(format!("deleting interface {name}"), error))
}

fn change(
    name: &str,
    doing: String,
    flags: u32,
    mask: u32,
    what: impl FnOnce(&mut Request),
) -> Result<(), WireError> {
    let index = Interface::named(name)?.index;
    let mut request = Request::link(libc::RTM_NEWLINK, 0, index, flags, mask);
    what(&mut request);
    Netlink::open()?.ask(request, |_| ()).map_err(|error| WireError::system(doing, error))
}
