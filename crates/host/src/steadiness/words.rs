//! What was found, as a person reads it, and what would help.

use super::{Finding, MOVES, Steadiness};
use crate::found::governor;
use crate::meters::Verdict;
use crate::samplers::throttling::quota_file;

/// Share of the time for which tasks may wait for a processor while all of them are kept busy: the kernel's own threads
/// do.
const CROWDED: f64 = 0.1;

/// Share of the time for which tasks may wait for memory, or for a disk.
const STALLED: f64 = 0.05;

/// Share of memory that should be free.
const ROOM: f64 = 0.1;

/// Everything in one line, the unknown as unknown.
pub(super) fn summary(found: &Steadiness) -> String {
    let share = |share: Option<f64>| share.map_or("unknown".into(), percent);
    let steal = share(found.quiet.steal.map(|s| s.value));
    let foreign = share(found.quiet.foreign.map(|s| s.value));
    let lost = share(found.quiet.lost);
    let mut parts = vec![
        paced(found),
        format!("{steal} stolen, {foreign} foreign, {lost} lost"),
        format!(
            "throttled: heat {}, quota {}",
            times(found.throttled.heat),
            times(found.throttled.quota.map(|q| q.periods))
        ),
        settings(found),
    ];
    if let Some(available) = found.memory_available {
        let of = found.memory.map(|all| format!(" of {}", gib(all))).unwrap_or_default();
        parts.push(format!("{} GiB{of} free", gib(available)));
    }
    parts.join(" · ")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn times(count: Option<u64>) -> String {
    match count {
        None => "unknown".into(),
        Some(0) => "never".into(),
        Some(1) => "once".into(),
        Some(n) => format!("{n} times"),
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}

/// The frequencies of all processors and how far they moved.
fn paced(found: &Steadiness) -> String {
    let all = || found.pace.iter().map(|p| p.ghz);
    let (Some(least), Some(most)) = (all().reduce(f64::min), all().reduce(f64::max)) else {
        return "frequency unknown".into();
    };
    let moved = found.pace.iter().map(|p| p.moved()).fold(0.0, f64::max);
    let many = match found.pace.len() {
        1 => "1 processor".into(),
        n => format!("{n} processors"),
    };
    let ghz = if most / least < 1.01 { format!("{most:.2}") } else { format!("{least:.2} – {most:.2}") };
    format!("{many} at {ghz} GHz, moved by {}", percent(moved))
}

fn settings(found: &Steadiness) -> String {
    let frequency = &found.frequency;
    let governor = if frequency.governors.is_empty() { governor() } else { frequency.governors.join(", ") };
    let boost = match frequency.boost {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    };
    format!("governor {governor}, boost {boost}")
}

/// What is not steady.
pub(super) fn findings(found: &Steadiness) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |what: String, remedy: &str| findings.push(Finding { what, remedy: remedy.into() });
    others(found, &mut add);
    speed(found, &mut add);
    held_back(found, &mut add);
    let room = found.memory_available.zip(found.memory);
    if let Some((free, all)) = room.filter(|(free, all)| (*free as f64) < ROOM * *all as f64) {
        add(
            format!("only {} of {} GiB of memory free", gib(free), gib(all)),
            "end what holds memory, else figures are of reclaiming it",
        );
    }
    findings
}

/// What others take.
fn others(found: &Steadiness, add: &mut dyn FnMut(String, &str)) {
    if let Verdict::Noisy(why) = &found.quiet.verdict {
        let remedy = if why.contains("stolen") {
            "neighbours on the host take the time: come again at a quieter hour, or move to a host of one's own"
        } else if why.contains("foreign") {
            "stop the other programs (`top` names them)"
        } else {
            "something takes the processors that no counter shows, mostly a hypervisor: come again at a quieter hour"
        };
        add(why.clone(), remedy);
    }
    let Some(pressure) = &found.pressure else { return };
    let share = |us: Option<u64>| us.map(|us| us as f64 / 1e6 / found.seconds);
    for (stalled, limit, what, remedy) in [
        (pressure.cpu_some, CROWDED, "a processor", "stop the other programs (`top` names them)"),
        (pressure.memory_some, STALLED, "memory", "end what holds memory, or give the machine more"),
        (pressure.io_some, STALLED, "a disk", "let what writes or reads end first (`iotop` names it)"),
    ] {
        if let Some(share) = share(stalled).filter(|share| *share > limit) {
            add(format!("tasks waited for {what} {} of the time", percent(share.min(1.0))), remedy);
        }
    }
}

/// How processors' frequencies move, and what lets them.
fn speed(found: &Steadiness, add: &mut dyn FnMut(String, &str)) {
    let frequency = &found.frequency;
    let moving = found.pace.iter().filter(|p| p.moved() > MOVES);
    let furthest = moving.max_by(|a, b| a.moved().total_cmp(&b.moved()));
    let remedy = match (frequency.boost, frequency.governors.is_empty()) {
        (Some(true), _) => {
            "switch boost off: 1 into /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 into cpufreq/boost"
        }
        (_, false) => "as root: cpupower frequency-set -g performance",
        _ => "the host sets the frequency: compare within a run, by turns, and not between runs",
    };
    if let Some(pace) = furthest {
        add(format!("processor {} moved its frequency by {}", pace.cpu, percent(pace.moved())), remedy);
    }
    let all = || found.pace.iter().map(|p| p.ticks_per_step);
    if let (Some(least), Some(most)) = (all().reduce(f64::min), all().reduce(f64::max))
        && furthest.is_none()
        && most / least - 1.0 > MOVES
    {
        add(
            format!("processors differ in speed by {}", percent(most / least - 1.0)),
            "keep to those of one kind: taskset -c",
        );
    }
    let others: Vec<&str> =
        frequency.governors.iter().map(String::as_str).filter(|g| *g != "performance").collect();
    if !others.is_empty() {
        add(format!("governor {}", others.join(", ")), "as root: cpupower frequency-set -g performance");
    }
    if let Some((held, could)) = frequency.held_below_khz {
        let ghz = |khz: u64| khz as f64 / 1e6;
        add(
            format!("frequency held below {:.2} GHz of {:.2}", ghz(held), ghz(could)),
            "as root: cpupower frequency-set -u with the greater one, unless that is meant",
        );
    }
}

/// Heat and quotas.
fn held_back(found: &Steadiness, add: &mut dyn FnMut(String, &str)) {
    let meanwhile = &found.throttled_meanwhile;
    if meanwhile.heat.is_some_and(|n| n > 0) {
        add("a processor was throttled by heat just now".into(), "let it cool, and look after its fans");
    }
    if let Some(ceiling) = found.ceiling.filter(|ceiling| *ceiling < found.pace.len() as f64) {
        let just_now =
            if meanwhile.periods.is_some_and(|n| n > 0) { ", and was used up just now" } else { "" };
        add(
            format!("a quota allows {ceiling:.2} of {} processors{just_now}", found.pace.len()),
            &format!(
                "raise {} of the control group (docker run --cpus, a unit's CPUQuota=), or run outside it",
                quota_file()
            ),
        );
    } else if meanwhile.periods.is_some_and(|n| n > 0) {
        add(
            "a quota of the control group was used up just now".into(),
            &format!("raise its {}, or run outside it", quota_file()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meters::{Quiet, Share};
    use crate::samplers::frequency::Frequency;
    use crate::samplers::pressure::PressureDelta;
    use crate::samplers::throttling::{Quota, Throttling, ThrottlingDelta};
    use crate::steadiness::Pace;

    fn steady() -> Steadiness {
        let share = |value| Some(Share { value, lo: value, hi: value });
        let pace = |cpu| Pace { cpu, ticks_per_step: 2.1, lo: 2.09, hi: 2.11, ghz: 3.0 };
        Steadiness {
            summary: String::new(),
            findings: Vec::new(),
            seconds: 0.3,
            quiet: Quiet {
                steal: share(0.0),
                foreign: share(0.0),
                lost: Some(0.004),
                verdict: Verdict::Quiet,
            },
            pressure: Some(PressureDelta {
                cpu_some: Some(400),
                io_some: Some(0),
                ..PressureDelta::default()
            }),
            pace: vec![pace(0), pace(1)],
            frequency: Frequency { governors: vec!["performance".into()], ..Frequency::default() },
            throttled: Throttling { heat: None, quota: Some(Quota::default()) },
            throttled_meanwhile: ThrottlingDelta { heat: None, periods: Some(0), held_us: Some(0) },
            ceiling: None,
            memory_available: Some(20 << 30),
            memory: Some(24 << 30),
        }
    }

    fn only(found: &Steadiness) -> Finding {
        let mut findings = findings(found);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    #[test]
    fn a_steady_machine_is_told_in_a_line_that_says_what_is_unknown() {
        let found = steady();
        assert_eq!(findings(&found), []);
        assert_eq!(
            summary(&found),
            "2 processors at 3.00 GHz, moved by 1.0 % · 0.0 % stolen, 0.0 % foreign, 0.4 % lost · throttled: heat \
             unknown, quota never · governor performance, boost unknown · 20.0 GiB of 24.0 free"
        );
    }

    #[test]
    fn each_unsteadiness_has_its_remedy() {
        let governed = Frequency { governors: vec!["powersave".into()], ..Frequency::default() };
        let powersave = only(&Steadiness { frequency: governed, ..steady() });
        assert_eq!(
            (&*powersave.what, powersave.remedy.contains("-g performance")),
            ("governor powersave", true)
        );

        let mut moved = steady();
        moved.pace[1].hi = 2.4;
        assert!(only(&moved).what.contains("processor 1 moved its frequency by 14.8 %"), "{moved:?}");
        moved.frequency.boost = Some(true);
        assert!(only(&moved).remedy.contains("no_turbo"));

        let mut kinds = steady();
        kinds.pace[1] = Pace { ticks_per_step: 3.0, lo: 2.99, hi: 3.01, ghz: 2.1, cpu: 1 };
        assert!(only(&kinds).what.contains("differ in speed"), "{kinds:?}");

        let quota = only(&Steadiness { ceiling: Some(0.5), ..steady() });
        assert_eq!(quota.what, "a quota allows 0.50 of 2 processors");
        assert_eq!(findings(&Steadiness { ceiling: Some(4.0), ..steady() }), []);

        let mut hot = steady();
        hot.throttled_meanwhile.heat = Some(1);
        assert!(only(&hot).what.contains("heat"));

        let full = only(&Steadiness { memory_available: Some(1 << 30), ..steady() });
        assert!(full.what.contains("1.0 of 24.0 GiB"), "{full:?}");

        let mut crowded = steady();
        crowded.pressure.as_mut().unwrap().cpu_some = Some(90_000);
        assert_eq!(only(&crowded).what, "tasks waited for a processor 30.0 % of the time");

        let mut stolen = steady();
        stolen.quiet.verdict = Verdict::Noisy("7.0 % stolen".into());
        assert!(only(&stolen).remedy.contains("neighbours"));
    }

    #[test]
    fn a_machine_that_tells_nothing_is_unknown_and_not_steady_by_zeros() {
        let dumb = Steadiness {
            quiet: Quiet { steal: None, foreign: None, lost: None, verdict: Verdict::Unknown("why".into()) },
            pressure: None,
            pace: Vec::new(),
            frequency: Frequency::default(),
            throttled: Throttling::default(),
            throttled_meanwhile: ThrottlingDelta::default(),
            memory_available: None,
            ..steady()
        };
        let said = summary(&dumb);
        assert_eq!(said.matches("unknown").count(), 7, "{said}");
        assert!(!said.contains("0.0 %"), "{said}");
    }
}
