//! How the program ends: one code for each kind of ending.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use tollway_core::Error as ContractError;
use tollway_lab::LabError;
use tollway_model::ModelError;
use tollway_model::capacity::CapacityError;
use tollway_sim::SimError;

use crate::args::Arguments;
use crate::output;

/// How a verb ended that did not err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// A check failed: a regression beyond the threshold, a result that is wrong, a proof that does not hold.
    CheckFailed,
    /// A requirement is missing, and --strict was given.
    RequirementMissing,
    /// It was interrupted; what was measured is kept.
    Interrupted,
    /// With the exit code of a program in whose place it was.
    Standing(u8),
}

impl Ending {
    fn code(self) -> u8 {
        match self {
            Ending::Done => 0,
            Ending::CheckFailed => 3,
            Ending::RequirementMissing => 4,
            Ending::Interrupted => 130,
            Ending::Standing(code) => code,
        }
    }
}

/// The exit code of what a verb returned; an error is told on standard error.
pub fn of(result: anyhow::Result<Ending>) -> ExitCode {
    match result {
        Ok(ending) => ExitCode::from(ending.code()),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(&format!("tollway: {error:#}"));
            ExitCode::from(code_of(&error))
        }
    }
}

/// An error in the place of a program whose exit code tollway's would have been.
#[derive(Debug)]
pub struct InItsPlace(anyhow::Error);

impl InItsPlace {
    /// Of this error.
    pub fn of(error: anyhow::Error) -> anyhow::Error {
        InItsPlace(error).into()
    }
}

impl Display for InItsPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for InItsPlace {}

/// The exit code of an error. Where a program was to be started it is as of env(1) and timeout(1), which stand in a program's place as well:
/// 127 where there is none, 126 where it cannot be executed, 125 for an error of tollway's own, which 1 would not tell from one of the program's.
fn code_of(error: &anyhow::Error) -> u8 {
    if let Some(InItsPlace(error)) = error.downcast_ref() {
        return match code_of(error) {
            1 => 125,
            code => code,
        };
    }
    let not_started = error.chain().find_map(|e| match e.downcast_ref::<ContractError>() {
        Some(ContractError::NotStarted { is_missing, .. }) => Some(*is_missing),
        _ => None,
    });
    match not_started {
        Some(true) => 127,
        Some(false) => 126,
        None if is_usage(error) => 2,
        None => 1,
    }
}

/// The exit code of a command line that could not be read, or that asked for help.
pub fn of_usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell where even this cannot be printed.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(Arguments::usage_code()),
    }
}

/// Whether somebody closed the pipe that results were printed to, which is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    if let Some(InItsPlace(error)) = error.downcast_ref() {
        return is_broken_pipe(error);
    }
    error
        .chain()
        .any(|e| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

/// Whether the error is about what a person wrote.
fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        matches!(e.downcast_ref::<ContractError>(), Some(ContractError::Input { .. }))
            || matches!(e.downcast_ref::<LabError>(), Some(LabError::Contract(ContractError::Input { .. })))
            || e.downcast_ref::<ModelError>().is_some_and(is_parameter)
            || match e.downcast_ref::<SimError>() {
                Some(SimError::Spec(error)) => is_parameter(error),
                Some(SimError::Distribution { .. } | SimError::Option { .. }) => true,
                _ => false,
            }
            || matches!(e.downcast_ref::<CapacityError>(), Some(CapacityError::AlwaysKept { .. }))
    })
}

/// Whether another parameter would have an answer.
fn is_parameter(error: &ModelError) -> bool {
    matches!(error, ModelError::Parameter { .. } | ModelError::Unstable { .. })
}
