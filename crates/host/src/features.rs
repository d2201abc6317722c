//! What the processor can do, and what kind of machine it is part of: CPUID.
//!
//! CPUID tells what the hypervisor lets it tell: a feature may work though it is hidden, and a hypervisor may hide
//! itself. In a virtual machine each CPUID is an exit, so this is read once and kept.

use raw_cpuid::{CpuId, Hypervisor, cpuid};
use serde::{Deserialize, Serialize};
use tollway_core::CpuFeature;

/// What this machine runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Virtualisation {
    /// No hypervisor shows itself.
    None,
    /// KVM.
    Kvm,
    /// Another one, by name.
    Other(String),
}

/// Processor features that paths ask for, and the hypervisor above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Features {
    /// Who made the processor: `GenuineIntel`, `AuthenticAMD`.
    pub vendor: String,
    pub rdrand: bool,
    pub rdseed: bool,
    pub aes: bool,
    pub vaes: bool,
    pub avx2: bool,
    pub avx512f: bool,
    pub gfni: bool,
    pub pclmulqdq: bool,
    pub sha: bool,
    pub clflushopt: bool,
    pub clwb: bool,
    pub rdtscp: bool,
    /// User interrupts: leaf 7, EDX\[5\].
    pub uintr: bool,
    /// Leaf 8000_0007h, EDX\[8\].
    pub invariant_tsc: bool,
    /// Hardware virtualisation by Intel.
    pub vmx: bool,
    /// Hardware virtualisation by AMD.
    pub svm: bool,
    /// Leaf 1, ECX\[31\]: a hypervisor shows itself.
    pub hypervisor_bit: bool,
    /// The hypervisor's twelve letters of leaf 4000_0000h.
    pub hypervisor_vendor: Option<String>,
}

impl Features {
    /// Asks CPUID.
    pub fn read() -> Features {
        let id = CpuId::new();
        let basic = id.get_feature_info();
        let basic = |f: fn(&raw_cpuid::FeatureInfo) -> bool| basic.as_ref().is_some_and(f);
        let more = id.get_extended_feature_info();
        let more = |f: fn(&raw_cpuid::ExtendedFeatures) -> bool| more.as_ref().is_some_and(f);
        let extended = id.get_extended_processor_and_feature_identifiers();
        let hypervisor_bit = basic(|b| b.has_hypervisor());
        Features {
            vendor: id.get_vendor_info().map(|v| v.as_str().to_owned()).unwrap_or_default(),
            rdrand: basic(|b| b.has_rdrand()),
            rdseed: more(|m| m.has_rdseed()),
            aes: basic(|b| b.has_aesni()),
            vaes: more(|m| m.has_vaes()),
            avx2: more(|m| m.has_avx2()),
            avx512f: more(|m| m.has_avx512f()),
            gfni: more(|m| m.has_gfni()),
            pclmulqdq: basic(|b| b.has_pclmulqdq()),
            sha: more(|m| m.has_sha()),
            clflushopt: more(|m| m.has_clflushopt()),
            clwb: more(|m| m.has_clwb()),
            rdtscp: extended.as_ref().is_some_and(|e| e.has_rdtscp()),
            uintr: more(|_| true) && cpuid!(7, 0).edx >> 5 & 1 == 1,
            invariant_tsc: id.get_advanced_power_mgmt_info().is_some_and(|a| a.has_invariant_tsc()),
            vmx: basic(|b| b.has_vmx()),
            svm: extended.as_ref().is_some_and(|e| e.has_svm()),
            hypervisor_bit,
            hypervisor_vendor: hypervisor_bit.then(hypervisor_vendor).flatten(),
        }
    }

    /// Whether it has a feature of the contract.
    pub fn has(&self, feature: CpuFeature) -> bool {
        match feature {
            CpuFeature::Rdrand => self.rdrand,
            CpuFeature::Rdseed => self.rdseed,
            CpuFeature::Clflushopt => self.clflushopt,
            CpuFeature::UserInterrupts => self.uintr,
        }
    }

    /// What this machine runs on.
    pub fn virtualisation(&self) -> Virtualisation {
        if !self.hypervisor_bit {
            return Virtualisation::None;
        }
        let vendor = self.hypervisor_vendor.clone();
        match CpuId::new().get_hypervisor_info().map(|info| info.identify()) {
            Some(Hypervisor::KVM) => Virtualisation::Kvm,
            Some(Hypervisor::Unknown(..)) | None => {
                Virtualisation::Other(vendor.unwrap_or_else(|| "unknown".into()))
            }
            Some(known) => Virtualisation::Other(format!("{known:?}")),
        }
    }
}

/// EBX, ECX, EDX of leaf 4000_0000h as letters, without what is not printable.
fn hypervisor_vendor() -> Option<String> {
    let leaf = cpuid!(0x4000_0000);
    let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let name: String =
        letters.into_iter().filter(|b| b.is_ascii_graphic() || *b == b' ').map(char::from).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::text;

    #[test]
    fn agrees_with_the_kernels_flags() {
        let f = Features::read();
        println!("{f:?} {:?}", f.virtualisation());
        let cpuinfo = text("/proc/cpuinfo", "", "").unwrap();
        let flags = cpuinfo.lines().find(|l| l.starts_with("flags")).unwrap().split_once(':').unwrap().1;
        let flagged = |name: &str| flags.split_whitespace().any(|flag| flag == name);
        // The kernel may switch features off that CPUID shows, never the other way round.
        let pairs = [
            (f.rdrand, "rdrand"),
            (f.rdseed, "rdseed"),
            (f.aes, "aes"),
            (f.vaes, "vaes"),
            (f.avx2, "avx2"),
            (f.avx512f, "avx512f"),
            (f.gfni, "gfni"),
            (f.pclmulqdq, "pclmulqdq"),
            (f.sha, "sha_ni"),
            (f.clflushopt, "clflushopt"),
            (f.clwb, "clwb"),
            (f.rdtscp, "rdtscp"),
            (f.hypervisor_bit, "hypervisor"),
        ];
        for (cpuid, name) in pairs {
            assert!(cpuid || !flagged(name), "{name}");
        }
    }
}
