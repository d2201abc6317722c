//! What packets of several interfaces can be written to.

use super::error::Error;
use super::pcapng::{Described, Statistics};
use super::{pcap, pcapng};
use crate::engine::{Packet, Timestamp};

/// What a file has, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Whole packets.
    pub packets: u64,
    /// Bytes, those of headers too.
    pub bytes: u64,
}

/// Takes packets: a file in either format, or several files in turn.
pub trait Sink {
    /// Is told of each interface, in order, before its first packet.
    ///
    /// # Errors
    /// If the system takes no more, or the interface does not go into the format.
    fn describe(&mut self, interface: &Described) -> Result<(), Error>;

    /// Is told of an interface before the first of its packets that is written.
    ///
    /// # Errors
    /// If its packets do not go into the format.
    fn takes(&mut self, _interface: &Described) -> Result<(), Error> {
        Ok(())
    }

    /// Is told at the end what an interface counted, where that is known.
    ///
    /// # Errors
    /// If the system takes no more.
    fn conclude(&mut self, interface: u32, statistics: &Statistics, now: Timestamp) -> Result<(), Error>;

    /// Writes a packet of an interface.
    ///
    /// # Errors
    /// If the system takes no more, or the packet does not go into the format.
    fn write(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), Error>;

    /// Writes a packet of which nobody knows when it was seen. Where the format has no place for that, its
    /// time is what the packet says.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn write_untimed(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        self.write(interface, packet)
    }

    /// Hands all that waits to the system.
    ///
    /// # Errors
    /// If the system does not take it.
    fn flush(&mut self) -> Result<(), Error>;

    /// What is written, where that is to a file: once a write has failed, what of it is whole.
    fn content(&self) -> Option<Content> {
        None
    }

    /// Whether it takes no more packets, and that is no error.
    fn is_over(&self) -> bool {
        false
    }

    /// The one pcap file that all packets go to, where there is one: records can then be copied as they are.
    fn pcap(&mut self) -> Option<&mut pcap::Writer> {
        None
    }
}

impl Sink for pcap::Writer {
    /// The format has no place for it.
    fn describe(&mut self, _: &Described) -> Result<(), Error> {
        Ok(())
    }

    /// All its packets are of one link type, as its header says already.
    fn takes(&mut self, interface: &Described) -> Result<(), Error> {
        self.suits(interface.link_type, interface.check_sequence_bits)
    }

    /// The format has no place for it.
    fn conclude(&mut self, _: u32, _: &Statistics, _: Timestamp) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn write(&mut self, _interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        self.write_whole(packet)
    }

    fn flush(&mut self) -> Result<(), Error> {
        pcap::Writer::flush(self)
    }

    fn content(&self) -> Option<Content> {
        Some(pcap::Writer::content(self))
    }

    fn pcap(&mut self) -> Option<&mut pcap::Writer> {
        Some(self)
    }
}

impl Sink for pcapng::Writer {
    fn describe(&mut self, interface: &Described) -> Result<(), Error> {
        self.add_interface(interface).map(drop)
    }

    fn conclude(&mut self, interface: u32, statistics: &Statistics, now: Timestamp) -> Result<(), Error> {
        self.write_statistics(interface, statistics, now)
    }

    #[inline]
    fn write(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        pcapng::Writer::write(self, interface, packet)
    }

    fn write_untimed(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        pcapng::Writer::write_untimed(self, interface, packet)
    }

    fn flush(&mut self) -> Result<(), Error> {
        pcapng::Writer::flush(self)
    }

    fn content(&self) -> Option<Content> {
        Some(pcapng::Writer::content(self))
    }
}
