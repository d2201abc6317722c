//! The status socket: each connection gets one document, and is closed.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use tollway_core::Error;
use tollway_virtio::socket::Listener;

/// How long an answer may take: who does not read it must not hold up the next.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest answer that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// Answers whoever has connected.
pub fn answer<D: Serialize>(listener: &Listener, document: impl Fn() -> D) {
    while let Ok(mut stream) = listener.accept() {
        // It went away, or does not read: its own loss.
        let _ = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| {
            let mut text = serde_json::to_vec_pretty(&document()).map_err(io::Error::from)?;
            text.push(b'\n');
            stream.write_all(&text)
        });
    }
}

/// `tollway entropy status`: asks, and prints the answer.
///
/// # Errors
/// Nobody answers there.
pub fn ask(socket: &Path) -> Result<()> {
    let wrong = |reason: String, remedy: &str| Error::Input {
        place: format!("status at {}", socket.display()),
        reason,
        remedy: remedy.into(),
    };
    let remedy = "name the socket that `tollway entropy serve` or `feed` was given as --status";
    let stream = UnixStream::connect(socket).map_err(|e| wrong(e.to_string(), remedy))?;
    stream.set_read_timeout(Some(10 * PATIENCE))?;
    let mut text = String::new();
    let read = stream.take(LONGEST).read_to_string(&mut text);
    read.map_err(|e| wrong(format!("no answer: {e}"), remedy))?;
    if text.is_empty() {
        return Err(wrong("whoever listens there answers nothing".into(), remedy).into());
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
