//! `tollway entropy speed`: the cap of a thread and the cap that all share, of each source.

mod document;
mod measure;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Result, bail};
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use tollway_entropy::engine::source::{Error, Kind};
use tollway_host::cpu::allowed_cpus;

use crate::args::speed::Speed;
pub use document::SpeedDocument;

/// The kernel's device for whatever generator it has found.
const HWRNG: &str = "/dev/hwrng";

/// Measures and tells.
///
/// # Errors
/// A source that was named is not there or fails.
pub fn run(options: &Speed, json: bool) -> Result<()> {
    let cpus = allowed_cpus()?;
    let threads = options.threads.unwrap_or(cpus.len() as u32);
    let (sources, skipped) = sources(options)?;
    let steps = measure::steps(threads);
    let seconds = options.time * f64::from(options.runs) * (sources.len() * steps.len()) as f64;
    if options.dry_run {
        return Planned::of(&sources, &steps, options.runs, seconds, skipped).print(json);
    }
    if seconds > 1.0 && io::stderr().is_terminal() {
        // Nobody is left to tell where it cannot be written.
        let _ = writeln!(io::stderr(), "measuring, for about {seconds:.0} s");
    }
    let measured = measure::all(&sources, &steps, options, &cpus)?;
    let document = SpeedDocument::of(options, measured, skipped)?;
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    } else {
        let columns = tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
        let width = columns.filter(|columns| *columns > 0 && out.is_terminal());
        out.write_all(table::of(&document, width).as_bytes())?;
    }
    Ok(())
}

/// What --dry-run prints.
#[derive(Serialize)]
struct Planned {
    schema_version: u32,
    sources: Vec<String>,
    threads: Vec<u32>,
    runs: u32,
    seconds: f64,
    skipped: Vec<String>,
}

impl Planned {
    fn of(sources: &[Kind], threads: &[u32], runs: u32, seconds: f64, skipped: Vec<String>) -> Planned {
        let sources = sources.iter().map(ToString::to_string).collect();
        Planned { schema_version: 1, sources, threads: threads.into(), runs, seconds, skipped }
    }

    fn text(&self) -> String {
        let threads: Vec<String> = self.threads.iter().map(u32::to_string).collect();
        let mut text = String::new();
        for source in &self.sources {
            text += &format!("{source}, by {} threads, {} times each\n", threads.join(", "), self.runs);
        }
        for reason in &self.skipped {
            text += &format!("skipped: {reason}\n");
        }
        text + &format!(
            "about {:.0} s; it needs the right to read what is named, which was tried, and writes nothing\n",
            self.seconds
        )
    }

    fn print(&self, json: bool) -> Result<()> {
        let mut out = io::stdout().lock();
        if json {
            serde_json::to_writer_pretty(&mut out, self).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        } else {
            out.write_all(self.text().as_bytes())?;
        }
        Ok(())
    }
}

/// The sources that are measured, and those that are not there with the reason. One that was named must be there.
fn sources(options: &Speed) -> Result<(Vec<Kind>, Vec<String>)> {
    let named = !options.sources.is_empty();
    let wanted = if named {
        options.sources.clone()
    } else {
        vec![Kind::Rdrand, Kind::Rdseed, Kind::Getrandom, Kind::Path(Path::new(HWRNG).into())]
    };
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for kind in wanted {
        let tried = kind.open().and_then(|mut source| source.fill(&mut [0; 8]));
        match tried {
            Ok(()) => found.push(kind),
            Err(error) if named => return Err(tollway_core::Error::from(error).into()),
            Err(error) => skipped.push(match error {
                Error::Missing(missing) => missing.to_string(),
                other => other.to_string(),
            }),
        }
    }
    if found.is_empty() {
        bail!("no source gives anything: {}", skipped.join("; "));
    }
    Ok((found, skipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_says_what_would_be_measured_and_what_is_skipped() {
        let skipped = vec!["/dev/hwrng: there is none".to_string()];
        let planned = Planned::of(&[Kind::Getrandom], &[1, 2], 8, 3.2, skipped);
        assert_eq!(
            planned.text(),
            "getrandom, by 1, 2 threads, 8 times each\nskipped: /dev/hwrng: there is none\n\
             about 3 s; it needs the right to read what is named, which was tried, and writes nothing\n"
        );
    }
}
