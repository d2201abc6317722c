//! `tollway fit`: from a trace or counters to estimates, families that fit, and the models that are left.

mod against;
mod document;
mod words;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Result;
use tollway_model::ModelError;
use tollway_model::fit::{self, Counters, Options, Trace};

use crate::args::{self, Arguments};
use crate::exit::Ending;
use crate::{output, standard_input};
pub use document::FitDocument;

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 18;

/// Fits and tells.
pub fn fit(arguments: &Arguments, options: &args::Fit) -> Result<Ending> {
    let stdin = Some(Path::new("-"));
    if options.trace.as_deref() == stdin && options.against.as_deref() == stdin {
        let reason = "the trace is to be read from standard input too";
        return Err(ModelError::parameter("--against -", reason, "give one of them as a file").into());
    }
    let mut document = match &options.trace {
        Some(file) => of_trace(file, options)?,
        None => of_counters(options)?,
    };
    if let Some(file) = &options.against {
        document.check = Some(against::check(file, options.tolerance / 100.0, &document.estimates)?);
    }
    let rejected = options.model.as_ref().map(|name| is_rejected(&document, name)).transpose()?;
    if arguments.json {
        output::json(&document)?;
    } else {
        output::text(&words::text(&document, output::width()))?;
    }
    let failed = rejected == Some(true) || document.check.as_ref().is_some_and(|check| !check.holds);
    Ok(if failed { Ending::CheckFailed } else { Ending::Done })
}

fn of_trace(file: &Path, options: &args::Fit) -> Result<FitDocument> {
    let columns = options.columns.as_deref();
    let trace = if file == Path::new("-") {
        Trace::read(standard_input::read(), columns)
    } else {
        let opened = File::open(file).map_err(|error| {
            ModelError::parameter(
                file.display().to_string(),
                error.to_string(),
                "name a file that can be read, or `-`",
            )
        })?;
        Trace::read(BufReader::with_capacity(BUFFER, opened), columns)
    };
    let in_file = |error: ModelError| match error {
        ModelError::Parameter { name, reason, remedy } if name != "servers" => {
            ModelError::Parameter { name: format!("{}: {name}", file.display()), reason, remedy }
        }
        other => other,
    };
    let trace = trace.map_err(in_file)?;
    let found =
        fit::fit(&trace, Options { seed: options.seed, servers: options.servers }).map_err(in_file)?;
    Ok(FitDocument::of_trace(file, &found))
}

fn of_counters(options: &args::Fit) -> Result<FitDocument> {
    let (Some(arrivals), Some(seconds)) = (options.arrivals, options.seconds) else {
        return Err(ModelError::parameter(
            "trace",
            "there is none",
            "name a file, or give --arrivals and --seconds",
        )
        .into());
    };
    let servers = options.servers.unwrap_or(1);
    let counters = Counters { arrivals, seconds, served: options.served, busy: options.busy, servers };
    Ok(FitDocument::of_counters(&counters, &counters.fit()?, options.seed))
}

/// Whether the model of that name is rejected.
fn is_rejected(document: &FitDocument, name: &str) -> Result<bool> {
    document.models.iter().find(|judged| judged.model == name).map(|judged| judged.rejected).ok_or_else(
        || {
            let known: Vec<&str> = document.models.iter().map(|judged| judged.model.as_str()).collect();
            let remedy = match known[..] {
                [] => "give a trace with arrivals and service times".into(),
                _ => format!("this trace can tell of {}", known.join(", ")),
            };
            ModelError::parameter("--model", format!("there is no verdict on `{name}`"), remedy).into()
        },
    )
}
