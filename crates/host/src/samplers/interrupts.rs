//! Interrupts by line and class, from /proc/interrupts.
//!
//! * Counts are per processor and kept in 32 bits on x86: one wrap between two readings is seen through, more are
//!   not.
//! * Only processors online at the reading have a column; a line's total falls when one goes offline, and then the
//!   difference is unknown.
//! * Exits to a hypervisor are not interrupts and do not show. What an interrupt costs does not show either.
//! * Reading walks all lines times all processors: about 70 µs on two processors, milliseconds on a machine with
//!   hundreds of both.

use serde::{Deserialize, Serialize};

use crate::found::{Found, garbled, risen_32, text};

const WHAT: &str = "interrupts by line (/proc/interrupts)";

/// What a line's interrupts are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptClass {
    /// LOC: the processor's own timer.
    LocalTimer,
    /// RES: another processor asks to reschedule (a wake across cores).
    Reschedule,
    /// CAL: another processor asks to call a function (also wakes of idle processors, and TLB shootdowns).
    FunctionCall,
    /// TLB: shootdowns of translations.
    TlbShootdown,
    /// A numbered line: a device.
    Device,
    /// Anything else: NMI, HYP, ERR, thermal …
    Other,
}

impl InterruptClass {
    fn of(label: &str) -> InterruptClass {
        match label {
            "LOC" => InterruptClass::LocalTimer,
            "RES" => InterruptClass::Reschedule,
            "CAL" => InterruptClass::FunctionCall,
            "TLB" => InterruptClass::TlbShootdown,
            _ if label.bytes().all(|b| b.is_ascii_digit()) => InterruptClass::Device,
            _ => InterruptClass::Other,
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptLine {
    /// The number of a device's line, or three letters.
    pub label: String,
    /// What it is for.
    pub class: InterruptClass,
    /// Counts since boot, by the columns of [`Interrupts::cpus`]; lines such as ERR have one for the whole machine.
    pub counts: Vec<u64>,
    /// Controller, kind and devices, as the kernel words it.
    pub description: String,
}

/// /proc/interrupts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupts {
    /// The processors that have columns.
    pub cpus: Vec<u32>,
    /// The lines, in the kernel's order.
    pub lines: Vec<InterruptLine>,
}

impl Interrupts {
    /// Reads /proc/interrupts.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) if it cannot be read or understood.
    pub fn read() -> Found<Interrupts> {
        Interrupts::parse(&text("/proc/interrupts", WHAT, "mount /proc; some containers hide this file")?)
    }

    /// Understands the text of /proc/interrupts.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) if it does not begin with a line of processors.
    pub fn parse(text: &str) -> Found<Interrupts> {
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        let cpus: Option<Vec<u32>> =
            head.split_ascii_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
        let cpus = cpus.filter(|c| !c.is_empty()).ok_or_else(|| garbled(WHAT, format!("`{head}`")))?;
        let lines = lines.filter_map(|line| {
            let (label, mut rest) = line.split_once(':')?;
            let mut counts = Vec::with_capacity(cpus.len());
            while counts.len() < cpus.len() {
                rest = rest.trim_start();
                let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
                let Ok(count) = rest[..end].parse() else { break };
                counts.push(count);
                rest = &rest[end..];
            }
            let label = label.trim();
            Some(InterruptLine {
                label: label.into(),
                class: InterruptClass::of(label),
                counts,
                description: rest.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            })
        });
        let lines = lines.collect();
        Ok(Interrupts { cpus, lines })
    }
}

/// Interrupts by class over an interval; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptTotals {
    /// LOC.
    pub local_timer: Option<u64>,
    /// RES.
    pub reschedule: Option<u64>,
    /// CAL.
    pub function_call: Option<u64>,
    /// TLB.
    pub tlb_shootdown: Option<u64>,
    /// All numbered lines.
    pub device: Option<u64>,
}

/// One line's interrupts over an interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRisen {
    /// The line's label.
    pub label: String,
    /// What it is for.
    pub class: InterruptClass,
    /// How many, by the columns of the readings; unknown for a processor whose count went backwards.
    pub counts: Vec<Option<u64>>,
}

/// Interrupts between two readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptsDelta {
    /// The processors that have columns.
    pub cpus: Vec<u32>,
    /// Lines on which something happened or is unknown.
    pub lines: Vec<LineRisen>,
    /// By class.
    pub totals: InterruptTotals,
}

/// What happened between two readings; `None` if the processors online are not the same in both. A line that
/// appeared in between counts from 0.
pub fn delta(before: &Interrupts, after: &Interrupts) -> Option<InterruptsDelta> {
    if before.cpus != after.cpus {
        return None;
    }
    let lines: Vec<LineRisen> = after
        .lines
        .iter()
        .enumerate()
        .map(|(i, line)| {
            // Lines rarely come or go: the same position first.
            let same = |l: &&InterruptLine| l.label == line.label;
            let old = before.lines.get(i).filter(same).or_else(|| before.lines.iter().find(same));
            let old = |column: usize| old.and_then(|l| l.counts.get(column)).copied().unwrap_or(0);
            let counts = line.counts.iter().enumerate().map(|(c, now)| risen_32(old(c), *now)).collect();
            LineRisen { label: line.label.clone(), class: line.class, counts }
        })
        .collect();
    let total = |class: InterruptClass| {
        let mut counts = lines.iter().filter(|l| l.class == class).flat_map(|l| &l.counts).peekable();
        counts.peek()?;
        counts.try_fold(0u64, |sum, n| sum.checked_add((*n)?))
    };
    let totals = InterruptTotals {
        local_timer: total(InterruptClass::LocalTimer),
        reschedule: total(InterruptClass::Reschedule),
        function_call: total(InterruptClass::FunctionCall),
        tlb_shootdown: total(InterruptClass::TlbShootdown),
        device: total(InterruptClass::Device),
    };
    let lines = lines.into_iter().filter(|l| l.counts.iter().any(|n| *n != Some(0))).collect();
    Some(InterruptsDelta { cpus: after.cpus.clone(), lines, totals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::eventually;
    use proptest::prelude::*;

    const TEXT: &str = "           CPU0       CPU3       \n 24:          1          0  IO-APIC   5-edge      \
        ACPI:Ged\nLOC:      35848      30388   Local timer interrupts\nERR:          0\n\nno colon here\n";

    #[test]
    fn columns_and_descriptions_are_told_apart() {
        let i = Interrupts::parse(TEXT).unwrap();
        assert_eq!(i.cpus, [0, 3]);
        assert_eq!(i.lines.len(), 3);
        assert_eq!(i.lines[0].description, "IO-APIC 5-edge ACPI:Ged");
        assert_eq!(i.lines[0].class, InterruptClass::Device);
        assert_eq!(i.lines[1].counts, [35848, 30388]);
        assert_eq!(i.lines[2].counts, [0]);
    }

    #[test]
    fn a_wrap_is_seen_through_and_a_class_that_is_absent_is_unknown() {
        let before = Interrupts::parse("CPU0 CPU1\nLOC: 4294967290 5 x\n9: 7 7 dev").unwrap();
        let after = Interrupts::parse("CPU0 CPU1\n8: 1 0 new\nLOC: 4 6 x\n9: 7 3 dev").unwrap();
        let d = delta(&before, &after).unwrap();
        assert_eq!(d.totals.local_timer, Some(11));
        assert_eq!(d.totals.device, None, "one count went backwards");
        assert_eq!(d.totals.reschedule, None, "there is no such line");
        assert_eq!(d.lines.iter().map(|l| l.label.as_str()).collect::<Vec<_>>(), ["8", "LOC", "9"]);
    }

    #[test]
    fn other_processors_cannot_be_compared() {
        let before = Interrupts::parse("CPU0 CPU1\nLOC: 1 2 x").unwrap();
        let after = Interrupts::parse("CPU0\nLOC: 1 x").unwrap();
        assert_eq!(delta(&before, &after), None);
        assert!(Interrupts::parse("").is_err());
        assert!(Interrupts::parse("CPU0 rubbish").is_err());
    }

    #[test]
    fn this_machines_timers_tick() {
        let before = Interrupts::read().unwrap();
        eventually("a timer ticks", || {
            let totals = delta(&before, &Interrupts::read().unwrap()).unwrap().totals;
            totals.local_timer.unwrap() > 0
        });
    }

    proptest! {
        #[test]
        fn no_text_panics(
            a in "(CPU[0-9]{1,3} {0,3}){1,3}\n([ 0-9A-Z]{0,4}:( {1,4}[0-9]{1,21}){0,4}.{0,9}\n){0,4}",
            b in ".{0,80}",
        ) {
            let (a, b) = (Interrupts::parse(&a), Interrupts::parse(&b));
            if let (Ok(a), Ok(b)) = (&a, &b) {
                let _ = delta(a, b);
            }
            if let Ok(a) = &a {
                let _ = delta(a, a);
            }
        }
    }
}
