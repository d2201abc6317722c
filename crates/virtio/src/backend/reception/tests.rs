//! That a message waits for memory that is given back, and nobody else does.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tollway_host::shared::SharedPages;

use super::*;
use crate::eventually::eventually;
use crate::socket::Listener;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Messages wait for 100 ms at most, in which a machine that does something else may do nothing here: one of so many tries is enough.
const TRIES: usize = 10;

/// A device with nothing of its own.
struct Plain;

impl Device for Plain {
    fn features(&self) -> u64 {
        1 << 32
    }

    fn event(&self, _tenant: usize, _event: Event<'_>) {}
}

/// Two tenants of which the first gives back what cannot be closed while somebody has [`Served::deaf`].
struct Served {
    first: UnixStream,
    second: UnixStream,
    deaf: Option<TcpStream>,
    /// What the first sent and left.
    bin: Arc<Bin>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn start() -> Served {
        let folder = tempfile::tempdir().unwrap();
        let socket = |number: usize| folder.path().join(format!("{number}.sock"));
        let listen = |number| Meeting::Listen(Listener::bind(&socket(number), 0o600).unwrap());
        let kicks = Arc::new(Kicks::new().unwrap());
        let reception = Reception::new(Arc::new(Plain), kicks, vec![listen(0), listen(1)]).unwrap();
        let (bin, stopper) = (reception.doors[0].bin.clone(), reception.stopper());
        let thread = Some(thread::spawn(move || reception.run().unwrap()));
        let [first, second] = [0, 1].map(|number| {
            let mut peer = UnixStream::connect(socket(number)).unwrap();
            peer.set_read_timeout(Some(PATIENCE)).unwrap();
            ask(&mut peer);
            peer
        });
        let (lingering, deaf) = lingering();
        bin.put(lingering);
        bin.empty();
        Served { first, second, deaf: Some(deaf), bin, stopper, thread }
    }

    /// The first shares memory, and asks whether it was taken.
    fn share(&self) {
        let pages = SharedPages::new(8192).unwrap();
        let table = [1, 0x10_0000, 8192, 0x7000_0000, 0].into_iter().flat_map(u64::to_ne_bytes);
        let message: Vec<u8> = header(5, 9, 40).chain(table).collect();
        let descriptors = [pages.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let bytes = [std::io::IoSlice::new(&message)];
        assert_eq!(sendmsg(&self.first, &bytes, &mut control, SendFlags::NOSIGNAL).unwrap(), message.len());
    }

    /// Whether it was.
    fn is_shared(&mut self) -> bool {
        let mut answer = [0; 20];
        self.first.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..12], header(5, 5, 8).collect::<Vec<u8>>());
        answer[12..] == [0; 8]
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.deaf = None;
        self.stopper.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn header(request: u32, flags: u32, bytes: u32) -> impl Iterator<Item = u8> {
    [request, flags, bytes].into_iter().flat_map(u32::to_ne_bytes)
}

/// Has a message without a body answered: which features there are.
fn ask(peer: &mut UnixStream) {
    peer.write_all(&header(1, 1, 0).collect::<Vec<u8>>()).unwrap();
    peer.read_exact(&mut [0; 20]).unwrap();
}

/// A socket whose last close waits for a minute, since it has bytes that nobody takes; and who does not take them.
fn lingering() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let deaf = listener.accept().unwrap().0;
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 65_536]).is_ok() {}
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::from_secs(60))).unwrap();
    (stream.into(), deaf)
}

#[test]
fn others_are_answered_while_memory_waits_for_what_is_given_back() {
    let once = |_| {
        let mut served = Served::start();
        served.share();
        let mut answers = 0;
        while rustix::io::ioctl_fionread(&served.first).unwrap() == 0 {
            ask(&mut served.second);
            answers += 1;
        }
        assert!(!served.is_shared(), "more memory while the last is not given back");
        // One may have been on its way to be read when the first asked.
        answers > 2
    };
    assert!((0..TRIES).any(once), "the second is answered when the first has waited");
}

/// What is left while the thread that closes is busy is closed afterwards, though nobody says anything or comes any more.
#[test]
fn what_is_left_is_closed_though_nobody_comes() {
    let mut served = Served::start();
    served.share();
    // It is refused, and the connection ended, since the memory came while other things were being closed.
    let _ = served.first.read_to_end(&mut Vec::new());
    assert!(!served.bin.is_empty());
    served.deaf = None;
    eventually("it is closed", || served.bin.is_empty() && !served.bin.is_busy());
}

#[test]
fn memory_is_taken_when_the_last_was_given_back() {
    let once = |_| {
        let mut served = Served::start();
        served.share();
        ask(&mut served.second);
        served.deaf = None;
        served.is_shared() && {
            // What came after it is heard.
            ask(&mut served.first);
            true
        }
    };
    assert!((0..TRIES).any(once), "it was not taken");
}
