//! What Linux guests need and where it is here: QEMU, a kernel, its modules.
//!
//! | looked for | in this order |
//! |---|---|
//! | QEMU | [`QEMU`]; of the set-up's folder and `PATH` the newer one |
//! | kernel | [`KERNEL`]; the set-up's folder; the kernel that runs here, if its image may be read |
//! | its modules | [`MODULES`]; `../lib/modules/RELEASE` seen from the image's folder; `/lib/modules/RELEASE` |
//!
//! The set-up's folder is [`guest_data::folder`].

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tollway_core::Missing;
use tollway_host::guest_data::{self, QEMU, named};
use tollway_host::program::{Given, Program};

use super::modules::Modules;

/// The environment variable that names the image of the guests' kernel.
pub const KERNEL: &str = "TOLLWAY_KERNEL";
/// The environment variable that names the folder of the modules of [`KERNEL`].
pub const MODULES: &str = "TOLLWAY_MODULES";

/// The program of QEMU that we look for.
const PROGRAM: &str = "qemu-system-x86_64";
/// How long QEMU may take to tell its version.
const ASKED: Duration = Duration::from_secs(20);
/// What provides a kernel.
const SET_UP: &str = "make setup-guest";

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
    /// The folder `…/lib/modules/RELEASE`.
    pub modules: PathBuf,
    /// What `uname -r` says in it.
    pub release: String,
}

/// Looks for all of it.
///
/// # Errors
/// [`Missing`] with what is not there.
pub fn find() -> Result<Found, Missing> {
    Places::of_this_process().find()
}

/// Where things are looked for.
#[derive(Debug)]
struct Places {
    qemu: Option<PathBuf>,
    kernel: Option<PathBuf>,
    modules: Option<PathBuf>,
    data: Option<PathBuf>,
    path: Option<OsString>,
    /// `/`, and the release of the kernel that runs under it.
    root: PathBuf,
    release: String,
}

impl Places {
    fn of_this_process() -> Places {
        Places {
            qemu: named(QEMU),
            kernel: named(KERNEL),
            modules: named(MODULES),
            data: guest_data::folder(),
            path: env::var_os("PATH"),
            root: "/".into(),
            release: rustix::system::uname().release().to_string_lossy().into_owned(),
        }
    }

    fn find(&self) -> Result<Found, Missing> {
        Ok(Found { qemu: self.find_qemu()?, kernel: self.find_kernel()? })
    }

    fn find_qemu(&self) -> Result<Qemu, Missing> {
        if let Some(program) = &self.qemu {
            return Qemu::at(program);
        }
        let private = self.private("qemu/usr/bin").map(|folder| folder.join(PROGRAM)).filter(|p| p.exists());
        let systems = self.path.as_deref().and_then(|path| in_path(path, PROGRAM));
        match (private, systems) {
            (Some(private), Some(systems)) => match (Qemu::at(&private), Qemu::at(&systems)) {
                (Ok(private), Ok(systems)) if private.number() < systems.number() => Ok(systems),
                (Ok(private), _) => Ok(private),
                (Err(_), systems) => systems,
            },
            (Some(one), None) | (None, Some(one)) => Qemu::at(&one),
            (None, None) => Err(Missing::new(
                "QEMU",
                format!("there is no {PROGRAM}"),
                format!("install qemu-system-x86 ({SET_UP})"),
            )),
        }
    }

    fn find_kernel(&self) -> Result<Kernel, Missing> {
        let lacking = |reason: String| {
            let remedy = format!("{SET_UP}, or name one by {KERNEL} and {MODULES}");
            Missing::new("a kernel for Linux guests", reason, remedy)
        };
        let kernel = if let Some(image) = &self.kernel {
            File::open(image).map_err(|e| lacking(format!("{KERNEL}={}: {e}", image.display())))?;
            image.clone()
        } else if let Some(image) = self.private("kernel/boot").and_then(|folder| only_image(&folder)) {
            image
        } else {
            let image = self.root.join("boot").join(format!("vmlinuz-{}", self.release));
            let set_up = self.data.as_deref().unwrap_or(Path::new("the set-up's folder"));
            let also = format!("{} has none", set_up.display());
            File::open(&image).map_err(|e| lacking(format!("{also}, and {}: {e}", image.display())))?;
            image
        };
        self.with_modules(kernel).map_err(lacking)
    }

    fn with_modules(&self, image: PathBuf) -> Result<Kernel, String> {
        let release = release_of(&image).ok_or(format!("{} is no kernel's image", image.display()))?;
        let below = |root: &Path| root.join("lib/modules").join(&release);
        let folders = match &self.modules {
            Some(folder) => vec![folder.clone()],
            None => {
                let beside = image.parent().and_then(Path::parent).map(below);
                beside.into_iter().chain([below(&self.root)]).collect()
            }
        };
        match folders.iter().find(|folder| folder.join("modules.dep").exists()) {
            Some(folder) => Ok(Kernel { image, modules: folder.clone(), release }),
            None => {
                let tried: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
                Err(format!("{} has no modules: no modules.dep in {}", image.display(), tried.join(", ")))
            }
        }
    }

    /// A folder of what the set-up fetched. Its parts are links that a set-up may turn meanwhile; this name stays.
    fn private(&self, part: &str) -> Option<PathBuf> {
        self.data.as_ref()?.join(part).canonicalize().ok()
    }
}

impl Qemu {
    /// The QEMU that this program is. One that was unpacked outside of `/usr` is told where its files are.
    fn at(program: &Path) -> Result<Qemu, Missing> {
        let lacking = |reason: String| {
            let what = format!("QEMU ({})", program.display());
            Missing::new(what, reason, format!("install qemu-system-x86 ({SET_UP}), or name one by {QEMU}"))
        };
        let (mut arguments, mut environment) = (Vec::new(), Vec::new());
        let folder = program.canonicalize().ok();
        let prefix = folder.as_deref().and_then(Path::parent).and_then(Path::parent);
        if let Some(prefix) = prefix.filter(|p| *p != Path::new("/usr") && p.join("share/qemu").is_dir()) {
            for files in ["share/seabios", "share/qemu", "lib/ipxe/qemu"] {
                arguments.extend(["-L".into(), prefix.join(files).into_os_string()]);
            }
            environment.push(("QEMU_MODULE_DIR".into(), prefix.join("lib/x86_64-linux-gnu/qemu").into()));
        }
        let mut asked = Command::new(program);
        asked.arg("--version").envs(environment.iter().cloned());
        let told =
            Program::start(&mut asked, Given::default()).and_then(|program| program.ends_within(ASKED));
        let told = told.map_err(|e| lacking(e.to_string()))?;
        let version =
            told.said.split("QEMU emulator version ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let Some(version) = version.filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        else {
            let why = told.complained.lines().next().unwrap_or("it tells no version");
            return Err(lacking(format!("{}: {why}", told.status)));
        };
        Ok(Qemu { program: program.into(), arguments, environment, version: version.into() })
    }

    /// The first number of its version; 0 if it has none.
    pub fn major(&self) -> u32 {
        self.number().first().copied().unwrap_or(0)
    }

    fn number(&self) -> Vec<u32> {
        self.version.split('.').map_while(|part| part.parse().ok()).collect()
    }

    /// A program that comes with QEMU, such as `qemu-img`: the one beside it, else that of `PATH`.
    ///
    /// # Errors
    /// [`Missing`] where there is none.
    pub fn tool(&self, name: &str) -> Result<PathBuf, Missing> {
        let beside = self.program.parent().map(|folder| folder.join(name)).filter(|path| path.is_file());
        beside.map_or_else(|| program(name, "qemu-utils"), Ok)
    }
}

impl Kernel {
    /// The files of these modules and of what they need, in an order in which they can be loaded. Those that are built
    /// into the kernel are left out.
    ///
    /// # Errors
    /// [`Missing`] with the name of the first that is not there.
    pub fn modules_for(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, Missing> {
        Modules::read(&self.modules)?.in_load_order(wanted)
    }
}

/// A program of `PATH`, or of the folders where Debian keeps what only root would use as a rule.
///
/// # Errors
/// [`Missing`] with the name of the package that has it.
pub(super) fn program(name: &str, package: &str) -> Result<PathBuf, Missing> {
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    in_path(&path, name)
        .ok_or_else(|| Missing::new(name, "it is not in PATH", format!("install {package} ({SET_UP})")))
}

fn in_path(path: &OsStr, program: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The image in a folder that has one.
fn only_image(folder: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")))
}

/// The release that a bzImage says it is, in the text that its field `kernel_version` points to (the kernel's
/// Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header").
fn release_of(image: &Path) -> Option<String> {
    const MAGIC: usize = 0x202;
    const KERNEL_VERSION: usize = 0x20e;
    const LARGEST_SETUP: u64 = 64 * 512;
    let mut setup = Vec::new();
    File::open(image).ok()?.take(LARGEST_SETUP).read_to_end(&mut setup).ok()?;
    if setup.get(MAGIC..MAGIC + 4)? != b"HdrS" {
        return None;
    }
    let field = setup.get(KERNEL_VERSION..KERNEL_VERSION + 2)?;
    let at = 0x200 + usize::from(u16::from_le_bytes([field[0], field[1]]));
    let text = setup.get(at..)?.split(|byte| *byte == 0 || *byte == b' ').next()?;
    let release = std::str::from_utf8(text).ok()?;
    let fit = |c: char| c.is_ascii_alphanumeric() || "+-._~".contains(c);
    (!release.is_empty() && !release.starts_with('.') && release.chars().all(fit)).then(|| release.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A folder with things in it, and places that lead into it only.
    struct Machine {
        folder: tempfile::TempDir,
        places: Places,
    }

    impl Machine {
        fn new() -> Machine {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let places = Places {
                qemu: None,
                kernel: None,
                modules: None,
                data: Some(at("data")),
                path: Some(at("bin").into()),
                root: at("root"),
                release: "6.6.6".into(),
            };
            Machine { folder, places }
        }

        fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            path
        }

        /// A program. Another process writes it: a process that another test starts meanwhile could inherit it open
        /// for writing, and the kernel does not run such a file.
        fn program(&self, name: &str, script: &str) -> PathBuf {
            let source = self.write("script", format!("#!/bin/sh\n{script}\n"));
            let path = self.write(name, "");
            fs::remove_file(&path).unwrap();
            fs::set_permissions(&source, fs::Permissions::from_mode(0o755)).unwrap();
            assert!(Command::new("cp").arg(&source).arg(&path).status().unwrap().success());
            path
        }

        fn qemu(&self, name: &str, version: &str) -> PathBuf {
            self.program(name, &format!("echo 'QEMU emulator version {version} (Somebody 1:{version})'"))
        }

        fn kernel(&self, root: &str, release: &str) -> PathBuf {
            self.write(&format!("{root}/lib/modules/{release}/modules.dep"), "");
            self.write(&format!("{root}/boot/vmlinuz-{release}"), image(release))
        }
    }

    fn image(release: &str) -> Vec<u8> {
        let mut image = vec![0; 0x300];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image.extend(format!("{release} (somebody@somewhere) #1\0").bytes());
        image
    }

    #[test]
    fn the_newer_qemu_is_taken_and_told_where_its_files_are() {
        let machine = Machine::new();
        let systems = machine.qemu("bin/qemu-system-x86_64", "9.2.1");
        assert_eq!(machine.places.find_qemu().unwrap().program, systems);

        machine.qemu("data/qemu/usr/bin/qemu-system-x86_64", "10.0.2");
        machine.write("data/qemu/usr/share/qemu/pvh.bin", "");
        let found = machine.places.find_qemu().unwrap();
        assert_eq!((found.version.as_str(), found.major()), ("10.0.2", 10), "9 is before 10");
        let usr = machine.folder.path().canonicalize().unwrap().join("data/qemu/usr");
        assert_eq!(found.arguments[..2], ["-L".into(), usr.join("share/seabios").into_os_string()]);
        assert_eq!(found.environment[0].1, usr.join("lib/x86_64-linux-gnu/qemu").into_os_string());

        let newer = machine.qemu("bin/qemu-system-x86_64", "11.0.0");
        let found = machine.places.find_qemu().unwrap();
        assert_eq!((found.program, found.arguments.len()), (newer, 0));
    }

    #[test]
    fn a_named_qemu_is_taken_whatever_else_there_is() {
        let mut machine = Machine::new();
        machine.qemu("bin/qemu-system-x86_64", "9.2.1");
        machine.places.qemu = Some(machine.qemu("mine", "7.2.0"));
        assert_eq!(machine.places.find_qemu().unwrap().version, "7.2.0");
        machine.places.qemu = Some(machine.program("mine", "echo 'cannot load libfoo' >&2; exit 127"));
        let missing = machine.places.find_qemu().unwrap_err();
        assert!(missing.reason.contains("libfoo"), "{missing}");
        machine.places.qemu = Some("/nowhere/qemu".into());
        assert!(machine.places.find_qemu().unwrap_err().what.contains("/nowhere/qemu"));
    }

    #[test]
    fn a_private_qemu_that_does_not_start_is_passed_over() {
        let machine = Machine::new();
        let systems = machine.qemu("bin/qemu-system-x86_64", "7.2.1");
        machine.program("data/qemu/usr/bin/qemu-system-x86_64", "exit 127");
        assert_eq!(machine.places.find_qemu().unwrap().program, systems);
    }

    #[test]
    fn without_anything_the_remedy_is_told() {
        let machine = Machine::new();
        assert!(machine.places.find_qemu().unwrap_err().remedy.contains("qemu-system-x86"));
        let missing = machine.places.find_kernel().unwrap_err();
        assert!(missing.reason.contains("vmlinuz-6.6.6") && missing.remedy.contains(SET_UP), "{missing}");
    }

    #[test]
    fn kernels_are_taken_in_the_order_that_is_documented() {
        let mut machine = Machine::new();
        machine.kernel("root", "6.6.6");
        let found = machine.places.find_kernel().unwrap();
        assert_eq!(
            (found.release.as_str(), &found.modules),
            ("6.6.6", &machine.places.root.join("lib/modules/6.6.6"))
        );

        machine.kernel("data/kernel", "6.1.0-56-amd64");
        assert_eq!(machine.places.find_kernel().unwrap().release, "6.1.0-56-amd64");

        machine.places.kernel = Some(machine.kernel("mine", "7.0.0+x"));
        let found = machine.places.find_kernel().unwrap();
        assert_eq!(found.modules, machine.folder.path().join("mine/lib/modules/7.0.0+x"));

        machine.write("elsewhere/modules.dep", "");
        machine.places.modules = Some(machine.folder.path().join("elsewhere"));
        assert_eq!(machine.places.find_kernel().unwrap().modules, machine.folder.path().join("elsewhere"));
    }

    #[test]
    fn a_kernel_that_cannot_be_used_is_named() {
        let mut machine = Machine::new();
        machine.places.kernel = Some(machine.write("boot/bare", image("5.0.0")));
        assert!(machine.places.find_kernel().unwrap_err().reason.contains("lib/modules/5.0.0"));
        for (number, content) in
            [&b"no kernel"[..], &image("../../etc"), &image("")[..0x280], &image("")].iter().enumerate()
        {
            machine.places.kernel = Some(machine.write(&format!("boot/{number}"), content));
            let missing = machine.places.find_kernel().unwrap_err();
            assert!(missing.reason.contains("no kernel's image"), "{missing}");
        }
        machine.places.kernel = Some("/nowhere".into());
        assert!(machine.places.find_kernel().unwrap_err().reason.starts_with("TOLLWAY_KERNEL=/nowhere"));
    }

    /// All that guests may be given, with the kernel that is here.
    #[test]
    fn the_kernel_that_is_here_has_what_guests_load() {
        let found = match find() {
            Ok(found) => found,
            Err(missing) => {
                tollway_host::requirement::skip_test(&["qemu", "qemu8"], &missing);
                return;
            }
        };
        assert!(found.qemu.major() >= 4, "{:?}", found.qemu);
        found.qemu.tool("qemu-img").unwrap();
        let wanted = [
            "virtio_pci",
            "virtio_console",
            "virtio_blk",
            "ext4",
            "virtio_net",
            "virtio_rng",
            "virtio_crypto",
        ];
        let files = found.kernel.modules_for(&wanted).unwrap();
        for file in &files {
            let (name, content) = super::super::modules::content(file).unwrap();
            assert!(name.ends_with(".ko") && content.starts_with(b"\x7fELF"), "{}", file.display());
        }
    }
}
