//! `tollway generate`: completions, man pages, MODELS.md, schemas.

use std::fs;
use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use tollway_report::document::{Document, schema as schema_of_report};

use super::model;
use crate::args::{Arguments, Generate, Generated, SchemaOf};
use crate::exit::Ending;
use crate::output;

/// Writes what was asked for.
pub fn generate(options: &Generate) -> Result<Ending> {
    match &options.what {
        Generated::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut visible(), "tollway", &mut script);
            io::stdout().write_all(&script)?;
        }
        Generated::Man { folder } => {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
            let mut command = Arguments::command();
            command.build();
            pages(&command, "tollway", &mut |name, page| {
                let file = folder.join(format!("{name}.1"));
                fs::write(&file, page).with_context(|| format!("writing {}", file.display()))
            })?;
        }
        Generated::Models => output::text(&model::book()?)?,
        Generated::Schema { document } => io::stdout().write_all(schema(*document).as_bytes())?,
    }
    Ok(Ending::Done)
}

/// The schema of a document, as it is checked in.
fn schema(document: SchemaOf) -> &'static str {
    match document {
        SchemaOf::Run => schema_of_report(Document::Run),
        SchemaOf::Comparison => schema_of_report(Document::Comparison),
        SchemaOf::Reproduction => schema_of_report(Document::Reproduction),
        SchemaOf::History => schema_of_report(Document::History),
        SchemaOf::Model => include_str!("../../schema/model.json"),
        SchemaOf::Plan => include_str!("../../schema/plan.json"),
        SchemaOf::Simulation => include_str!("../../schema/simulation.json"),
        SchemaOf::Fit => include_str!("../../schema/fit.json"),
        SchemaOf::Capture => include_str!("../../schema/capture.json"),
        SchemaOf::Advice => include_str!("../../schema/advice.json"),
        SchemaOf::Traffic => include_str!("../../schema/traffic.json"),
        SchemaOf::EntropySpeed => include_str!("../../schema/entropy-speed.json"),
        SchemaOf::EntropyTest => include_str!("../../schema/entropy-test.json"),
        SchemaOf::EntropyFeed => include_str!("../../schema/entropy-feed.json"),
        SchemaOf::EntropyServe => include_str!("../../schema/entropy-serve.json"),
        SchemaOf::CipherBench => include_str!("../../schema/cipher-bench.json"),
        SchemaOf::CipherDevices => include_str!("../../schema/cipher-devices.json"),
        SchemaOf::CipherPlan => include_str!("../../schema/cipher-plan.json"),
        SchemaOf::CipherPredict => include_str!("../../schema/cipher-predict.json"),
        SchemaOf::CipherServe => include_str!("../../schema/cipher-serve.json"),
        SchemaOf::IpcSweep => include_str!("../../schema/ipc-sweep.json"),
        SchemaOf::IpcAdvice => include_str!("../../schema/ipc-advice.json"),
        SchemaOf::MachineModes => include_str!("../../schema/machine-modes.json"),
        SchemaOf::ProgramBill => include_str!("../../schema/program-bill.json"),
    }
}

/// The command line without its hidden verbs, which completions would offer.
fn visible() -> Command {
    let whole = Arguments::command();
    let verbs = whole.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    Command::new("tollway")
        .version(env!("CARGO_PKG_VERSION"))
        .args(whole.get_arguments().cloned())
        .subcommands(verbs)
}

/// The page of a command and of each below it that is not hidden.
fn pages(command: &Command, name: &str, write: &mut impl FnMut(&str, &[u8]) -> Result<()>) -> Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    write(name, &page)?;
    for below in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        pages(below, &format!("{name}-{}", below.get_name()), write)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::ValueEnum;
    use schemars::{Schema, schema_for};
    use tollway_capture_tool::{advise, document::CaptureDocument, generate::GenerateDocument};
    use tollway_entropy_tool::{feed, serve, speed, test};
    use tollway_ipc_tool::sweep;
    use tollway_machine_tool::modes;
    use tollway_report::document::{ComparisonDocument, HistoryDocument, ReproductionDocument, RunDocument};

    use super::super::fit::FitDocument;
    use super::super::model::ModelDocument;
    use super::super::plan::PlanDocument;
    use super::super::simulate::SimulationDocument;
    use super::*;

    /// What the types of a document say of its form.
    fn derived(document: SchemaOf) -> Schema {
        match document {
            SchemaOf::Run => schema_for!(RunDocument),
            SchemaOf::Comparison => schema_for!(ComparisonDocument),
            SchemaOf::Reproduction => schema_for!(ReproductionDocument),
            SchemaOf::History => schema_for!(HistoryDocument),
            SchemaOf::Model => schema_for!(ModelDocument),
            SchemaOf::Plan => schema_for!(PlanDocument),
            SchemaOf::Simulation => schema_for!(SimulationDocument),
            SchemaOf::Fit => schema_for!(FitDocument),
            SchemaOf::Capture => schema_for!(CaptureDocument),
            SchemaOf::Advice => schema_for!(advise::document::AdviceDocument),
            SchemaOf::Traffic => schema_for!(GenerateDocument),
            SchemaOf::EntropySpeed => schema_for!(speed::SpeedDocument),
            SchemaOf::EntropyTest => schema_for!(test::TestDocument),
            SchemaOf::EntropyFeed => schema_for!(feed::FeedDocument),
            SchemaOf::EntropyServe => schema_for!(serve::StatusDocument),
            SchemaOf::CipherBench => schema_for!(tollway_cipher_tool::bench::BenchDocument),
            SchemaOf::CipherDevices => schema_for!(tollway_cipher_tool::devices::DevicesDocument),
            SchemaOf::CipherPlan => schema_for!(tollway_cipher_tool::plan::PlanDocument),
            SchemaOf::CipherPredict => schema_for!(tollway_cipher_tool::predict::PredictDocument),
            SchemaOf::CipherServe => schema_for!(tollway_cipher_tool::serve::StatusDocument),
            SchemaOf::IpcSweep => schema_for!(sweep::SweepDocument),
            SchemaOf::IpcAdvice => schema_for!(tollway_ipc_tool::advise::AdviceDocument),
            SchemaOf::MachineModes => schema_for!(modes::ModesDocument),
            SchemaOf::ProgramBill => schema_for!(tollway_program_tool::document::BillDocument),
        }
    }

    #[test]
    fn checked_in_schemas_are_those_of_the_types() {
        for document in SchemaOf::value_variants() {
            let value = document.to_possible_value().unwrap();
            let name = value.get_name();
            let folder = match document {
                SchemaOf::Run | SchemaOf::Comparison | SchemaOf::Reproduction | SchemaOf::History => {
                    "../report/schema"
                }
                _ => "schema",
            };
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(format!("{name}.json"));
            let now = serde_json::to_value(derived(*document)).unwrap();
            if std::env::var_os("TOLLWAY_REWRITE").is_some() {
                fs::write(&file, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
                continue;
            }
            // As values: in which order keys stand depends on features that other crates ask of serde_json.
            let printed: serde_json::Value = serde_json::from_str(schema(*document)).unwrap();
            assert!(printed == now, "{} is stale: run this test with TOLLWAY_REWRITE=1", file.display());
        }
    }
}
