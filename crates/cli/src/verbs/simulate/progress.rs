//! How far a simulation is, on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tollway_sim::Done;

use crate::output;

/// Elsewhere than on a terminal, a line is printed at most so often.
const EVERY: Duration = Duration::from_secs(10);

/// Told from any thread.
pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
    begun: Instant,
    /// Lines told so far.
    told: AtomicU64,
    /// Whether it may end earlier, when it is precise enough.
    earlier: bool,
}

impl Progress {
    /// Nothing simulated yet.
    pub fn new(earlier: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target =
            if terminal { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("simulating {bar:24} {percent:>3} %  {eta} left{msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        if earlier {
            bar.set_message(" at most");
        }
        Progress { bar, terminal, begun: Instant::now(), told: AtomicU64::new(0), earlier }
    }

    /// Shows how far it is.
    pub fn show(&self, done: Done) {
        if self.terminal {
            self.bar.set_length(done.of);
            self.bar.set_position(done.customers);
            return;
        }
        let due = self.begun.elapsed().as_secs() / EVERY.as_secs();
        // Of all threads that find a line due, one tells it.
        if due > self.told.fetch_max(due, Ordering::Relaxed) {
            let most = if self.earlier { " at most" } else { "" };
            output::tell(&format!("simulating: {} of {}{most} customers", done.customers, done.of));
        }
    }

    /// Ends the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
