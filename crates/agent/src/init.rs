//! The agent as the first program of a Linux guest: there is no other program in it.
//!
//! It makes the guest fit to work in (file systems, modules, loopback, limits), finds the ports of the virtio-serial
//! device by which the coordinator speaks, and keeps one agent process on each: when one ends, a fresh one is started.
//! When the coordinator's end of a port by which nothing is said closes, for whatever reason, the guest powers off at
//! once. Nobody but an agent looks at that agent's port: whoever polls one can take a message from under its reader,
//! which Linux's virtio_console then does not wake.
//!
//! Settings come by the kernel's command line: words `NAME=value` that the kernel does not know become the first
//! program's environment, and that of its agents. [`AGENTS`] is how many ports there are.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, WaitOptions, WaitStatus, pidfd_open, setrlimit, wait,
};
use rustix::system::{RebootCommand, finit_module, reboot};

use crate::serve::{BEFORE, PORT};
use crate::{disk, network};

/// The setting that says how many agents the coordinator wants.
pub const AGENTS: &str = "TOLLWAY_AGENTS";

/// The folder of the modules in the guest's first file system.
pub const MODULES: &str = "/modules";

/// The file in [`MODULES`] with the names of the modules' files, a line each, in the order in which they are loaded.
pub const ORDER: &str = "order";

/// A port's name is this and its number (`name=` of QEMU's virtserialport).
pub const PORT_NAME: &str = "tollway.";

/// The port by which nothing is said: the guest powers off when its other end closes.
pub const LIFELINE: &str = "tollway.lifeline";

/// How long the ports may take to appear.
const APPEAR: Duration = Duration::from_secs(10);

/// How often orphans are looked for: children of agents that ended.
const REAP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// An agent that fails is not replaced sooner than this after it began, so that a guest whose agents cannot start
/// keeps calm.
const SOON: Duration = Duration::from_millis(50);

/// The file systems, in the order in which they are mounted.
const MOUNTS: [(&str, &str); 5] =
    [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp"), ("tmpfs", "/dev/shm")];

/// Runs the guest until the coordinator is gone; then, and on any error, powers it off.
pub fn run() -> io::Result<()> {
    let served = prepare().and_then(|()| keep_agents());
    if let Err(error) = &served {
        eprintln!("tollway-agent: {error}; the guest powers off");
    }
    rustix::fs::sync();
    reboot(RebootCommand::PowerOff)?;
    served
}

fn prepare() -> io::Result<()> {
    for (kind, place) in MOUNTS {
        fs::create_dir_all(place).map_err(|e| with(place, e))?;
        match mount(kind, place, kind, MountFlags::empty(), None) {
            // Kernels with CONFIG_DEVTMPFS_MOUNT have done the first one already.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(error) => return Err(with(place, error.into())),
        }
    }
    for (resource, limit) in [
        (Resource::Memlock, None),
        (Resource::Msgqueue, None),
        (Resource::Rtprio, Some(99)),
        (Resource::Nofile, Some(65_536)),
        (Resource::Core, Some(0)),
    ] {
        setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
    }
    load_modules(Path::new(MODULES))?;
    network::up("lo").map_err(|e| with("bringing loopback up", e))?;
    network::configure().map_err(|e| with("networks", e))?;
    disk::mount_all().map_err(|e| with("disks", e))
}

fn load_modules(folder: &Path) -> io::Result<()> {
    let order = folder.join(ORDER);
    let names = match fs::read_to_string(&order) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read.map_err(|e| with(&order.display().to_string(), e))?,
    };
    for name in names.lines().filter(|name| !name.is_empty()) {
        let file = folder.join(name);
        let load = || -> io::Result<()> {
            match finit_module(File::open(&file)?, c"", 0) {
                // NODEV is of modules for hardware that is not there, such as a processor's instructions.
                Ok(()) | Err(Errno::EXIST | Errno::NODEV) => Ok(()),
                Err(error) => Err(error.into()),
            }
        };
        load().map_err(|e| with(&format!("module {}", file.display()), e))?;
    }
    Ok(())
}

/// A port of the coordinator and the agent process on it.
struct Port {
    number: usize,
    device: File,
    agent: Pid,
    /// Becomes readable when the agent ends.
    ends: OwnedFd,
    begun: Instant,
}

fn keep_agents() -> io::Result<()> {
    let wanted: usize = env::var(AGENTS).ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let program = env::current_exe()?;
    let deadline = Instant::now() + APPEAR;
    let lifeline = open_port(LIFELINE, deadline)?;
    let mut ports = Vec::new();
    for number in 0..wanted {
        let device = open_port(&format!("{PORT_NAME}{number}"), deadline)?;
        ports.push(Port::serve(number, device, &program, None)?);
    }
    loop {
        // Whether the lifeline hung up is told unasked.
        let mut waiting = vec![PollFd::new(&lifeline, PollFlags::empty())];
        waiting.extend(ports.iter().map(|port| PollFd::new(&port.ends, PollFlags::IN)));
        match poll(&mut waiting, Some(&REAP)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if waiting[0].revents().contains(PollFlags::HUP) {
            return Ok(());
        }
        while let Some((pid, status)) = ended()? {
            if let Some(at) = ports.iter().position(|port| port.agent == pid) {
                let port = ports.swap_remove(at);
                let before = misfortune(status);
                if before.is_some() {
                    sleep(SOON.saturating_sub(port.begun.elapsed()));
                }
                ports.push(Port::serve(port.number, port.device, &program, before)?);
            }
        }
    }
}

impl Port {
    fn serve(number: usize, device: File, program: &Path, before: Option<String>) -> io::Result<Port> {
        let mut command = Command::new(program);
        command.stdin(Stdio::from(device.try_clone()?)).stdout(Stdio::null()).process_group(0);
        command.env(PORT, number.to_string());
        if let Some(before) = before {
            command.env(BEFORE, before);
        }
        let child = command.spawn().map_err(|e| with(&format!("starting {}", program.display()), e))?;
        let agent = Pid::from_child(&child);
        Ok(Port {
            number,
            device,
            agent,
            ends: pidfd_open(agent, PidfdFlags::empty())?,
            begun: Instant::now(),
        })
    }
}

/// Waits until the port is there and its other end is connected.
fn open_port(name: &str, deadline: Instant) -> io::Result<File> {
    loop {
        if let Some(path) = port_device(name) {
            let device = File::options().read(true).write(true).open(&path).map_err(|e| with(name, e))?;
            while hung_up(&device)? && Instant::now() < deadline {
                sleep(Duration::from_millis(1));
            }
            return Ok(device);
        }
        if Instant::now() >= deadline {
            return Err(io::Error::other(format!("there is no virtio-serial port `{name}`")));
        }
        sleep(Duration::from_millis(1));
    }
}

/// The device file of the port of that name, as /sys has it.
fn port_device(name: &str) -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.flatten();
    let mut named =
        ports.filter(|p| fs::read_to_string(p.path().join("name")).is_ok_and(|n| n.trim() == name));
    named.next().map(|port| Path::new("/dev").join(port.file_name()))
}

/// Whether the coordinator's end is closed. Not to be asked while an agent reads from the port: Linux's virtio_console
/// looks for a message on behalf of whoever polls, and if it finds one just then the device need not interrupt, and
/// nobody wakes the reader.
fn hung_up(device: &File) -> io::Result<bool> {
    let mut one = [PollFd::new(device, PollFlags::empty())];
    poll(&mut one, Some(&Timespec::default()))?;
    Ok(one[0].revents().contains(PollFlags::HUP))
}

/// The next process that has ended, whoever's child it was.
fn ended() -> io::Result<Option<(Pid, WaitStatus)>> {
    match wait(WaitOptions::NOHANG) {
        Err(Errno::CHILD) => Ok(None),
        other => Ok(other?),
    }
}

/// How a process ended, unless in order.
fn misfortune(status: WaitStatus) -> Option<String> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit status: {code}")),
        (None, Some(signal)) => Some(format!("signal: {signal}")),
        (None, None) => Some("it ended".into()),
    }
}

fn with(doing: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{doing}: {error}"))
}
