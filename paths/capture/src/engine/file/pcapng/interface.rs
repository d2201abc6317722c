//! An interface of a pcapng file. Source: draft-ietf-opsawg-pcapng, section 4.2 (Interface Description Block).

use super::super::error::Fault;
use super::super::limits::snapshot_length;
use super::super::order::Order;
use super::options::Options;
use super::statistics::Statistics;
use crate::engine::{LinkType, Timestamp};

/// Codes of options: section 4.2, table 3.
pub(super) const IF_NAME: u16 = 2;
pub(super) const IF_TSRESOL: u16 = 9;
pub(super) const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;

const NANOS: u64 = 1_000_000_000;

/// What a pcapng file says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What its packets are.
    pub link_type: LinkType,
    /// Bytes kept of a packet at most.
    pub snapshot: u32,
    /// Its name (if_name), where the file has one.
    pub name: Option<String>,
    /// The bits of the frame check sequence at the end of each packet (if_fcslen), where the file says.
    pub check_sequence_bits: Option<u8>,
    /// The latest of its statistics, where the file has any.
    pub statistics: Option<Statistics>,
    /// Ticks of its clock in a second.
    ticks_per_second: u64,
    /// Seconds to be added to its times.
    offset: i64,
}

impl Interface {
    /// Reads the body of a block; the caller has seen that its fixed part is there.
    pub(super) fn read(body: &[u8], order: Order) -> Result<Interface, Fault> {
        let link_type = LinkType::from_file(order.u16(body, 0).into());
        let mut interface = Interface {
            link_type,
            snapshot: snapshot_length(order.u32(body, 4), link_type),
            name: None,
            check_sequence_bits: None,
            statistics: None,
            ticks_per_second: 1_000_000,
            offset: 0,
        };
        let mut options = Options::of(&body[8..], order);
        let (mut resolutions, mut offsets) = (0, 0);
        while let Some((code, value)) = options.next()? {
            match code {
                IF_NAME => {
                    interface.name = Some(
                        String::from_utf8_lossy(value).trim_end_matches('\0').chars().take(256).collect(),
                    );
                }
                IF_TSRESOL => {
                    interface.ticks_per_second = resolution(value)?;
                    resolutions += 1;
                }
                // Nothing that is read depends on it: one that cannot be says nothing.
                IF_FCSLEN => {
                    interface.check_sequence_bits = value.first().copied().filter(|_| value.len() == 1)
                }
                IF_TSOFFSET => {
                    let reason = "is not eight bytes long";
                    let offset = order.u64(value).ok_or(Fault::Option { name: "if_tsoffset", reason })?;
                    interface.offset = offset as i64;
                    offsets += 1;
                }
                _ => {}
            }
        }
        for (times, name) in [(resolutions, "if_tsresol"), (offsets, "if_tsoffset")] {
            if times > 1 {
                return Err(Fault::Option { name, reason: "is there more than once" });
            }
        }
        Ok(interface)
    }

    /// Ticks of its clock in a second.
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// The time that so many ticks of its clock are. What is finer than a nanosecond is cut off.
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> Result<Timestamp, Fault> {
        let nanos = match (self.ticks_per_second, self.offset) {
            (1_000_000, 0) => ticks.checked_mul(1000),
            (NANOS, 0) => Some(ticks),
            _ => self.odd_time(ticks),
        };
        nanos.map(Timestamp).ok_or(Fault::Time { ticks })
    }

    #[cold]
    fn odd_time(&self, ticks: u64) -> Option<u64> {
        let part = u128::from(ticks % self.ticks_per_second) * u128::from(NANOS);
        let nanos = (part / u128::from(self.ticks_per_second)) as u64;
        (ticks / self.ticks_per_second)
            .checked_add_signed(self.offset)?
            .checked_mul(NANOS)?
            .checked_add(nanos)
    }
}

/// Ticks in a second by the option if_tsresol: a power of ten, or of two if the top bit is set.
fn resolution(value: &[u8]) -> Result<u64, Fault> {
    let wrong = |reason| Fault::Option { name: "if_tsresol", reason };
    let &[byte] = value else { return Err(wrong("is not one byte long")) };
    let power: u32 = (byte & 0x7f).into();
    let base: u64 = if byte & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(power).ok_or_else(|| wrong("is finer than 10^-19 or 2^-63 of a second"))
}
