//! Expressions to programs: libpcap's compiler, as tcpdump uses it.
//!
//! Its optimiser is optional, as with tcpdump -O: it has had mistakes, and the program without it is the reference that
//! tests compare the other with.

use pcap::{Capture, Linktype};

use super::check::{Program, Refused};
use super::instruction::Instruction;
use crate::engine::LinkType;

/// The snapshot length that the `pcap` crate gives a handle that captures nothing.
const DEAD_SNAPSHOT: u32 = 65535;

/// Why there is no program for an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncompiled {
    /// libpcap refused it.
    #[error("filter `{expression}`: libpcap says: {reason}; see pcap-filter(7) for the language")]
    Libpcap {
        /// The expression.
        expression: String,
        /// libpcap's own words.
        reason: String,
    },
    /// libpcap made a program that is not run here.
    #[error("filter `{expression}`: its program is refused: {refused}")]
    Refused {
        /// The expression.
        expression: String,
        /// Why.
        refused: Refused,
    },
    /// Such a program would keep nothing.
    #[error(
        "filter `{expression}` with a snapshot of 0 bytes would keep nothing; use 262144, as tcpdump does"
    )]
    NoSnapshot {
        /// The expression.
        expression: String,
    },
}

impl From<Uncompiled> for tollway_core::Error {
    fn from(error: Uncompiled) -> Self {
        let (expression, reason, remedy) = match error {
            Uncompiled::Libpcap { expression, reason } => {
                (expression, format!("libpcap says: {reason}"), "see pcap-filter(7) for the language")
            }
            Uncompiled::Refused { expression, refused } => {
                (expression, refused.to_string(), "write the expression without what that is")
            }
            Uncompiled::NoSnapshot { expression } => {
                (expression, "a snapshot of 0 bytes keeps nothing".into(), "use 262144, as tcpdump does")
            }
        };
        tollway_core::Error::Input { place: format!("filter `{expression}`"), reason, remedy: remedy.into() }
    }
}

/// The program of an expression (pcap-filter(7); the empty one wants every packet) for packets of a link type. It keeps
/// `snapshot` bytes of those that it wants. Names of hosts are looked up as libpcap does.
///
/// # Errors
/// libpcap's own words, or why its program is not run here.
pub fn compile(
    expression: &str,
    link: LinkType,
    snapshot: u32,
    optimize: bool,
) -> Result<Program, Uncompiled> {
    if snapshot == 0 {
        return Err(Uncompiled::NoSnapshot { expression: expression.to_owned() });
    }
    let refused = |reason: pcap::Error| Uncompiled::Libpcap {
        expression: expression.to_owned(),
        reason: reason.to_string(),
    };
    let handle = Capture::dead(Linktype(data_link(link))).map_err(refused)?;
    let compiled = handle.compile(expression, optimize).map_err(refused)?;
    let instructions = compiled.get_instructions().iter().map(|instruction| {
        // The crate shows an instruction only as text: `code jt jf k`.
        let text = instruction.to_string();
        let mut numbers = text.split(' ').map(|n| n.parse::<u32>().expect("four numbers"));
        let mut next = || numbers.next().expect("four numbers");
        let (code, jt, jf, k) = (next(), next(), next(), next());
        let mut instruction = Instruction { code: code as u16, jt: jt as u8, jf: jf as u8, k };
        // libpcap returns either 0 or the snapshot length, which the crate does not let us choose.
        if instruction.code == RETURN_CONSTANT && k == DEAD_SNAPSHOT {
            instruction.k = snapshot;
        }
        instruction
    });
    Program::new(instructions.collect())
        .map_err(|refused| Uncompiled::Refused { expression: expression.to_owned(), refused })
}

/// The code of `ret #k`.
const RETURN_CONSTANT: u16 = 0x06;

/// libpcap's number (DLT_) of a link type: the same but for a few old ones (<https://www.tcpdump.org/linktypes.html>).
fn data_link(link: LinkType) -> i32 {
    match link.0 {
        100 => 11,
        101 if cfg!(target_os = "openbsd") => 14,
        101 => 12,
        102 => 15,
        103 => 16,
        same => i32::try_from(same).unwrap_or(i32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(expression: &str, link: LinkType, optimize: bool) -> String {
        compile(expression, link, 96, optimize).map_or_else(|e| e.to_string(), |p| p.to_text())
    }

    #[test]
    fn expressions_become_programs() {
        assert_eq!(
            text("ip", LinkType::ETHERNET, true),
            "(000) ldh      [12]\n(001) jeq      #0x800           jt 2\tjf 3\n(002) ret      #96\n(003) ret      #0\n"
        );
        assert!(text("ip", LinkType::RAW, true).starts_with("(000) ldb      [0]\n(001) and      #0xf0\n"));
        assert!(text("ip", LinkType::LINUX_SLL, true).starts_with("(000) ldh      [14]\n"));
        assert_eq!(text("", LinkType::ETHERNET, true), "(000) ret      #96\n");
    }

    #[test]
    fn errors_have_place_and_remedy() {
        let error = text("tcp prot 80", LinkType::ETHERNET, true);
        assert!(error.starts_with("filter `tcp prot 80`: libpcap says: "), "{error}");
        assert!(error.contains("syntax error") && error.contains("pcap-filter(7)"), "{error}");
        let error = text("ether[-1] = 0", LinkType::ETHERNET, true);
        assert!(error.contains("its program is refused: instruction 0, `ldb      [-1]`"), "{error}");
        let error = compile("ip", LinkType::ETHERNET, 0, true).unwrap_err().to_string();
        assert!(error.contains("snapshot of 0"), "{error}");
        assert!(text("ip\0", LinkType::ETHERNET, true).contains("libpcap says"), "a NUL");
    }
}
