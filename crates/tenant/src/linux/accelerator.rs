//! What runs a guest's instructions: KVM where Linux boots under it, QEMU's translator (TCG) elsewhere.
//!
//! On a KVM with hardware beneath nothing is tried: that is what it is for. A KVM in software emulates ring 0, where a
//! kernel spends its boot; whether one boots in useful time can only be tried. That is done once, and what came of it
//! is kept in the user's cache for as long as the host's kernel, QEMU and the guest's kernel are the same.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tollway_core::{Accelerator, Error, Result};

use super::boot::Boot;
use super::found::Found;
use super::guest::{GuestOptions, LinuxGuest};
use crate::micro::{self, KvmKind};

/// The environment variable that names an accelerator (`kvm` or `tcg`) instead of having one chosen.
pub const ACCELERATOR: &str = "TOLLWAY_ACCEL";

/// How long a guest under a software KVM may take to boot before TCG is taken.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The file in the cache.
const FILE: &str = "accelerator.json";

/// An accelerator, and how it came to be that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What runs the instructions.
    pub accelerator: Accelerator,
    /// What was asked or tried, and what came of it.
    pub why: String,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tried {
    /// What it holds for.
    subject: String,
    /// Whether a guest booted under KVM.
    booted: bool,
    /// How long that took, or why it did not, in words.
    outcome: String,
}

/// Chooses, with a trial where there is no other way.
pub(super) fn choose(boot: &Boot) -> Result<Choice> {
    if let Some(known) = known(boot.found())? {
        return Ok(known);
    }
    let tried = try_kvm(boot);
    // A cache that cannot be written to costs the next program a trial.
    if let Some(file) = cache() {
        let _ = keep(&file, &tried);
    }
    Ok(tried.choice())
}

/// What can be said without a trial; `None` where only a trial can tell.
///
/// # Errors
/// [`ACCELERATOR`] says something else than `kvm` or `tcg`.
pub(super) fn known(found: &Found) -> Result<Option<Choice>> {
    let choice = |accelerator, why: &str| Ok(Some(Choice { accelerator, why: why.into() }));
    match env::var(ACCELERATOR).as_deref() {
        Ok("kvm") => return choice(Accelerator::Kvm, "TOLLWAY_ACCEL asks for it"),
        Ok("tcg") => return choice(Accelerator::Tcg, "TOLLWAY_ACCEL asks for it"),
        Ok("") | Err(env::VarError::NotPresent) => {}
        Ok(_) | Err(_) => {
            return Err(Error::Input {
                place: ACCELERATOR.into(),
                reason: "there is no such accelerator".into(),
                remedy: "let it be `kvm` or `tcg`, or unset it".into(),
            });
        }
    }
    match micro::check() {
        Err(error) => choice(Accelerator::Tcg, &format!("KVM cannot be used: {error}")),
        Ok(kvm) if kvm.kind != KvmKind::Software => choice(Accelerator::Kvm, "KVM has hardware beneath it"),
        Ok(_) => {
            let kept = cache().and_then(|file| read(&file));
            Ok(kept.filter(|tried| tried.subject == subject(found)).map(|tried| tried.choice()))
        }
    }
}

impl Tried {
    fn choice(&self) -> Choice {
        let accelerator = if self.booted { Accelerator::Kvm } else { Accelerator::Tcg };
        Choice { accelerator, why: format!("this KVM is software; tried: Linux under it {}", self.outcome) }
    }
}

fn try_kvm(boot: &Boot) -> Tried {
    let begun = Instant::now();
    let options = GuestOptions { accelerator: Some(Accelerator::Kvm), ..GuestOptions::default() };
    let booted = LinuxGuest::start(boot, &options).and_then(|mut guest| guest.booted(begun + PATIENCE));
    let outcome = match &booted {
        Ok(()) => format!("booted in {:.1} s", begun.elapsed().as_secs_f64()),
        Err(_) if begun.elapsed() >= PATIENCE => format!("had not booted after {} s", PATIENCE.as_secs()),
        Err(error) => format!("did not boot: {error}"),
    };
    Tried { subject: subject(boot.found()), booted: booted.is_ok(), outcome }
}

/// What a trial's outcome depends on: the host's kernel, QEMU, the guest's kernel.
fn subject(found: &Found) -> String {
    let host = rustix::system::uname();
    let image = &found.kernel.image;
    let file = fs::metadata(image).ok();
    let age = file.as_ref().and_then(|f| f.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!(
        "Linux {}; QEMU {}; {} of {} bytes, {}",
        host.release().to_string_lossy(),
        found.qemu.version,
        image.display(),
        file.map_or(0, |f| f.len()),
        age.map_or(0, |age| age.as_secs()),
    )
}

/// `$XDG_CACHE_HOME/tollway`, else `~/.cache/tollway` (XDG base directory specification).
fn cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(folder.join("tollway").join(FILE))
}

fn read(file: &Path) -> Option<Tried> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Written beside and renamed, so that nobody reads half of it.
fn keep(file: &Path, tried: &Tried) -> std::io::Result<()> {
    let beside = file.with_extension(std::process::id().to_string());
    fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    fs::write(&beside, serde_json::to_vec(tried)?)?;
    fs::rename(&beside, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_kept_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b").join(FILE);
        assert_eq!(read(&file), None);
        let tried = Tried { subject: "x".into(), booted: false, outcome: "had not booted after 10 s".into() };
        keep(&file, &tried).unwrap();
        keep(&file, &tried).unwrap();
        assert_eq!(read(&file), Some(tried.clone()));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(tried.choice().accelerator, Accelerator::Tcg);
        assert!(tried.choice().why.contains("after 10 s"));
        fs::write(&file, "{").unwrap();
        assert_eq!(read(&file), None);
    }
}
