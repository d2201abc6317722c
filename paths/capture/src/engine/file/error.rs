//! What can be wrong with a capture file, by its place in it.

use std::fmt;
use std::io;

/// Why a capture file could not be read on, or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{doing} {file} at byte {offset}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// The file, as it was named.
        file: String,
        /// How far in the file, in bytes. For a file being written: what of it is whole.
        offset: u64,
        /// What the system answered.
        source: io::Error,
    },
    /// The file is not what it should be. What came before is good.
    #[error("{file}, byte {offset}, {}: {fault}", Nth(*packet))]
    Damaged {
        /// The file, as it was named.
        file: String,
        /// Where what is wrong begins, in bytes from the file's start.
        offset: u64,
        /// How many packets came before.
        packet: u64,
        /// What is wrong.
        fault: Fault,
    },
    /// What was to be written does not go into the file's format.
    #[error("{file}: {reason}; {remedy}")]
    Format {
        /// The file, as it was named.
        file: String,
        /// What does not go.
        reason: String,
        /// What would.
        remedy: &'static str,
    },
}

/// Where packets are counted from 1, the place after `0` of them.
struct Nth(u64);

impl fmt::Display for Nth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "before the first packet"),
            1 => write!(f, "after 1 packet"),
            n => write!(f, "after {n} packets"),
        }
    }
}

/// What is wrong at a place of a capture file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The first four bytes are those of no capture file.
    #[error("a file that begins with {first:02x?} is neither pcap nor pcapng{}", compressed(first))]
    Unknown {
        /// The first four bytes.
        first: [u8; 4],
    },
    /// A version that nobody here knows.
    #[error("version {major}.{minor} of {format} is not known")]
    Version {
        /// "pcap" or "pcapng".
        format: &'static str,
        /// The number before the point.
        major: u16,
        /// The number after it.
        minor: u16,
    },
    /// Bits are set that must not be.
    #[error("the link type's word is {word:#010x}, and the bits {reserved:#010x} of it must be 0")]
    ReservedBits {
        /// The word.
        word: u32,
        /// Its bits that are reserved.
        reserved: u32,
    },
    /// The file ends where something had begun.
    #[error("the file ends within {what}: of {wanted} bytes {there} are there")]
    CutShort {
        /// What had begun.
        what: &'static str,
        /// How long it says it is, or is at least, in bytes.
        wanted: u64,
        /// How many bytes are there.
        there: u64,
    },
    /// A packet says that more of it was kept than any has.
    #[error("a packet of {captured} bytes; the longest there can be has {limit}")]
    TooLong {
        /// What the packet says, in bytes.
        captured: u32,
        /// The most that is possible, in bytes.
        limit: u32,
    },
    /// A block says an impossible length.
    #[error("a block of type {kind:#x} says that it is {length} bytes long, {reason}")]
    BlockLength {
        /// The block's type.
        kind: u32,
        /// What it says, in bytes.
        length: u32,
        /// Why that cannot be.
        reason: &'static str,
    },
    /// The two lengths of a block differ.
    #[error("a block says {head} bytes at its start and {tail} at its end")]
    Trailer {
        /// The length at its start.
        head: u32,
        /// The length at its end.
        tail: u32,
    },
    /// What a block holds reaches beyond its end.
    #[error("{what} of {length} bytes reaches beyond its block, which has {room} left")]
    Overrun {
        /// What it is.
        what: &'static str,
        /// How long it says it is, in bytes.
        length: u32,
        /// What the block has, in bytes.
        room: usize,
    },
    /// The byte order of a section cannot be told.
    #[error("a section's byte-order magic is {0:02x?}")]
    ByteOrder([u8; 4]),
    /// A packet came by an interface that was not described.
    #[error("a packet of interface {interface}, and {known} interfaces were described")]
    Interface {
        /// The interface's number within its section.
        interface: u32,
        /// How many there are.
        known: u32,
    },
    /// An option cannot be as it is.
    #[error("option {name} {reason}")]
    Option {
        /// Its name in the format's document.
        name: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A time that [`crate::engine::Timestamp`] has no room for.
    #[error("a time before 1970 or after 2554: {ticks} ticks of an interface's clock")]
    Time {
        /// What the packet says.
        ticks: u64,
    },
}

impl Fault {
    /// What a person may do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Fault::Unknown { first } if !compressed(first).is_empty() => {
                "decompress it and give the result on standard input: -r -"
            }
            Fault::Unknown { .. } => "give a file that tcpdump -w, Wireshark or this program wrote",
            Fault::Version { .. } => "convert it with a program that knows it",
            Fault::ReservedBits { .. } => {
                "set them to 0 if the file is damaged, else convert it with a program that knows it \
                 (pcap-savefile(5))"
            }
            Fault::CutShort { what: HEADER, .. } => "it has no packets: write it again",
            Fault::CutShort { .. } => "use what came before: it is whole, and a copy of the file has it",
            _ => "use what came before: it is good, and a copy of the file has it",
        }
    }
}

/// What a file begins with.
pub(super) const HEADER: &str = "the file's header";

/// By whom a file was packed that begins so.
fn compressed(first: &[u8; 4]) -> &'static str {
    match first {
        [0x1f, 0x8b, ..] => " but compressed by gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => " but compressed by zstd",
        [0x04, 0x22, 0x4d, 0x18] => " but compressed by lz4",
        [0xfd, b'7', b'z', b'X'] => " but compressed by xz",
        _ => "",
    }
}

impl From<Error> for tollway_core::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::System { doing, file, offset, source } => {
                tollway_core::Error::system(format!("{doing} {file} at byte {offset}"), source)
            }
            Error::Damaged { file, offset, packet, fault } => tollway_core::Error::Input {
                place: format!("{file}, byte {offset}, {}", Nth(packet)),
                reason: fault.to_string(),
                remedy: fault.remedy().into(),
            },
            Error::Format { file, reason, remedy } => {
                tollway_core::Error::Input { place: file, reason, remedy: remedy.into() }
            }
        }
    }
}
