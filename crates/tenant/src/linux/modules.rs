//! Which modules a guest's kernel has to load, in which order.
//!
//! The files are those that depmod writes (modules.dep(5), depmod(8)): `modules.dep` has each module's file and those it
//! needs, `modules.builtin` what is part of the kernel, `modules.softdep` what a module asks for by name only while it
//! starts, and `modules.alias` what else modules are called. There is no modprobe in a guest, so soft dependencies that
//! are to be had are loaded beforehand.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use tollway_core::{Error, Missing, Result};

use super::packed;

/// The modules of one kernel.
#[derive(Debug, Default)]
pub(super) struct Modules {
    folder: PathBuf,
    /// By name: the file, and the names of what it needs.
    there: HashMap<String, (String, Vec<String>)>,
    built_in: HashSet<String>,
    soft: HashMap<String, Vec<String>>,
    aliases: HashMap<String, Vec<String>>,
}

impl Modules {
    /// Reads what depmod wrote into this folder.
    ///
    /// # Errors
    /// [`Missing`] where it wrote nothing there.
    pub(super) fn read(folder: &Path) -> Result<Modules, Missing> {
        let needed = fs::read_to_string(folder.join("modules.dep")).map_err(|e| {
            let reason = format!("{}/modules.dep: {e}", folder.display());
            Missing::new("the modules of a guest's kernel", reason, "make setup-guest, or run depmod on them")
        })?;
        // The others are not there if they would be empty.
        let lines = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let mut modules = Modules { folder: folder.into(), ..Modules::default() };
        for (file, needs) in needed.lines().filter_map(|line| line.split_once(':')) {
            let needs = needs.split_whitespace().map(name_of).collect();
            modules.there.insert(name_of(file), (file.trim().to_owned(), needs));
        }
        modules.built_in.extend(lines("modules.builtin").lines().map(name_of));
        for line in lines("modules.softdep").lines() {
            let mut words = line.split_whitespace();
            if let (Some("softdep"), Some(module), Some("pre:")) = (words.next(), words.next(), words.next())
            {
                let before = words.take_while(|word| *word != "post:").map(plain);
                modules.soft.entry(plain(module)).or_default().extend(before);
            }
        }
        for line in lines("modules.alias").lines() {
            if let ["alias", alias, module] = line.split_whitespace().collect::<Vec<_>>()[..] {
                modules.aliases.entry(plain(alias)).or_default().push(plain(module));
            }
        }
        Ok(modules)
    }

    /// The files of these modules and of what they need, each behind what it needs.
    ///
    /// # Errors
    /// [`Missing`] with the name of the first that is neither there nor built in.
    pub(super) fn in_load_order(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, Missing> {
        let mut order = Vec::new();
        let mut seen = HashSet::new();
        for name in wanted {
            self.add(&plain(name), &mut order, &mut seen)?;
        }
        Ok(order)
    }

    fn add(&self, name: &str, order: &mut Vec<PathBuf>, seen: &mut HashSet<String>) -> Result<(), Missing> {
        if self.built_in.contains(name) || !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some((file, needs)) = self.there.get(name) else {
            return Err(Missing::new(
                format!("the kernel's module {name}"),
                format!("it is not among those of {}", self.folder.display()),
                "make setup-guest takes a kernel that has it",
            ));
        };
        for soft in self.soft.get(name).into_iter().flatten() {
            for module in self.aliases.get(soft).into_iter().flatten().chain([soft]) {
                if self.there.contains_key(module) {
                    self.add(module, order, seen)?;
                }
            }
        }
        for need in needs {
            self.add(need, order, seen)?;
        }
        order.push(self.folder.join(file));
        Ok(())
    }
}

/// A module's file as the guest's kernel takes it: its name, and its content, unpacked.
pub(super) fn content(file: &Path) -> Result<(String, Vec<u8>)> {
    let doing = || format!("reading {} for a guest", file.display());
    let packed = fs::read(file).map_err(|e| Error::system(doing(), e))?;
    let bytes = match packed.starts_with(b"\x7fELF") {
        true => packed,
        false => packed::unpacked(&packed).ok_or_else(|| {
            Error::system(doing(), "it is packed in a way that is not known here, or damaged")
        })?,
    };
    Ok((name_of(&file.to_string_lossy()) + ".ko", bytes))
}

/// A module's name by its file's: `kernel/drivers/char/hw_random/virtio-rng.ko.xz` is `virtio_rng`.
fn name_of(file: &str) -> String {
    let name = file.trim().rsplit('/').next().unwrap_or_default();
    plain(name.split(".ko").next().unwrap_or_default())
}

/// The kernel takes `-` and `_` in modules' names for the same.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of Debian's files that matter here, and a cycle, which depmod would refuse.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            (
                "modules.dep",
                "kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko kernel/lib/libcrc32c.ko\n\
                 kernel/fs/jbd2/jbd2.ko:\nkernel/lib/libcrc32c.ko:\n\
                 kernel/crypto/crc32c_generic.ko.xz:\nkernel/arch/x86/crypto/crc32c-intel.ko.xz:\n\
                 kernel/drivers/net/virtio_net.ko.zst: kernel/drivers/net/net_failover.ko.zst kernel/net/core/failover.ko.zst\n\
                 kernel/drivers/net/net_failover.ko.zst: kernel/net/core/failover.ko.zst\n\
                 kernel/net/core/failover.ko.zst:\nkernel/drivers/char/hw_random/virtio-rng.ko: kernel/virtio.ko\n\
                 kernel/a.ko: kernel/b.ko\nkernel/b.ko: kernel/a.ko\n",
            ),
            ("modules.builtin", "kernel/virtio.ko\nkernel/drivers/virtio/virtio-pci.ko\n"),
            (
                "modules.softdep",
                "# comment\nsoftdep ext4 pre: crypto-crc32c post: nothing\nsoftdep jbd2 post: x\n",
            ),
            (
                "modules.alias",
                "alias crypto-crc32c crc32c_intel\nalias crypto-crc32c crc32c_generic\nalias crypto-crc32c gone\n",
            ),
        ];
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn names(wanted: &[&str]) -> Vec<String> {
        let folder = folder();
        let order = Modules::read(folder.path()).unwrap().in_load_order(wanted).unwrap();
        assert!(order.iter().all(|file| file.starts_with(folder.path().join("kernel"))), "{order:?}");
        order.iter().map(|file| name_of(&file.to_string_lossy())).collect()
    }

    #[test]
    fn what_a_module_needs_is_loaded_before_it_and_once() {
        let expected = ["failover", "net_failover", "virtio_net", "virtio_rng"];
        assert_eq!(names(&["virtio_net", "virtio-rng", "virtio_rng", "net_failover"]), expected);
    }

    #[test]
    fn what_it_asks_for_by_name_is_loaded_too_as_far_as_it_is_there() {
        assert_eq!(names(&["ext4"]), ["crc32c_intel", "crc32c_generic", "jbd2", "libcrc32c", "ext4"]);
    }

    #[test]
    fn what_is_built_in_is_not_loaded() {
        assert_eq!(names(&["virtio_pci", "virtio"]), [""; 0]);
    }

    #[test]
    fn a_cycle_ends() {
        assert_eq!(names(&["a"]), ["b", "a"]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = folder();
        let missing =
            Modules::read(folder.path()).unwrap().in_load_order(&["ext4", "warp-drive"]).unwrap_err();
        assert!(
            missing.what.contains("warp_drive") && missing.remedy.contains("make setup-guest"),
            "{missing}"
        );
        let missing = Modules::read(&folder.path().join("none")).unwrap_err();
        assert!(missing.reason.contains("none/modules.dep"), "{missing}");
    }

    #[test]
    fn a_modules_file_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let plain = file("virtio-rng.ko", b"\x7fELF as it is");
        assert_eq!(content(&plain).unwrap(), ("virtio_rng.ko".into(), b"\x7fELF as it is".to_vec()));
        let zst = file("a.ko.zst", packed::tests::ZSTD);
        assert_eq!(content(&zst).unwrap(), ("a.ko".into(), packed::tests::PLAIN.to_vec()));
        let error = content(&file("b.ko.gz", b"\x1f\x8b\x08")).unwrap_err();
        assert!(error.to_string().contains("b.ko.gz"), "{error}");
    }
}
