//! Expressions to programs: libpcap's compiler, as tcpdump uses it ([`super::libpcap`] loads it).
//!
//! For some link types it makes another program for a file than for a live capture: what numbers in their headers mean
//! goes by the system that wrote them, and in which order their bytes stand by the file's. So for packets of a file it is
//! given the header of one.
//!
//! Its optimiser is optional, as with tcpdump -O: it has had mistakes, and the program without it is the reference that
//! tests compare the other with.

use std::ffi::{CString, c_int};
use std::fs::File;
use std::io::{self, Write};

use rustix::pipe::{PipeFlags, pipe_with};
use tollway_core::Missing;

use super::check::{Program, Refused};
use super::instruction::Instruction;
use super::libpcap::{Handle, Libpcap};
use crate::engine::LinkType;

/// Where packets come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// From an interface of this machine.
    #[default]
    Live,
    /// From a file.
    File {
        /// Whether its numbers are of the other byte order than this machine's.
        is_swapped: bool,
    },
}

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
    /// There is no libpcap in this process, and none can be loaded.
    #[error("filter `{expression}`: {missing}")]
    NotLoaded {
        /// The expression.
        expression: String,
        /// Why, and what to do about it.
        missing: Missing,
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

impl Uncompiled {
    /// Whether libpcap understood the expression, and says that it is true of no packet of that link type: `ip` where all
    /// packets are IPv6. Only its optimiser finds that out; without it there is a program, which takes none.
    pub fn is_never_true(&self) -> bool {
        // gencode.c, pcap_compile().
        matches!(self, Uncompiled::Libpcap { reason, .. } if reason.contains("expression rejects all packets"))
    }
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
            Uncompiled::NotLoaded { missing, .. } => return tollway_core::Error::Missing(missing),
        };
        tollway_core::Error::Input { place: format!("filter `{expression}`"), reason, remedy: remedy.into() }
    }
}

/// The program of an expression (pcap-filter(7); the empty one wants every packet) for packets of a link type. It keeps
/// `snapshot` bytes of those that it wants. Names of hosts are looked up as libpcap does. It is the program that libpcap
/// has for packets of that origin.
///
/// # Errors
/// libpcap's own words, or why its program is not run here.
pub fn compile(
    expression: &str,
    link: LinkType,
    origin: Origin,
    snapshot: u32,
    optimize: bool,
) -> Result<Program, Uncompiled> {
    if snapshot == 0 {
        return Err(Uncompiled::NoSnapshot { expression: expression.to_owned() });
    }
    let library = Libpcap::get()
        .map_err(|missing| Uncompiled::NotLoaded { expression: expression.to_owned(), missing })?;
    let instructions = instructions_of(library, expression, link, origin, snapshot, optimize)
        .map_err(|reason| Uncompiled::Libpcap { expression: expression.to_owned(), reason })?;
    Program::new(instructions)
        .map_err(|refused| Uncompiled::Refused { expression: expression.to_owned(), refused })
}

fn instructions_of(
    library: &Libpcap,
    expression: &str,
    link: LinkType,
    origin: Origin,
    snapshot: u32,
    optimize: bool,
) -> Result<Vec<Instruction>, String> {
    let handle = match origin {
        Origin::Live => {
            let data_link = link.data_link().try_into().unwrap_or(c_int::MAX);
            // It has the length as a signed number and gives it back as one without a sign.
            library.live(data_link, snapshot.cast_signed()).ok_or("insufficient memory")?
        }
        Origin::File { is_swapped } => file_of(library, link, snapshot, is_swapped)?,
    };
    let expression = CString::new(expression).map_err(|_| "invalid input string (internal null)")?;
    handle.compile(&expression, optimize).map_err(|reason| format!("libpcap error: {reason}"))
}

/// A file without packets, as libpcap has it open.
fn file_of(library: &Libpcap, link: LinkType, snapshot: u32, is_swapped: bool) -> Result<Handle<'_>, String> {
    let failed = |error: io::Error| format!("a pipe for the header of a file: {error}");
    let word = |word: u32| if is_swapped { word.swap_bytes() } else { word }.to_ne_bytes();
    let half = |half: u16| if is_swapped { half.swap_bytes() } else { half }.to_ne_bytes();
    // draft-ietf-opsawg-pcap, section 4.
    let header = [
        &word(0xa1b2_c3d4)[..],
        &half(2),
        &half(4),
        &word(0),
        &word(0),
        &word(snapshot.min(i32::MAX as u32)),
        &word(link.0),
    ];
    let (file, into) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    // It fits into the pipe.
    File::from(into).write_all(&header.concat()).map_err(failed)?;
    library.offline(File::from(file)).map_err(|reason| format!("libpcap error: {reason}"))
}

/// The link type that libpcap has under a name (without DLT_, in any case).
///
/// # Errors
/// Why there is no libpcap.
pub fn link_type_of_name(name: &str) -> Result<Option<LinkType>, Missing> {
    let data_link = Libpcap::get()?.data_link(name);
    Ok(data_link.and_then(|number| u32::try_from(number).ok()).map(LinkType::from_file))
}

/// libpcap's name for a link type (without DLT_).
///
/// # Errors
/// Why there is no libpcap.
pub fn link_type_name(link: LinkType) -> Result<Option<String>, Missing> {
    let library = Libpcap::get()?;
    Ok(link.data_link().try_into().ok().and_then(|number| library.data_link_name(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::bpf::Filter;

    fn text(expression: &str, link: LinkType, optimize: bool) -> String {
        compile(expression, link, Origin::Live, 96, optimize).map_or_else(|e| e.to_string(), |p| p.to_text())
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
    fn link_types_have_libpcaps_names_and_filters() {
        for (name, number) in
            [("EN10MB", 1), ("NULL", 0), ("RAW", 101), ("ATM_CLIP", 106), ("LOOP", 108), ("IPV6", 229)]
        {
            assert_eq!(link_type_of_name(name), Ok(Some(LinkType(number))), "{name}");
            assert_eq!(link_type_name(LinkType(number)).unwrap().as_deref(), Some(name));
        }
        assert_eq!((link_type_of_name("TOKEN"), link_type_name(LinkType(65_000))), (Ok(None), Ok(None)));
        // Of those that have two numbers libpcap has a filter by either.
        for (in_files, data_link) in [(100, 11), (101, 12), (102, 15), (103, 16), (106, 19)] {
            let of_file = LinkType::from_file(data_link);
            assert_eq!((of_file, of_file.data_link()), (LinkType(in_files), data_link));
            assert!(text("ip", of_file, true).contains("ret      #96"), "{}", text("ip", of_file, true));
        }
    }

    #[test]
    fn errors_have_place_and_remedy() {
        let error = text("tcp prot 80", LinkType::ETHERNET, true);
        assert!(error.starts_with("filter `tcp prot 80`: libpcap says: "), "{error}");
        assert!(error.contains("syntax error") && error.contains("pcap-filter(7)"), "{error}");
        let error = text("ether[-1] = 0", LinkType::ETHERNET, true);
        assert!(error.contains("its program is refused: instruction 0, `ldb      [-1]`"), "{error}");
        let error = compile("ip", LinkType::ETHERNET, Origin::Live, 0, true).unwrap_err().to_string();
        assert!(error.contains("snapshot of 0"), "{error}");
        assert!(text("ip\0", LinkType::ETHERNET, true).contains("libpcap says"), "a NUL");
    }

    #[test]
    fn what_is_never_true_of_a_link_type_is_no_error_of_language() {
        let ipv6 = LinkType(229);
        for (expression, link, is_never) in
            [("ip", ipv6, true), ("not ip6", ipv6, true), ("vlan", ipv6, false), ("ip ip", ipv6, false)]
        {
            let error = compile(expression, link, Origin::Live, 96, true).unwrap_err();
            assert_eq!(error.is_never_true(), is_never, "{error}");
        }
        let unoptimised = compile("ip", ipv6, Origin::Live, 96, false).unwrap();
        let header = [0x60, 0, 0, 0, 0, 0, 59, 64];
        assert_eq!(Filter::new(&unoptimised).run(&header, 8), 0, "{}", unoptimised.to_text());
    }
}
