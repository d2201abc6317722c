//! A server in a process of its own: the same program again, of which the test `serves` is run there.

use std::env;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollway_channel::wait::Patience;
use tollway_host::descriptor::{accept, connect, listen_anonymously};

/// Tells it where to connect.
const NAME: &str = "TOLLWAY_CHANNEL_TEST";

/// Who sleeps at once.
pub const SLEEPY: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

/// In the server's process: the way to the client.
pub fn link() -> UnixStream {
    connect(&env::var(NAME).unwrap()).unwrap()
}

/// Answers with the bytes in reverse and the next tag; by tag 1000 and more it does nothing first, for as many milliseconds as are beyond.
pub fn answers(tag: u16, request: &[u8], reply: &mut [u8]) -> (u16, usize) {
    thread::sleep(Duration::from_millis(tag.saturating_sub(1000).into()));
    for (to, from) in reply.iter_mut().zip(request.iter().rev()) {
        *to = *from;
    }
    (tag.wrapping_add(1), request.len())
}

/// A server in a process of its own; killed at the end, if it still runs.
pub struct Other(Child);

impl Other {
    /// With these variables in its environment.
    pub fn start(variables: &[(&str, String)]) -> (Other, UnixStream) {
        let (listener, name) = listen_anonymously().unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "serves"]).env(NAME, name).stdout(Stdio::null());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let other = Other(command.spawn().unwrap());
        (other, accept(&listener).unwrap())
    }

    /// Kills it after that time; when it was no more.
    pub fn killed_after(mut self, time: Duration) -> JoinHandle<Instant> {
        thread::spawn(move || {
            thread::sleep(time);
            self.0.kill().unwrap();
            self.0.wait().unwrap();
            Instant::now()
        })
    }

    /// Whether it ended by itself, and well.
    pub fn ended(mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.success();
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
