//! Programs by their command lines, and processes by their numbers.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Access, access};
use tollway_core::{Error, Result};

/// The command of these words.
pub(crate) fn of(words: &[OsString]) -> Result<Command> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::Input {
            place: "the command".into(),
            reason: "there is none behind `--`".into(),
            remedy: "write `tollway bill -- PROGRAM ARGUMENTS`".into(),
        });
    };
    let refused = |reason: &str, is_missing| {
        Err(Error::NotStarted {
            program: program.to_string_lossy().into_owned(),
            reason: reason.into(),
            remedy:
                "write its path, or one that is in a folder of PATH; a shell's own words want `sh -c '…'`"
                    .into(),
            is_missing,
        })
    };
    match found(program) {
        Some(true) => {}
        Some(false) => return refused("it is no program that can be run", false),
        None => return refused("there is no program of that name", true),
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Whether what is there can be run, and is no folder; `None` where nothing is there.
fn found(program: &OsStr) -> Option<bool> {
    let can_run = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    let one = |file: &Path| match fs::metadata(file) {
        Ok(_) => Some(can_run(file)),
        Err(error) => (error.kind() == io::ErrorKind::PermissionDenied).then_some(false),
    };
    if program.is_empty() {
        return None;
    }
    if program.as_encoded_bytes().contains(&b'/') {
        return one(Path::new(program));
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&folders).filter_map(|folder| one(&folder.join(program))).max()
}

/// Whether the word is a program that can be run.
pub fn is_program(word: &str) -> bool {
    found(OsStr::new(word)) == Some(true)
}

/// A command line as a person reads it.
pub fn words(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// What a process is called.
pub fn name_of(number: u32) -> String {
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
