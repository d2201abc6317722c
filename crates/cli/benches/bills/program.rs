//! Programs that are started, with what they took, and their bills.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;

/// The program, a folder of its own, and the examples that are watched.
pub struct Bench {
    tollway: PathBuf,
    examples: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new(tollway: &str, examples: &str) -> Bench {
        let found = |path: &str| fs::canonicalize(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Bench { tollway: found(tollway), examples: found(examples), folder: tempfile::tempdir().unwrap() }
    }

    /// The words that start an example.
    pub fn example(&self, name: &str, arguments: &[&str]) -> Vec<String> {
        let program = self.examples.join(name).display().to_string();
        std::iter::once(program).chain(arguments.iter().map(ToString::to_string)).collect()
    }

    pub fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// `tollway` with a store and a price list of its own.
    pub fn tollway(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tollway);
        command.env("TOLLWAY_PRICES", self.file("prices"));
        command.current_dir(self.folder.path()).arg("--store").arg(self.file("bills.db")).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Has a price list, measured on its own.
    pub fn measure_prices(&self) {
        let is_there = fs::read_dir(self.file("prices")).is_ok_and(|mut files| files.next().is_some());
        if !is_there {
            let measured = self.tollway(&["measure", "crossings", "--preset", "calls"]).status();
            assert!(measured.is_ok_and(|ended| ended.success()), "no price list");
        }
    }

    /// The bill of a command.
    pub fn bill(&self, options: &[&str], command: &[String]) -> Value {
        let mut tollway = self.tollway(&["bill", "--json"]);
        tollway.args(options);
        if !command.is_empty() {
            tollway.arg("--").args(command);
        }
        let output = tollway.stdout(Stdio::piped()).output().expect("tollway is there");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{options:?} {command:?}: {e}"))
    }

    /// Watches a process until it is killed.
    pub fn watching(&self, options: &[&str], process: u32) -> Killed {
        let number = process.to_string();
        Killed(
            self.tollway(&[&["bill", "--pid", &number], options].concat()).spawn().expect("tollway is there"),
        )
    }
}

/// A program that ends with this.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Seconds of a command: that went by, and of processor time with its children's.
pub struct Took {
    pub elapsed: f64,
    pub processor: f64,
}

/// Starts a command, and waits for its end.
pub fn took(command: &[String]) -> Took {
    let before = children();
    let begun = Instant::now();
    let status =
        Command::new(&command[0]).args(&command[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    Took { elapsed: begun.elapsed().as_secs_f64(), processor: children() - before }
}

/// Processor time of the children that were waited for, in seconds.
fn children() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one such value.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: it is all numbers, and was zeroed.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The median, and the least and the greatest.
pub fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}
