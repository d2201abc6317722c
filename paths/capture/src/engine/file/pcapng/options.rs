//! The options at a block's end. Source: draft-ietf-opsawg-pcapng, section 3.5 (Options).

use super::super::error::Fault;
use super::super::order::Order;
use super::block::padded;

/// Walks the options of a block.
pub(super) struct Options<'a> {
    bytes: &'a [u8],
    order: Order,
}

impl<'a> Options<'a> {
    /// What is left of a block's body after its fixed part.
    pub fn of(bytes: &'a [u8], order: Order) -> Options<'a> {
        Options { bytes, order }
    }

    /// The next option's code and value; `None` at their end, with or without an opt_endofopt.
    pub fn next(&mut self) -> Result<Option<(u16, &'a [u8])>, Fault> {
        if self.bytes.len() < 4 {
            return Ok(None);
        }
        let code = self.order.u16(self.bytes, 0);
        let length = self.order.u16(self.bytes, 2);
        let rest = &self.bytes[4..];
        if code == 0 {
            self.bytes = &[];
            return Ok(None);
        }
        let Some(value) = rest.get(..usize::from(length)) else {
            return Err(Fault::Overrun { what: "an option", length: length.into(), room: rest.len() });
        };
        // The last one's padding may be missing.
        self.bytes = rest.get(padded(value.len())..).unwrap_or_default();
        Ok(Some((code, value)))
    }
}

/// Writes an option with its padding.
pub(super) fn put(buffer: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    buffer.extend_from_slice(&code.to_ne_bytes());
    buffer.extend_from_slice(&(value.len() as u16).to_ne_bytes());
    buffer.extend_from_slice(value);
    buffer.resize(buffer.len() + padded(value.len()) - value.len(), 0);
}

/// Writes opt_endofopt.
pub(super) fn end(buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&[0; 4]);
}
