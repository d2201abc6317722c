//! What happens, as lines on standard error: `time=… event=… source=… reason="…"`.
//!
//! A thread of its own writes them: whoever reads standard error may stop doing so, and that must hold up nobody who
//! serves. Lines for which there is no room are dropped, and how many these were is told as soon as there is.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Lines that wait to be written at most.
const ROOM: usize = 1024;

/// How long the end may take for lines that nobody reads.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lines on their way.
struct Writer {
    lines: SyncSender<String>,
    /// Lines that wait, or are being written.
    left: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    /// `tells`: whether it writes how many lines were dropped.
    fn new(out: impl Write + Send + 'static, tells: bool) -> Writer {
        let (lines, waiting) = sync_channel(ROOM);
        let writer = Writer { lines, left: Arc::default(), dropped: Arc::default() };
        let (left, dropped) = (writer.left.clone(), writer.dropped.clone());
        // Where there is no thread to be had, all lines are dropped.
        let _ = thread::Builder::new()
            .name("log".into())
            .spawn(move || write(out, &waiting, &left, &dropped, tells));
        writer
    }

    fn say(&self, line: String) {
        self.left.fetch_add(1, Ordering::AcqRel);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.lines.try_send(line) {
            self.left.fetch_sub(1, Ordering::AcqRel);
            self.dropped.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn flush(&self, most: Duration) {
        let deadline = Instant::now() + most;
        while self.left.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn write(
    mut out: impl Write,
    waiting: &Receiver<String>,
    left: &AtomicU64,
    dropped: &AtomicU64,
    tells: bool,
) {
    for line in waiting {
        // Nobody is left to tell where it is closed.
        let _ = out.write_all(line.as_bytes());
        let _ = out.flush();
        let lost = dropped.swap(0, Ordering::AcqRel);
        if tells && lost > 0 {
            let _ = out.write_all(self::line("lines-dropped", &[("lines", &lost.to_string())]).as_bytes());
        }
        left.fetch_sub(1, Ordering::AcqRel);
    }
}

static ERROR: OnceLock<Writer> = OnceLock::new();
static OUTPUT: OnceLock<Writer> = OnceLock::new();

/// Writes one line; waits for nobody.
pub fn say(event: &str, fields: &[(&str, &str)]) {
    ERROR.get_or_init(|| Writer::new(io::stderr(), true)).say(line(event, fields));
}

/// Writes one line on standard output, in the same way: an answer to somebody who may not read it.
pub fn answer(line: &str) {
    OUTPUT.get_or_init(|| Writer::new(io::stdout(), false)).say(format!("{line}\n"));
}

/// Waits until all lines are written, unless nobody reads them. To be called before this process ends.
pub fn flush() {
    for writer in [&ERROR, &OUTPUT].into_iter().filter_map(OnceLock::get) {
        writer.flush(PATIENCE);
    }
}

fn line(event: &str, fields: &[(&str, &str)]) -> String {
    let mut line = format!("time={:.3} event={event}", jiff::Timestamp::now());
    for (name, value) in fields {
        line.push_str(&format!(" {name}={}", quoted(value)));
    }
    line.push('\n');
    line
}

/// A value as one word: what somebody else wrote must not look like another field or line.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !value.is_empty() && value.chars().all(plain) { value.into() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn values_are_one_word_each() {
        assert_eq!(quoted("/run/a.sock"), "/run/a.sock");
        assert_eq!(quoted("two words\nevent=other"), r#""two words\nevent=other""#);
        assert_eq!(quoted(""), r#""""#);
    }

    #[test]
    fn who_does_not_read_holds_nobody_up_and_is_told_what_was_dropped() {
        let (mut reader, out) = std::os::unix::net::UnixStream::pair().unwrap();
        let writer = Writer::new(out, true);
        let (long, said) = ("x".repeat(65_536), 2000u64);
        (0..said).for_each(|_| writer.say(line("said", &[("what", &long)])));
        writer.flush(Duration::from_millis(50));
        assert!(writer.left.load(Ordering::Acquire) > 0, "it was read");
        let reading = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        writer.flush(Duration::from_secs(60));
        drop(writer);
        let text = reading.join().unwrap();
        let written = text.lines().filter(|line| line.contains(" event=said ")).count() as u64;
        let told = text.lines().filter_map(|line| line.split_once("event=lines-dropped lines="));
        let dropped: u64 = told.map(|(_, lines)| lines.parse::<u64>().unwrap()).sum();
        assert!(dropped > 0 && written + dropped == said, "{written} written, {dropped} dropped");
    }
}
