//! Programs by their command lines, and processes by their numbers.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use rustix::fs::{Access, access};
use tollway_core::{Error, Result};

/// The command of these words.
pub(crate) fn of(words: &[OsString]) -> Result<Command> {
    let refused = |reason: &str, remedy: &str| {
        let place = words
            .first()
            .map_or("the command".into(), |word| format!("command `{}`", word.to_string_lossy()));
        Error::Input { place, reason: reason.into(), remedy: remedy.into() }
    };
    let Some((program, arguments)) = words.split_first() else {
        return Err(refused("there is none behind `--`", "write `tollway bill -- PROGRAM ARGUMENTS`"));
    };
    if !is_found(program) {
        return Err(refused(
            "it is no program that can be run",
            "write its path, or one that is in a folder of PATH; a shell's own words want `sh -c '…'`",
        ));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn is_found(program: &OsStr) -> bool {
    let can_run = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if Path::new(program).components().count() > 1 {
        return can_run(Path::new(program));
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&folders).any(|folder| can_run(&folder.join(program)))
}

/// A command line as a person reads it.
pub(crate) fn words(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// What a process is called.
pub(crate) fn name_of(number: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    format!("{} ({number})", name.trim())
}

/// The name that a program was started by, or that a process has: what its bills are compared under.
pub fn short_name(command: &[OsString], number: Option<u32>) -> String {
    match (number, command.first()) {
        (Some(number), _) => {
            std::fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default().trim().into()
        }
        (None, Some(program)) => {
            let file = Path::new(program).file_name().unwrap_or(program);
            file.to_string_lossy().into_owned()
        }
        (None, None) => String::new(),
    }
}
