//! What ends of every kind do when they meet over a Unix socket: the client greets, and the server agrees or says why it does not.
//!
//! A greeting has 16 bytes, as little-endian numbers: four letters that say of which kind it is, version (2), how (2), and two sizes (4 and 4). The first
//! byte of an answer is 0 if the server agrees, and the others are 0. Descriptors go with either. After that nothing is said.
//!
//! Each says what it has to in one piece, and the other reads once: who says nothing, or says it bit by bit, is refused when the time for it is over.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tollway_core::{Error, Result};
use tollway_host::descriptor;

/// How long a server waits for a client to say what it wants: others may wait for the server meanwhile.
const SOON: Duration = Duration::from_secs(1);

/// How long a client waits for a server to take the connection, and to answer, unless it says so itself: the server may have others to meet before.
pub(super) const IN_TURN: Duration = Duration::from_secs(10);

/// The first byte of an answer, if the server agrees.
const AGREED: u8 = 0;

/// The most bytes that an answer has.
const LONGEST: usize = 4;

/// Of what kind ends are that meet.
pub(super) struct Kind {
    /// How a greeting begins.
    pub letters: [u8; 4],
    /// Of what both say to each other, and of what they share then.
    pub version: u16,
    /// How many bytes an answer has: 1 to 4.
    pub answer: usize,
}

/// What a client asks for; what it means is of the kind.
pub(super) struct Greeting {
    pub how: u16,
    pub sizes: [u32; 2],
}

/// Why a server does not agree.
pub(super) struct Refusal {
    /// What the server says to the client.
    pub code: u8,
    /// What is told to who runs the server.
    pub name: &'static str,
    /// What is told to who runs the client.
    pub reason: &'static str,
    /// What the client may do.
    pub remedy: &'static str,
    /// What who runs the server may do.
    pub servers_remedy: &'static str,
}

impl Refusal {
    pub(super) const fn new(
        code: u8,
        name: &'static str,
        reason: &'static str,
        remedy: &'static str,
    ) -> Refusal {
        let servers_remedy = "raise the limits, or see what the client asks for";
        Refusal { code, name, reason, remedy, servers_remedy }
    }
}

/// What was said is no greeting of that kind and version.
pub(super) const VERSION: Refusal =
    Refusal::new(1, "Version", "it speaks another version", "use the same version of the library");

impl Kind {
    /// The client's side: greets with these descriptors, and has those that the server gives within that time. `refusals` are those that the server
    /// may say beside [`VERSION`]; `place` names what was asked for.
    ///
    /// # Errors
    /// [`Error::Input`] if the server does not agree; [`Error::System`] if it says nothing in time.
    pub(super) fn ask(
        &self,
        link: &UnixStream,
        within: Duration,
        greeting: &Greeting,
        gives: &[BorrowedFd<'_>],
        refusals: &[Refusal],
        place: impl FnOnce() -> String,
    ) -> Result<Vec<OwnedFd>> {
        in_time(link, within, "meeting a server")?;
        descriptor::send_with(link, &self.bytes(greeting), gives)?;
        let mut answer = [0; LONGEST];
        let (_, given) = descriptor::receive_within(link, &mut answer[..self.answer], within)?;
        if answer[0] == AGREED {
            return Ok(given);
        }
        let known = refusals.iter().chain([&VERSION]).find(|refusal| refusal.code == answer[0]);
        let (reason, remedy) = known
            .map_or(("for a reason that is not known here", VERSION.remedy), |it| (it.reason, it.remedy));
        let reason = format!("the server does not agree: {reason}");
        Err(Error::Input { place: place(), reason, remedy: remedy.into() })
    }

    /// The server's side: hears a greeting, for no longer than a client may take to say it, and judges it with the descriptors that came. To agree is
    /// [said](Kind::agree) afterwards, and why it is refused at once.
    ///
    /// # Errors
    /// [`Error::Input`] if it is refused; [`Error::System`] if nothing is said in time.
    pub(super) fn hear<T>(
        &self,
        link: &UnixStream,
        judges: impl FnOnce(&Greeting, Vec<OwnedFd>) -> Result<T, &'static Refusal>,
    ) -> Result<T> {
        in_time(link, SOON, "meeting a client")?;
        let mut hello = [0; 16];
        let (heard, given) = descriptor::receive_within(link, &mut hello, SOON)?;
        let greeting = self.greeting(&hello[..heard]).ok_or(&VERSION);
        match greeting.and_then(|greeting| judges(&greeting, given)) {
            Ok(agreed) => Ok(agreed),
            Err(Refusal { code, name, servers_remedy, .. }) => {
                self.say(link, *code, &[])?;
                Err(Error::Input {
                    place: "a client's greeting".into(),
                    reason: format!("it asks for what is not given ({name})"),
                    remedy: (*servers_remedy).into(),
                })
            }
        }
    }

    /// The server agrees, and gives these descriptors.
    pub(super) fn agree(&self, link: &UnixStream, gives: &[BorrowedFd<'_>]) -> Result<()> {
        self.say(link, AGREED, gives)
    }

    fn say(&self, link: &UnixStream, code: u8, gives: &[BorrowedFd<'_>]) -> Result<()> {
        let mut answer = [0; LONGEST];
        answer[0] = code;
        descriptor::send_with(link, &answer[..self.answer], gives)
    }

    fn bytes(&self, greeting: &Greeting) -> [u8; 16] {
        let mut hello = [0; 16];
        hello[..4].copy_from_slice(&self.letters);
        hello[4..6].copy_from_slice(&self.version.to_le_bytes());
        hello[6..8].copy_from_slice(&greeting.how.to_le_bytes());
        hello[8..12].copy_from_slice(&greeting.sizes[0].to_le_bytes());
        hello[12..].copy_from_slice(&greeting.sizes[1].to_le_bytes());
        hello
    }

    fn greeting(&self, hello: &[u8]) -> Option<Greeting> {
        let hello: &[u8; 16] = hello.try_into().ok()?;
        let short = |at: usize| u16::from_le_bytes([hello[at], hello[at + 1]]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let is_of_this_kind = hello[..4] == self.letters && short(4) == self.version;
        is_of_this_kind.then(|| Greeting { how: short(6), sizes: [long(8), long(12)] })
    }
}

/// Connects to the server that listens at that path.
///
/// # Errors
/// [`Error::System`] if nobody listens there, or takes the connection in time.
pub(super) fn connected(path: &Path, within: Duration) -> Result<UnixStream> {
    let connecting = || -> std::result::Result<UnixStream, Errno> {
        let link = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let (server, begun) = (SocketAddrUnix::new(path)?, Instant::now());
        retry_on_intr(|| {
            // connect(2) waits for so long where the queue is full, and says EAGAIN then. Whom a signal interrupts waits for the rest.
            set_socket_timeout(&link, Timeout::Send, Some(descriptor::left_of(within, begun)))?;
            connect(&link, &server)
        })?;
        set_socket_timeout(&link, Timeout::Send, None)?;
        Ok(link.into())
    };
    connecting().map_err(|error| {
        let doing = format!("connecting to {}", path.display());
        match error {
            Errno::AGAIN => {
                Error::system(doing, format!("the server took none within {} s", within.as_secs_f64()))
            }
            error => Error::system(doing, error),
        }
    })
}

/// Times in which something can come: `within` for the meeting, `timeout` for the reply to a call.
///
/// # Errors
/// [`Error::Input`] if one of them is no time at all.
pub(super) fn checked(within: Duration, timeout: Option<Duration>) -> Result<()> {
    let none = |place: &str| Error::Input {
        place: place.into(),
        reason: "it is none".into(),
        remedy: "say how long to wait, as 10 s".into(),
    };
    if within.is_zero() {
        return Err(none("the time that a server has to answer"));
    }
    if timeout.is_some_and(|timeout| timeout.is_zero()) {
        return Err(none("the time that a server has to reply to a call"));
    }
    Ok(())
}

/// Reading and writing wait, whatever the link did before; and writing no longer than that, should whoever had it have filled it.
fn in_time(link: &UnixStream, within: Duration, doing: &str) -> Result<()> {
    link.set_nonblocking(false)
        .and_then(|()| link.set_write_timeout(Some(within)))
        .map_err(|e| Error::system(doing, e))
}
