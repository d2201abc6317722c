//! What undoes a change of more than the program, whatever ends this process.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tollway_core::{Error, Result};

/// A shell that waits for the end of its input, which comes when this is dropped or this process ends, and then undoes what was done.
#[derive(Debug)]
pub(super) struct Keeper(Child);

impl Keeper {
    /// Keeps a change that is undone by these words of a shell, with these arguments.
    ///
    /// # Errors
    /// It cannot be started; then nothing may be changed.
    pub fn begin(undo: &str, arguments: &[&str]) -> Result<Keeper> {
        let script = format!(r#"trap "" INT TERM HUP; read -r _; {undo}"#);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script, "keeper"]).args(arguments).stdin(Stdio::piped());
        shell.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = shell.spawn().map_err(|e| Error::system("starting what undoes a change", e))?;
        Ok(Keeper(child))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
