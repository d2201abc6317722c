//! Times of packets as they are printed: by tcpdump's -t, -tt, -ttt, -tttt, -ttttt.

use std::env;
use std::fmt::Write;
use std::sync::Once;

use jiff::tz::TimeZone;
use tollway_capture::engine::Timestamp;
use tollway_report::columns::printable;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// How times are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    OfDay,
    None,
    Since1970,
    SinceBefore,
    WithDate,
    SinceFirst,
}

/// Writes times.
pub struct Times {
    style: Style,
    nanoseconds: bool,
    zone: TimeZone,
    /// A second, and how it is written.
    second: Option<(u64, String)>,
    /// The first packet's time, or that of the one before.
    reference: Option<Timestamp>,
}

impl Times {
    /// By how often -t was given.
    pub fn new(letters: u8, nanoseconds: bool) -> Times {
        let style = match letters {
            0 => Style::OfDay,
            1 => Style::None,
            2 => Style::Since1970,
            3 => Style::SinceBefore,
            4 => Style::WithDate,
            _ => Style::SinceFirst,
        };
        let zone = match style {
            Style::OfDay | Style::WithDate => local_zone(),
            _ => TimeZone::UTC,
        };
        Times { style, nanoseconds, zone, second: None, reference: None }
    }

    /// Appends the time of the next packet, and a blank.
    pub fn write(&mut self, time: Timestamp, line: &mut String) {
        let seconds = time.0 / SECOND;
        match self.style {
            Style::None => return,
            Style::Since1970 => {
                let _ = write!(line, "{seconds}");
            }
            Style::OfDay | Style::WithDate => match &self.second {
                Some((known, text)) if *known == seconds => line.push_str(text),
                _ => {
                    let text = self.local(seconds);
                    line.push_str(&text);
                    self.second = Some((seconds, text));
                }
            },
            Style::SinceBefore | Style::SinceFirst => {
                let reference = *self.reference.get_or_insert(time);
                if self.style == Style::SinceBefore {
                    self.reference = Some(time);
                }
                let (sign, since) = match time.0.checked_sub(reference.0) {
                    Some(since) => (" ", since),
                    None => ("-", reference.0 - time.0),
                };
                let (s, rest) = (since / SECOND, since % SECOND);
                let _ = write!(line, "{sign}{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
                return self.fraction(rest, line);
            }
        }
        self.fraction(time.0 % SECOND, line);
    }

    fn fraction(&self, nanoseconds: u64, line: &mut String) {
        let _ = if self.nanoseconds {
            write!(line, ".{nanoseconds:09} ")
        } else {
            write!(line, ".{:06} ", nanoseconds / 1000)
        };
    }

    /// A second of the zone's time of day. Those that calendars here have no room for are shown as they are.
    fn local(&self, seconds: u64) -> String {
        let moment = i64::try_from(seconds).ok().and_then(|s| jiff::Timestamp::from_second(s).ok());
        let Some(moment) = moment else { return seconds.to_string() };
        let format = if self.style == Style::WithDate { "%Y-%m-%d %H:%M:%S" } else { "%H:%M:%S" };
        moment.to_zoned(self.zone.clone()).strftime(format).to_string()
    }
}

/// The zone of local times. Where `TZ` names none that can be read it is UTC, as in the C library, and that
/// is told once.
pub fn local_zone() -> TimeZone {
    static TOLD: Once = Once::new();
    let given = env::var_os("TZ").unwrap_or_default();
    let given = given.to_string_lossy();
    TimeZone::try_system().ok().or_else(|| as_in_c_library(&given)).unwrap_or_else(|| {
        // Without a zone of its own a machine is in UTC.
        if !given.is_empty() {
            TOLD.call_once(|| {
                crate::say(&format!(
                    "TZ=`{}` is no time zone that can be read: times are in UTC; name one of /usr/share/zoneinfo, such as \
                     Europe/Berlin, or write its rules, such as CET-1CEST,M3.5.0,M10.5.0/3",
                    printable(&given)
                ));
            });
        }
        TimeZone::UTC
    })
}

/// What the C library reads besides: rules behind a colon, a name of summer time without rules, which has
/// those of the United States (glibc, time/tzset.c, `parse_rule`), and offsets beyond a day.
fn as_in_c_library(given: &str) -> Option<TimeZone> {
    let rules = &with_bounded_offsets(given.strip_prefix(':').unwrap_or(given));
    let with_default = || TimeZone::posix(&format!("{rules},M3.2.0,M11.1.0")).ok();
    TimeZone::posix(rules).ok().or_else(|| if rules.contains(',') { None } else { with_default() })
}

/// The same with offsets of 24 hours and of 59 minutes and seconds at the most, as glibc takes them
/// (time/tzset.c, `compute_offset`). The moments at which offsets change, behind the comma, stay.
fn with_bounded_offsets(rules: &str) -> String {
    let (zones, moments) = rules.split_at(rules.find(',').unwrap_or(rules.len()));
    let mut bounded = String::with_capacity(rules.len());
    let (mut rest, mut is_name) = (zones, false);
    while let Some(first) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits == 0 || is_name {
            is_name = first == '<' || is_name && first != '>';
            bounded.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let most = if bounded.ends_with(':') { 59 } else { 24 };
        let number = rest[..digits].parse::<u64>().map_or(most, |number| number.min(most));
        let _ = write!(bounded, "{number:02}");
        rest = &rest[digits..];
    }
    bounded + moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_the_c_library_reads_them() {
        let offset = |given: &str, second: i64| {
            let zone = as_in_c_library(given)?;
            Some(zone.to_offset(jiff::Timestamp::from_second(second).unwrap()).seconds() / 3600)
        };
        // The 14th of November 2023, the 15th of July, and the 20th of March, summer in the United States
        // alone.
        let (winter, summer, march) = (1_700_000_000, 1_689_422_400, 1_679_313_600);
        for (given, hours) in [
            ("CET-1CEST", [1, 2, 2]),
            (":CET-1CEST", [1, 2, 2]),
            (":CET-1CEST,M3.5.0,M10.5.0/3", [1, 2, 1]),
            ("<+03>-3", [3, 3, 3]),
            ("<+99>-3", [3, 3, 3]),
            // Offsets beyond a day, as `TZ=… date` of glibc 2.36 shows them.
            ("EST25", [-24, -24, -24]),
            ("XYZ-99", [24, 24, 24]),
            ("EST-0:70:70", [0, 0, 0]),
            ("EST5EDT30", [-5, -24, -24]),
            ("EST30EDT,M3.2.0,M11.1.0", [-24, -23, -23]),
            ("EST5EDT,M3.2.0/30,M11.1.0", [-5, -4, -4]),
        ] {
            assert_eq!([winter, summer, march].map(|at| offset(given, at)), hours.map(Some), "{given}");
        }
        for none in ["", "ABC", "Nowhere/At_all", "CET-1CEST,", "CET-1CEST,M3.5.0", "GMT+1x"] {
            assert!(as_in_c_library(none).is_none(), "{none}");
        }
    }

    fn written(letters: u8, nanoseconds: bool, times: &[u64]) -> Vec<String> {
        let mut all = Times { zone: TimeZone::UTC, ..Times::new(letters, nanoseconds) };
        let one = |time: &u64| {
            let mut line = String::new();
            all.write(Timestamp(*time), &mut line);
            line
        };
        times.iter().map(one).collect()
    }

    #[test]
    fn times_are_written_as_tcpdump_does() {
        let times = [1_700_000_000_123_456_789, 1_700_000_001_000_000_000, 1_699_999_999_000_000_000];
        assert_eq!(written(0, false, &times[..1]), ["22:13:20.123456 "]);
        assert_eq!(written(0, true, &times[..1]), ["22:13:20.123456789 "]);
        assert_eq!(written(1, false, &times[..1]), [""]);
        assert_eq!(written(2, false, &times[..1]), ["1700000000.123456 "]);
        assert_eq!(
            written(3, false, &times),
            [" 00:00:00.000000 ", " 00:00:00.876543 ", "-00:00:02.000000 "]
        );
        assert_eq!(written(4, false, &times[..1]), ["2023-11-14 22:13:20.123456 "]);
        assert_eq!(
            written(5, false, &times),
            [" 00:00:00.000000 ", " 00:00:00.876543 ", "-00:00:01.123456 "]
        );
    }
}
