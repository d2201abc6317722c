//! A command as a process: a test program that is started once more, to be the command. The programs that serve are tested so
//! (`tools/entropy`, `tools/cipher`): each has a test `program::is_the_command`, which reads [`ARGUMENTS`] as its command line.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::Value;

/// The variable that has the arguments, a line each.
const ARGUMENTS: &str = "TOLLWAY_TEST_ARGUMENTS";

/// Only a hang takes as long.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Is the command, if another test has started this one to be it: reads a command line as `name` does, and runs what it says.
pub fn be<Line: Parser, Ending>(name: &str, run: impl FnOnce(Line) -> anyhow::Result<Ending>) {
    let Ok(arguments) = env::var(ARGUMENTS) else { return };
    let line = Line::try_parse_from(std::iter::once(name).chain(arguments.split('\n')));
    let ended = match line {
        Ok(line) => run(line).map_err(|error| format!("{error:#}")),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = &ended {
        eprintln!("tollway: {error}");
    }
    std::process::exit(i32::from(ended.is_err()));
}

/// The command with these arguments.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "program::is_the_command", "--ignored", "--nocapture", "--quiet"]);
    command.env(ARGUMENTS, arguments.join("\n"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end: whether it ended well, and its lines on both outputs.
pub fn run(arguments: &[&str]) -> (bool, String, String) {
    let output = command(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// A server that runs; killed when dropped.
pub struct Serving {
    child: Child,
    /// Kept open: after a minute the test program says there that it still runs, and ends where nobody could read it.
    _out: BufReader<ChildStdout>,
    /// What it said when it was ready.
    pub ready: String,
}

impl Serving {
    /// Starts `serve`, and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Serving {
        let mut child = command(&[&["serve"], arguments].concat()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        while !ready.contains("ready") {
            ready.clear();
            if out.read_line(&mut ready).unwrap() == 0 {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("it ended: {said}");
            }
        }
        Serving { child, _out: out, ready }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end: whether it was a good one, and all that it said on standard error.
    pub fn end(mut self) -> (bool, String) {
        let ended = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).unwrap();
        let limit = Timespec::try_from(PATIENCE).unwrap();
        assert!(
            poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&limit)).unwrap() > 0,
            "it does not end"
        );
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.success(), said)
    }

    /// Has it end by a signal, as it should; all that it said on standard error.
    pub fn ends_well(self, signal: Signal) -> String {
        self.signal(signal);
        let (good, said) = self.end();
        assert!(good, "{said}");
        said
    }

    /// Waits for its end: whether it left a core.
    pub fn left_a_core(mut self) -> bool {
        self.child.wait().unwrap().core_dumped()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking()
            && let Some(mut errors) = self.child.stderr.take()
        {
            let mut said = String::new();
            let _ = errors.read_to_string(&mut said);
            println!("the server said: {said}");
        }
    }
}

/// What the status socket answers.
pub fn status(socket: &str) -> Value {
    let (good, out, error) = run(&["status", socket]);
    assert!(good, "{error}");
    let document = out[out.find('{').unwrap()..=out.rfind('}').unwrap()].to_owned();
    serde_json::from_str(&document).unwrap()
}

/// Waits until the status is as it should be.
pub fn wait_until(socket: &str, wanted: impl Fn(&Value) -> bool, otherwise: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !wanted(&status(socket)) {
        assert!(Instant::now() < deadline, "{otherwise}");
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Each of these command lines is refused, and told so in these words.
pub fn are_refused(cases: &[(Vec<&str>, &str)]) {
    for (arguments, told) in cases {
        let (good, _, error) = run(arguments);
        assert!(!good && error.contains(told), "{arguments:?}: {error}");
    }
}

/// What a server said whose file was changed twice, the second time to nonsense: it goes on as it was.
pub fn has_reloaded(said: &str, needs_a_new_start: &str) {
    let taken = format!("event=reloaded needs-a-new-start={needs_a_new_start}");
    assert!(said.contains(&taken), "{said}");
    assert!(said.contains("event=reload-refused") && said.contains("unknown field"), "{said}");
}
