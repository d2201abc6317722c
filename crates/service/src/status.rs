//! The status socket: each connection gets one document, and is closed.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use tollway_core::Error;
use tollway_virtio::socket::{self, Listener};

/// How long an answer may take: who does not read it must not hold up the next.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many are answered before something else is looked at, if they read.
const AT_ONCE: usize = 16;

/// The longest answer that is read, in bytes.
const LONGEST: usize = 16 << 20;

/// Answers whoever has connected.
pub fn answer<D: Serialize>(listener: &Listener, document: impl Fn() -> D) {
    let begun = Instant::now();
    for _ in 0..AT_ONCE {
        if begun.elapsed() > PATIENCE / 2 {
            return;
        }
        let Ok(stream) = listener.accept() else { return };
        // It went away, or does not read: its own loss.
        let _ = serde_json::to_vec_pretty(&document()).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            write_within(&stream, &text, PATIENCE)
        });
    }
}

/// What is left of the time until then.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Writes all of it in that time, however slowly it is read.
fn write_within(mut stream: &UnixStream, mut bytes: &[u8], most: Duration) -> io::Result<()> {
    let deadline = Instant::now() + most;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        // A page at a time: within one longer write the time would begin anew for each buffer of the socket.
        let written = stream.write(&bytes[..bytes.len().min(4096)])?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Connects and reads to the end in that time, however slowly it is written.
fn read_within(socket: &Path, most: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + most;
    let mut stream = loop {
        match socket::call(socket) {
            // Whoever serves it may be busy, or may have been stopped.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(left(deadline)?.min(Duration::from_millis(10)));
            }
            done => break done?,
        }
    };
    stream.set_nonblocking(false)?;
    let (mut text, mut piece) = (Vec::new(), vec![0; 65_536]);
    loop {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(text),
            Ok(read) => text.extend_from_slice(&piece[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if text.len() > LONGEST {
            return Err(io::Error::other("it does not end"));
        }
    }
}

/// Asks, and prints the answer; `servers` are the commands that answer, for whoever named another socket.
///
/// # Errors
/// Nobody answers there, not in time, or no document.
pub fn ask(socket: &Path, servers: &str) -> Result<()> {
    io::stdout().write_all(asked(socket, servers, 10 * PATIENCE)?.as_bytes())?;
    Ok(())
}

fn asked(socket: &Path, servers: &str, most: Duration) -> Result<String> {
    let wrong = |reason: &str| Error::Input {
        place: format!("status at {}", socket.display()),
        reason: reason.into(),
        remedy: format!("name the socket that {servers} was given as --status"),
    };
    let text = read_within(socket, most).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            wrong("no whole answer came in time; whoever serves it may be stopped")
        }
        _ => wrong(&format!("no answer: {e}")),
    })?;
    if text.is_empty() {
        return Err(wrong("whoever listens there answers nothing").into());
    }
    let text = String::from_utf8(text).map_err(|_| wrong("what it answers is no text"))?;
    // A terminal would obey control characters.
    let document = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok()
        && !text.contains(|c: char| c.is_control() && c != '\n');
    if !document {
        return Err(wrong("what it answers is no status document").into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::pause::pause;

    const SHORT: Duration = Duration::from_millis(500);
    /// Only a hang takes as long.
    const HANG: Duration = Duration::from_secs(600);

    /// Does that at a pace at which it lasts for ten times [`SHORT`] at least, or until it cannot any more.
    fn slowly(mut does: impl FnMut() -> bool) {
        for _ in 0..100 {
            if !does() {
                return;
            }
            pause(SHORT / 10);
        }
    }

    /// What `asked` says of somebody who answers like that, if it waits no longer than `within`.
    fn answer(within: Duration, answers: impl Fn(UnixStream) + Send + 'static) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let other = thread::spawn(move || answers(listener.accept().unwrap().0));
        let answer = asked(&path, "a test", within).unwrap_or_else(|error| error.to_string());
        other.join().unwrap();
        answer
    }

    #[test]
    fn whoever_answers_slowly_or_nonsense_is_left() {
        let dripping = answer(SHORT, |mut stream| slowly(|| stream.write_all(b" ").is_ok()));
        assert!(dripping.contains("in time"), "{dripping}");
        for nonsense in [&b"\xff\xfe\n"[..], b"rm -rf /\x1b[31m", b"[1]", b"{\"a\": \"\xc2\x9b31m\"}"] {
            let answer = answer(HANG, move |mut stream| stream.write_all(nonsense).unwrap());
            assert!(answer.contains("what it answers is no"), "{answer}");
        }
        assert_eq!(answer(HANG, |mut stream| stream.write_all(b"{\"a\": 1}\n").unwrap()), "{\"a\": 1}\n");
    }

    #[test]
    fn a_server_that_takes_nobody_in_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.sock");
        let _stopped = Listener::bind(&path, 0o600).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = socket::call(&path) {
            waiting.push(stream);
        }
        let error = asked(&path, "a test", SHORT).unwrap_err().to_string();
        assert!(error.contains("may be stopped"), "{error}");
    }

    #[test]
    fn whoever_reads_slowly_holds_up_nobody() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reader = thread::spawn(move || {
            slowly(|| theirs.read(&mut [0; 65_536]).is_ok_and(|read| read > 0));
        });
        let error = write_within(&ours, &vec![0; 8 << 20], SHORT).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
        drop(ours);
        reader.join().unwrap();
    }
}
