//! `tollway generate`: completions, man pages, MODELS.md, schemas.

use std::fs;
use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use schemars::schema_for;
use tollway_capture_tool::advise::document::AdviceDocument;
use tollway_capture_tool::document::CaptureDocument;
use tollway_capture_tool::generate::GenerateDocument;
use tollway_cipher_tool::bench::BenchDocument;
use tollway_cipher_tool::devices::DevicesDocument;
use tollway_cipher_tool::plan::PlanDocument as PlanOfCard;
use tollway_cipher_tool::predict::PredictDocument;
use tollway_cipher_tool::serve::StatusDocument as CardDocument;
use tollway_entropy_tool::feed::FeedDocument;
use tollway_entropy_tool::serve::StatusDocument;
use tollway_entropy_tool::speed::SpeedDocument;
use tollway_entropy_tool::test::TestDocument;
use tollway_ipc_tool::advise::AdviceDocument as IpcAdviceDocument;
use tollway_ipc_tool::sweep::SweepDocument;
use tollway_machine_tool::modes::ModesDocument;
use tollway_program_tool::document::BillDocument;
use tollway_report::document::{Document, schema};

use super::fit::FitDocument;
use super::model::{self, ModelDocument};
use super::plan::PlanDocument;
use super::simulate::SimulationDocument;
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
        Generated::Schema { document } => output::json(&match document {
            SchemaOf::Run => schema(Document::Run),
            SchemaOf::Comparison => schema(Document::Comparison),
            SchemaOf::History => schema(Document::History),
            SchemaOf::Reproduction => schema(Document::Reproduction),
            SchemaOf::Model => schema_for!(ModelDocument).into(),
            SchemaOf::Plan => schema_for!(PlanDocument).into(),
            SchemaOf::Simulation => schema_for!(SimulationDocument).into(),
            SchemaOf::Fit => schema_for!(FitDocument).into(),
            SchemaOf::Capture => schema_for!(CaptureDocument).into(),
            SchemaOf::Advice => schema_for!(AdviceDocument).into(),
            SchemaOf::EntropySpeed => schema_for!(SpeedDocument).into(),
            SchemaOf::EntropyFeed => schema_for!(FeedDocument).into(),
            SchemaOf::CipherBench => schema_for!(BenchDocument).into(),
            SchemaOf::CipherDevices => schema_for!(DevicesDocument).into(),
            SchemaOf::CipherPlan => schema_for!(PlanOfCard).into(),
            SchemaOf::CipherPredict => schema_for!(PredictDocument).into(),
            SchemaOf::CipherServe => schema_for!(CardDocument).into(),
            SchemaOf::IpcSweep => schema_for!(SweepDocument).into(),
            SchemaOf::IpcAdvice => schema_for!(IpcAdviceDocument).into(),
            SchemaOf::MachineModes => schema_for!(ModesDocument).into(),
            SchemaOf::ProgramBill => schema_for!(BillDocument).into(),
            SchemaOf::EntropyServe => schema_for!(StatusDocument).into(),
            SchemaOf::EntropyTest => schema_for!(TestDocument).into(),
            SchemaOf::Traffic => schema_for!(GenerateDocument).into(),
        })?,
    }
    Ok(Ending::Done)
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
