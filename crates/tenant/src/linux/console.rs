//! What a guest's kernel and QEMU say: kept so that an error can quote it.
//!
//! Both write to a socket that is read only now and then, without waiting. So a guest that talks without end fills
//! the socket and then stands still; it costs nobody memory or a disk.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;

/// How much of the end is kept, in bytes.
const KEPT: usize = 8 << 10;

/// How many of the last lines are quoted, and how much of them, in characters.
const QUOTED: usize = 6;
const LONGEST: usize = 600;

/// The reading end.
#[derive(Debug)]
pub(super) struct Console {
    socket: UnixStream,
    kept: VecDeque<u8>,
}

impl Console {
    pub(super) fn new(socket: UnixStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Console { socket, kept: VecDeque::new() })
    }

    /// Takes in what was said since.
    pub(super) fn drain(&mut self) {
        let mut block = [0; 4096];
        // At most what the socket holds, lest somebody who never stops keep this here.
        for _ in 0..256 {
            match self.socket.read(&mut block) {
                Ok(0) => return,
                Ok(read) => {
                    self.kept.extend(&block[..read]);
                    let surplus = self.kept.len().saturating_sub(KEPT);
                    self.kept.drain(..surplus);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// The last lines, on one line, without what is no text; `None` where nothing was said.
    pub(super) fn last_lines(&mut self) -> Option<String> {
        self.drain();
        let text = String::from_utf8_lossy(self.kept.make_contiguous()).into_owned();
        let clean =
            |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned();
        let lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(QUOTED)..].join(" | ");
        let surplus = last.chars().count().saturating_sub(LONGEST);
        let last: String = last.chars().skip(surplus).collect();
        (!last.is_empty()).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_last_lines_are_quoted_and_no_more() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let mut console = Console::new(ours).unwrap();
        assert_eq!(console.last_lines(), None);
        for n in 0..1000 {
            theirs.write_all(format!("\x1b[1mline {n}\r\n").as_bytes()).unwrap();
            if n % 50 == 0 {
                console.drain();
            }
        }
        let last = console.last_lines().unwrap();
        assert!(last.ends_with("[1mline 998 | [1mline 999") && !last.contains("line 990"), "{last}");
        theirs.write_all(&[b'x'; 100_000]).unwrap();
        drop(theirs);
        assert_eq!(console.last_lines().unwrap().chars().count(), LONGEST);
        assert!(console.kept.len() <= KEPT);
    }
}
