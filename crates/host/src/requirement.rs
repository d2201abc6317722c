//! Whether this machine has what a variant requires: every answer is a probe, not a guess from a version.

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tollway_core::{CpuFeature, Missing, Requirement};

use crate::af_alg::AfAlg;
use crate::clock::{Invariance, RunClock};
use crate::cpu::allowed_cpus;
use crate::features::{Features, Virtualisation};
use crate::found::{Found, line};
use crate::kvm;
use crate::network;
use crate::scratch::{self, FOLDER};

/// The counter itself, and that this run counts by it.
fn invariant_tsc() -> Result<(), Missing> {
    if RunClock::chosen() == RunClock::Tsc {
        return Ok(());
    }
    Invariance::read().usable()?;
    Err(Missing::new(
        "the time-stamp counter as the run's clock",
        "TOLLWAY_CLOCK asks for the kernel's clock",
        "unset TOLLWAY_CLOCK",
    ))
}

/// Probes one requirement.
///
/// # Errors
/// [`Missing`] with what was tried and what would provide it.
pub fn check(requirement: &Requirement) -> Result<(), Missing> {
    match requirement {
        Requirement::InvariantTsc => invariant_tsc(),
        Requirement::Cores(count) => cores(*count),
        Requirement::Cpu(feature) => cpu(*feature),
        Requirement::InsideVm => inside_vm(),
        Requirement::Kvm => kvm::probe().map(drop),
        Requirement::HardwareKvm => hardware_kvm(),
        Requirement::LinuxGuest => Err(Missing::new(
            "Linux guests",
            "an actor cannot start them",
            "name them in the plan: the coordinator does",
        )),
        Requirement::IoUring => io_uring(),
        Requirement::PosixQueues => posix_queues(),
        Requirement::Loopback => loopback(),
        Requirement::DirectIo => direct_io(&scratch::folder()),
        Requirement::NetworkNamespaces => network::namespaces(),
        Requirement::PacketSockets => network::packet_sockets(),
        Requirement::AfXdp => network::af_xdp(),
        Requirement::HwRng => hw_rng(),
        Requirement::AfAlg => AfAlg::check(),
        Requirement::Program(name, package) => program(name, package).map(drop),
    }
}

/// The environment variable that names what tests must not skip, by words between blanks or commas.
const DEMANDED: &str = "TOLLWAY_REQUIRE";

/// Says that a test does nothing for want of `missing`.
///
/// # Panics
/// If `TOLLWAY_REQUIRE` names one of `words`: there what is missing is a failure.
pub fn skip_test(words: &[&str], missing: &dyn std::fmt::Display) {
    let demanded = std::env::var(DEMANDED).unwrap_or_default();
    let word = demanded.split([',', ' ']).find(|word| words.contains(word));
    assert!(word.is_none(), "{DEMANDED} names {}: {missing}", word.unwrap_or_default());
    println!("skipped: {missing}");
}

/// Whether this machine has all that a test needs, each with its word for `TOLLWAY_REQUIRE`; of the first that it has not it is said
/// why the test does nothing.
///
/// # Panics
/// As [`skip_test`].
pub fn test_has(needs: &[(Requirement, &str)]) -> bool {
    let lacking = needs.iter().find_map(|(need, word)| check(need).err().map(|missing| (word, missing)));
    if let Some((word, missing)) = &lacking {
        skip_test(&[word], missing);
    }
    lacking.is_none()
}

/// A program of `PATH`.
///
/// # Errors
/// [`Missing`] with the Debian package that has it.
pub fn program(name: &str, package: &str) -> Found<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places
        .find(|place| place.is_file())
        .ok_or_else(|| Missing::new(name, "it is not in PATH", format!("apt-get install {package}")))
}

/// A read alone would not tell: without a generator it waits for one, or fails, as the kernel's version has it.
fn hw_rng() -> Found<()> {
    const DEVICE: &str = "/dev/hwrng";
    const CURRENT: &str = "/sys/devices/virtual/misc/hw_random/rng_current";
    let missing = |reason: String, remedy: &str| Err(Missing::new(DEVICE, reason, remedy));
    match std::fs::read_to_string(CURRENT) {
        Ok(current) if current.trim() != "none" => {}
        Ok(_) => return missing("there is no generator behind it".into(), "a TPM, or QEMU's virtio-rng-pci"),
        Err(error) => {
            return missing(format!("{CURRENT}: {error}"), "a kernel with hw_random (modprobe rng-core)");
        }
    }
    match std::fs::File::open(DEVICE) {
        Ok(_) => Ok(()),
        Err(error) => missing(error.to_string(), "run as root, or have the device's group read it"),
    }
}

fn hardware_kvm() -> Found<()> {
    match kvm::probe()? {
        kind if kind.is_hardware() => Ok(()),
        _ => Err(Missing::new(
            "ring 0 of a micro-guest",
            "this KVM is software, which emulates ring 0 instruction by instruction",
            "run it on a host with VMX or SVM, or where nested virtualisation is switched on",
        )),
    }
}

fn cores(count: u32) -> Found<()> {
    let what = format!("{count} processors");
    let allowed =
        allowed_cpus().map_err(|e| Missing::new(&*what, e.to_string(), "allow sched_getaffinity"))?.len();
    if allowed >= count as usize {
        return Ok(());
    }
    let reason = format!("this process may run on {allowed}");
    Err(Missing::new(what, reason, "allow it more processors (taskset, cpuset, the machine's size)"))
}

fn cpu(feature: CpuFeature) -> Found<()> {
    let features = Features::read();
    if features.has(feature) {
        return Ok(());
    }
    let remedy = match feature {
        CpuFeature::UserInterrupts => {
            "run on Intel Sapphire Rapids or later hardware with a kernel that enables it"
        }
        _ if features.hypervisor_bit => {
            "have the hypervisor show it (QEMU: -cpu host), or run on hardware that has it"
        }
        _ => "run on a processor that has it",
    };
    Err(Missing::new(format!("processor feature {}", feature.name()), "CPUID does not show it", remedy))
}

fn inside_vm() -> Found<()> {
    match Features::read().virtualisation() {
        Virtualisation::None => Err(Missing::new(
            "a virtual machine around this one",
            "CPUID shows no hypervisor",
            "run inside a virtual machine: on bare hardware there is no such exit to pay",
        )),
        _ => Ok(()),
    }
}

fn io_uring() -> Found<()> {
    // struct io_uring_params: 120 bytes, of which zeroes are valid input.
    let mut params = [0u64; 15];
    // SAFETY: the kernel reads and writes 120 bytes, which `params` owns.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 2u32, params.as_mut_ptr()) };
    if ring >= 0 {
        // SAFETY: a descriptor that was just made and that nobody else owns.
        drop(unsafe { OwnedFd::from_raw_fd(ring as i32) });
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let disabled = line("/proc/sys/kernel/io_uring_disabled");
    let (reason, remedy) = match (error.raw_os_error(), disabled.as_deref()) {
        (Some(libc::ENOSYS), _) => ("the kernel has none", "use Linux 5.1 or later with CONFIG_IO_URING"),
        (Some(libc::EPERM), Some("1" | "2")) => {
            ("the setting io_uring_disabled forbids it", "as root: sysctl kernel.io_uring_disabled=0")
        }
        (Some(libc::EPERM), _) => {
            ("a sandbox's filter forbids it", "allow io_uring_setup, io_uring_enter, io_uring_register in it")
        }
        (Some(libc::ENOMEM), _) => {
            ("too little memory may be locked", "raise the limit: ulimit -l unlimited")
        }
        _ => ("io_uring_setup failed", "see io_uring_setup(2) for this error"),
    };
    Err(Missing::new("io_uring", format!("{reason}: {error}"), remedy))
}

fn posix_queues() -> Found<()> {
    let name = unique("/tollway-probe");
    let name = CString::new(name).expect("a name without zero bytes");
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: all-zero is a valid mq_attr.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    (attributes.mq_maxmsg, attributes.mq_msgsize) = (1, 8);
    // SAFETY: `name` ends with a zero byte; with O_CREAT a mode and a pointer to a live mq_attr follow.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600 as libc::c_uint, &raw mut attributes) };
    let error = io::Error::last_os_error();
    if queue >= 0 {
        // SAFETY: the queue and the name that were just made.
        unsafe {
            libc::mq_close(queue);
            libc::mq_unlink(name.as_ptr());
        }
        return Ok(());
    }
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::ENOSYS) => ("the kernel has none", "use a kernel with CONFIG_POSIX_MQUEUE"),
        Some(libc::EMFILE | libc::ENOSPC | libc::ENOMEM) => {
            ("a limit is reached", "raise it: ulimit -q unlimited, sysctl fs.mqueue.queues_max")
        }
        Some(libc::EACCES | libc::EPERM) => ("not allowed", "allow mq_open in the sandbox's filter"),
        _ => ("mq_open failed", "see mq_open(3) for this error"),
    };
    Err(Missing::new("POSIX message queues", format!("{reason}: {error}"), remedy))
}

fn loopback() -> Found<()> {
    let there_and_back = || -> io::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let mut out = TcpStream::connect(listener.local_addr()?)?;
        let (mut into, _) = listener.accept()?;
        out.write_all(b"x")?;
        into.read_exact(&mut [0; 1])
    };
    there_and_back().map_err(|error| {
        Missing::new(
            "loopback networking",
            format!("TCP over 127.0.0.1 failed: {error}"),
            "as root: ip link set lo up (in this network namespace)",
        )
    })
}

/// Memory aligned for O_DIRECT on any disk in use.
#[repr(align(4096))]
struct Block([u8; 4096]);

/// Whether files in a folder can be written and read with O_DIRECT: writes a block of 4 KiB and reads it back. The
/// file has no name and is gone afterwards.
///
/// # Errors
/// [`Missing`] if the folder or its file system refuses.
pub fn direct_io(folder: &Path) -> Result<(), Missing> {
    const WHAT: &str = "direct input and output (O_DIRECT)";
    let disk = || format!("set {FOLDER} to a folder on a disk's file system (ext4, xfs)");
    if scratch::in_memory(folder) {
        // tmpfs takes O_DIRECT since Linux 6.6, and ignores it; an overlay hands it on to its upper layer.
        let reason = format!("{}: what is written there stays in memory, not on a disk", folder.display());
        return Err(Missing::new(WHAT, reason, disk()));
    }
    let missing = |error: io::Error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EINVAL | libc::EOPNOTSUPP) => disk(),
            Some(libc::ENOENT | libc::EACCES | libc::EROFS | libc::EPERM) => {
                format!("set {FOLDER} to a folder that exists and may be written to")
            }
            Some(libc::ENOSPC | libc::EDQUOT) => "free some room on that file system".into(),
            _ => format!("set {FOLDER} to another folder"),
        };
        Missing::new(WHAT, format!("{}: {error}", folder.display()), remedy)
    };
    let mut block = Box::new(Block([0x5a; 4096]));
    let mut direct = || -> io::Result<()> {
        let file = scratch::nameless(folder, OFlags::DIRECT)?;
        if rustix::io::pwrite(&file, &block.0, 0)? != block.0.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        block.0.fill(0);
        let read = rustix::io::pread(&file, &mut block.0, 0)?;
        if read != block.0.len() || block.0.iter().any(|b| *b != 0x5a) {
            return Err(io::Error::other("a block that was written reads back differently"));
        }
        Ok(())
    };
    direct().map_err(missing)
}

/// A name that neither another process nor another thread of this one uses.
fn unique(prefix: &str) -> String {
    let thread = rustix::thread::gettid().as_raw_nonzero();
    format!("{prefix}-{}-{thread}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_met_or_says_what_would_help() {
        let all = [
            Requirement::InvariantTsc,
            Requirement::Cores(1),
            Requirement::Cpu(CpuFeature::Rdrand),
            Requirement::Cpu(CpuFeature::UserInterrupts),
            Requirement::InsideVm,
            Requirement::Kvm,
            Requirement::HardwareKvm,
            Requirement::LinuxGuest,
            Requirement::IoUring,
            Requirement::PosixQueues,
            Requirement::Loopback,
            Requirement::DirectIo,
            Requirement::NetworkNamespaces,
            Requirement::PacketSockets,
            Requirement::AfXdp,
            Requirement::HwRng,
            Requirement::AfAlg,
        ];
        for requirement in all {
            match check(&requirement) {
                Ok(()) => println!("{requirement:?}: met"),
                Err(missing) => {
                    println!("{missing}");
                    assert!(!missing.reason.is_empty() && missing.remedy.len() > 8, "{missing:?}");
                }
            }
        }
    }

    #[test]
    fn nobody_has_a_million_cores() {
        assert_eq!(check(&Requirement::Cores(1)), Ok(()));
        assert!(check(&Requirement::Cores(1_000_000)).unwrap_err().what.contains("1000000"));
    }

    #[test]
    fn a_folder_that_cannot_do_direct_io_is_named_and_left_clean() {
        let missing = direct_io(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(missing.reason.contains("/nowhere/at/all") && missing.remedy.contains(FOLDER), "{missing}");
        assert!(direct_io(Path::new("/dev/shm")).is_err());
        let folder = tempfile::tempdir().unwrap();
        let _ = direct_io(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn probes_leave_no_descriptor_open() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let all = || {
            for r in [
                Requirement::Kvm,
                Requirement::IoUring,
                Requirement::PosixQueues,
                Requirement::DirectIo,
                Requirement::NetworkNamespaces,
                Requirement::PacketSockets,
                Requirement::AfXdp,
            ] {
                let _ = check(&r);
            }
        };
        all();
        // Other tests of this process open and close descriptors at the same time: one hundred leaks are more.
        let before = open();
        (0..34).for_each(|_| all());
        assert!(open() < before + 30, "{before} before, {} after", open());
    }
}
