//! What a guest's kernel and QEMU say: its end is kept so that an error can quote it.
//!
//! Both write to a socket that a thread reads, calmly: a guest that talks without end is slowed down by it, and costs
//! nobody memory. (Unread, a socket is full after some 280 of the single bytes that a serial port sends, and a kernel
//! that has something to say then stands still.)

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How much of the end is kept, in bytes.
const KEPT: usize = 8 << 10;

/// How many of the last lines are quoted, and how much of them, in characters.
const QUOTED: usize = 6;
const LONGEST: usize = 600;

/// Lines with these are quoted though others followed.
const TELLING: [&str; 3] = ["Kernel panic", "BUG: ", "Oops: "];

/// Between two readings: a hundred thousand characters a second are more than anybody reads.
const CALM: Duration = Duration::from_millis(2);

/// The reading end.
#[derive(Debug)]
pub(super) struct Console(Arc<Mutex<VecDeque<u8>>>);

impl Console {
    /// Reads until all who write have closed their end.
    pub(super) fn new(mut socket: UnixStream) -> io::Result<Self> {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let end = kept.clone();
        thread::Builder::new().name("guest console".into()).spawn(move || {
            let mut block = [0; 4096];
            loop {
                match socket.read(&mut block) {
                    Ok(0) => return,
                    Ok(read) => {
                        let mut kept = end.lock().unwrap_or_else(PoisonError::into_inner);
                        kept.extend(&block[..read]);
                        let surplus = kept.len().saturating_sub(KEPT);
                        kept.drain(..surplus);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
                thread::sleep(CALM);
            }
        })?;
        Ok(Console(kept))
    }

    /// The last lines, on one line, without what is no text; `None` where nothing was said.
    pub(super) fn last_lines(&self) -> Option<String> {
        // What was said a moment ago may still be on its way.
        thread::sleep(2 * CALM);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
        drop(kept);
        let clean =
            |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned();
        let lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(QUOTED);
        let last = lines[from..].join(" | ");
        let surplus = last.chars().count().saturating_sub(LONGEST);
        let last: String = last.chars().skip(surplus).collect();
        // What a kernel says first of its misfortune, before it lists where it was.
        let telling = lines[..from].iter().rfind(|line| TELLING.iter().any(|word| line.contains(word)));
        match telling {
            Some(line) => Some(format!("{} … {last}", line.chars().take(LONGEST).collect::<String>())),
            None => (!last.is_empty()).then_some(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;

    /// What is quoted once it ends so.
    fn ending(console: &Console, end: &str) -> String {
        let give_up = Instant::now() + Duration::from_secs(10);
        loop {
            match console.last_lines() {
                Some(last) if last.ends_with(end) => return last,
                last => assert!(Instant::now() < give_up, "{last:?}"),
            }
        }
    }

    #[test]
    fn the_last_lines_are_quoted_and_no_more() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let console = Console::new(ours).unwrap();
        assert_eq!(console.last_lines(), None);
        for n in 0..1000 {
            theirs.write_all(format!("\x1b[1mline {n}\r\n").as_bytes()).unwrap();
        }
        let last = ending(&console, "[1mline 998 | [1mline 999");
        assert!(!last.contains("line 990"), "{last}");
        theirs.write_all(&[b'x'; 100_000]).unwrap();
        theirs.write_all(b"end").unwrap();
        assert_eq!(ending(&console, "xend").chars().count(), LONGEST);
        assert!(console.0.lock().unwrap().len() <= KEPT);
    }

    /// As a serial port does: a byte at a time, far more than a socket holds of such.
    #[test]
    fn who_says_much_does_not_stand_still() {
        let (theirs, ours) = UnixStream::pair().unwrap();
        theirs.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        let console = Console::new(ours).unwrap();
        for _ in 0..5000 {
            (&theirs).write_all(b".").unwrap();
        }
        (&theirs).write_all(b"end").unwrap();
        ending(&console, ".end");
    }
}
