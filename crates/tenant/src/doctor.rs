//! Which tenants work on this machine, and why not. Data only; `tollway doctor` shows it.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Error, KvmKind, Missing, Result, TenantKind};
use tollway_host::clock::RunClock;

use crate::linux::{self, Boot, Choice, Found, GuestOptions, LinuxGuest};
use crate::micro;
use crate::protocol::{Answer, Command};

/// How long the guest of [`boot`] may take, and again to stop.
const LONGEST: Duration = Duration::from_secs(120);

/// A kind of tenant on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantCheck {
    /// The kind.
    pub tenant: TenantKind,
    /// What is known of it here; empty where there is nothing to say.
    pub detail: String,
    /// Why it does not work; `None` where it does.
    pub missing: Option<Missing>,
}

impl TenantCheck {
    fn works(tenant: TenantKind, detail: impl Into<String>) -> Self {
        TenantCheck { tenant, detail: detail.into(), missing: None }
    }

    fn lacks(tenant: TenantKind, missing: Missing) -> Self {
        TenantCheck { tenant, detail: String::new(), missing: Some(missing) }
    }
}

/// Every kind. Micro-guests are made and run; of Linux guests it is looked for what they need, with an agent of this build.
/// Takes some ten milliseconds.
pub fn examine(build: &str) -> Vec<TenantCheck> {
    let linux = match linux::check(Some(build)) {
        Ok((found, choice)) => TenantCheck::works(TenantKind::LinuxGuest, stock(&found, choice.as_ref())),
        Err(missing) => TenantCheck::lacks(TenantKind::LinuxGuest, missing),
    };
    vec![
        TenantCheck::works(TenantKind::Process, ""),
        TenantCheck::works(TenantKind::Thread, ""),
        micro_guests(),
        linux,
    ]
}

/// Boots a Linux guest and has its agent answer. Where the accelerator is not known yet it is found out first, which
/// can take ten seconds more.
pub fn boot(build: &str) -> TenantCheck {
    match try_boot(build) {
        Ok(detail) => TenantCheck::works(TenantKind::LinuxGuest, detail),
        Err(Error::Missing(missing)) => TenantCheck::lacks(TenantKind::LinuxGuest, missing),
        Err(error) => {
            let remedy = "TOLLWAY_ACCEL=tcg, or another kernel or QEMU: TOLLWAY_KERNEL, TOLLWAY_QEMU";
            let missing = Missing::new("Linux guests", error.to_string(), remedy);
            TenantCheck::lacks(TenantKind::LinuxGuest, missing)
        }
    }
}

fn micro_guests() -> TenantCheck {
    let found = match micro::check() {
        Ok(found) => found,
        Err(error) => {
            let missing = match Error::from(error) {
                Error::Missing(missing) => missing,
                other => Missing::new(
                    "micro-guests",
                    other.to_string(),
                    "see whether other programs can use /dev/kvm (kvm-ok, QEMU with -accel kvm)",
                ),
            };
            return TenantCheck::lacks(TenantKind::MicroGuest, missing);
        }
    };
    let rings = match found.kind {
        KvmKind::Software => format!(
            "ring 3 is native, ring 0 emulated at {:.0} c a step, so exits cost what this host asks, not what silicon does",
            found.ring0_step_cycles
        ),
        KvmKind::Vmx | KvmKind::Svm => "code of every ring is native".into(),
    };
    let interrupts = match micro::check_interrupts() {
        Ok(()) => "interrupts reach ring 3".into(),
        Err(error) => format!("no interrupts in ring 3: {error}"),
    };
    TenantCheck::works(TenantKind::MicroGuest, format!("KVM is {}: {rings}; {interrupts}", brief(found.kind)))
}

fn brief(kind: KvmKind) -> &'static str {
    match kind {
        KvmKind::Vmx => "hardware, VMX",
        KvmKind::Svm => "hardware, SVM",
        KvmKind::Software => "software",
    }
}

fn stock(found: &Found, choice: Option<&Choice>) -> String {
    let accelerator = match choice {
        Some(choice) => format!("{}, as {}", choice.accelerator.name().to_uppercase(), choice.why),
        None => "KVM is tried when the first one boots, else TCG".into(),
    };
    format!("QEMU {}, Linux {}; {accelerator}", found.qemu.version, found.kernel.release)
}

fn try_boot(build: &str) -> Result<String> {
    let boot = Boot::prepare(Some(build))?;
    let begun = Instant::now();
    let mut guest = LinuxGuest::start(&boot, &GuestOptions::default())?;
    guest.booted(begun + LONGEST)?;
    let booted = begun.elapsed();
    let mut agent = guest.agent(0)?;
    agent.synchronise()?;
    let asked = RunClock::chosen().now();
    match agent.ask(u32::MAX, Command::Clock, Instant::now() + LONGEST)? {
        Answer::Clock(_) => {}
        other => return Err(Error::Wrong(format!("its agent was asked for its clock and said {other:?}"))),
    }
    let there_and_back = RunClock::chosen().now().saturating_sub(asked);
    let (kernel, apart) = (agent.hello().kernel.clone(), agent.uncertainty());
    drop(agent);
    guest.stop(LONGEST)?;
    Ok(format!(
        "booted Linux {kernel} in {:.1} s and powered off: QEMU {} with {}, as {}; a word there and back takes {} c, its \
         clock is known to ± {} c",
        booted.as_secs_f64(),
        boot.found().qemu.version,
        boot.choice().accelerator.name().to_uppercase(),
        boot.choice().why,
        there_and_back,
        apart
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_of_and_what_does_not_work_has_a_remedy() {
        let all = examine("of these tests");
        let kinds: Vec<TenantKind> = all.iter().map(|check| check.tenant).collect();
        assert_eq!(kinds, TenantKind::ALL);
        for check in &all {
            println!("{}: {} {:?}", check.tenant, check.detail, check.missing);
            if let Some(missing) = &check.missing {
                assert!(!missing.reason.is_empty() && missing.remedy.len() > 8, "{missing}");
            }
        }
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<TenantCheck>>(&text).unwrap(), all);
    }
}
