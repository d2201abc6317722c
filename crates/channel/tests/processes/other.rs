//! A server in a process of its own: the same program again, of which one ignored test is run there.

use std::env;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};
use tollway_channel::wait::Patience;
use tollway_host::descriptor::{accept, connect, listen_anonymously};

use crate::asleep::{Thread, process_falls_asleep};

/// Tells it where to connect.
const NAME: &str = "TOLLWAY_CHANNEL_TEST";

/// And which thread asks it: process and thread.
const CLIENT: &str = "TOLLWAY_CHANNEL_TEST_CLIENT";

/// Who sleeps at once.
pub const SLEEPY: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

/// By this tag a server answers when the client sleeps.
pub const ONCE_ASLEEP: u16 = 1000;

/// By this one it never does: its process stops.
pub const NEVER: u16 = 1001;

/// In the server's process: the way to the client.
pub fn link() -> UnixStream {
    connect(&env::var(NAME).unwrap()).unwrap()
}

/// Answers with the bytes in reverse and the next tag.
pub fn answers(tag: u16, request: &[u8], reply: &mut [u8]) -> (u16, usize) {
    match tag {
        ONCE_ASLEEP => client().falls_asleep(),
        NEVER => {
            kill_process(getpid(), Signal::STOP).unwrap();
            // The signal may be another thread's to take.
            loop {
                thread::park();
            }
        }
        _ => {}
    }
    for (to, from) in reply.iter_mut().zip(request.iter().rev()) {
        *to = *from;
    }
    (tag.wrapping_add(1), request.len())
}

fn client() -> Thread {
    let client = env::var(CLIENT).unwrap();
    let (process, thread) = client.split_once(' ').unwrap();
    Thread::of(process.parse().unwrap(), thread.parse().unwrap())
}

/// A server in a process of its own; killed at the end, if it still runs.
pub struct Other(Child);

impl Other {
    /// That test, for this thread as the client, with these variables in its environment.
    pub fn start(test: &str, variables: &[(&str, String)]) -> (Other, UnixStream) {
        let (listener, name) = listen_anonymously().unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", test]).env(NAME, name).stdout(Stdio::null());
        // SAFETY: it takes nothing.
        let thread = unsafe { libc::gettid() };
        command.env(CLIENT, format!("{} {thread}", std::process::id()));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let other = Other(command.spawn().unwrap());
        (other, accept(&listener).unwrap())
    }

    /// Waits until it has nothing to do.
    pub fn falls_asleep(&self) {
        process_falls_asleep(self.0.id());
    }

    /// Kills it after whatever that waits for.
    pub fn killed_after(mut self, waits: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        thread::spawn(move || {
            waits();
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        })
    }

    /// Kills it when it has stopped in the middle of a request, and that client sleeps, if it ever does.
    pub fn killed_once_stopped(self, client: Option<Thread>) -> JoinHandle<()> {
        let process = Pid::from_child(&self.0);
        self.killed_after(move || {
            let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
            assert!(waitid(WaitId::Pid(process), stopped).unwrap().unwrap().stopped());
            if let Some(client) = client {
                client.falls_asleep();
            }
        })
    }

    /// Whether it ends by itself, and well.
    pub fn ends(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
