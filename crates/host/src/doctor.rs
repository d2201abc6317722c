//! Everything that can be checked on this machine before anything is measured: what is there, what is not, and what
//! to do about it. Data only; `tollway doctor` shows it.

use serde::{Deserialize, Serialize};
use tollway_core::{CpuFeature, KvmKind, Missing, Requirement};

use crate::clock::{self, Calibration, ClockReport, RunClock, Synchrony};
use crate::cpu::{Topology, choose_slots};
use crate::features::{Features, Virtualisation};
use crate::fingerprint::Fingerprint;
use crate::found::{self, Found};
use crate::kvm;
use crate::requirement::check;
use crate::samplers::{
    interrupts::Interrupts, kvm_stats::KvmStats, perf::PerfCounters, pressure::Pressure, proc_stat::ProcStat,
};
use crate::scratch;

/// Something that works, but about which something should be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    pub about: String,
    /// What should be known.
    pub detail: String,
}

/// The result of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doctor {
    /// Processor, clock, hypervisor and kernel, in one line.
    pub summary: String,
    /// What is there: a name, and in brackets what was seen.
    pub present: Vec<String>,
    /// What is there, with something to know about it.
    pub notes: Vec<Note>,
    /// What is not there: what needs it is skipped.
    pub missing: Vec<Missing>,
}

/// How one check ended, if not in [`Missing`].
enum Outcome {
    Ok(String),
    Note(String),
}

impl Doctor {
    fn add(&mut self, name: &str, found: Found<Outcome>) {
        match found {
            Ok(Outcome::Ok(detail)) if detail.is_empty() => self.present.push(name.into()),
            Ok(Outcome::Ok(detail)) => self.present.push(format!("{name} ({detail})")),
            Ok(Outcome::Note(detail)) => self.notes.push(Note { about: name.into(), detail }),
            Err(missing) => self.missing.push(missing),
        }
    }
}

fn ok(detail: impl Into<String>) -> Outcome {
    Outcome::Ok(detail.into())
}

fn note(detail: impl Into<String>) -> Outcome {
    Outcome::Note(detail.into())
}

/// Checks everything. Takes about 100 ms and changes nothing.
pub fn examine() -> Doctor {
    let mut doctor = Doctor::default();
    let features = Features::read();
    let met = |r: Requirement, detail: &str| check(&r).map(|()| ok(detail));

    doctor.add("/sys", found::sys().map(|()| ok("")));
    let clock = clock::examine();
    doctor.add("time-stamp counter", met(Requirement::InvariantTsc, "constant and never stops"));
    doctor.add("clock of the run", Ok(clock_of_the_run(&clock)));
    doctor.add("counters of two cores agree", clock.synchrony.ok_or_else(no_second_core).map(counters_agree));
    doctor.add("two processors", two_processors());
    doctor.add("frequency governor", Ok(governor()));
    for feature in
        [CpuFeature::Rdrand, CpuFeature::Rdseed, CpuFeature::Clflushopt, CpuFeature::UserInterrupts]
    {
        doctor.add(feature.name(), met(Requirement::Cpu(feature), ""));
    }
    doctor.add("machine", Ok(machine(&features)));
    doctor.add("KVM", kvm::probe().map(kvm_kind));
    doctor.add("io_uring", met(Requirement::IoUring, ""));
    doctor.add("POSIX message queues", met(Requirement::PosixQueues, ""));
    doctor.add("loopback networking", met(Requirement::Loopback, ""));
    doctor.add("network namespaces", met(Requirement::NetworkNamespaces, ""));
    doctor.add("packet sockets", met(Requirement::PacketSockets, ""));
    doctor.add("AF_XDP sockets", met(Requirement::AfXdp, ""));
    let folder = scratch::folder();
    doctor.add("direct input and output", met(Requirement::DirectIo, &format!("in {}", folder.display())));
    doctor.add("hardware performance counters", PerfCounters::hardware().map(|_| ok("")));
    doctor.add("software perf events", PerfCounters::software().map(|_| ok("")));
    doctor.add("processor counters", ProcStat::read().map(|s| ok(format!("{} processors", s.each.len()))));
    doctor.add("interrupts by line", Interrupts::read().map(|i| ok(format!("{} lines", i.lines.len()))));
    doctor.add("pressure stall information", Pressure::read().map(|_| ok("")));
    doctor.add("KVM statistics", KvmStats::read().map(|k| ok(format!("{} counters", k.counters.len()))));
    let machine = Fingerprint::without_clock();
    doctor.summary = format!(
        "{} · {} · clock {:.2} GHz · {} · Linux {}",
        machine.cpu_model.as_deref().unwrap_or("unknown processor"),
        match (machine.cpus_allowed.len(), machine.cpus_online) {
            (allowed, 0) => format!("{allowed} processors"),
            (allowed, online) => format!("{allowed} of {online} processors"),
        },
        clock.calibration.hz / 1e9,
        match features.virtualisation() {
            Virtualisation::None => "no hypervisor".into(),
            Virtualisation::Kvm => "guest of KVM".into(),
            Virtualisation::Other(name) => format!("guest of {name}"),
        },
        machine.kernel_release,
    );
    doctor
}

/// Rate, overhead and grain of the clock, in ticks ("c").
fn clock_of_the_run(clock: &ClockReport) -> Outcome {
    let Calibration { hz, lo, hi } = clock.calibration;
    let name = match clock.kind {
        RunClock::Tsc => "time-stamp counter",
        RunClock::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
    };
    let per_million = (hi - lo) / 2.0 / hz * 1e6;
    let cost = clock.overhead;
    let rdtscp = cost.rdtscp.map(|c| format!(", rdtscp {c:.0} c")).unwrap_or_default();
    let core = match clock.core_cycles_per_tick {
        Some(ratio) => format!("{ratio:.2} core cycles a tick"),
        None => "core cycles a tick: unknown".into(),
    };
    ok(format!(
        "{name}, {:.6} GHz ± {per_million:.1} ppm; a reading {:.0} c, fenced {:.0} c{rdtscp}, a stamped stretch {:.0} c, \
         steps of {} c; {core}",
        hz / 1e9,
        cost.now,
        cost.open,
        cost.stamp,
        cost.resolution,
    ))
}

fn no_second_core() -> Missing {
    Missing::new(
        "comparison of two cores' counters",
        "this process may run on one processor only, or not on both at once",
        "allow it a second one",
    )
}

fn counters_agree(found: Synchrony) -> Outcome {
    if found.backwards == 0 {
        ok(format!("{} rounds without a step back", found.rounds))
    } else {
        note(format!(
            "time ran backwards by {} ticks from core to core: stamps of different cores must not be subtracted",
            found.backwards
        ))
    }
}

fn two_processors() -> Found<Outcome> {
    let slots = choose_slots(2)?;
    let topology = Topology::read().unwrap_or_default();
    let shape = match (topology.cores().len(), topology.packages()) {
        (0, _) => "their cores are unknown".into(),
        (cores, packages) => format!("{cores} cores, {packages} packages"),
    };
    Ok(if slots.siblings {
        note(format!(
            "{shape}, but only threads of one core are allowed: figures between them are not between cores"
        ))
    } else if slots.packages {
        note(format!("{shape}; the slots span packages"))
    } else {
        ok(shape)
    })
}

fn governor() -> Outcome {
    match &*found::governor() {
        "performance" => ok("performance"),
        "none" => ok("none: the kernel does not set the frequency here"),
        "unknown" => note("unknown: there is no /sys to read it from"),
        other => note(format!("{other}: as root, cpupower frequency-set -g performance steadies figures")),
    }
}

fn machine(features: &Features) -> Outcome {
    match features.virtualisation() {
        Virtualisation::None => ok("no hypervisor shows itself"),
        Virtualisation::Kvm => note("itself a guest of KVM: neighbours may take time from it"),
        Virtualisation::Other(name) => {
            note(format!("itself a guest of {name}: neighbours may take time from it"))
        }
    }
}

fn kvm_kind(kind: KvmKind) -> Outcome {
    if kind.is_hardware() { ok(kind.meaning()) } else { note(kind.meaning()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_ends_and_can_be_written_down() {
        let doctor = examine();
        println!("{doctor:#?}");
        assert!(doctor.present.len() + doctor.notes.len() + doctor.missing.len() >= 18);
        assert!(
            doctor.missing.iter().all(|m| !m.what.is_empty() && !m.reason.is_empty() && !m.remedy.is_empty())
        );
        let text = serde_json::to_string(&doctor).unwrap();
        assert_eq!(serde_json::from_str::<Doctor>(&text).unwrap(), doctor);
    }
}
