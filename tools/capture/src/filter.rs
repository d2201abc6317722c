//! The filter: an expression in libpcap's language, or a program as numbers; and what of an expression libpcap did not
//! understand.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{Filter, Instruction, Origin, Program, Uncompiled, compile};
use tollway_core::{Error, Result};

use crate::args::Options;
use crate::position;

/// The longest filter that is read from a file, in bytes.
const LONGEST: u64 = 1 << 20;

/// What somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Every packet.
    All,
    /// Those of an expression.
    Expression(String),
    /// Those of a program.
    Program(Program),
}

impl Asked {
    /// By the command line.
    ///
    /// # Errors
    /// A file that cannot be read, a program that is none.
    pub fn of(options: &Options) -> Result<Asked> {
        if let Some(text) = &options.program.bytecode {
            return program("--bytecode", text);
        }
        let text = match &options.program.filter_file {
            Some(file) => {
                let text = read(file)?;
                let bare = without_remarks(&text);
                if is_program(&bare) {
                    return program(&file.display().to_string(), &bare);
                }
                bare
            }
            None => options.filter.join(" "),
        };
        Ok(if text.trim().is_empty() { Asked::All } else { Asked::Expression(text.trim().into()) })
    }

    /// The program, for packets of a link type and origin of which at most `snapshot` bytes are kept.
    ///
    /// # Errors
    /// An expression that libpcap does not understand, with the place.
    pub fn program(&self, link: LinkType, origin: Origin, snapshot: u32, optimize: bool) -> Result<Program> {
        self.compiled(link, origin, snapshot, optimize).map_err(|error| refusal(error, link, origin))
    }

    /// The program for packets among which there may be others, of other link types. Where libpcap says that the
    /// expression is true of none of these, it is one that takes none, with libpcap's words beside it.
    ///
    /// # Errors
    /// As [`Asked::program`], but for that.
    pub fn among_others(
        &self,
        link: LinkType,
        origin: Origin,
        snapshot: u32,
        optimize: bool,
    ) -> Result<(Program, Option<Error>)> {
        match self.compiled(link, origin, snapshot, optimize) {
            Ok(program) => Ok((program, None)),
            Err(error) if error.is_never_true() => Ok((nothing(), Some(refusal(error, link, origin)))),
            Err(error) => Err(refusal(error, link, origin)),
        }
    }

    fn compiled(
        &self,
        link: LinkType,
        origin: Origin,
        snapshot: u32,
        optimize: bool,
    ) -> Result<Program, Uncompiled> {
        match self {
            Asked::Program(program) => Ok(program.clone()),
            Asked::Expression(text) => compile(text, link, origin, snapshot, optimize),
            Asked::All => compile("", link, origin, snapshot, optimize),
        }
    }

    /// The program, where not every packet is wanted.
    ///
    /// # Errors
    /// As [`Asked::program`].
    pub fn wanted(
        &self,
        link: LinkType,
        origin: Origin,
        snapshot: u32,
        optimize: bool,
    ) -> Result<Option<Program>> {
        if *self == Asked::All { Ok(None) } else { self.program(link, origin, snapshot, optimize).map(Some) }
    }

    /// The expression, if it is one.
    pub fn expression(&self) -> Option<&str> {
        match self {
            Asked::Expression(text) => Some(text),
            _ => None,
        }
    }
}

/// Why there is no program for packets of a link type, with the place in the expression.
fn refusal(error: Uncompiled, link: LinkType, origin: Origin) -> Error {
    match error {
        Uncompiled::Libpcap { expression, reason } => position::located(&expression, link, origin, reason),
        Uncompiled::NotLoaded { missing, .. } => Error::Missing(missing),
        Uncompiled::Refused { ref expression, .. } | Uncompiled::NoSnapshot { ref expression } => {
            let place = format!("filter `{}`", position::shortened(expression));
            match error.into() {
                Error::Input { reason, remedy, .. } => Error::Input { place, reason, remedy },
                other => other,
            }
        }
    }
}

/// The program that takes no packet: `ret #0`.
fn nothing() -> Program {
    let nothing = Instruction { code: 0x06, jt: 0, jf: 0, k: 0 };
    Program::new(vec![nothing]).expect("a program of one return")
}

/// The machine code of a program, for readers.
///
/// # Errors
/// Where there is none.
pub fn machine_code(program: &Program) -> Result<String> {
    let filter = Filter::new(program);
    #[cfg(target_arch = "x86_64")]
    if let Some(machine) = filter.machine() {
        return Ok(machine.listing());
    }
    Err(Error::Missing(tollway_core::Missing::new(
        "machine code of the filter",
        filter.engine(),
        "-d shows what is interpreted",
    )))
}

fn program(place: &str, text: &str) -> Result<Asked> {
    Program::read(text).map(Asked::Program).map_err(|error| Error::Input {
        place: place.into(),
        reason: error.to_string(),
        remedy: "give what `tollway capture -ddd FILTER` prints".into(),
    })
}

fn read(file: &Path) -> Result<String> {
    let refused = |reason: String, remedy: &str| Error::Input {
        place: format!("filter file {}", file.display()),
        reason,
        remedy: remedy.into(),
    };
    let readable = "name a file that can be read";
    let mut text = String::new();
    // One byte more than there may be shows that it is longer; what is no regular file has no length to ask for.
    let read = File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    let length = read.map_err(|error| refused(error.to_string(), readable))?;
    if length as u64 > LONGEST {
        let reason = format!("it is longer than {LONGEST} bytes");
        return Err(refused(reason, "name a file with an expression or a program"));
    }
    Ok(text)
}

/// Remarks go from a `#` to the end of the line, as tcpdump has it.
fn without_remarks(text: &str) -> String {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// No expression has numbers only, or begins with a brace.
fn is_program(text: &str) -> bool {
    let text = text.trim();
    let numbers = |c: char| c.is_ascii_digit() || c.is_whitespace() || c == ',';
    text.starts_with('{') || (text.contains(char::is_whitespace) && text.chars().all(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_expressions_are_told_apart() {
        for program in ["1\n6 0 0 1\n", "{ 0x6, 0, 0, 0x1 },", "1,6 0 0 1"] {
            assert!(is_program(program), "{program}");
        }
        for expression in ["tcp port 80", "1 = 1", "", "80"] {
            assert!(!is_program(expression), "{expression}");
        }
        assert_eq!(without_remarks("tcp # those\nport 80\n# end"), "tcp \nport 80\n");
    }

    #[test]
    fn machine_code_has_instructions_of_both_kinds() {
        let program =
            Asked::Expression("ip".into()).program(LinkType::ETHERNET, Origin::Live, 96, true).unwrap();
        let listing = machine_code(&program).unwrap();
        assert!(listing.contains("ldh      [12]") && listing.contains("ret"), "{listing}");
    }
}
