//! What a column of a trace holds, by its name.

use crate::{ModelError, Result};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Quantity {
    /// When the customer came.
    Arrival,
    /// When its service began.
    Start,
    /// When its service ended.
    End,
    /// When that was told.
    Delivered,
    /// Time since the arrival before.
    Gap,
    /// Time of its service.
    Service,
    /// Time between arrival and service.
    Wait,
    /// Time between arrival and end.
    Response,
    /// Its class.
    Class,
    /// How many bytes it asked for.
    Bytes,
}

/// Names, the first of which is the one that is told.
const NAMES: [(Quantity, &[&str]); 10] = [
    (Quantity::Arrival, &["arrival", "arrived", "arrivals", "submitted", "time", "timestamp"]),
    (Quantity::Start, &["start", "started", "begin", "began"]),
    (
        Quantity::End,
        &["end", "ended", "finish", "finished", "completion", "completed", "departure", "departed"],
    ),
    (Quantity::Delivered, &["delivered", "delivery", "told", "interrupt"]),
    (Quantity::Gap, &["gap", "gaps", "interarrival"]),
    (Quantity::Service, &["service", "services", "service-time"]),
    (Quantity::Wait, &["wait", "waiting", "wait-time"]),
    (Quantity::Response, &["response", "responses", "latency", "sojourn", "response-time"]),
    (Quantity::Class, &["class", "kind", "type"]),
    (Quantity::Bytes, &["bytes", "size", "length"]),
];

/// Units of time and femtoseconds in each.
const UNITS: [(&str, i128); 8] = [
    ("fs", 1),
    ("ps", 1_000),
    ("ns", 1_000_000),
    ("us", 1_000_000_000),
    ("µs", 1_000_000_000),
    ("ms", 1_000_000_000_000),
    ("min", 60_000_000_000_000_000),
    ("s", FEMTOSECONDS),
];

/// Femtoseconds in a second.
pub(super) const FEMTOSECONDS: i128 = 1_000_000_000_000_000;

impl Quantity {
    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(quantity, _)| *quantity == self).map_or("", |(_, names)| names[0])
    }

    /// Whether it is a reading of a clock rather than a time that something took.
    pub(super) fn is_stamp(self) -> bool {
        matches!(self, Quantity::Arrival | Quantity::Start | Quantity::End | Quantity::Delivered)
    }

    /// Whether it is a time, of a clock or of something.
    pub(super) fn is_time(self) -> bool {
        !matches!(self, Quantity::Class | Quantity::Bytes)
    }
}

/// What a reader wants of a trace: columns of other quantities are passed over.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) quantities: &'static [Quantity],
    /// What columns without names hold, in their order, where there are no more of them.
    pub(super) unnamed: &'static [Quantity],
    /// How else columns are named than by a header, for remedies; empty where there is no other way.
    pub(super) otherwise: &'static str,
}

impl Wanted {
    /// The column of that name; `None` where it is not wanted, or the name says nothing that is known.
    pub(super) fn column(&self, name: &str) -> Option<Column> {
        Column::named(name).filter(|column| self.quantities.contains(&column.holds))
    }

    /// The same, or an error that lists the names.
    pub(super) fn expected(&self, name: &str) -> Result<Column> {
        self.column(name).ok_or_else(|| {
            let remedy =
                format!("use {}, with _ns, _us or _ms where the unit is not the second", self.names());
            ModelError::parameter("columns", format!("`{name}` is not known"), remedy)
        })
    }

    /// All names, for a remedy.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.quantities.iter().map(|quantity| quantity.name()).collect();
        names.join(", ")
    }
}

/// One column that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// What it holds.
    pub(super) holds: Quantity,
    /// Femtoseconds in one of its units.
    pub(super) unit: i128,
}

impl Column {
    /// By a name such as `arrival`, `end_us`, `service (ns)`; `None` where the name says nothing that is known.
    pub(super) fn named(text: &str) -> Option<Column> {
        let text = text.trim().to_lowercase().replace(['[', '('], "_").replace([']', ')'], "");
        let text = text.replace("_time", "-time").replace([' ', '.'], "_");
        let known = |name: &str| {
            NAMES
                .iter()
                .find(|(_, names)| names.contains(&name.trim_matches('_')))
                .map(|(quantity, _)| *quantity)
        };
        if let Some(holds) = known(&text) {
            return Some(Column { holds, unit: FEMTOSECONDS });
        }
        let (name, unit) = text.rsplit_once('_')?;
        let (_, unit) = UNITS.iter().find(|(suffix, _)| *suffix == unit)?;
        Some(Column { holds: known(name)?, unit: *unit })
    }
}

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Exact, but for digits below a femtosecond.
    pub(super) femtoseconds: i128,
    /// Digits after the point, as if there were no exponent.
    pub(super) decimals: u32,
    /// Digits after the zeros that it begins with.
    pub(super) significant: u32,
}

/// A number of times of `unit` femtoseconds; `None` where it is none, or beyond [`LARGEST`].
pub(super) fn femtoseconds(text: &str, unit: i128) -> Option<Number> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mut whole, mut scale, mut point, mut any) = (0_i128, unit, false, false);
    let (mut decimals, mut significant) = (0_u32, 0_u32);
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                any = true;
                significant += u32::from(significant > 0 || *byte > b'0');
                let digit = i128::from(byte - b'0');
                if !point {
                    whole = whole.checked_mul(10)?.checked_add(digit)?;
                } else {
                    // A femtosecond is the least that is told apart.
                    scale /= 10;
                    decimals += 1;
                    whole = whole.checked_add(digit * scale)?;
                }
            }
            b'.' if !point => {
                point = true;
                whole = whole.checked_mul(unit)?;
            }
            _ => return with_exponent(text, unit, significant),
        }
    }
    if !any {
        return None;
    }
    if !point {
        whole = whole.checked_mul(unit)?;
    }
    let femtoseconds = if negative { -whole } else { whole };
    (whole < LARGEST).then_some(Number { femtoseconds, decimals, significant })
}

/// The largest time that is taken: 1e15 seconds.
const LARGEST: i128 = 1_000_000_000_000_000 * FEMTOSECONDS;

/// The same number without its exponent has all its digits: a float of femtoseconds would lose those of nanoseconds since 1970.
fn with_exponent(text: &str, unit: i128, significant: u32) -> Option<Number> {
    if text.parse::<f64>().ok()?.abs() * unit as f64 >= LARGEST as f64 {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    // Below that nothing is left of the finest unit, and above it only zeros are no larger than the largest.
    let exponent = exponent.parse::<i32>().unwrap_or(i32::MIN).clamp(-60, 60);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let sign = &whole[..whole.len() - whole.trim_start_matches(['-', '+']).len()];
    let digits = format!("{}{fraction}", &whole[sign.len()..]);
    let point = (digits.len() - fraction.len()) as i32 + exponent;
    let plain = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => format!("{sign}{digits:0<point$}"),
        Ok(point) => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
    };
    femtoseconds(&plain, unit).map(|number| Number { significant, ..number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_a_unit() {
        for (text, holds, unit) in [
            ("arrival", Quantity::Arrival, FEMTOSECONDS),
            (" Arrival_us ", Quantity::Arrival, 1_000_000_000),
            ("service (ns)", Quantity::Service, 1_000_000),
            ("Response[ms]", Quantity::Response, 1_000_000_000_000),
            ("service_time_ns", Quantity::Service, 1_000_000),
            ("response-time", Quantity::Response, FEMTOSECONDS),
            ("class", Quantity::Class, FEMTOSECONDS),
        ] {
            assert_eq!(Column::named(text), Some(Column { holds, unit }), "{text}");
        }
        assert_eq!(Column::named("colour"), None);
        assert_eq!(Column::named("arrival_parsec"), None);
        assert_eq!(Column::named(""), None);
    }

    #[test]
    fn decimals_are_read_to_the_last_digit() {
        let seconds = |text| femtoseconds(text, FEMTOSECONDS);
        let number =
            |femtoseconds, decimals, significant| Some(Number { femtoseconds, decimals, significant });
        assert_eq!(seconds("1700000000.123456789"), number(1_700_000_000_123_456_789_000_000, 9, 19));
        assert_eq!(
            femtoseconds("1700000000123456789", 1_000_000).unwrap().femtoseconds,
            1_700_000_000_123_456_789_000_000
        );
        assert_eq!(seconds("-.5"), number(-FEMTOSECONDS / 2, 1, 1));
        assert_eq!(seconds("2.5e-3"), number(FEMTOSECONDS / 400, 4, 2));
        for (text, decimals) in
            [("1.7000000000001357e9", 7), ("17000000000001357E-7", 7), ("+0.17000000000001357e+10", 7)]
        {
            assert_eq!(seconds(text), number(1_700_000_000_000_135_700_000_000, decimals, 17), "{text}");
        }
        assert_eq!(seconds("-25e2"), number(-2500 * FEMTOSECONDS, 0, 2));
        assert_eq!(seconds("1e-60"), number(0, 60, 1));
        assert_eq!(seconds("0e2000000000"), number(0, 0, 0));
        assert_eq!(seconds("0.050"), number(FEMTOSECONDS / 20, 3, 2));
        for bad in
            ["", "-", ".", "1.2.3", "NaN", "inf", "1e99", "0x10", "12s", "1e15", "999999999999999999999999"]
        {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
