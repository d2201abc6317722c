//! Sockets: connections, and what arrives by them.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tollway_channel::coroutine::{Driver, Executor};
use tollway_channel::linux::kernel::{Options, Piece, Receiving, Ring};
use tollway_core::Error;

use super::{has_rings, once, run, until};
use crate::eventually::eventually;

#[test]
fn sockets_are_accepted_read_and_written() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 8, files: 8, ..Options::default() }).unwrap();
    let kernel = &ring.kernel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        for word in [&b"one"[..], b"two"] {
            let mut link = TcpStream::connect(address).unwrap();
            link.write_all(word).unwrap();
            let mut back = [0; 3];
            link.read_exact(&mut back).unwrap();
            assert!(back.iter().eq(word.iter().rev()));
        }
    });
    run(&mut ring, async {
        let listener = kernel.register(listener).unwrap();
        for _ in 0..2 {
            let link = kernel.register(kernel.accept(&listener).await.unwrap()).unwrap();
            let (count, mut buffer) = kernel.receive(&link, kernel.buffer().await).await.unwrap();
            assert_eq!(count, 3);
            buffer.set_len(count);
            buffer.reverse();
            let (count, buffer) = kernel.send(&link, buffer).await.unwrap();
            assert_eq!(count, 3);
            assert_eq!(kernel.receive(&link, buffer).await.unwrap().0, 0, "the client has closed");
        }
    });
    client.join().unwrap();
}

/// Connections and what arrives come by one request each; pieces that are kept are waited for.
#[test]
fn many_results_come_of_one_request() {
    if !has_rings() {
        return;
    }
    const LINKS: usize = 6;
    let options = Options { operations: 16, pieces: 4, piece_bytes: 100, ..Options::default() };
    let mut ring = match Ring::open(&options) {
        Err(Error::Missing(missing)) => return tollway_host::requirement::skip_test(&["io-uring"], &missing),
        ring => ring.unwrap(),
    };
    let kernel = &ring.kernel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent: Vec<Vec<u8>> =
        (0..LINKS).map(|link| (0..5000 + link * 999).map(|at| (at * 7 + link) as u8).collect()).collect();
    let sending = {
        let sent = sent.clone();
        std::thread::spawn(move || {
            for bytes in sent {
                std::thread::spawn(move || {
                    let mut link = TcpStream::connect(address).unwrap();
                    for part in bytes.chunks(313) {
                        link.write_all(part).unwrap();
                    }
                });
            }
        })
    };
    let (received, links) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let mut executor = Executor::new(LINKS + 1, ring.rouser());
    executor.spawn(0, async {
        let listener = kernel.file(listener);
        let mut accepting = kernel.accepting(&listener);
        for _ in 0..LINKS {
            let link = accepting.next().await.unwrap();
            links.borrow_mut().push(link);
        }
    });
    for _ in 0..LINKS {
        executor.spawn(1, async {
            let link = loop {
                let link = links.borrow_mut().pop();
                if let Some(link) = link {
                    break kernel.file(link);
                }
                kernel.timeout(Duration::from_millis(1)).await.unwrap();
            };
            let mut receiving = kernel.receiving(&link);
            let mut bytes = Vec::new();
            while let Some(piece) = receiving.next().await.unwrap() {
                assert!(piece.len() <= 100);
                bytes.extend_from_slice(&piece);
                if bytes.len() % 3 == 0 {
                    // The piece is kept meanwhile.
                    kernel.nop().await.unwrap();
                }
            }
            received.borrow_mut().push(bytes);
        });
    }
    executor.run(&mut ring).unwrap();
    drop(executor);
    sending.join().unwrap();
    let mut received = received.into_inner();
    received.sort_by_key(Vec::len);
    assert!(received == sent);
}

/// Counts its copies.
struct Copied;

impl Wake for Copied {
    fn wake(self: Arc<Self>) {}
}

/// A ring with one piece; none where the kernel has no pieces, which is said.
fn of_one_piece() -> Option<Ring> {
    if !has_rings() {
        return None;
    }
    match Ring::open(&Options { operations: 4, pieces: 1, piece_bytes: 8, ..Options::default() }) {
        Err(Error::Missing(missing)) => {
            tollway_host::requirement::skip_test(&["io-uring"], &missing);
            None
        }
        ring => Some(ring.unwrap()),
    }
}

/// What arrives next.
fn arrives(ring: &mut Ring, receiving: &mut Receiving<'_>) -> Option<Piece> {
    let (mut next, mut arrived) = (pin!(receiving.next()), None);
    until(ring, || match once(next.as_mut()) {
        Poll::Pending => false,
        Poll::Ready(piece) => {
            arrived = piece.unwrap();
            true
        }
    });
    arrived
}

/// Whether it was woken.
struct Told(AtomicBool);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Who looks again and again for a piece, as beside a clock, has no more wakers there than one.
#[test]
fn who_looks_often_for_a_piece_waits_once() {
    let Some(mut ring) = of_one_piece() else { return };
    let kernel = &ring.kernel();
    let (mut here, there) = UnixStream::pair().unwrap();
    let there = kernel.file(there);
    let mut receiving = kernel.receiving(&there);
    here.write_all(b"one").unwrap();
    let first = arrives(&mut ring, &mut receiving);
    assert_eq!(first.as_deref(), Some(&b"one"[..]));
    here.write_all(b"two").unwrap();
    let copied = Arc::new(Copied);
    let waker = Waker::from(copied.clone());
    let mut next = pin!(receiving.next());
    // For as long as it may take the kernel to find that there is no piece, and then some.
    for _ in 0..1000 {
        assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        ring.turn().unwrap();
    }
    // This one, the waker, its copy in the slot, and the one in line.
    assert!(Arc::strong_count(&copied) <= 4, "{} wakers", Arc::strong_count(&copied));
    drop(first);
    let mut second = None;
    until(&mut ring, || match next.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Pending => false,
        Poll::Ready(piece) => {
            second = piece.unwrap();
            true
        }
    });
    assert_eq!(second.as_deref(), Some(&b"two"[..]));
}

/// Somebody keeps the only piece, and the ring is closed: who waits for a piece is told.
#[test]
fn who_waits_for_a_piece_is_told_that_the_ring_is_closed() {
    let Some(mut ring) = of_one_piece() else { return };
    let kernel = &ring.kernel();
    let (mut here, there) = UnixStream::pair().unwrap();
    let there = kernel.file(there);
    let mut receiving = kernel.receiving(&there);
    here.write_all(b"one").unwrap();
    let kept = arrives(&mut ring, &mut receiving);
    here.write_all(b"two").unwrap();
    let told = Arc::new(Told(AtomicBool::new(false)));
    let waker = Waker::from(told.clone());
    let mut next = pin!(receiving.next());
    // For as long as it may take the kernel to find that there is no piece, and then some.
    for _ in 0..1000 {
        assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        ring.turn().unwrap();
    }
    assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    told.0.store(false, Ordering::Relaxed);
    drop(ring);
    assert!(told.0.load(Ordering::Relaxed), "it waits on");
    match next.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(Err(error)) => assert_eq!(error.raw_os_error(), Some(libc::ECANCELED)),
        Poll::Ready(Ok(_)) => panic!("something came of a ring that is closed"),
        Poll::Pending => panic!("it waits on"),
    }
    assert_eq!(kept.as_deref(), Some(&b"one"[..]));
}

/// A connection that came for nobody is closed.
#[test]
fn a_connection_that_nobody_wants_is_closed() {
    if !has_rings() {
        return;
    }
    for many in [false, true] {
        let mut ring = Ring::open(&Options { operations: 2, ..Options::default() }).unwrap();
        let kernel = &ring.kernel();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let listener = kernel.file(listener);
        let link;
        {
            let mut single = pin!(kernel.accept(&listener));
            let mut accepting = kernel.accepting(&listener);
            let mut several = pin!(accepting.next());
            let pending =
                if many { once(several.as_mut()).is_pending() } else { once(single.as_mut()).is_pending() };
            assert!(pending);
            ring.turn().unwrap();
            link = TcpStream::connect(address).unwrap();
            // It is taken by the kernel, and lies in the table.
            eventually("the kernel has taken it", || ring.turn().unwrap());
        }
        until(&mut ring, || kernel.in_flight() == 0);
        drop(listener);
        link.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        // Closed, or reset if it had not been accepted.
        let closed = (&link).read(&mut [0]);
        let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(matches!(&closed, Ok(0)) || closed.as_ref().is_err_and(is_reset), "{closed:?}");
    }
}
