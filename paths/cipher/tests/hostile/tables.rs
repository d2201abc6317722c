//! A tenant that shares other memory while the card works in what it shared before (SET_MEM_TABLE of vhost-user): the same once
//! more, memory that it may shorten, memory without its buffers, memory without its queues, other memory in the place of its own.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tollway_cipher::engine::device::{Card, Options};
use tollway_cipher::engine::protocol::{
    CREATE_SESSION, CRYPTO_SESSION_FEATURE, NewSession, Request, Status, Work,
};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_host::shared::SharedPages;
use tollway_virtio::frontend::{Agreed, Layout, Queue};
use tollway_virtio::{Area, Span};

use super::alone;
use super::pause::pause;
use super::tenancy::{PATIENCE, Served, encrypted};

const ALGORITHM: Algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);
const KEY: [u8; 16] = [0x77; 16];
const IV: [u8; 16] = [3; 16];

/// Bytes of a request, and how many are on their way: long enough for a message to come while some of them are.
const BYTES: usize = 64 << 10;
const DEPTH: usize = 8;

/// What a request has of its own, after the text: a page with its parts and its status, and its result.
const PAGE: usize = 4096;
const STATUS: usize = 256;
const REQUEST: usize = PAGE + BYTES;

/// Where the card sees the memory.
const GUEST: u64 = 1 << 30;

/// Messages of vhost-user, by their numbers ("Front-end message types").
const SET_FEATURES: u32 = 2;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_VRING_BASE: u32 = 11;
const SET_VRING_KICK: u32 = 12;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;

/// Features: virtio's version 1, and that there are features of the protocol.
const FEATURES: u64 = 1 << 32 | 1 << 30;
/// Messages are acknowledged (VHOST_USER_PROTOCOL_F_REPLY_ACK).
const ACKNOWLEDGED: u64 = 1 << 3;

/// A guest that reboots leaves no session behind, whose keys it does not know any more; one that is only paused has its own still. A
/// queue that was switched off is not served.
#[test]
fn who_begins_anew_has_none_of_its_sessions() {
    let _alone = alone();
    let served = Served::start(1, &Options::default());
    let text = vec![9; BYTES];
    let right = encrypted(&KEY, &IV, &text);
    let mut tenant = Tenant::connect(&served.socket(0), &text);
    tenant.submit();
    tenant.takes_all(&right);
    let function = || served.card.status().functions[0].clone();
    tenant.takes(SET_VRING_ENABLE, &words(&[0]), None);
    assert_eq!((function().served, function().sessions), (false, 1));
    tenant.takes(SET_VRING_ENABLE, &words(&[1 << 32]), None);
    assert!(function().served);
    let state = tenant.ask(GET_VRING_BASE, &words(&[0]), 0, None);
    let base = u64::from(u32::from_ne_bytes(*state.last_chunk().unwrap()));
    assert_eq!(base, DEPTH as u64);
    tenant.takes(SET_VRING_BASE, &words(&[base << 32]), None);
    assert_eq!(function().sessions, 1);
    tenant.takes(SET_VRING_BASE, &words(&[0]), None);
    assert_eq!(function().sessions, 0);
}

/// What is shared in the place of what was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swap {
    /// The same: all goes on.
    Same,
    /// A file that could be shortened, which is refused: all goes on.
    Unsealed,
    /// As much as has the queue: what is outside cannot be asked for.
    WithoutBuffers,
    /// The same in another place, where the queue is not.
    WithoutQueue,
    /// Other pages, in which nothing stands.
    Other,
    /// Nothing: it goes.
    Nothing,
}

const SWAPS: [Swap; 6] =
    [Swap::Same, Swap::Unsealed, Swap::WithoutBuffers, Swap::WithoutQueue, Swap::Other, Swap::Nothing];

/// What was met.
#[derive(Debug, Default)]
pub struct Swapped {
    pub tables: u64,
    /// Requests that were on their way when other memory was shared.
    pub in_flight: u64,
}

/// Shares other memory in one way after the other, until `stop` says so and each was tried; one that keeps to the rules only asks.
pub fn swap(
    socket: &Path,
    (card, function): (&Card, usize),
    keeps_rules: bool,
    stop: impl Fn() -> bool,
) -> Swapped {
    let mut all = Swapped::default();
    let text: Vec<u8> = (0..BYTES).map(|at| (at * 5) as u8).collect();
    let right = encrypted(&KEY, &IV, &text);
    for round in 0.. {
        if stop() && round >= 2 * SWAPS.len() {
            break;
        }
        let mut tenant = Tenant::connect(socket, &text);
        let given_up = || card.status().functions[function].counts.refused_chains;
        let before = given_up();
        tenant.submit();
        if keeps_rules {
            tenant.takes_all(&right);
        } else {
            tenant.wait_for_one(&right);
            let in_flight = tenant.queue.in_flight() as u64;
            tenant.swap(SWAPS[round % SWAPS.len()], &right, || given_up() > before);
            all.tables += 1;
            all.in_flight += in_flight;
        }
        drop(tenant);
        pause(Duration::from_millis(1));
    }
    all
}

/// A tenant that writes its messages itself.
struct Tenant {
    stream: UnixStream,
    pages: Arc<SharedPages>,
    queue: Queue,
    kick: OwnedFd,
    session: u64,
}

impl Tenant {
    fn connect(socket: &Path, text: &[u8]) -> Tenant {
        let layout = Layout::new(0, 8 * DEPTH as u16, 0).unwrap();
        let pages = Arc::new(SharedPages::new(text_at(&layout) + BYTES + DEPTH * REQUEST).unwrap());
        let area = Area::from(pages.clone());
        area.write(text_at(&layout), text);
        let queue = Queue::new(area, layout, GUEST, Agreed::default()).unwrap();
        let kick = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut tenant = Tenant { stream, pages, queue, kick, session: 0 };
        tenant.takes(SET_FEATURES, &words(&[FEATURES]), None);
        let protocol = ACKNOWLEDGED | CRYPTO_SESSION_FEATURE;
        tenant.takes(SET_PROTOCOL_FEATURES, &words(&[protocol]), None);
        let (user, len) = (tenant.pages.as_ptr() as u64, tenant.pages.len() as u64);
        assert!(tenant.shares(tenant.pages.clone().as_fd(), len, user));
        let at = |offset: usize| user + offset as u64;
        let rings = [0, at(layout.descriptors), at(layout.used), at(layout.available), 0];
        let kick = tenant.kick.try_clone().unwrap();
        tenant.takes(SET_VRING_NUM, &words(&[u64::from(layout.size) << 32]), None);
        tenant.takes(SET_VRING_ADDR, &words(&rings), None);
        tenant.takes(SET_VRING_BASE, &words(&[0]), None);
        tenant.takes(SET_VRING_KICK, &words(&[0]), Some(kick.as_fd()));
        tenant.takes(SET_VRING_ENABLE, &words(&[1 << 32]), None);
        let body = NewSession { algorithm: ALGORITHM, key: KEY.len() }.message(&KEY).unwrap();
        let answer = tenant.ask(CREATE_SESSION, &body, 0, None);
        let number = i64::from_ne_bytes(*answer.last_chunk().unwrap());
        tenant.session = u64::try_from(number).unwrap();
        tenant
    }

    /// Sends a message; the body of the answer.
    fn ask(&mut self, number: u32, body: &[u8], flags: u32, descriptor: Option<BorrowedFd<'_>>) -> Vec<u8> {
        let header = [number, 1 | flags, body.len() as u32].into_iter().flat_map(u32::to_ne_bytes);
        let message: Vec<u8> = header.chain(body.iter().copied()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<_> = descriptor.into_iter().collect();
        assert!(descriptors.is_empty() || control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let parts = [std::io::IoSlice::new(&message)];
        let sent = sendmsg(&self.stream, &parts, &mut control, SendFlags::NOSIGNAL).unwrap();
        (&self.stream).write_all(&message[sent..]).unwrap();
        let mut header = [0; 12];
        self.stream.read_exact(&mut header).unwrap();
        let mut answer = vec![0; u32::from_ne_bytes(*header.last_chunk().unwrap()) as usize];
        self.stream.read_exact(&mut answer).unwrap();
        answer
    }

    /// Sends a message that is to be acknowledged; whether it was taken.
    fn tell(&mut self, number: u32, body: &[u8], descriptor: Option<BorrowedFd<'_>>) -> bool {
        self.ask(number, body, 8, descriptor) == [0; 8]
    }

    fn takes(&mut self, number: u32, body: &[u8], descriptor: Option<BorrowedFd<'_>>) {
        assert!(self.tell(number, body, descriptor), "message {number} is refused");
    }

    /// Shares so many bytes of a file, which the tenant sees from `user` on; whether they were taken. The card may have to give back
    /// first what was shared before.
    fn shares(&mut self, file: BorrowedFd<'_>, bytes: u64, user: u64) -> bool {
        self.tell(SET_MEM_TABLE, &words(&[1, GUEST, bytes, user, 0]), Some(file))
    }

    fn submit(&mut self) {
        let layout = *self.queue.layout();
        let source = Span { at: text_at(&layout), bytes: BYTES as u32 };
        for number in 0..DEPTH {
            let request = Request {
                session: self.session,
                work: Work::Encrypt,
                iv: 16,
                source: BYTES as u32,
                associated: 0,
                result: BYTES as u32,
            };
            let parts = [&request.compose(ALGORITHM)[..], &IV].concat();
            let (at, result) = self.parts(number);
            self.queue.area().write(at, &parts);
            let parts = Span { at, bytes: parts.len() as u32 };
            let writable = [result, Span { at: at + STATUS, bytes: 1 }];
            assert!(self.queue.submit(number as u64, &[parts, source], &writable).unwrap());
        }
        self.queue.show();
        rustix::io::write(&self.kick, &1u64.to_ne_bytes()).unwrap();
    }

    /// Where the parts of a request are, and its result.
    fn parts(&self, number: usize) -> (usize, Span) {
        let at = text_at(self.queue.layout()) + BYTES + number * REQUEST;
        (at, Span { at: at + PAGE, bytes: BYTES as u32 })
    }

    /// Takes a request that is done, which must be right.
    fn take(&mut self, right: &[u8]) -> bool {
        let Some(done) = self.queue.take().unwrap() else { return false };
        let (at, span) = self.parts(done.token as usize);
        let (mut status, mut result) = ([0xff], vec![0; BYTES]);
        self.queue.area().read(at + STATUS, &mut status);
        self.queue.area().read(span.at, &mut result);
        assert_eq!(status[0], Status::Ok as u8);
        assert!(result == right, "another result");
        true
    }

    fn wait_for_one(&mut self, right: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        while !self.take(right) {
            assert!(Instant::now() < deadline, "nothing came");
            thread::yield_now();
        }
    }

    fn takes_all(&mut self, right: &[u8]) {
        while self.queue.in_flight() > 0 {
            self.wait_for_one(right);
        }
    }

    /// Shares something else. What is done must be right; `is_given_up` says whether the queue was.
    fn swap(&mut self, swap: Swap, right: &[u8], is_given_up: impl Fn() -> bool) {
        let (pages, user, len) = (self.pages.clone(), self.pages.as_ptr() as u64, self.pages.len() as u64);
        match swap {
            Swap::Same => {
                assert_eq!(ftruncate(pages.as_fd(), 0), Err(Errno::PERM), "it could shorten it");
                assert!(self.shares(pages.as_fd(), len, user));
                self.takes_all(right);
            }
            Swap::Unsealed => {
                let file = memfd_create("unsealed", MemfdFlags::CLOEXEC).unwrap();
                ftruncate(&file, len).unwrap();
                assert!(!self.shares(file.as_fd(), len, user), "what could be shortened is taken");
                ftruncate(&file, 0).unwrap();
                self.takes_all(right);
            }
            Swap::WithoutBuffers => {
                let queue = text_at(self.queue.layout());
                assert!(self.shares(pages.as_fd(), queue as u64, user));
                let deadline = Instant::now() + PATIENCE;
                while self.queue.in_flight() > 0 && !is_given_up() {
                    self.take(right);
                    assert!(Instant::now() < deadline, "the queue is neither served nor given up");
                }
            }
            Swap::WithoutQueue => {
                assert!(!self.shares(pages.as_fd(), len, user + len), "a queue is outside of all memory");
                while self.take(right) {}
            }
            Swap::Other => {
                let other = SharedPages::new(len as usize).unwrap();
                self.shares(other.as_fd(), len, user);
                while self.take(right) {}
                let other = Area::from(Arc::new(other));
                let end = self.queue.layout().end;
                let mut bytes = vec![0; other.len() - end];
                other.read(end, &mut bytes);
                assert!(bytes.iter().all(|byte| *byte == 0), "something was written where nobody asked");
            }
            Swap::Nothing => {}
        }
    }
}

/// Where the text is that all requests have: after the queue, in a page of its own.
fn text_at(layout: &Layout) -> usize {
    layout.end.next_multiple_of(PAGE)
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
