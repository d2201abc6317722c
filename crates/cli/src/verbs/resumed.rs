//! What a person sees of a run that was measured; of one that has gone on, what the command shows that began it.

use anyhow::Result;
use clap::Parser;
use tollway_capture_tool::args::What as Capture;
use tollway_cipher_tool::args::What as Cipher;
use tollway_ipc_tool::args::What as Ipc;
use tollway_ipc_tool::sweep::Sweep;
use tollway_machine_tool::args::What as Machine;
use tollway_store::RunState;

use super::work::{self, Measured};
use super::{bill, compare, ipc, machine, reproduce};
use crate::args::{Arguments, Verb};
use crate::exit::Ending;
use crate::output;

/// Prints what a run has come to, exports it where that was asked for, and says how it ended.
pub fn show(measured: &Measured<'_>, has_gone_on: bool) -> Result<Ending> {
    let Measured { arguments, repeats, report, .. } = measured;
    match if has_gone_on { show_as_begun(measured)? } else { None } {
        None => {
            work::show(arguments, repeats, report)?;
            Ok(measured.ending())
        }
        Some(ending) => {
            repeats.export.as_deref().map_or(Ok(()), |file| work::export_measured(file, report))?;
            Ok(ending)
        }
    }
}

/// Prints the run as the command does that began it; nothing, where that prints the general report, or does more than this run.
fn show_as_begun(measured: &Measured<'_>) -> Result<Option<Ending>> {
    let Measured { arguments, repeats, store, ended, report, .. } = measured;
    // What another version of this program was told may say nothing to this one.
    let Ok(begun) = Arguments::try_parse_from(store.run(ended.run)?.spec.argv) else {
        return Ok(None);
    };
    // Where there is more to do than to go on with this run.
    let part_of = |command: &str| {
        output::tell(&format!(
            "run {} is a part of what `tollway {command}` does: for its answer give that command again",
            ended.run
        ));
        Ok(None)
    };
    let ending = match &begun.verb {
        Verb::Bill(options) => {
            bill::show_measured(arguments, repeats, options.output.as_deref(), (report, ended))?
        }
        Verb::Capture(options) => match &options.what {
            Some(Capture::Profile(_)) => {
                bill::show_drawn(arguments, report, None)?;
                measured.ending()
            }
            Some(Capture::Advise(_)) => return part_of("capture advise"),
            _ => return Ok(None),
        },
        Verb::Cipher(options) => match &options.what {
            Cipher::Predict(_) => return part_of("cipher predict"),
            Cipher::Plan(_) => return part_of("cipher plan"),
            _ => return Ok(None),
        },
        Verb::Run(_) => {
            if arguments.json {
                return Ok(None);
            }
            output::text(&report.summary(output::width()))?;
            measured.ending()
        }
        Verb::Compare(options) if options.prove => return part_of("compare --prove"),
        Verb::Compare(options) => compare::resumed(measured, options)?,
        Verb::Ipc(options) => match &options.what {
            Ipc::PingPong(of) => ipc::resumed(measured, &Sweep::ping_pong(of))?,
            Ipc::AllocServer(of) => ipc::resumed(measured, &Sweep::alloc_server(of))?,
            Ipc::TcpServer(of) => ipc::resumed(measured, &Sweep::tcp_server(of))?,
            Ipc::Advise(_) => return part_of("ipc advise"),
        },
        Verb::Machine(options) => match &options.what {
            Machine::Modes(options) => match machine::resumed(measured, options)? {
                Some(ending) => ending,
                None => return part_of("machine modes"),
            },
            Machine::Suite(_) => return Ok(None),
        },
        Verb::Reproduce(options) if ended.state == RunState::Complete => {
            reproduce::resumed(measured, options)?
        }
        _ => return Ok(None),
    };
    Ok(Some(ending))
}
