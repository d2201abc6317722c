//! The process that answers: this program again, told where to connect.

use std::error::Error;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use tollway_host::descriptor::{accept, listen_anonymously};

/// The word by which the program is told to answer; the socket's name follows it.
const SERVES: &str = "--serve";

/// Where to connect, if this process is to answer.
pub fn name_of_serving(words: &mut Vec<String>) -> Option<String> {
    let name = (words.first()? == SERVES).then(|| words.get(1).cloned())??;
    words.drain(..2);
    Some(name)
}

/// A process that answers; killed if it is left behind.
pub struct Other(Child);

impl Other {
    /// Starts it with the words of this process.
    pub fn start() -> Result<(Other, UnixStream), Box<dyn Error>> {
        let (listener, name) = listen_anonymously()?;
        let child = Command::new(std::env::current_exe()?)
            .args([SERVES, &name])
            .args(std::env::args().skip(1))
            .stdout(Stdio::piped())
            .spawn()?;
        Ok((Other(child), accept(&listener)?))
    }

    /// Waits until it ends, as it does when its client is gone: how often it woke this end.
    pub fn notices(mut self) -> Result<u64, Box<dyn Error>> {
        let mut said = String::new();
        if let Some(mut stdout) = self.0.stdout.take() {
            stdout.read_to_string(&mut said)?;
        }
        let status = self.0.wait()?;
        match said.trim().parse() {
            Ok(notices) if status.success() => Ok(notices),
            _ => Err(format!("the other process failed ({status}): {said}").into()),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
