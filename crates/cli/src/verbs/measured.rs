//! What a person sees of a run that was measured; of one that has gone on, what the command shows that began it.

use anyhow::Result;
use clap::Parser;
use tollway_capture_tool::args::What as Capture;
use tollway_cipher_tool::args::What as Cipher;
use tollway_core::Registry;
use tollway_ipc_tool::args::What as Ipc;
use tollway_ipc_tool::sweep::Sweep;
use tollway_lab::Ended;
use tollway_report::RunReport;
use tollway_store::{RunState, Store};

use super::{bill, compare, ipc, measure, reproduce};
use crate::args::{Arguments, Repeats, Verb};
use crate::exit::Ending;
use crate::output;

/// A run that was measured, and what asked for it.
pub struct Measured<'a> {
    /// The command line, by which it was begun or has gone on.
    pub arguments: &'a Arguments,
    /// What that says of all runs.
    pub repeats: &'a Repeats,
    /// All paths.
    pub registry: &'a Registry,
    /// Where the run is.
    pub store: &'a Store,
    /// How it ended.
    pub ended: &'a Ended,
    /// All that it measured.
    pub report: &'a RunReport,
}

impl Measured<'_> {
    /// How it ended, for the exit code.
    pub fn ending(&self) -> Ending {
        measure::ending(self.ended, self.repeats)
    }

    /// Prints what it has come to, exports it where that was asked for, and says how it ended.
    pub fn show(&self, has_gone_on: bool) -> Result<Ending> {
        let shown = if has_gone_on { self.show_as_begun()? } else { None };
        match shown {
            None => {
                measure::show(self.arguments, self.repeats, self.report)?;
                Ok(self.ending())
            }
            Some(ending) => {
                self.repeats.export.as_deref().map_or(Ok(()), |file| measure::export(file, self.report))?;
                Ok(ending)
            }
        }
    }

    /// Prints the run as the command does that began it; nothing, where that prints the general report, or does more than this run.
    fn show_as_begun(&self) -> Result<Option<Ending>> {
        // What another version of this program was told may say nothing to this one.
        let Ok(begun) = Arguments::try_parse_from(self.store.run(self.ended.run)?.spec.argv) else {
            return Ok(None);
        };
        let ending = match &begun.verb {
            Verb::Bill(_) => bill::show_measured(self.arguments, self.repeats, self.report, self.ended)?,
            Verb::Capture(options) => match &options.what {
                Some(Capture::Profile(_)) => {
                    bill::show_drawn(self.arguments, self.report, None)?;
                    self.ending()
                }
                Some(Capture::Advise(_)) => return Ok(self.is_part_of("capture advise")),
                _ => return Ok(None),
            },
            Verb::Cipher(options) => match &options.what {
                Cipher::Predict(_) => return Ok(self.is_part_of("cipher predict")),
                Cipher::Plan(_) => return Ok(self.is_part_of("cipher plan")),
                _ => return Ok(None),
            },
            Verb::Compare(options) if options.prove => return Ok(self.is_part_of("compare --prove")),
            Verb::Compare(options) => compare::resumed(self, options)?,
            Verb::Ipc(options) => match &options.what {
                Ipc::PingPong(of) => ipc::resumed(self, &Sweep::ping_pong(of))?,
                Ipc::AllocServer(of) => ipc::resumed(self, &Sweep::alloc_server(of))?,
                Ipc::TcpServer(of) => ipc::resumed(self, &Sweep::tcp_server(of))?,
                Ipc::Advise(_) => return Ok(self.is_part_of("ipc advise")),
            },
            Verb::Reproduce(options) if self.ended.state == RunState::Complete => {
                reproduce::resumed(self, options)?
            }
            _ => return Ok(None),
        };
        Ok(Some(ending))
    }

    /// Tells that there is more to do than to go on with this run.
    fn is_part_of(&self, command: &str) -> Option<Ending> {
        output::tell(&format!(
            "run {} is a part of what `tollway {command}` does: for its answer give that command again",
            self.ended.run
        ));
        None
    }
}
