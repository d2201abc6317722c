//! Moments as ISO 8601 and RFC 3339 write them, as most logs do: `2026-10-25T02:59:59.123+02:00`; and as web servers write
//! them by default, in the Common Log Format: `[25/Oct/2026:02:59:59 +0200]`.

use super::column::{FEMTOSECONDS, Number};

/// Femtoseconds since 1970, where the text is a date and a time of day. A zone is taken into account; without one the time
/// is read as that of a clock that is never set, so that one that is set back at the end of summer time shows.
pub(super) fn moment(text: &str) -> Option<Number> {
    let mut rest = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).as_bytes();
    let days = if rest.get(2) == Some(&b'/') {
        let days = date_of_a_web_server(&mut rest)?;
        one_of(&mut rest, b":")?;
        days
    } else {
        let days = date(&mut rest)?;
        one_of(&mut rest, b"Tt ")?;
        days
    };
    let hour = number(&mut rest, 2).filter(|hour| *hour < 24)?;
    one_of(&mut rest, b":")?;
    let minute = number(&mut rest, 2).filter(|minute| *minute < 60)?;
    let (mut second, mut femtoseconds, mut decimals) = (0, 0, 0);
    if one_of(&mut rest, b":").is_some() {
        // 60 is a leap second.
        second = number(&mut rest, 2).filter(|second| *second <= 60)?;
        if one_of(&mut rest, b".,").is_some() {
            (femtoseconds, decimals) = fraction(&mut rest)?;
        }
    }
    let zone = zone(&mut rest)?;
    if !rest.is_empty() {
        return None;
    }
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - zone;
    let femtoseconds = i128::from(seconds) * FEMTOSECONDS + femtoseconds;
    // As many digits as the same moment in seconds since 1970 has.
    Some(Number { femtoseconds, decimals, significant: 10 + decimals })
}

/// Days since 1970 of `YYYY-MM-DD`.
fn date(rest: &mut &[u8]) -> Option<i64> {
    let year = number(rest, 4)?;
    one_of(rest, b"-")?;
    let month = number(rest, 2).filter(|month| (1..=12).contains(month))?;
    one_of(rest, b"-")?;
    let day = number(rest, 2)?;
    days(year, month, day)
}

/// Days since 1970 of `DD/Mon/YYYY`.
fn date_of_a_web_server(rest: &mut &[u8]) -> Option<i64> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let day = number(rest, 2)?;
    one_of(rest, b"/")?;
    let (name, after) = rest.split_at_checked(3)?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    *rest = after;
    one_of(rest, b"/")?;
    days(number(rest, 4)?, month, day)
}

/// Days since 1970 of a day that there is.
///
/// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_one = (1..=longest).contains(&day);
    // Years begin in March, so that the day that some have more is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    is_one.then_some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Seconds east of Greenwich; 0 where nothing is said. `Z`, `+02`, `+0200`, `+02:00`, after a blank or none.
fn zone(rest: &mut &[u8]) -> Option<i64> {
    *rest = rest.trim_ascii_start();
    if rest.is_empty() || one_of(rest, b"Zz").is_some() {
        return Some(0);
    }
    let sign = if one_of(rest, b"+-")? == b'-' { -1 } else { 1 };
    let hours = number(rest, 2).filter(|hours| *hours < 24)?;
    let minutes = if rest.is_empty() {
        0
    } else {
        one_of(rest, b":");
        number(rest, 2).filter(|minutes| *minutes < 60)?
    };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// What follows the point, in femtoseconds, and how many digits it has.
fn fraction(rest: &mut &[u8]) -> Option<(i128, u32)> {
    let (mut femtoseconds, mut scale, mut digits) = (0, FEMTOSECONDS, 0);
    while let [digit @ b'0'..=b'9', after @ ..] = *rest {
        scale /= 10;
        femtoseconds += i128::from(digit - b'0') * scale;
        digits += 1;
        *rest = after;
    }
    (digits > 0).then_some((femtoseconds, digits))
}

/// A number of so many digits.
fn number(rest: &mut &[u8], digits: usize) -> Option<i64> {
    let (these, after) = rest.split_at_checked(digits)?;
    let value = these
        .iter()
        .try_fold(0_i64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))?;
    *rest = after;
    Some(value)
}

fn one_of(rest: &mut &[u8], bytes: &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    bytes.contains(first).then(|| {
        *rest = after;
        *first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_since_1970() {
        for (text, seconds, decimals) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("1969-12-31 23:59", -60, 0),
            ("2000-02-29T12:00:00z", 951_825_600, 0),
            ("2026-10-25T02:59:59+02:00", 1_792_889_999, 0),
            ("2026-10-25T02:59:59+01", 1_792_893_599, 0),
            ("2026-10-24 20:59:59 -0400", 1_792_889_999, 0),
            ("2026-10-25 00:59:59,000", 1_792_889_999, 3),
            ("[25/Oct/2026:02:59:59 +0200]", 1_792_889_999, 0),
            ("25/Oct/2026:01:59:59 +0100", 1_792_889_999, 0),
        ] {
            let found = moment(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.femtoseconds / FEMTOSECONDS, found.decimals), (seconds, decimals), "{text}");
        }
        let found = moment("2026-10-25T00:59:59.000000001Z").unwrap();
        assert_eq!(
            (found.femtoseconds % FEMTOSECONDS, found.decimals, found.significant),
            (1_000_000, 9, 19)
        );
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "2026-10-25",
            "2026-13-01T00:00",
            "2026-02-29T00:00",
            "2026-10-25T24:00",
            "2026-10-25T10:60",
            "2026-10-25T10:00:61",
            "2026-10-25T10:00:00.",
            "2026-10-25T10:00:00+2",
            "2026-10-25T10:00:00x",
            "26-10-25T10:00",
            "2026/10/25 10:00",
            "31/Nov/2026:10:00:00 +0000",
            "25/10/2026:10:00:00 +0000",
            "[25/Oct/2026:10:00:00 +0000",
            "25/Oct/2026 10:00:00",
            "٢٠٢٦-10-25T10:00",
            "1.5",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
