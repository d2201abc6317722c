//! Pressure stall information (PSI), from /proc/pressure: time for which tasks waited for processor, memory or disk.
//!
//! * `some` is time in which at least one task waited, `full` time in which all that were not idle did, in µs since
//!   boot; the kernel adds to them about every 2 s and at state changes, so short intervals are understated.
//! * A spinning task waits for nothing; steal is not pressure. For the processor, `full` is 0 by definition on the
//!   whole machine, and absent before Linux 5.13.
//! * Only with CONFIG_PSI, and where the boot did not disable it (`psi=0`).

use serde::{Deserialize, Serialize};

use crate::found::{Found, garbled, risen, text};

const WHAT: &str = "pressure stall information (/proc/pressure)";
const REMEDY: &str = "boot with psi=1 on a kernel with CONFIG_PSI";

/// Stalled time of one resource since boot, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalled {
    /// At least one task waited.
    pub some: u64,
    /// All tasks waited; `None` where the kernel does not say.
    pub full: Option<u64>,
}

/// All three resources at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Processor.
    pub cpu: Stalled,
    /// Memory.
    pub memory: Stalled,
    /// Disk.
    pub io: Stalled,
}

impl Pressure {
    /// Reads the three files.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) where the kernel has no PSI or it is switched off.
    pub fn read() -> Found<Pressure> {
        let one = |resource: &str| parse(&text(format!("/proc/pressure/{resource}"), WHAT, REMEDY)?);
        Ok(Pressure { cpu: one("cpu")?, memory: one("memory")?, io: one("io")? })
    }
}

/// Understands the text of one file.
///
/// # Errors
/// [`Missing`](tollway_core::Missing) if there is no `some` line with a total.
pub fn parse(text: &str) -> Found<Stalled> {
    let total = |kind: &str| {
        let line = text.lines().find(|l| l.split_ascii_whitespace().next() == Some(kind))?;
        line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
    };
    let some = total("some").ok_or_else(|| garbled(WHAT, "no `some … total=` in it"))?;
    Ok(Stalled { some, full: total("full") })
}

/// µs stalled over an interval; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressureDelta {
    /// A task waited for a processor.
    pub cpu_some: Option<u64>,
    /// A task waited for memory.
    pub memory_some: Option<u64>,
    /// All tasks waited for memory.
    pub memory_full: Option<u64>,
    /// A task waited for a disk.
    pub io_some: Option<u64>,
    /// All tasks waited for a disk.
    pub io_full: Option<u64>,
}

/// What happened between two readings.
pub fn delta(before: &Pressure, after: &Pressure) -> PressureDelta {
    let full = |before: Stalled, after: Stalled| risen(before.full?, after.full?);
    PressureDelta {
        cpu_some: risen(before.cpu.some, after.cpu.some),
        memory_some: risen(before.memory.some, after.memory.some),
        memory_full: full(before.memory, after.memory),
        io_some: risen(before.io.some, after.io.some),
        io_full: full(before.io, after.io),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_kernel_without_full_is_read() {
        let old = "some avg10=0.05 avg60=0.35 avg300=0.47 total=10891616\n";
        assert_eq!(parse(old), Ok(Stalled { some: 10891616, full: None }));
        let new = format!("{old}full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
        assert_eq!(parse(&new), Ok(Stalled { some: 10891616, full: Some(9) }));
    }

    #[test]
    fn odd_texts_are_refused() {
        for text in ["", "some\n", "some total=x", "full total=4", "something total=4"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn this_machine_is_read_or_says_why_not() {
        match Pressure::read() {
            Ok(p) => assert!(delta(&p, &Pressure::read().unwrap()).cpu_some.is_some()),
            Err(missing) => eprintln!("skipped: {missing}"),
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(some|full)?( [a-z0-9]{0,6}=?[0-9.]{0,22}){0,4}\n?.{0,20}") {
            let _ = parse(&text);
        }
    }
}
