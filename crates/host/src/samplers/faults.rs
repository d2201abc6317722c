//! Page faults of the whole machine, from /proc/vmstat: `pgfault` and `pgmajfault`.
//!
//! Counts faults of all processes, those of our own included (for these see [`usage`](super::usage)). The kernel
//! keeps them per processor and sums them when read, so a reading is not of one moment. A guest's faults inside
//! itself do not show; those of its memory on this host do.

use serde::{Deserialize, Serialize};

use crate::found::{Found, garbled, risen, text};

const WHAT: &str = "page faults of the machine (/proc/vmstat)";

/// Faults since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// All, major ones included.
    pub all: u64,
    /// Those that needed a disk.
    pub major: u64,
}

impl Faults {
    /// Reads /proc/vmstat.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) if it cannot be read or has no such counters.
    pub fn read() -> Found<Faults> {
        Faults::parse(&text("/proc/vmstat", WHAT, "mount /proc; use a kernel with CONFIG_VM_EVENT_COUNTERS")?)
    }

    /// Understands the text of /proc/vmstat.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) if one of the two counters is absent or no number.
    pub fn parse(text: &str) -> Found<Faults> {
        let value = |name: &str| {
            let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
            let number = pairs.find(|(key, _)| *key == name).and_then(|(_, n)| n.trim().parse().ok());
            number.ok_or_else(|| garbled(WHAT, format!("no counter `{name}`")))
        };
        Ok(Faults { all: value("pgfault")?, major: value("pgmajfault")? })
    }
}

/// Faults over an interval; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultsDelta {
    /// Served without a disk.
    pub minor: Option<u64>,
    /// Needed a disk.
    pub major: Option<u64>,
}

/// What happened between two readings.
pub fn delta(before: &Faults, after: &Faults) -> FaultsDelta {
    let major = risen(before.major, after.major);
    FaultsDelta {
        minor: risen(before.all, after.all).zip(major).and_then(|(all, major)| all.checked_sub(major)),
        major,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_two_counters_are_found() {
        let text = "pgfault_x 9\npgfault 100\nodd\npgmajfault 3\n";
        assert_eq!(Faults::parse(text), Ok(Faults { all: 100, major: 3 }));
        assert!(Faults::parse("pgfault 1\n").is_err());
        assert!(Faults::parse("pgfault x\npgmajfault 1").is_err());
    }

    #[test]
    fn backwards_is_unknown() {
        let d = delta(&Faults { all: 100, major: 3 }, &Faults { all: 90, major: 4 });
        assert_eq!(d, FaultsDelta { minor: None, major: Some(1) });
    }

    #[test]
    fn touched_pages_are_counted() {
        let before = Faults::read().unwrap();
        let memory = std::hint::black_box(vec![1u8; 32 << 20]);
        let d = delta(&before, &Faults::read().unwrap());
        assert!(d.minor.unwrap() > 10, "{d:?}");
        drop(memory);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(pgfault|pgmajfault|[a-z]{0,4})[ =]{0,2}[0-9]{0,22}\n?(pgmajfault .{0,9})?") {
            let _ = Faults::parse(&text);
        }
    }
}
