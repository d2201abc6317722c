//! Why a request has no reply, or a server ended.

use core::fmt;

/// Why a request has no reply, or a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The message is longer than one can be; it was not sent.
    TooLong,
    /// It is not this end's turn: a server that answers has no request, or one that asks for the next has not answered the last.
    NotItsTurn,
    /// The other end broke the rules, now and ever after.
    Broken(Violation),
    /// The other end is no more.
    Gone,
    /// The time for a reply is over. The reply may come yet, and would be taken for the next one's: this end
    /// is used no more.
    TimedOut,
    /// This end is a copy that fork(2) made of another process' end.
    Forked,
    /// The kernel refused, by that error number (errno(3)).
    Kernel(i32),
}

/// What the other end did that no end that keeps to the rules does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// It changed the word of turns when it was not its turn, or to what means nothing: the low half of it.
    Turn(u32),
    /// It named more bytes than a message has.
    Bytes(u32),
    /// Its datagram was too short for a header, or had something in it where there is nothing.
    Header,
    /// Its datagram named so many bytes, but had so many.
    Datagram {
        /// What it named.
        says: u32,
        /// What it had.
        has: u32,
    },
    /// It sent more than it was asked for, took none of what it was sent, or changed the socket's settings.
    Socket,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::TooLong => f.write_str("the message is longer than one can be"),
            Failed::NotItsTurn => f.write_str("requests and answers take turns, and it is the other's"),
            Failed::Broken(violation) => violation.fmt(f),
            Failed::Gone => f.write_str("the other end is gone"),
            Failed::TimedOut => f.write_str(
                "the server has not answered in time: connect anew, with more time or to another server",
            ),
            Failed::Forked => f.write_str(
                "this end is a copy that fork(2) made of another process' end: connect anew in this one",
            ),
            Failed::Kernel(errno) => write!(f, "the kernel refused to send or to receive (error {errno})"),
        }
    }
}

impl core::error::Error for Failed {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Turn(word) => write!(f, "the other end took a turn that was not its own ({word:#x})"),
            Violation::Bytes(bytes) => {
                write!(f, "the other end named {bytes} bytes, more than a message has")
            }
            Violation::Datagram { says, has } => {
                write!(f, "the other end named {says} bytes and sent {has}")
            }
            Violation::Header => f.write_str("the other end sent a datagram without a header"),
            Violation::Socket => f.write_str("the other end did not use the socket by turns"),
        }
    }
}

impl core::error::Error for Violation {}

impl From<Violation> for Failed {
    fn from(violation: Violation) -> Failed {
        Failed::Broken(violation)
    }
}
