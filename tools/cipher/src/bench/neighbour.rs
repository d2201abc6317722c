//! A card in a process of its own: this program, as `tollway cipher serve`.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use tollway_core::{Error, Result};

/// The process, which ends when this is dropped, and with the thread that started it.
pub(super) struct Neighbour {
    process: Child,
    socket: PathBuf,
}

/// How long it may take to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(2);

impl Neighbour {
    /// Starts one on that processor, with so many queues, that looks for requests for so long before it sleeps; it listens then.
    ///
    /// # Errors
    /// It cannot be started, or does not get as far.
    pub(super) fn start(program: &Path, cpu: u32, queues: usize, spin: Duration) -> Result<Neighbour> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let socket = std::env::temp_dir().join(format!("tollway-bench-{}-{number}.sock", std::process::id()));
        let mut command = Command::new(program);
        command.args(["cipher", "serve", "--function", &format!("bench={}", socket.display())]);
        command.args(["--queues", &queues.to_string(), "--spin", &format!("{}us", spin.as_micros())]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for who measures, who ends it then.
        command.process_group(0);
        let mut cpus = CpuSet::new();
        if (cpu as usize) < CpuSet::MAX_CPU {
            cpus.set(cpu as usize);
        }
        // SAFETY: between fork and exec there are two system calls, which allocate nothing and take no lock.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::TERM))?;
                Ok(sched_setaffinity(None, &cpus)?)
            });
        }
        let doing = || format!("starting a card by {} cipher serve", program.display());
        let process = command.spawn().map_err(|e| Error::system(doing(), e))?;
        let mut neighbour = Neighbour { process, socket };
        let mut ready = String::new();
        if let Some(out) = neighbour.process.stdout.take() {
            // An end without a line is told below.
            let _ = BufReader::new(out).read_line(&mut ready);
        }
        if ready.starts_with("ready") {
            return Ok(neighbour);
        }
        let mut said = String::new();
        if let Some(mut err) = neighbour.process.stderr.take() {
            let _ = neighbour.process.kill();
            let _ = err.read_to_string(&mut said);
        }
        Err(Error::system(doing(), said.lines().next().unwrap_or("it says nothing")))
    }

    /// Where it listens.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // One that has ended already cannot be told to.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let until = Instant::now() + PATIENCE;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.process.kill();
                let _ = self.process.wait();
                let _ = std::fs::remove_file(&self.socket);
                return;
            }
            sleep(Duration::from_millis(1));
        }
    }
}
