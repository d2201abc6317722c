//! Meetings with an end that says and gives whatever bytes tell: the other refuses, or agrees and has an end that harms nobody. The fuzz target
//! `channel-meeting`, the seeds and random bytes play here.

use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::Patience;
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Meetings.
    pub met: u64,
    /// The honest end agreed.
    pub agreed: u64,
}

/// Nobody waits long in these.
const PATIENCE: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

/// The bytes: whom, how many descriptors; a byte for each of these; the rest is said.
pub fn play(input: &[u8], tally: &mut Tally) {
    let [whom, gives, rest @ ..] = input else { return };
    let count = usize::from(gives % 5).min(rest.len());
    let (kinds, said) = rest.split_at(count);
    let said = &said[..said.len().min(64)];
    let given: Vec<_> = kinds.iter().map(|kind| Given::new(*kind, said)).collect();
    let descriptors: Vec<_> = given.iter().map(|given| given.descriptor.as_fd()).collect();
    let (liar, honest) = UnixStream::pair().unwrap();
    // With nothing said at all nothing can be sent: the honest end sees that no more comes.
    if !said.is_empty() {
        let piece = if whom & 2 == 0 { said.len() } else { said.len().min(1 + usize::from(whom >> 2) % 20) };
        descriptor::send_with(&liar, &said[..piece], &descriptors).unwrap();
        if piece < said.len() {
            descriptor::send_with(&liar, &said[piece..], &[] as &[OwnedFd]).unwrap();
        }
    }
    liar.shutdown(Shutdown::Write).unwrap();
    tally.met += 1;
    if whom.is_multiple_of(2) {
        let limits = Limits { slots: 64, bytes: 1024, notice: None, patience: PATIENCE };
        if let Ok(mut server) = Server::over(honest, &limits) {
            tally.agreed += 1;
            scribbles(&given, said);
            let _ = server.serve(|tag, request, reply| (tag, request.len().min(reply.len())));
        }
    } else {
        let notice = if whom & 128 == 0 { Notice::Futex } else { Notice::Eventfd };
        let options = Options { slots: 4, bytes: 64, notice, patience: PATIENCE, ..Options::default() };
        if let Ok(mut client) = Client::over(honest, &options) {
            tally.agreed += 1;
            assert!(client.call(0, said, &mut [0; 64]).is_err(), "nobody is there to answer");
        }
    }
}

/// Writes entries of the first lap into memory that the honest end has mapped.
fn scribbles(given: &[Given], said: &[u8]) {
    for given in given.iter().filter(|given| given.is_memory) {
        let pages = SharedPages::from_fd(given.descriptor.try_clone().unwrap()).unwrap();
        for (at, byte) in said.iter().enumerate() {
            let entry = u64::from(byte % 8) | u64::from(byte >> 3) << 16 | 1 << 48;
            pages.words()[(32 + at) % (pages.len() / 8)].store(entry, Ordering::Relaxed);
        }
    }
}

/// A descriptor that the liar gives.
struct Given {
    descriptor: OwnedFd,
    /// Whether it is what was asked for: memory, which the liar maps only when the other has.
    is_memory: bool,
}

impl Given {
    /// Of one of a dozen kinds. Memory has the size of what was said, if that is a greeting.
    fn new(kind: u8, said: &[u8]) -> Given {
        let only = |descriptor: OwnedFd| Given { descriptor, is_memory: false };
        let memory = |len: usize, seals: SealFlags| {
            let memory = memfd_create("lie", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
            ftruncate(&memory, len as u64).unwrap();
            fcntl_add_seals(&memory, seals).unwrap();
            memory
        };
        let number =
            |at: usize| said.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
        let words = 32 + number(8).min(4096).next_multiple_of(16) as usize * 2;
        let bytes = (words * 8 + number(8).min(4096) as usize * number(12).min(4096) as usize).min(1 << 20);
        let whole = bytes.next_multiple_of(4096);
        match kind % 12 {
            // As the library makes it, but that none of its pages is touched before somebody believes in it: most are never.
            0..=4 => Given {
                descriptor: memory(whole, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL),
                is_memory: true,
            },
            5 => only(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap()),
            6 => only(eventfd(0, EventfdFlags::CLOEXEC).unwrap()),
            7 => only(rustix::pipe::pipe().unwrap().0),
            8 => only(UnixStream::pair().unwrap().0.into()),
            // Memory that can be shrunk, or is empty, or cannot be written.
            9 => only(memory(whole, SealFlags::GROW)),
            10 => only(memory(0, SealFlags::SHRINK | SealFlags::GROW)),
            _ => only(memory(whole, SealFlags::SHRINK | SealFlags::FUTURE_WRITE)),
        }
    }
}
