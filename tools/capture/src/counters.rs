//! What a capture is doing, in one line on the terminal that is written over and over.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::args::Options;
use crate::output;
use crate::usage::processor;

/// The line, and what it said last.
pub struct Counters {
    at: Instant,
    captured: u64,
    bytes: u64,
    processor: Duration,
}

impl Counters {
    /// How often it is written.
    pub const EVERY: Duration = Duration::from_millis(500);

    /// Where standard error is a terminal, and packets are not printed on one.
    pub fn wanted(options: &Options, json: bool) -> Option<Counters> {
        let free = std::io::stderr().is_terminal() && (json || !output::prints_on_terminal(options));
        free.then(|| Counters { at: Instant::now(), captured: 0, bytes: 0, processor: used() })
    }

    /// Writes it. `waiting`: packets in the kernel's memory; `dropped`: so far, if that is known.
    pub fn show(&mut self, captured: u64, bytes: u64, dropped: Option<u64>, waiting: u64) {
        let seconds = self.at.elapsed().as_secs_f64().max(1e-3);
        let used = used();
        let line = line(
            (captured - self.captured) as f64 / seconds,
            (bytes - self.bytes) as f64 / seconds,
            (used - self.processor).as_secs_f64() / seconds,
            [captured, waiting],
            dropped,
        );
        *self = Counters { at: Instant::now(), captured, bytes, processor: used };
        // Carriage return, and what is left of the line before is erased. Nobody is left to tell if that fails.
        let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

fn used() -> Duration {
    let (user, system) = processor();
    user + system
}

fn line(packets: f64, bytes: f64, share: f64, [captured, waiting]: [u64; 2], dropped: Option<u64>) -> String {
    let dropped = dropped.map_or("unknown".into(), |n| n.to_string());
    format!(
        "{}packets/s  {}B/s  captured {captured}  dropped {dropped}  waiting {waiting}  CPU {:.0} %",
        scaled(packets),
        scaled(bytes),
        share * 100.0
    )
}

/// With three digits and a prefix.
fn scaled(number: f64) -> String {
    let (value, prefix) = match number {
        n if n >= 1e9 => (n / 1e9, "G"),
        n if n >= 1e6 => (n / 1e6, "M"),
        n if n >= 1e3 => (n / 1e3, "k"),
        n => (n, ""),
    };
    let digits = if prefix.is_empty() || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_short() {
        let line = line(148_809.0, 8_928_540.0, 0.1234, [1_000_000, 17], None);
        assert_eq!(
            line,
            "149 kpackets/s  8.93 MB/s  captured 1000000  dropped unknown  waiting 17  CPU 12 %"
        );
        assert!(line.len() < 100);
    }
}
