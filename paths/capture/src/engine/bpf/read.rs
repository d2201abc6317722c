//! Programs from text: what tcpdump -ddd and -dd print.
//!
//! Numbers (-ddd) are the count of instructions, then a line `code jt jf k` for each, all decimal; commas may stand for
//! the ends of lines, as `iptables -m bpf` and `xt_bpf` want it. A fragment of C (-dd) is a line `{ 0x28, 0, 0, 0x0000000c },` for
//! each instruction, numbers decimal or hexadecimal.

use super::check::{Program, Refused};
use super::instruction::{Instruction, MAX_LENGTH};

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is nothing in it.
    #[error("there is no program in the text; give what tcpdump -ddd FILTER prints")]
    Nothing,
    /// A line is not what it should be.
    #[error("line {line}: `{text}` {fault}")]
    Line {
        /// Its number, the first is 1.
        line: usize,
        /// What stands there, cut short.
        text: String,
        /// What is wrong with it, and what to write.
        fault: LineFault,
    },
    /// There are more or fewer instructions than the first line promises.
    #[error(
        "line {line} promises {promised} instructions, and {found} follow; correct the count or add what is missing"
    )]
    Count {
        /// The line with the count.
        line: usize,
        /// The count.
        promised: usize,
        /// How many there are.
        found: usize,
    },
    /// It was read, and is not run.
    #[error("{0}")]
    Refused(#[from] Refused),
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It is no count.
    #[error("is not how many instructions follow; write a number from 1 to {MAX_LENGTH}")]
    Count,
    /// It has not four numbers.
    #[error("has {0} numbers where an instruction has four; write `code jt jf k`")]
    FourNumbers(usize),
    /// Something else than a number.
    #[error(
        "has something that is no number in its place {0}; write decimal numbers, or hexadecimal ones with 0x"
    )]
    Number(usize),
    /// A number is too large.
    #[error(
        "has a number that is too large in its place {0}; code goes to 65535, jt and jf to 255, k to 4294967295"
    )]
    TooLarge(usize),
}

impl From<Unreadable> for tollway_core::Error {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Refused(refused) => refused.into(),
            other => tollway_core::Error::Input {
                place: "program".into(),
                reason: other.to_string(),
                remedy: "give what tcpdump -ddd FILTER prints".into(),
            },
        }
    }
}

impl Program {
    /// Reads and checks a program as tcpdump -ddd or -dd print it.
    ///
    /// # Errors
    /// The first line that cannot be, or why the program is refused.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let is_c = text.contains('{');
        // Commas end lines of numbers; in C they are between numbers.
        let pieces = text.lines().enumerate().flat_map(|(at, line)| {
            let separator = if is_c { '}' } else { ',' };
            line.split(separator).map(move |piece| (at + 1, piece.trim()))
        });
        let mut pieces = pieces
            .map(|(line, piece)| {
                (line, if is_c { piece.trim_start_matches([',', ' ', '\t']) } else { piece })
            })
            .filter(|(_, piece)| !piece.is_empty());
        let mut instructions = Vec::new();
        if is_c {
            for (line, piece) in pieces {
                let numbers = piece.strip_prefix('{').unwrap_or(piece);
                instructions.push(instruction(line, piece, numbers.split(','))?);
            }
            return Ok(Program::new(instructions)?);
        }
        let (first, count) = pieces.next().ok_or(Unreadable::Nothing)?;
        let promised = match count.parse::<usize>() {
            Ok(promised @ 1..=MAX_LENGTH) => promised,
            _ => return Err(fault(first, count, LineFault::Count)),
        };
        for (line, piece) in pieces {
            instructions.push(instruction(line, piece, piece.split_whitespace())?);
        }
        if instructions.len() != promised {
            return Err(Unreadable::Count { line: first, promised, found: instructions.len() });
        }
        Ok(Program::new(instructions)?)
    }
}

fn fault(line: usize, text: &str, fault: LineFault) -> Unreadable {
    Unreadable::Line { line, text: text.chars().take(60).collect(), fault }
}

fn instruction<'a>(
    line: usize,
    text: &str,
    numbers: impl Iterator<Item = &'a str>,
) -> Result<Instruction, Unreadable> {
    let words: Vec<&str> = numbers.map(str::trim).collect();
    let &[code, jt, jf, k] = words.as_slice() else {
        return Err(fault(line, text, LineFault::FourNumbers(words.len())));
    };
    let number = |place: usize, word: &str, most: u32| {
        let parsed = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16),
            _ => word.parse::<u64>(),
        };
        let value = parsed.map_err(|_| fault(line, text, LineFault::Number(place)))?;
        u32::try_from(value)
            .ok()
            .filter(|v| *v <= most)
            .ok_or_else(|| fault(line, text, LineFault::TooLarge(place)))
    };
    Ok(Instruction {
        code: number(1, code, u16::MAX.into())? as u16,
        jt: number(2, jt, u8::MAX.into())? as u8,
        jf: number(3, jf, u8::MAX.into())? as u8,
        k: number(4, k, u32::MAX)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: &str = "4\n40 0 0 12\n21 0 1 2048\n6 0 0 262144\n6 0 0 0\n";

    #[test]
    fn what_is_printed_is_read() {
        let program = Program::read(IP).unwrap();
        assert_eq!(program.to_numbers(), IP);
        assert_eq!(Program::read(&program.to_c()), Ok(program.clone()));
        let one_line = program.to_numbers().trim_end().replace('\n', ",");
        assert_eq!(Program::read(&one_line), Ok(program.clone()));
        assert_eq!(Program::read(&program.to_c().replace('\n', " ")), Ok(program));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, says) in [
            ("", "there is no program in the text"),
            ("four\n", "line 1: `four` is not how many instructions follow"),
            ("0\n", "write a number from 1 to 4096"),
            ("2\n6 0 0 1\n", "line 1 promises 2 instructions, and 1 follow"),
            ("1\n6 0 0\n", "line 2: `6 0 0` has 3 numbers where an instruction has four"),
            ("1\n6 0 x 0\n", "line 2: `6 0 x 0` has something that is no number in its place 3"),
            ("1\n\n6 0 256 0\n", "line 3: `6 0 256 0` has a number that is too large in its place 3"),
            ("1\n6 0 0 99999999999999999999999", "no number in its place 4"),
            ("1\n6 0 0 4294967296", "too large in its place 4"),
            ("{ 0x6, 0, 0 },", "line 1: `{ 0x6, 0, 0` has 3 numbers"),
            ("{ 0x6, 0, 0, 0x },", "no number in its place 4"),
            (
                "{ 0x28, 0, 0, 0x0000000c },\n",
                "instruction 0, `ldh      [12]`: the program goes on behind it",
            ),
        ] {
            let error = Program::read(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}\nlacks\n{says}");
        }
    }
}
