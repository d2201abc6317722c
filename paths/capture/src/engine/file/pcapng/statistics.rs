//! What an interface counted. Source: draft-ietf-opsawg-pcapng, section 4.6 (Interface Statistics Block).

use super::super::error::Fault;
use super::super::order::Order;
use super::options::{self, Options};
use crate::engine::Accounting;

/// Codes of options: section 4.6, table 6.
const RECEIVED: u16 = 4;
const LOST: u16 = 5;
const ACCEPTED: u16 = 6;
const DROPPED: u16 = 7;
const DELIVERED: u16 = 8;

/// Counts of packets from the beginning of a capture. What the file does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// isb_ifrecv: received from the interface.
    pub received: Option<u64>,
    /// isb_ifdrop: lost by the interface for want of resources.
    pub lost: Option<u64>,
    /// isb_filteraccept: those received that the filter wanted.
    pub accepted: Option<u64>,
    /// isb_osdrop: those wanted that the operating system had no room for.
    pub dropped: Option<u64>,
    /// isb_usrdeliv: handed to the application.
    pub delivered: Option<u64>,
}

impl Statistics {
    /// Reads a block's options.
    pub(super) fn read(body: &[u8], order: Order) -> Result<Statistics, Fault> {
        let mut statistics = Statistics::default();
        let mut options = Options::of(body, order);
        while let Some((code, value)) = options.next()? {
            let (count, name) = match code {
                RECEIVED => (&mut statistics.received, "isb_ifrecv"),
                LOST => (&mut statistics.lost, "isb_ifdrop"),
                ACCEPTED => (&mut statistics.accepted, "isb_filteraccept"),
                DROPPED => (&mut statistics.dropped, "isb_osdrop"),
                DELIVERED => (&mut statistics.delivered, "isb_usrdeliv"),
                _ => continue,
            };
            let reason = "is not eight bytes long";
            *count = Some(order.u64(value).ok_or(Fault::Option { name, reason })?);
        }
        Ok(statistics)
    }

    /// Appends them as options.
    pub(super) fn write(&self, buffer: &mut Vec<u8>) {
        let counts = [
            (RECEIVED, self.received),
            (LOST, self.lost),
            (ACCEPTED, self.accepted),
            (DROPPED, self.dropped),
            (DELIVERED, self.delivered),
        ];
        for (code, count) in counts {
            if let Some(count) = count {
                options::put(buffer, code, &count.to_ne_bytes());
            }
        }
    }

    /// The account they give, with as many packets delivered as the file has, unless it tells that too.
    ///
    /// "Received" is taken not to hold those that the interface lost.
    pub fn accounting(&self, packets: u64) -> Accounting {
        let filtered = |received: u64, accepted: u64| received.checked_sub(accepted);
        Accounting {
            offered: self.received.zip(self.lost).and_then(|(received, lost)| received.checked_add(lost)),
            filtered_out: self.received.zip(self.accepted).and_then(|(r, a)| filtered(r, a)),
            delivered: self.delivered.unwrap_or(packets),
            dropped: self.dropped,
            lost_before: self.lost,
        }
    }
}

impl From<&Accounting> for Statistics {
    fn from(account: &Accounting) -> Self {
        let received = account.offered.zip(account.lost_before).and_then(|(all, lost)| all.checked_sub(lost));
        Statistics {
            received,
            lost: account.lost_before,
            accepted: received.zip(account.filtered_out).and_then(|(r, out)| r.checked_sub(out)),
            dropped: account.dropped,
            delivered: Some(account.delivered),
        }
    }
}
