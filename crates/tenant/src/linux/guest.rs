//! A Linux guest from start to end.

use std::fmt;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use tollway_core::{Accelerator, Error, GuestSpec, Result};
use tollway_host::clock::{self, RunClock};
use tollway_host::samplers::thread_time;

use super::boot::{Boot, in_memory};
use super::command_line::{MODULES, Shape};
use super::console::Console;
use super::device::Devices;
use super::huge_pages;
use super::machine::Machine;
use super::{initramfs, keeper};
use crate::Agent;
use crate::micro::{self, KvmKind};

/// How long a guest may take to hand over a fresh agent process.
const AGENT: Duration = Duration::from_secs(30);

/// How long the threads of a guest that is laid to rest are waited for.
const STOPPED: Duration = Duration::from_secs(30);

/// What a guest is.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestOptions {
    /// Its memory and devices.
    pub spec: GuestSpec,
    /// How many virtual processors it has.
    pub vcpus: u32,
    /// How many agent processes it has.
    pub agents: usize,
    /// What runs its instructions; the choice of [`Boot`] where that is `None`.
    pub accelerator: Option<Accelerator>,
    /// Environment variables of its agents. They travel on the kernel's command line: no blanks, and no dot in a name.
    pub environment: Vec<(String, String)>,
}

impl Default for GuestOptions {
    /// A processor, an agent, no devices.
    fn default() -> Self {
        GuestOptions {
            spec: GuestSpec::default(),
            vcpus: 1,
            agents: 1,
            accelerator: None,
            environment: Vec::new(),
        }
    }
}

/// Processor time that the host gave a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// All of QEMU's threads.
    pub whole: Duration,
    /// Each virtual processor's thread, in their order.
    pub vcpus: Vec<Duration>,
}

/// A running Linux guest. Dropping it kills it and waits for its end.
pub struct LinuxGuest {
    machine: Arc<Machine>,
    accelerator: Accelerator,
    begun: Instant,
    boot_time: Option<Duration>,
}

impl fmt::Debug for LinuxGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinuxGuest")
            .field("accelerator", &self.accelerator)
            .field("boot_time", &self.boot_time)
            .finish_non_exhaustive()
    }
}

impl LinuxGuest {
    /// Starts a guest and returns at once, so that many boot at the same time.
    ///
    /// # Errors
    /// [`Error::Missing`] where a module or device is not to be had, [`Error::System`] where QEMU cannot be started.
    /// That it does not like its arguments is told by [`LinuxGuest::booted`].
    pub fn start(boot: &Boot, options: &GuestOptions) -> Result<LinuxGuest> {
        static STARTED: AtomicU32 = AtomicU32::new(1);
        let begun = Instant::now();
        let system = |e: std::io::Error| Error::system("starting a Linux guest", e);
        let devices = Devices::prepare(&boot.found().qemu, &options.spec.devices)?;
        let wanted: Vec<&str> = MODULES.iter().copied().chain(devices.modules.iter().copied()).collect();
        let modules = boot.found().kernel.modules_for(&wanted).map_err(Error::Missing)?;
        let initramfs = in_memory("initramfs", &initramfs::make(boot.agent(), &modules)?)?;
        let (console, said) = UnixStream::pair().map_err(system)?;
        let (lifeline, end_of_lifeline) = UnixStream::pair().map_err(system)?;
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..options.agents {
            let (our, their) = UnixStream::pair().map_err(system)?;
            ours.push(our);
            theirs.push(their);
        }
        let ports: Vec<RawFd> = theirs.iter().map(AsRawFd::as_raw_fd).collect();
        let accelerator = options.accelerator.unwrap_or(boot.choice().accelerator);
        let software = || micro::check().is_ok_and(|kvm| kvm.kind == KvmKind::Software);
        let shape = Shape {
            accelerator,
            software_kvm: accelerator == Accelerator::Kvm && software(),
            vcpus: options.vcpus,
            memory_mib: options.spec.memory_mib,
            pooled: options.spec.huge_pages && huge_pages::free_mib() >= u64::from(options.spec.memory_mib),
            checked: options.spec.checked_memory,
            devices: &devices,
            settings: &settings(&options.environment)?,
            kernel: boot.kernel().as_raw_fd(),
            initramfs: initramfs.as_raw_fd(),
            console: said.as_raw_fd(),
            lifeline: end_of_lifeline.as_raw_fd(),
            ports: &ports,
        };
        let qemu = &boot.found().qemu;
        let mut command = Command::new(&qemu.program);
        command.args(&qemu.arguments).args(shape.arguments());
        command.envs(qemu.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(OwnedFd::from(said.try_clone().map_err(system)?));
        let always = [shape.kernel, shape.initramfs, shape.console, shape.lifeline];
        let inherited = always.into_iter().chain(ports.clone());
        let inherited = inherited.chain(devices.inherited());
        let process = keeper::start(command, inherited.collect())
            .map_err(|e| Error::system(format!("starting {}", qemu.program.display()), e))?;
        let name = format!("Linux guest {}", STARTED.fetch_add(1, Ordering::Relaxed));
        let console = Console::new(console).map_err(system)?;
        let machine = Machine::new(name, process, console, lifeline, ours);
        Ok(LinuxGuest { machine: Arc::new(machine), accelerator, begun, boot_time: None })
    }

    /// Waits until all of its agents have said hello.
    ///
    /// # Errors
    /// [`Error::Tenant`] where that is not so before the deadline, with the last lines of its console; it is killed
    /// then.
    pub fn booted(&mut self, deadline: Instant) -> Result<()> {
        self.machine.wait_for_hellos(deadline)?;
        self.boot_time.get_or_insert_with(|| self.begun.elapsed());
        Ok(())
    }

    /// How long it took from [`LinuxGuest::start`] until [`LinuxGuest::booted`] found it booted.
    pub fn boot_time(&self) -> Option<Duration> {
        self.boot_time
    }

    /// What runs its instructions.
    pub fn accelerator(&self) -> Accelerator {
        self.accelerator
    }

    /// A fresh agent process of that number, below [`GuestOptions::agents`]. Once it is dropped the guest replaces it.
    ///
    /// # Errors
    /// [`Error::Tenant`] where it is in use, or where the guest does not hand one over; it is killed then.
    pub fn agent(&self, number: usize) -> Result<Agent> {
        self.machine.agent(number, Instant::now() + AGENT)
    }

    /// How many agents it has.
    pub fn agents(&self) -> usize {
        self.machine.ports()
    }

    /// Whether QEMU has ended, for whatever reason, or was killed because of what the guest did.
    pub fn has_ended(&self) -> bool {
        self.machine.is_lost()
    }

    /// QEMU's process.
    pub fn process(&self) -> u32 {
        self.machine.pid()
    }

    /// Lays it to rest: it uses no processor until [`LinuxGuest::wake`].
    ///
    /// # Errors
    /// [`Error::Tenant`] where it has ended.
    pub fn park(&mut self) -> Result<()> {
        self.machine.signal(Signal::STOP)?;
        // Each thread stops by itself, a moment later.
        let give_up = Instant::now() + STOPPED;
        while !all_stopped(self.process()) && Instant::now() < give_up {
            sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Wakes it. Its clock has to be learnt again ([`Agent::synchronise`]).
    ///
    /// # Errors
    /// [`Error::Tenant`] where it has ended.
    pub fn wake(&mut self) -> Result<()> {
        self.machine.clock().forget();
        self.machine.signal(Signal::CONT)
    }

    /// Lets a virtual processor run on one of the host's only.
    ///
    /// # Errors
    /// [`Error::System`] where it has no such thread, or the host forbids it.
    pub fn pin(&self, vcpu: u32, cpu: u32) -> Result<()> {
        let doing = || format!("pinning virtual processor {vcpu} to processor {cpu}");
        let threads = vcpu_threads(self.process());
        let thread = threads
            .get(vcpu as usize)
            .and_then(|thread| Pid::from_raw(thread.cast_signed()))
            .ok_or_else(|| Error::system(doing(), format!("QEMU has {} such threads", threads.len())))?;
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(Error::system(doing(), "there is no such processor"));
        }
        let mut set = CpuSet::new();
        set.set(cpu as usize);
        sched_setaffinity(Some(thread), &set).map_err(|e| Error::system(doing(), e))
    }

    /// Processor time that it has been given so far.
    ///
    /// # Errors
    /// [`Error::Missing`] where it has ended.
    pub fn cpu_time(&self) -> Result<CpuTime> {
        let pid = self.process();
        let vcpus = vcpu_threads(pid).into_iter().map(|thread| thread_time(pid, thread)).collect();
        let whole = thread_time::process_of(pid.cast_signed()).map_err(Error::Missing)?;
        Ok(CpuTime { whole, vcpus })
    }

    /// Has it power off, and kills it if it does not in that time.
    ///
    /// # Errors
    /// [`Error::Tenant`] where it had to be killed, or ended otherwise than by powering off.
    pub fn stop(self, patience: Duration) -> Result<()> {
        self.machine.hang_up();
        if !self.machine.wait(patience) {
            return Err(self
                .machine
                .error(format!("it did not power off within {patience:?} and was killed")));
        }
        match self.machine.ended() {
            Some(status) if !status.ends_with("exit status: 0") => {
                Err(self.machine.error(format!("it ended ({status})")))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for LinuxGuest {
    fn drop(&mut self) {
        self.machine.end();
    }
}

/// What the kernel's command line says for the first program and its agents.
fn settings(environment: &[(String, String)]) -> Result<Vec<String>> {
    let clock = RunClock::chosen();
    let mut words = vec![format!("TOLLWAY_CLOCK={}", clock.name())];
    if clock == RunClock::Tsc {
        // The counter is the host's, so its rate need not be measured, and is the host's exactly.
        words.push(format!("tsc_early_khz={:.0}", clock::hz()? / 1e3));
    }
    for (name, value) in environment {
        let unfit = |text: &str| text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '"');
        if name.is_empty() || name.contains(['.', '=']) || unfit(name) || unfit(value) {
            return Err(Error::Input {
                place: format!("environment of a guest: {name}={value}"),
                reason: "a kernel's command line cannot carry it".into(),
                remedy: "use no blanks and quotes, and no dot in the name".into(),
            });
        }
        words.push(format!("{name}={value}"));
    }
    Ok(words)
}

/// Whether every thread of a process is stopped by a signal (proc(5), `stat`: state T).
fn all_stopped(pid: u32) -> bool {
    let Ok(mut tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    tasks.all(|task| {
        let stat = task.and_then(|task| fs::read_to_string(task.path().join("stat"))).unwrap_or_default();
        stat.is_empty() || stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

/// The threads of the virtual processors, in their order, by the names that QEMU gives them: `CPU 0/TCG`, `CPU 0/KVM`.
fn vcpu_threads(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut threads: Vec<(u32, u32)> = tasks
        .flatten()
        .filter_map(|task| {
            let name = fs::read_to_string(task.path().join("comm")).ok()?;
            let number = name.strip_prefix("CPU ")?.split('/').next()?.parse().ok()?;
            Some((number, task.file_name().to_str()?.parse().ok()?))
        })
        .collect();
    threads.sort_unstable();
    threads.into_iter().map(|(_, thread)| thread).collect()
}

/// Time on a processor: the first number of a thread's schedstat, in nanoseconds (the kernel's
/// Documentation/scheduler/sched-stats.rst).
fn thread_time(pid: u32, thread: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
    Duration::from_nanos(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_line_cannot_carry_is_refused() {
        let with = |name: &str, value: &str| settings(&[(name.into(), value.into())]);
        assert!(with("TOLLWAY_X", "y=z").unwrap().contains(&"TOLLWAY_X=y=z".into()));
        for (name, value) in [("a.b", "x"), ("", "x"), ("A", "x y"), ("A", "\""), ("A=B", "x"), ("A", "x\n")]
        {
            assert!(with(name, value).unwrap_err().to_string().contains("no dot"), "{name:?} {value:?}");
        }
    }

    #[test]
    fn a_process_without_such_threads_has_none() {
        assert_eq!(vcpu_threads(std::process::id()), Vec::<u32>::new());
        assert_eq!(vcpu_threads(u32::MAX), Vec::<u32>::new());
    }

    #[test]
    fn a_threads_time_rises() {
        let (pid, thread) =
            (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
        let before = thread_time(pid, thread);
        let until = Instant::now() + Duration::from_millis(20);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        assert!(thread_time(pid, thread) > before);
    }
}
