//! Which machine a result is from, and in what state it was. The kernel's command line is kept whole: look at
//! it before you publish a result. No other name of the machine or of its users is kept.

use std::collections::BTreeMap;
use std::fs;

use procfs::{Current, LoadAverage, Meminfo};
use serde::{Deserialize, Serialize};

use crate::clock::{self, Invariance};
use crate::cpu::{Topology, allowed_cpus};
use crate::features::{Features, Virtualisation};
use crate::found::{governor, line, text};

const CPUS: &str = "/sys/devices/system/cpu";

/// The host's identity (machine-id(5)), which is confidential: only a digest of it is kept.
const MACHINE_ID: &str = "/etc/machine-id";

/// The machine's part of a result's metadata. Options are `None` where the machine does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Kernel release and version, as of uname.
    pub kernel: String,
    /// The kernel's release alone.
    pub kernel_release: String,
    /// The kernel's command line, as it is.
    pub command_line: Option<String>,
    /// The distribution's name.
    pub distribution: Option<String>,
    /// The processor's maker.
    pub cpu_vendor: Option<String>,
    /// The processor's name.
    pub cpu_model: Option<String>,
    /// Family, decimal.
    pub cpu_family: Option<u32>,
    /// Model number, decimal.
    pub cpu_model_number: Option<u32>,
    /// Stepping.
    pub cpu_stepping: Option<u32>,
    /// Microcode revision, as the kernel writes it.
    pub microcode: Option<String>,
    /// Frequency governor of processor 0; `none` where the kernel sets no frequency, `unknown` without /sys.
    pub governor: String,
    /// Simultaneous multithreading: `on`, `off`, `notsupported` …
    pub smt: Option<String>,
    /// The kernel's verdict and mitigation for each vulnerability that it knows.
    pub mitigations: BTreeMap<String, String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// What this machine runs on.
    pub virtualisation: Virtualisation,
    /// The hypervisor's letters, if one shows itself.
    pub hypervisor: Option<String>,
    /// Logical processors online.
    pub cpus_online: usize,
    /// Physical cores online.
    pub cores: usize,
    /// Packages online.
    pub packages: usize,
    /// Processors that this process may run on.
    pub cpus_allowed: Vec<u32>,
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f32; 3]>,
    /// The setting of transparent huge pages.
    pub huge_pages: Option<String>,
    /// Ticks per second of the run's clock.
    pub hz: Option<f64>,
    /// A digest of the host's identity, which tells two hosts of one kind apart; `None` where it has none, as
    /// in many containers.
    #[serde(default)]
    pub host: Option<String>,
}

/// Takes this machine's fingerprint, the rate of the run's clock included ([`clock::hz`], 10 ms when it is not known
/// yet).
pub fn read() -> Fingerprint {
    Fingerprint { hz: clock::hz().ok(), ..Fingerprint::without_clock() }
}

impl Fingerprint {
    /// Everything but the rate of the clock, without waiting.
    pub fn without_clock() -> Fingerprint {
        let uname = rustix::system::uname();
        let release = uname.release().to_string_lossy().into_owned();
        let cpuinfo = text("/proc/cpuinfo", "processors", "mount /proc").unwrap_or_default();
        let cpu = |key: &str| first_value(&cpuinfo, key);
        let features = Features::read();
        let topology = Topology::read().unwrap_or_default();
        Fingerprint {
            kernel: format!("{release} {}", uname.version().to_string_lossy()),
            kernel_release: release,
            command_line: line("/proc/cmdline"),
            distribution: fs::read_to_string("/etc/os-release").ok().and_then(|t| pretty_name(&t)),
            cpu_vendor: cpu("vendor_id"),
            cpu_model: cpu("model name"),
            cpu_family: cpu("cpu family").and_then(|v| v.parse().ok()),
            cpu_model_number: cpu("model").and_then(|v| v.parse().ok()),
            cpu_stepping: cpu("stepping").and_then(|v| v.parse().ok()),
            microcode: cpu("microcode"),
            governor: governor(),
            smt: line(format!("{CPUS}/smt/control")),
            mitigations: mitigations(),
            clocksource: Invariance::read().clocksource,
            virtualisation: features.virtualisation(),
            hypervisor: features.hypervisor_vendor,
            cpus_online: topology.processors.len(),
            cores: topology.cores().len(),
            packages: topology.packages(),
            cpus_allowed: allowed_cpus().unwrap_or_default(),
            memory: Meminfo::current().ok().map(|m| m.mem_total),
            load: LoadAverage::current().ok().map(|l| [l.one, l.five, l.fifteen]),
            huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|t| chosen(&t)),
            hz: None,
            host: line(MACHINE_ID).and_then(|id| host_digest(&id)),
        }
    }

    /// An identity that is the same as long as tolls carry over: 64-bit FNV-1a over processor (maker, name, family,
    /// model, stepping, microcode), kernel release, mitigations, hypervisor, SMT and number of physical cores.
    /// Neither unique to one machine (two equal ones share it, rightly) nor a secret. Sixteen hexadecimal digits.
    pub fn machine_id(&self) -> String {
        let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
        let word = |w: &Option<String>| w.clone().unwrap_or_default();
        let mut parts = vec![
            word(&self.cpu_vendor),
            word(&self.cpu_model),
            number(self.cpu_family),
            number(self.cpu_model_number),
            number(self.cpu_stepping),
            word(&self.microcode),
            self.kernel_release.clone(),
            format!("{:?}", self.virtualisation),
            word(&self.hypervisor),
            word(&self.smt),
            self.cores.to_string(),
        ];
        parts.extend(self.mitigations.iter().flat_map(|(name, state)| [name.clone(), state.clone()]));
        // No byte of UTF-8 is 0xff: parts cannot run into each other.
        format!("{:016x}", fnv_1a(parts.iter().flat_map(|part| part.bytes().chain([0xff]))))
    }
}

/// A digest of a host's identity, half as long, from which it cannot be had back; of 32 hexadecimal digits
/// alone: `uninitialized` is none.
fn host_digest(id: &str) -> Option<String> {
    let is_id = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then(|| format!("{:016x}", fnv_1a(b"tollway host ".iter().copied().chain(id.bytes()))))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): not against malice, but stable for ever and five lines.
fn fnv_1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn first_value(cpuinfo: &str, key: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == key).then(|| value.trim().to_owned()).filter(|v| !v.is_empty())
    })
}

fn pretty_name(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The word in brackets, as in `always [madvise] never`.
fn chosen(setting: &str) -> Option<String> {
    let (_, rest) = setting.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

fn mitigations() -> BTreeMap<String, String> {
    let Ok(folder) = fs::read_dir(format!("{CPUS}/vulnerabilities")) else { return BTreeMap::new() };
    folder
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, line(entry.path())?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // Test vectors of the draft.
        assert_eq!(fnv_1a([]), 0xcbf29ce484222325);
        assert_eq!(fnv_1a(*b"a"), 0xaf63dc4c8601ec8c);
        assert_eq!(fnv_1a(*b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn the_same_machine_has_the_same_number() {
        let (a, b) = (read(), Fingerprint::without_clock());
        assert!(a.hz.unwrap() > 1e6 && a.machine_id().len() == 16);
        assert_eq!(a.machine_id(), b.machine_id());
        let mut other = a.clone();
        other.mitigations.insert("meltdown".into(), "Mitigation: another".into());
        assert_ne!(a.machine_id(), other.machine_id());
        let other = Fingerprint { kernel_release: "0.0.1".into(), ..a.clone() };
        assert_ne!(a.machine_id(), other.machine_id());
        let idle = Fingerprint { load: None, hz: None, cpus_allowed: vec![], ..a.clone() };
        assert_eq!(a.machine_id(), idle.machine_id());
    }

    #[test]
    fn what_the_machine_says_is_there() {
        let f = Fingerprint::without_clock();
        assert!(f.cpu_model.is_some() && f.cores > 0 && f.memory.unwrap() > 1 << 20);
        let text = serde_json::to_string(&f).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap().machine_id(), f.machine_id());
        let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert!(node.len() < 4 || !f.kernel.contains(&node));
    }

    #[test]
    fn odd_texts_give_nothing() {
        assert_eq!(chosen("always madvise never"), None);
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(pretty_name("NAME=x\nPRETTY_NAME='Some System 1'\n").as_deref(), Some("Some System 1"));
        assert_eq!(pretty_name("PRETTY_NAME=\"\""), None);
        assert_eq!(first_value("model\t: 7\nmodel name\t: X: Y\n", "model name").as_deref(), Some("X: Y"));
        assert_eq!(first_value("processor : 0", "model"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = (chosen(&text), pretty_name(&text), first_value(&text, "model"));
        }
    }
}
