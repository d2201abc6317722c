//! Ends of a channel that say and write what they want: the protocol by hand, and the memory as words.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tollway_channel::ring::layout::Geometry;
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

/// Where the word lies in which the client says that it sleeps: the second pair of cache lines.
pub const CLIENTS_BELL: usize = 16;

/// The greeting of a client that has that many messages of that many bytes; `notice` is 0 for futexes, 1 for eventfds.
pub fn hello(slots: u32, bytes: u32, notice: u16) -> [u8; 16] {
    let mut hello = *b"TWch\x01\0\0\0\0\0\0\0\0\0\0\0";
    hello[6..8].copy_from_slice(&notice.to_le_bytes());
    hello[8..12].copy_from_slice(&slots.to_le_bytes());
    hello[12..].copy_from_slice(&bytes.to_le_bytes());
    hello
}

/// Memory as a client makes it.
pub fn memory(slots: usize, bytes: usize) -> SharedPages {
    SharedPages::new(Geometry::new(slots, bytes).unwrap().words() * 8).unwrap()
}

/// Greets as a client with these descriptors beside its memory.
pub fn greets(link: &UnixStream, hello: &[u8], memory: &impl AsFd, others: &[OwnedFd]) {
    let mut all = vec![memory.as_fd()];
    all.extend(others.iter().map(|fd| fd.as_fd()));
    descriptor::send_with(link, hello, &all).unwrap();
}

/// Answers as a server that agrees to whatever it is asked for, and gives these descriptors: the client's memory, and its others.
pub fn agrees(link: &UnixStream, gives: &[OwnedFd]) -> (SharedPages, Vec<OwnedFd>) {
    let mut hello = [0; 16];
    let (len, mut descriptors) = descriptor::receive_with(link, &mut hello).unwrap();
    assert_eq!((len, &hello[..4]), (16, &b"TWch"[..]));
    let rest = descriptors.split_off(1);
    descriptor::send_with(link, &[0], gives).unwrap();
    (SharedPages::from_fd(descriptors.remove(0)).unwrap(), rest)
}
