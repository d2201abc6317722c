//! What Linux guests need and where it is here: QEMU, a kernel, its modules.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tollway_core::Missing;

/// QEMU, a kernel and its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The emulator.
    pub qemu: Qemu,
    /// The kernel.
    pub kernel: Kernel,
}

/// A QEMU that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// The program.
    pub program: PathBuf,
    /// What it has to be told to find its own files.
    pub arguments: Vec<OsString>,
    /// Environment variables on top of the coordinator's own.
    pub environment: Vec<(OsString, OsString)>,
    /// Its version, such as `7.2.22`.
    pub version: String,
}

/// A kernel with the folder of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The image (bzImage).
    pub image: PathBuf,
    /// The folder `/lib/modules/RELEASE`.
    pub modules: PathBuf,
}

/// Looks for all of it.
///
/// # Errors
/// [`Missing`] with what is not there.
pub fn find() -> Result<Found, Missing> {
    Ok(Found { qemu: qemu()?, kernel: kernel()? })
}

fn qemu() -> Result<Qemu, Missing> {
    let program = env::var_os("TOLLWAY_QEMU").unwrap_or_else(|| "qemu-system-x86_64".into());
    let lacking = |reason: String| Missing::new("QEMU", reason, "install qemu-system-x86");
    let output = Command::new(&program).arg("--version").output().map_err(|e| lacking(e.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(3).ok_or_else(|| lacking("it tells no version".into()))?;
    Ok(Qemu {
        program: program.into(),
        arguments: Vec::new(),
        environment: Vec::new(),
        version: version.into(),
    })
}

fn kernel() -> Result<Kernel, Missing> {
    let named = |name: &str| {
        let lacking =
            || Missing::new("a kernel for Linux guests", format!("{name} names none"), "make setup");
        env::var_os(name).map(PathBuf::from).filter(|path| path.exists()).ok_or_else(lacking)
    };
    Ok(Kernel { image: named("TOLLWAY_KERNEL")?, modules: named("TOLLWAY_MODULES")? })
}

impl Kernel {
    /// The files of these modules and of what they need, in an order in which they can be loaded.
    ///
    /// # Errors
    /// [`Missing`] with the name of the first that is not there.
    pub fn modules_for(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, Missing> {
        let mut order = Vec::new();
        for name in wanted {
            self.add(name, &mut order)?;
        }
        Ok(order)
    }

    fn add(&self, name: &str, order: &mut Vec<PathBuf>) -> Result<(), Missing> {
        let lacking =
            |reason: String| Missing::new(format!("the kernel's module {name}"), reason, "make setup");
        let file = module(&self.modules, name)
            .ok_or_else(|| lacking(format!("it is not in {}", self.modules.display())))?;
        if order.contains(&file) {
            return Ok(());
        }
        let content = fs::read(&file).map_err(|e| lacking(e.to_string()))?;
        let key = b"\0depends=";
        if let Some(at) = content.windows(key.len()).position(|w| w == key) {
            let rest = &content[at + key.len()..];
            let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
            let names = String::from_utf8_lossy(&rest[..end]).into_owned();
            for needed in names.split(',').filter(|n| !n.is_empty()) {
                self.add(needed, order)?;
            }
        }
        order.push(file);
        Ok(())
    }
}

fn module(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = module(&path, name) {
                return Some(found);
            }
        } else if path.extension().is_some_and(|e| e == "ko")
            && path.file_stem().is_some_and(|s| s.to_string_lossy().replace('-', "_") == name)
        {
            return Some(path);
        }
    }
    None
}
