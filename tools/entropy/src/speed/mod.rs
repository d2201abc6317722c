//! `tollway entropy speed`: the cap of a thread and the cap that all share, of each source.

mod document;
mod measure;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Result, bail};
use rustix::termios::tcgetwinsize;
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
