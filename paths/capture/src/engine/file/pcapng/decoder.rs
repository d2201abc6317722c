//! Reads pcapng block by block. Source: draft-ietf-opsawg-pcapng, section 4.

use super::super::error::Fault;
use super::super::limits::{LONGEST_BLOCK, longest_packet};
use super::super::order::Order;
use super::super::step::{Found, Step};
use super::block::{
    HEAD, INTERFACE, OLD_PACKET, PACKET, SECTION, SIMPLE_PACKET, STATISTICS, TAIL, check_length, padded,
    section_order,
};
use super::interface::Interface;
use super::statistics::Statistics;

/// Blocks of other types up to this length are looked at whole, so that their second length is checked.
const CHECKED: u32 = 64 << 10;

/// How many interfaces a file may describe: each takes memory.
const INTERFACES: usize = 1 << 16;

/// The state of reading a file: its section's byte order, and all its interfaces.
pub(in super::super) struct Decoder {
    pub order: Order,
    /// Of all sections, in the file's order.
    pub interfaces: Vec<Interface>,
    /// Where those of this section begin.
    section: usize,
    /// The longest block of this section that has to be whole.
    longest: u32,
}

impl Decoder {
    /// At the start of a file, or anywhere a section begins.
    pub fn new() -> Decoder {
        Decoder { order: Order::Native, interfaces: Vec::new(), section: 0, longest: LONGEST_BLOCK }
    }

    /// The next block of the bytes at hand.
    #[inline]
    pub fn step(&mut self, window: &[u8]) -> Step {
        if window.len() < HEAD {
            return Step::Need(HEAD, "a block's header");
        }
        if self.order.u32(window, 0) == PACKET {
            // The common case, without detours.
            return match self.body(window, PACKET) {
                Ok(body) => self.packet(body).unwrap_or_else(|fault| Step::Bad(0, fault)),
                Err(step) => step,
            };
        }
        self.other(window)
    }

    /// The body of a block that is to be whole, or what stands against it.
    #[inline]
    fn body<'w>(&self, window: &'w [u8], kind: u32) -> Result<&'w [u8], Step> {
        let head = self.order.u32(window, 4);
        if let Err(fault) = check_length(kind, head, self.longest) {
            return Err(Step::Bad(0, fault));
        }
        let length = head as usize;
        let Some(block) = window.get(..length) else { return Err(Step::Need(length, "a block")) };
        let tail = self.order.u32(block, length - TAIL);
        if tail != head {
            return Err(Step::Bad(length - TAIL, Fault::Trailer { head, tail }));
        }
        Ok(&block[HEAD..length - TAIL])
    }

    #[cold]
    fn other(&mut self, window: &[u8]) -> Step {
        let kind = self.order.u32(window, 0);
        let outcome = match kind {
            SECTION => return self.begin_section(window),
            INTERFACE | OLD_PACKET | SIMPLE_PACKET | STATISTICS => self.body(window, kind),
            _ => return self.unknown(window, kind),
        };
        let body = match outcome {
            Ok(body) => body,
            Err(step) => return step,
        };
        let known = match kind {
            INTERFACE => self.interface(body),
            OLD_PACKET => self.old_packet(body),
            SIMPLE_PACKET => self.simple_packet(body),
            _ => self.statistics(body),
        };
        known.unwrap_or_else(|fault| Step::Bad(0, fault))
    }

    /// A section says its byte order itself; its length field is not needed, as all of its blocks are walked.
    fn begin_section(&mut self, window: &[u8]) -> Step {
        let Some(magic) = window.get(HEAD..HEAD + 4) else {
            return Step::Need(HEAD + 4, "a section's header");
        };
        self.order = match section_order([magic[0], magic[1], magic[2], magic[3]]) {
            Ok(order) => order,
            Err(fault) => return Step::Bad(HEAD, fault),
        };
        let body = match self.body(window, SECTION) {
            Ok(body) => body,
            Err(step) => return step,
        };
        // 1.2 is what some programs wrote for what is 1.0: section 4.1, Minor Version.
        let (major, minor) = (self.order.u16(body, 4), self.order.u16(body, 6));
        if major != 1 || (minor != 0 && minor != 2) {
            return Step::Bad(HEAD + 4, Fault::Version { format: "pcapng", major, minor });
        }
        self.section = self.interfaces.len();
        self.longest = LONGEST_BLOCK;
        skip(body)
    }

    fn interface(&mut self, body: &[u8]) -> Result<Step, Fault> {
        if self.interfaces.len() == INTERFACES {
            let known = INTERFACES as u32;
            return Err(Fault::Interface { interface: known, known });
        }
        let interface = Interface::read(body, self.order)?;
        self.longest = self.longest.max(LONGEST_BLOCK.saturating_add(longest_packet(interface.link_type)));
        self.interfaces.push(interface);
        Ok(skip(body))
    }

    fn statistics(&mut self, body: &[u8]) -> Result<Step, Fault> {
        let of = self.known(self.order.u32(body, 0))?;
        self.interfaces[of].statistics = Some(Statistics::read(&body[12..], self.order)?);
        Ok(skip(body))
    }

    /// Names, secrets, what programs keep for themselves, what is to come: passed over.
    fn unknown(&self, window: &[u8], kind: u32) -> Step {
        let length = self.order.u32(window, 4);
        if let Err(fault) = check_length(kind, length, u32::MAX) {
            return Step::Bad(0, fault);
        }
        if length > CHECKED {
            return Step::Skip(length.into());
        }
        match self.body(window, kind) {
            Ok(body) => skip(body),
            Err(step) => step,
        }
    }

    /// Where an interface of this section is.
    #[inline]
    fn known(&self, id: u32) -> Result<usize, Fault> {
        let known = self.interfaces.len() - self.section;
        if id as usize >= known {
            return Err(Fault::Interface { interface: id, known: known as u32 });
        }
        Ok(self.section + id as usize)
    }

    /// Section 4.3.
    #[inline]
    fn packet(&self, body: &[u8]) -> Result<Step, Fault> {
        let of = self.known(self.order.u32(body, 0))?;
        self.timed_packet(body, of)
    }

    /// Appendix A: as the enhanced packet block, but for a count of drops in the upper half of the interface's number.
    fn old_packet(&self, body: &[u8]) -> Result<Step, Fault> {
        let of = self.known(self.order.u16(body, 0).into())?;
        self.timed_packet(body, of)
    }

    #[inline]
    fn timed_packet(&self, body: &[u8], of: usize) -> Result<Step, Fault> {
        let (high, low) = (self.order.u32(body, 4), self.order.u32(body, 8));
        let (captured, wire_length) = (self.order.u32(body, 12), self.order.u32(body, 16));
        let interface = &self.interfaces[of];
        self.check(captured, interface, body.len() - 20)?;
        let timestamp = interface.time(u64::from(high) << 32 | u64::from(low))?;
        let begin = HEAD + 20;
        Ok(Step::Packet(Found {
            timestamp,
            is_timed: true,
            wire_length,
            interface: of as u32,
            bytes: begin..begin + captured as usize,
            length: body.len() + HEAD + TAIL,
        }))
    }

    /// Section 4.4: of the section's first interface, at the zero of its clock as there is no time; what was kept is what the
    /// snapshot length allows.
    fn simple_packet(&self, body: &[u8]) -> Result<Step, Fault> {
        let of = self.known(0)?;
        let interface = &self.interfaces[of];
        let wire_length = self.order.u32(body, 0);
        let captured = wire_length.min(interface.snapshot);
        self.check(captured, interface, body.len() - 4)?;
        let begin = HEAD + 4;
        Ok(Step::Packet(Found {
            timestamp: interface.time(0)?,
            is_timed: false,
            wire_length,
            interface: of as u32,
            bytes: begin..begin + captured as usize,
            length: body.len() + HEAD + TAIL,
        }))
    }

    /// Whether so many bytes were kept of a packet is possible.
    #[inline]
    fn check(&self, captured: u32, interface: &Interface, room: usize) -> Result<(), Fault> {
        let limit = interface.snapshot.min(longest_packet(interface.link_type));
        if captured > limit {
            return Err(Fault::TooLong { captured, limit });
        }
        if padded(captured as usize) > room {
            return Err(Fault::Overrun { what: "a packet", length: captured, room });
        }
        Ok(())
    }
}

/// Past a block that is whole in the bytes at hand.
fn skip(body: &[u8]) -> Step {
    Step::Skip((body.len() + HEAD + TAIL) as u64)
}
