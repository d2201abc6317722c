//! What `tollway bill` asks of a program's bill.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tollway_core::Error;

use crate::per::Per;

/// Options of a program's bill.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The bill of a program")]
pub struct Program {
    /// A program and its arguments, behind `--`: it is started, watched with its children until it ends, and billed.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub command: Vec<OsString>,

    /// A program that runs already, by its process' number.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,

    /// With --pid: the children of that process as well.
    #[arg(long)]
    pub children: bool,

    /// Watch for so long, as `10s`, `500ms` or `2min` [default: until the program ends, or Ctrl-C].
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub long: Option<Duration>,

    /// Bill by request: a system call of which each is one (accept, recvmsg), or how many there were.
    #[arg(long, value_name = "CALL|N")]
    pub per: Option<String>,

    /// How it is counted [default: the first of these that can be used here].
    #[arg(long, value_enum, value_name = "WAY")]
    pub by: Option<By>,

    /// What counting may cost the program, in percent of the time that goes by, or of its processor time where that is more; where everything would cost more it is counted in slices.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.5, value_parser = percent)]
    pub overhead: f64,

    /// Count everything, whatever it costs the program.
    #[arg(long, conflicts_with = "overhead")]
    pub exact: bool,

    /// Show what it pays each second, on the terminal, while it runs; what a program prints that is started is thrown away.
    #[arg(long)]
    pub live: bool,

    /// Make changes from outside and show what they bring against what was foretold: the command is started in turns with none and with each.
    #[arg(long = "try", value_name = "CHANGE", value_enum, value_delimiter = ',')]
    pub tries: Vec<Try>,

    /// Rounds of --try: each starts the command once as it is and once with each change.
    #[arg(long, value_name = "N", default_value_t = 7, requires = "tries", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub rounds: u32,

    /// Write the bill as a page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A way of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Small programs at the kernel's tracepoints: everything, at little cost; root, or CAP_BPF and CAP_PERFMON.
    Kernel,
    /// Each system call stops the program, as under strace: exact, several times slower; the program's own user.
    Ptrace,
    /// What /proc tells: no calls by number, at no cost.
    Proc,
}

/// A change that can be made to a program from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Try {
    /// All of it on one core.
    OneCore,
    /// Huge pages for what malloc hands out (glibc 2.35 or newer).
    HugePages,
    /// malloc keeps what is freed.
    ReuseMemory,
    /// The scheduling class for what need not answer at once: who is woken does not take the processor away.
    BatchClass,
    /// The time of one processor and no more, by a control group; as root.
    ProcessorLimit,
    /// A clock source that user mode can read, for all of the machine as long as the command runs; as root.
    Clock,
}

impl Try {
    /// The name of the change.
    pub fn name(self) -> &'static str {
        match self {
            Try::OneCore => "one-core",
            Try::HugePages => "huge-pages",
            Try::ReuseMemory => "reuse-memory",
            Try::BatchClass => "batch-class",
            Try::ProcessorLimit => "processor-limit",
            Try::Clock => "clock",
        }
    }
}

impl Program {
    /// Whether a program's bill is asked for, and not a path's.
    pub fn is_asked(&self) -> bool {
        !self.command.is_empty() || self.pid.is_some()
    }

    /// What can be refused before anything is watched.
    ///
    /// # Errors
    /// A word that means nothing.
    pub fn check(&self) -> Result<(), Error> {
        let refused = |place: &str, reason: &str, remedy: &str| {
            Err(Error::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() })
        };
        if !self.tries.is_empty() && self.command.is_empty() {
            return refused(
                "--try",
                "a program that runs already cannot be started in turns",
                "give its command line behind `--`",
            );
        }
        let is_again = |(at, change): (usize, &Try)| self.tries[..at].contains(change);
        if self.tries.iter().enumerate().any(is_again) {
            return refused("--try", "a change is named twice", "name each once");
        }
        if self.children && self.pid.is_none() {
            return refused(
                "--children",
                "children of a program that is started are watched anyway",
                "leave it out, or give --pid",
            );
        }
        if self.exact && matches!(self.by, Some(By::Ptrace | By::Proc)) {
            return refused(
                "--exact",
                "only the kernel's tracepoints count in slices",
                "leave it out, or --by",
            );
        }
        if let (Some(per), Some(By::Proc)) = (&self.per, self.by)
            && per.parse::<f64>().is_err()
        {
            return refused(
                "--per",
                "/proc does not tell calls apart",
                "give how many requests there were, or another --by",
            );
        }
        self.per.as_deref().map_or(Ok(()), Per::check)
    }

    /// What counting may cost, as a share; `None` where it may cost anything.
    pub fn allowed(&self) -> Option<f64> {
        (!self.exact).then_some(self.overhead / 100.0)
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_end_matches('%').parse().map_err(|_| "it is no number of percent".to_string())?;
    if (0.1..=100.0).contains(&number) { Ok(number) } else { Err("0.1 to 100 percent".into()) }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a number and ms, s, min or h".into()),
    };
    let number: f64 =
        number.parse().map_err(|_| "write a number and ms, s, min or h, as in 10s".to_string())?;
    let time = Duration::try_from_secs_f64(number * seconds).map_err(|e| e.to_string())?;
    if (Duration::from_millis(10)..=Duration::from_secs(7 * 86_400)).contains(&time) {
        Ok(time)
    } else {
        Err("10 ms to 7 days".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2min"), Ok(Duration::from_secs(120)));
        for wrong in ["", "s", "10x", "1ms", "-3s", "8000h", "1e99s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
