//! `tollway capture generate`: frames at an exact rate over the one interface that is named.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tollway_capture::engine::generate::{
    Ended, Errors, Flows, GenerateError, Generator, Group, Method, ReplayPace, Report, Schedule, Sizes,
    Traffic, Transport,
};
use tollway_core::{Error, Missing};
use tollway_report::number;

use crate::args::generate::{Generate, Rate, SendWay, Timing};
use crate::{interfaces, privileges, signals};

/// What a generator did. Times in nanoseconds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GenerateDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// The interface.
    pub interface: String,
    /// Frames that the kernel took.
    pub sent: u64,
    /// Bytes of those, without check sequences.
    pub bytes: u64,
    /// Frames that the kernel refused: ENOBUFS, EAGAIN. They were not sent.
    pub refused: u64,
    /// Those of them that were refused while the interface had no carrier: its other end was down.
    pub refused_without_carrier: u64,
    /// Calls by a ring that the kernel refused; their frames went later, or are among the refused.
    pub put_off: u64,
    /// Frames of a replayed file that could not be sent.
    pub skipped: u64,
    /// Frames of a replayed file that had been cut, sent with zeros in place of what is missing.
    pub padded: u64,
    /// From the first frame to the last, in seconds.
    pub seconds: f64,
    /// Frames per second that were asked for; null where the interface decides, or a file.
    pub rate_asked: Option<f64>,
    /// Frames per second that the kernel took; null for fewer than two.
    pub rate: Option<f64>,
    /// How much faster than the schedule, relative: 0.001 is 0.1 %. Frames refused make it slower.
    pub rate_error: Option<f64>,
    /// How far gaps between two frames were from the schedule's.
    pub gap_error: ErrorsDocument,
    /// How long after it was due a frame was handed over.
    pub lateness: ErrorsDocument,
    /// Time taken from the sender while it waited: how often.
    pub preemptions: u64,
    /// System calls made for sending.
    pub calls: u64,
    /// Processor time of the sender, waiting included, in seconds.
    pub processor_seconds: f64,
    /// How it ended: `done`, `time-over`, `called-off`, `lost`, `damaged`.
    pub ended: String,
    /// What went wrong, where something did.
    pub error: Option<String>,
}

/// A distribution of errors, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ErrorsDocument {
    /// Half of them are below; null for fewer than two.
    pub p50_ns: Option<f64>,
    /// 99 of a hundred are below; null for fewer than a hundred.
    pub p99_ns: Option<f64>,
    /// The largest; null for none.
    pub max_ns: Option<f64>,
}

impl From<Errors> for ErrorsDocument {
    fn from(errors: Errors) -> Self {
        ErrorsDocument { p50_ns: errors.p50, p99_ns: errors.p99, max_ns: errors.max }
    }
}

/// Sends what the command line says.
///
/// # Errors
/// What was asked for cannot be, or the interface was lost on the way.
pub fn run(options: &Generate, json: bool) -> Result<()> {
    interfaces::named(&options.interface)?;
    let generator = generator(options)?;
    let ready = generator.open().map_err(|error| match error {
        // As of a file that is read (-r): nothing that somebody wrote is wrong.
        GenerateError::File(_) | GenerateError::Replay(_) => anyhow::anyhow!("{error}"),
        error => match error.into() {
            Error::Missing(missing) => Error::Missing(interfaces::allowed(missing)).into(),
            other => other.into(),
        },
    });
    if options.dry_run {
        return plan(&generator, ready.map(drop), json);
    }
    let ready = ready?;
    let stop = signals::call_off(Vec::new())?;
    privileges::drop(options.relinquish_privileges.as_deref())?;
    let report = ready.run(&stop);
    let document = document(report, rate_asked(&generator));
    print(&document, json, text)?;
    match document.error {
        Some(error) => Err(anyhow::anyhow!("{error}")),
        None => Ok(()),
    }
}

/// Prints a document, or its text.
fn print<D: Serialize>(document: &D, json: bool, text: impl FnOnce(&D) -> String) -> Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        out.write_all(text(document).as_bytes())?;
    }
    Ok(())
}

/// Frames per second; none where the interface decides, or a file.
fn rate_asked(generator: &Generator) -> Option<f64> {
    match &generator.traffic {
        Traffic::Made { schedule, .. } => schedule.rate(),
        Traffic::Replay { pace: ReplayPace::Rate(rate), .. } => Some(*rate),
        Traffic::Replay { .. } => None,
    }
}

/// What --dry-run prints.
#[derive(Serialize)]
struct Planned<'g> {
    schema_version: u32,
    interface: &'g str,
    /// The most frames; none where time or a file ends it.
    frames: Option<u64>,
    /// The file that is replayed.
    file: Option<&'g Path>,
    /// When they are sent.
    pace: String,
    /// Seconds that it takes, about; none where only the interface or a file can tell.
    seconds: Option<f64>,
    /// What it needs.
    privileges: &'static str,
    /// Why it cannot be done here.
    missing: Option<Missing>,
    /// Files that it would write: none.
    writes: [String; 0],
}

/// Tells what would be sent. What is wrong is an error as of the real thing; what this process may not, a line.
fn plan(generator: &Generator, ready: Result<()>, json: bool) -> Result<()> {
    let missing = match ready {
        Ok(()) => None,
        Err(error) => match error.downcast::<Error>()? {
            Error::Missing(missing) => Some(missing),
            other => return Err(other.into()),
        },
    };
    let rate = rate_asked(generator);
    let by_count = generator.count.zip(rate).map(|(frames, rate)| frames as f64 / rate);
    let seconds = generator.time.map(|time| time.as_secs_f64());
    let planned = Planned {
        schema_version: 1,
        interface: &generator.interface,
        frames: generator.count,
        file: match &generator.traffic {
            Traffic::Replay { file, .. } => Some(file),
            Traffic::Made { .. } => None,
        },
        pace: match (rate, &generator.traffic) {
            (Some(rate), _) => format!("at {rate} a second"),
            (None, Traffic::Replay { pace: ReplayPace::Gaps(_), .. }) => "at the gaps of the file".into(),
            (None, _) => "as fast as the interface takes them".into(),
        },
        seconds: by_count.into_iter().chain(seconds).reduce(f64::min),
        privileges: "root, or CAP_NET_RAW",
        missing,
        writes: [],
    };
    print(&planned, json, Planned::to_text)
}

impl Planned<'_> {
    fn to_text(&self) -> String {
        let frames = match (self.file, self.frames) {
            (Some(file), None) => format!("the frames of {}", file.display()),
            (Some(file), Some(most)) => format!("the first {most} frames of {}", file.display()),
            (None, Some(most)) => format!("{most} frames"),
            (None, None) => "frames".into(),
        };
        let mut text = format!("sends {frames} over {} {}", self.interface, self.pace);
        if let Some(seconds) = self.seconds {
            let _ = write!(text, ", for about {seconds:.3} s");
        }
        let _ = writeln!(text, "\nprivileges: {}", self.privileges);
        if let Some(missing) = &self.missing {
            let _ = writeln!(text, "not here: {missing}");
        }
        text + "changes nothing of the interface; what is at its other end receives them\nwrites nothing\n"
    }
}

fn generator(options: &Generate) -> Result<Generator, Error> {
    let rate = match options.rate {
        Some(Rate::PerSecond(rate)) => Some(rate),
        Some(Rate::Full) | None => None,
    };
    let needs_rate = |name: &str| {
        rate.ok_or_else(|| Error::Input {
            place: format!("--schedule {name}"),
            reason: "it needs a rate".into(),
            remedy: "give --rate in frames per second".into(),
        })
    };
    let schedule = match &options.schedule {
        Timing::Replay(file) => {
            let given = [
                ("--mix", options.mix.is_some()),
                ("--size", options.size.is_some()),
                ("--match", options.matching.is_some()),
                ("--flows", options.flows.is_some()),
            ];
            if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return Err(Error::Input {
                    place: (*option).into(),
                    reason: "a file is replayed: its frames are sent as they are".into(),
                    remedy: "leave it out, or take another --schedule".into(),
                });
            }
            let pace = match options.rate {
                Some(Rate::PerSecond(rate)) => ReplayPace::Rate(rate),
                Some(Rate::Full) => ReplayPace::FullSpeed,
                None => ReplayPace::Gaps(1.0),
            };
            let traffic = Traffic::Replay { file: file.clone(), pace };
            return Ok(of(options, traffic));
        }
        Timing::Constant if options.rate == Some(Rate::Full) => Schedule::FullSpeed,
        Timing::Constant => Schedule::Constant { rate: needs_rate("constant")? },
        Timing::Poisson => Schedule::Poisson { rate: needs_rate("poisson")? },
        Timing::Burst(length) => Schedule::Bursts { rate: needs_rate("burst")?, length: *length, peak: None },
    };
    if options.count.is_none() && options.time.is_none() {
        return Err(Error::Input {
            place: "generate".into(),
            reason: "nothing says when it ends".into(),
            remedy: "give --count or --time".into(),
        });
    }
    let sizes = match (&options.mix, options.size) {
        (Some(mix), _) => mix.parse::<Sizes>()?,
        (None, size) => size.unwrap_or(64).to_string().parse::<Sizes>()?,
    };
    let flows = match (options.matching, options.flows) {
        (Some(share), _) => Flows::web(share)?,
        (None, flows) => Group::v4(Transport::Udp).addresses(flows.unwrap_or(1), 1).into(),
    };
    Ok(of(options, Traffic::Made { flows, sizes, schedule, seed: options.seed }))
}

fn of(options: &Generate, traffic: Traffic) -> Generator {
    Generator {
        interface: options.interface.clone(),
        traffic,
        count: options.count,
        time: options.time,
        method: match options.send_by {
            SendWay::Send => Method::Send,
            SendWay::Sendmmsg => Method::SendMany,
            SendWay::Ring => Method::Ring,
        },
    }
}

fn document(report: Report, rate_asked: Option<f64>) -> GenerateDocument {
    let refused = report.refused();
    let without = report.no_carrier;
    let down = (without > 0).then(|| {
        format!(
            "interface {name}: it had no carrier for {without} frames; see that its cable is plugged in, and its other end up",
            name = report.interface
        )
    });
    let (ended, error) = match report.ended {
        Ended::Done => ("done", None),
        Ended::TimeOver => ("time-over", None),
        Ended::Stopped => ("called-off", None),
        Ended::Lost(error) => ("lost", Some(error.to_string())),
        Ended::Damaged(error) => ("damaged", Some(error)),
    };
    let error = error.or(down);
    GenerateDocument {
        schema_version: 1,
        interface: report.interface,
        sent: report.sent,
        bytes: report.bytes,
        refused,
        refused_without_carrier: report.no_carrier,
        put_off: report.put_off,
        skipped: report.skipped,
        padded: report.padded,
        seconds: report.elapsed.as_secs_f64(),
        rate_asked,
        rate: report.rate,
        rate_error: report.rate_error,
        gap_error: report.gap_errors.into(),
        lateness: report.lateness.into(),
        preemptions: report.preempted.count,
        calls: report.calls,
        processor_seconds: report.processor.as_secs_f64(),
        ended: ended.into(),
        error,
    }
}

fn text(document: &GenerateDocument) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10} {value}");
    };
    let d = document;
    row("sent", format!("{} frames, {} bytes, over {} in {:.3} s", d.sent, d.bytes, d.interface, d.seconds));
    if let Some(rate) = d.rate {
        let error = d
            .rate_error
            .map_or(String::new(), |e| format!(", {} % of the schedule", number::signed(e * 100.0, 4)));
        row("rate", format!("{rate:.1} frames/s{error}"));
    }
    for (name, errors) in [("gap error", &d.gap_error), ("lateness", &d.lateness)] {
        let told = [("p50", errors.p50_ns), ("p99", errors.p99_ns), ("max", errors.max_ns)];
        let told = told.into_iter().filter_map(|(what, ns)| Some(format!("{what} {}", time(ns?))));
        let told = told.collect::<Vec<_>>().join(" · ");
        row(name, if told.is_empty() { "unknown: too few frames".into() } else { told });
    }
    let reason = match (d.refused, d.refused_without_carrier) {
        (0, _) => String::new(),
        (_, 0) => ": the kernel had no buffers, mostly for a full queue".into(),
        (_, without) => format!(", {without} of them since the interface had no carrier"),
    };
    row("refused", format!("{} frames{reason}", d.refused));
    if d.put_off > 0 {
        row(
            "put off",
            format!("{} calls: their frames went later than gap error and lateness tell", d.put_off),
        );
    }
    if d.skipped + d.padded > 0 {
        row("altered", format!("{} frames of the file skipped, {} padded with zeros", d.skipped, d.padded));
    }
    let busy = d.processor_seconds;
    row(
        "sender",
        format!("{} calls, {busy:.3} s of processor time, interrupted {} times", d.calls, d.preemptions),
    );
    row("ended", d.ended.clone());
    text
}

/// Nanoseconds with three digits and a unit.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n >= 1e9 => (n / 1e9, "s"),
        n if n >= 1e6 => (n / 1e6, "ms"),
        n if n >= 1e3 => (n / 1e3, "µs"),
        n => (n, "ns"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}
