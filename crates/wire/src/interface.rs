//! What is known about an interface: of the network namespace that the calling thread is in, asked of the kernel each
//! time.

use std::os::fd::{AsFd, AsRawFd};

use crate::WireError;
use crate::call::done;
use crate::netlink::{IFINFO, Netlink, Request, attributes};

/// Facts of an interface at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's number of it.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What its frames are: an ARPHRD_ number (linux/if_arp.h); 1 is Ethernet, 772 loopback.
    pub hardware: u16,
    /// Its hardware address, if it is six bytes long.
    pub address: Option<[u8; 6]>,
    /// Largest payload of a frame, in bytes.
    pub mtu: u32,
    /// Whether it is switched on (IFF_UP).
    pub up: bool,
    /// Whether it is up and can carry frames (IFF_RUNNING): a cable is plugged in, a peer is up.
    pub running: bool,
    /// Whether it has a carrier, which is known a moment before [`Interface::running`] says so.
    pub carrier: bool,
    /// Receive queues that it was made with.
    pub receive_queues: u32,
    /// Transmit queues that it was made with.
    pub transmit_queues: u32,
    /// What made it: "veth", "bridge", …; `None` for hardware and loopback.
    pub kind: Option<String>,
    /// What the kernel and the driver count.
    pub counters: Counters,
}

/// What an interface has seen since it was made. 64-bit. Source: `struct rtnl_link_stats64` (linux/if_link.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Good frames received. Some drivers count frames that the host then had no room for.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Frames received and then thrown away, for want of memory or because a queue was full.
    pub receive_dropped: u64,
    /// Frames that the hardware had no buffer for: `rx_missed_errors`.
    pub receive_missed: u64,
    /// Damaged frames received: `rx_errors`.
    pub receive_errors: u64,
    /// Frames that were not sent for want of resources.
    pub send_dropped: u64,
}

impl Counters {
    /// Word `i` of the structure: rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped,
    /// tx_dropped, multicast, collisions, rx_length_errors, rx_over_errors, rx_crc_errors, rx_frame_errors,
    /// rx_fifo_errors, rx_missed_errors, …
    fn parse(bytes: &[u8]) -> Counters {
        let word = |i: usize| {
            bytes.get(8 * i..8 * i + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
        };
        Counters {
            received: word(0),
            sent: word(1),
            received_bytes: word(2),
            sent_bytes: word(3),
            receive_errors: word(4),
            receive_dropped: word(6),
            send_dropped: word(7),
            receive_missed: word(15),
        }
    }
}

impl Interface {
    /// The one of that name.
    ///
    /// # Errors
    /// [`WireError::Input`] if there is none.
    pub fn named(name: &str) -> Result<Interface, WireError> {
        // IFNAMSIZ is 16, with the zero byte.
        if name.is_empty() || name.len() > 15 {
            return Err(WireError::no_interface(name));
        }
        let mut request = Request::link(libc::RTM_GETLINK, 0, 0, 0, 0);
        request.text(libc::IFLA_IFNAME, name);
        let mut found = None;
        Netlink::open()?.ask(request, |body| found = Interface::parse(body)).map_err(|error| match error
            .raw_os_error()
        {
            Some(libc::ENODEV) => WireError::no_interface(name),
            _ => WireError::system(format!("asking about interface {name}"), error),
        })?;
        found.ok_or_else(|| WireError::no_interface(name))
    }

    /// All that there are, by their index.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn all() -> Result<Vec<Interface>, WireError> {
        let mut found = Vec::new();
        let request = Request::link(libc::RTM_GETLINK, libc::NLM_F_DUMP, 0, 0, 0);
        Netlink::open()?
            .ask(request, |body| found.extend(Interface::parse(body)))
            .map_err(|error| WireError::system("listing interfaces", error))?;
        found.sort_by_key(|interface: &Interface| interface.index);
        Ok(found)
    }

    /// The driver's name: "veth", "virtio_net", "igb", … It is asked of the interface of this name in the calling thread's
    /// namespace.
    ///
    /// # Errors
    /// If the interface has gone, or its driver does not tell (loopback has none).
    pub fn driver(&self) -> Result<String, WireError> {
        /// `SIOCETHTOOL` (linux/sockios.h) and `ETHTOOL_GDRVINFO` (linux/ethtool.h).
        const ETHTOOL: libc::Ioctl = 0x8946;
        const GET_DRIVER: u32 = 3;
        /// `struct ethtool_drvinfo`: the command, then the driver's name in 32 bytes; 196 bytes in all.
        const NAME: std::ops::Range<usize> = 4..36;
        let mut info = [0u8; 196];
        info[..4].copy_from_slice(&GET_DRIVER.to_ne_bytes());
        // SAFETY: all-zero is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes().take(15)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = info.as_mut_ptr().cast();
        let netlink = Netlink::open()?;
        // SAFETY: the kernel reads the request and writes 196 bytes to `info`; both live on.
        let told = unsafe { libc::ioctl(netlink.as_fd().as_raw_fd(), ETHTOOL, &raw mut request) };
        done(told)
            .map_err(|error| WireError::system(format!("asking for the driver of {}", self.name), error))?;
        Ok(text(info[NAME].split(|byte| *byte == 0).next().unwrap_or_default()))
    }

    /// Whether what is sent over it comes back (ARPHRD_LOOPBACK).
    pub fn is_loopback(&self) -> bool {
        self.hardware == libc::ARPHRD_LOOPBACK
    }

    fn parse(body: &[u8]) -> Option<Interface> {
        let word = |at: usize| Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?));
        let flags = word(8)?;
        let mut interface = Interface {
            index: word(4)?,
            name: String::new(),
            hardware: u16::from_ne_bytes(body.get(2..4)?.try_into().ok()?),
            address: None,
            mtu: 0,
            up: flags & libc::IFF_UP as u32 != 0,
            running: flags & libc::IFF_RUNNING as u32 != 0,
            carrier: true,
            receive_queues: 1,
            transmit_queues: 1,
            kind: None,
            counters: Counters::default(),
        };
        for (kind, value) in attributes(body.get(IFINFO..)?) {
            let number = || value.try_into().map_or(0, u32::from_ne_bytes);
            match kind {
                libc::IFLA_IFNAME => interface.name = text(value),
                libc::IFLA_ADDRESS => interface.address = value.try_into().ok(),
                libc::IFLA_MTU => interface.mtu = number(),
                libc::IFLA_CARRIER => interface.carrier = value != [0],
                libc::IFLA_NUM_RX_QUEUES => interface.receive_queues = number(),
                libc::IFLA_NUM_TX_QUEUES => interface.transmit_queues = number(),
                libc::IFLA_STATS64 => interface.counters = Counters::parse(value),
                libc::IFLA_LINKINFO => {
                    let info = attributes(value).find(|(kind, _)| *kind == libc::IFLA_INFO_KIND);
                    interface.kind = info.map(|(_, value)| text(value));
                }
                _ => {}
            }
        }
        Some(interface)
    }
}

/// An interface that is looked at again and again: by its number, and in the namespace in which it was found, whatever
/// the calling thread is in by then.
#[derive(Debug)]
pub struct Watch {
    netlink: Netlink,
    first: Interface,
}

impl Watch {
    /// The interface of that name, as it is now and later.
    ///
    /// # Errors
    /// [`WireError::Input`] if there is none.
    pub fn on(name: &str) -> Result<Watch, WireError> {
        Watch::of(Interface::named(name)?)
    }

    /// An interface that was found in the calling thread's namespace.
    ///
    /// # Errors
    /// If the kernel cannot be asked.
    pub fn of(first: Interface) -> Result<Watch, WireError> {
        Ok(Watch { first, netlink: Netlink::open()? })
    }

    /// As it was when the watch began.
    pub fn first(&self) -> &Interface {
        &self.first
    }

    /// As it is now.
    ///
    /// # Errors
    /// [`WireError::Lost`] if it has gone.
    pub fn look(&self) -> Result<Interface, WireError> {
        let mut found = None;
        let request = Request::link(libc::RTM_GETLINK, 0, self.first.index, 0, 0);
        let asked = self.netlink.ask(request, |body| found = Interface::parse(body));
        match (asked, found) {
            (Ok(()), Some(found)) => Ok(found),
            (Err(error), _) if error.raw_os_error() != Some(libc::ENODEV) => {
                Err(WireError::system(format!("asking about interface {}", self.first.name), error))
            }
            _ => Err(self.lost("it has gone", "capture again when it is back")),
        }
    }

    /// Nothing, if frames can still come.
    ///
    /// # Errors
    /// [`WireError::Lost`] if it is down or has gone.
    pub fn must_be_up(&self) -> Result<(), WireError> {
        match self.look()?.up {
            true => Ok(()),
            false => {
                let remedy = format!("switch it on (ip link set {} up) and capture again", self.first.name);
                Err(self.lost("it is down", remedy))
            }
        }
    }

    fn lost(&self, reason: &str, remedy: impl Into<String>) -> WireError {
        WireError::Lost { interface: self.first.name.clone(), reason: reason.into(), remedy: remedy.into() }
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}
