//! What a coordinator tells the first program of a Linux guest, by words of the kernel's command line that become its
//! environment and that of its agents.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Followed by a disk's number: the folder at which its file system is mounted.
pub const MOUNT: &str = "TOLLWAY_MOUNT_";
/// Followed by a wire's number: the [`Address`] of this guest's end.
pub const WIRE: &str = "TOLLWAY_WIRE_";
/// The [`Address`] of this guest on the network behind which the host is.
pub const HOST_NETWORK: &str = "TOLLWAY_HOST_NETWORK";
/// The host's loopback on that network (QEMU's documentation, "Using the user mode network stack").
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// The serial number of a guest's disk of that number, counted from 0.
pub fn disk_serial(number: u32) -> String {
    format!("tollway.{number}")
}

/// What a network card has and is given: `52:54:00:00:07:01/10.128.7.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// By which the card is found.
    pub mac: [u8; 6],
    /// What it is given.
    pub ip: Ipv4Addr,
    /// The length of its network's prefix, in bits: 1 to 31.
    pub prefix: u8,
}

impl Address {
    /// The card's address as /sys writes it.
    pub fn mac_text(&self) -> String {
        self.mac.map(|byte| format!("{byte:02x}")).join(":")
    }

    /// The network's mask.
    pub fn mask(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(!(u32::MAX >> self.prefix))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.mac_text(), self.ip, self.prefix)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let [mac, ip, prefix] = text.split('/').collect::<Vec<_>>().try_into().ok()?;
            let bytes: Option<Vec<u8>> = mac.split(':').map(|b| u8::from_str_radix(b, 16).ok()).collect();
            let prefix = prefix.parse().ok().filter(|bits| (1..=31).contains(bits))?;
            Some(Address { mac: bytes?.try_into().ok()?, ip: ip.parse().ok()?, prefix })
        };
        read().ok_or_else(|| format!("`{text}` is no address of a network card"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back() {
        let address =
            Address { mac: [0x52, 0x54, 0, 1, 0xab, 2], ip: Ipv4Addr::new(10, 128, 7, 1), prefix: 24 };
        assert_eq!(address.to_string().parse(), Ok(address));
        assert_eq!(address.mask(), Ipv4Addr::new(255, 255, 255, 0));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "52:54:00:00:00:01", "52:54/10.0.0.1/24", "52:54:00:00:00:01/10.0.0.1/32", "a/b/c/d"]
        {
            assert!(text.parse::<Address>().unwrap_err().contains(text), "{text}");
        }
    }
}
