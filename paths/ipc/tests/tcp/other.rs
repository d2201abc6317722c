//! Another process: this program again, of which one ignored test is run there. It is told a style, and says a word once it is at work.

use std::env;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};

use tollway_host::descriptor::{connect, listen_anonymously};
use tollway_ipc::engine::tcp::Style;

use crate::eventually::eventually;
use crate::setting::STYLES;

/// Tells it where to say its word, and which of [`STYLES`] it has.
const NAME: &str = "TOLLWAY_IPC_TEST_NAME";
const STYLE: &str = "TOLLWAY_IPC_TEST_STYLE";

/// In that process: its style.
pub fn style() -> Style {
    STYLES[env::var(STYLE).unwrap().parse::<usize>().unwrap()]
}

/// In that process: says its word.
pub fn says(word: &str) {
    connect(&env::var(NAME).unwrap()).unwrap().write_all(word.as_bytes()).unwrap();
}

/// In that process: until the one that started it is gone, or has killed it.
pub fn lasts() {
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// That process, killed at the latest at the end.
pub struct Other(Child);

impl Other {
    /// Runs that test there, with that style and these variables in its environment; and the word it says.
    pub fn start(test: &str, style: usize, variables: &[(&str, &str)]) -> (Other, String) {
        let (listener, name) = listen_anonymously().unwrap();
        let child = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", test])
            .env(NAME, name)
            .env(STYLE, style.to_string())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut other = Other(child);
        listener.set_nonblocking(true).unwrap();
        let mut link = None;
        eventually("another process's word", || {
            match listener.accept() {
                Ok((made, _)) => link = Some(made),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
            // As one does that panics, or that has no test of that name.
            let has_ended = link.is_none() && other.0.try_wait().unwrap().is_some();
            assert!(!has_ended, "`{test}` ended without a word");
            link.is_some()
        });
        let mut word = String::new();
        link.unwrap().read_to_string(&mut word).unwrap();
        (other, word)
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
