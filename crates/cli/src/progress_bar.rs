//! Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tollway_core::{Error, Missing};
use tollway_host::steadiness::Steadiness;
use tollway_lab::not_kept;
use tollway_lab::progress::Progress;

use crate::output;

/// Elsewhere than on a terminal, a line is printed at most so often.
const EVERY: Duration = Duration::from_secs(10);

/// Times as long as was told before the pilots, from which on it is told anew.
const LONGER: f64 = 1.5;

/// Tells standard error how far a run has come.
pub struct Told {
    bar: ProgressBar,
    terminal: bool,
    begun: Instant,
    last_line: Instant,
    stage: String,
    /// Seconds that the run was to take.
    planned: f64,
}

impl Told {
    /// Nothing to tell yet.
    pub fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(
            Some(0),
            if terminal { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() },
        );
        let style = ProgressStyle::with_template("{prefix:>11} {bar:24} {percent:>3} %  {left}  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("left", |state: &ProgressState, w: &mut dyn std::fmt::Write| {
                let left = state.eta().as_secs();
                // Writing to a string does not fail.
                let _ = write!(w, "{}:{:02} left", left / 60, left % 60);
            });
        bar.set_style(style);
        let (begun, last_line) = (Instant::now(), Instant::now());
        Told { bar, terminal, begun, last_line, stage: String::new(), planned: 0.0 }
    }

    /// Ends the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.terminal {
            self.bar.suspend(|| output::tell(text));
        } else {
            output::tell(text);
        }
    }
}

impl Progress for Told {
    fn checked(&mut self, found: &Steadiness) {
        for (name, line) in ["machine: ", "unsteady: "].iter().zip(found.lines()) {
            self.line(&format!("{name}{line}"));
        }
    }

    fn planned(&mut self, trials: u64, seconds: f64) {
        // A second run begins anew.
        self.bar.reset();
        self.bar.set_length(trials);
        self.begun = Instant::now();
        self.planned = seconds;
        self.line(&format!("measuring: {trials} trials, about {}", minutes(seconds)));
    }

    fn reckoned(&mut self, trials: u64, seconds: f64, all: f64, asked: Option<f64>) {
        self.bar.set_length(self.bar.position() + trials);
        if let Some(said) = asked.and_then(|asked| not_kept(asked, all)) {
            self.line(&format!("warning: {said}"));
        }
        if all > self.planned * LONGER {
            let left = minutes(seconds);
            self.line(&format!("by what the pilots took: {trials} trials more, about {left}"));
        }
    }

    fn stage(&mut self, name: &str) {
        self.stage = name.into();
        self.bar.set_prefix(name.to_string());
    }

    fn playing(&mut self, title: &str) {
        self.bar.set_message(title.to_string());
    }

    fn played(&mut self) {
        self.bar.inc(1);
        if !self.terminal && self.last_line.elapsed() >= EVERY {
            self.last_line = Instant::now();
            let (at, of) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let seconds = self.begun.elapsed().as_secs();
            output::tell(&format!("{}: {at} of {of} trials, {seconds} s", self.stage));
        }
    }

    fn narrow(&mut self, _: &str, trials: u64) {
        self.fewer(trials);
    }

    fn cut(&mut self, path: Option<&str>, seconds: f64, (blocks, planned): (u32, u32), trials: u64) {
        self.fewer(trials);
        let whose = path.unwrap_or("the run");
        self.line(&format!(
            "{whose} has used up its {seconds:.0} s: {blocks} blocks instead of {planned}, so its intervals are wider → `--time` gives it more"
        ));
    }

    fn more(&mut self, trials: u64) {
        self.bar.set_length(self.bar.length().unwrap_or(0) + trials);
    }

    fn skipped(&mut self, _: &str, _: &Missing, trials: u64) {
        self.fewer(trials);
    }

    fn failed(&mut self, title: &str, error: &Error, trials: u64) {
        self.fewer(trials);
        self.line(&format!("warning: {title}: {error}; it has no figure in this run"));
    }
}

impl Told {
    fn fewer(&self, trials: u64) {
        self.bar.set_length(self.bar.length().unwrap_or(0).saturating_sub(trials));
    }
}

fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    format!("{}:{:02}", whole / 60, whole % 60)
}
