//! Another process: this program again, of which one ignored test is run there. It is told a style, and says a word once it is at work.

use std::env;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tollway_host::descriptor::{connect, listen_anonymously};
use tollway_ipc::engine::tcp::Style;

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
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut other = Other(child);
        listener.set_nonblocking(true).unwrap();
        let mut link = loop {
            match listener.accept() {
                Ok((link, _)) => break link,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
            // As one does that panics, or that has no test of that name.
            assert!(other.0.try_wait().unwrap().is_none(), "`{test}` ended without a word");
            thread::sleep(Duration::from_millis(1));
        };
        let mut word = String::new();
        link.read_to_string(&mut word).unwrap();
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
