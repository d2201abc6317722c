//! The kernel asked through a ring: what comes of it is what the plain calls do, whatever is dropped, full or closed meanwhile.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tollway_channel::coroutine::{Driver, Executor};
use tollway_channel::linux::kernel::{Advice, Kernel, Offer, Options, Pages, Ring};
use tollway_core::{Error, Requirement};
use tollway_host::requirement::test_has;

/// Whether there is an io_uring to be tested.
fn has_rings() -> bool {
    test_has(&[(Requirement::IoUring, "io-uring")])
}

/// Runs one task to its end.
fn run(ring: &mut Ring, task: impl Future<Output = ()>) {
    let mut executor = Executor::new(1, ring.rouser());
    assert!(executor.spawn(0, task));
    executor.run(ring).unwrap();
}

/// Polls it once.
fn once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Has what was asked done by the kernel, until that is so.
fn until(ring: &mut Ring, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "nothing comes");
        ring.turn().unwrap();
        std::thread::yield_now();
    }
}

/// The ways in which a ring reads and writes.
fn ways() -> [Options; 4] {
    let small = Options { operations: 8, buffers: 4, bytes: 512, files: 2, ..Options::default() };
    let polled = Some(Duration::from_millis(5));
    [
        small,
        Options { registered: true, ..small },
        Options { polled, ..small },
        Options { polled, registered: true, ..small },
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Write { offset: u64, bytes: Vec<u8> },
    Read { offset: u64, len: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (0..6000u64, prop::collection::vec(any::<u8>(), 0..=512))
        .prop_map(|(offset, bytes)| Step::Write { offset, bytes });
    let read = (0..7000u64, 0..=512usize).prop_map(|(offset, len)| Step::Read { offset, len });
    prop::collection::vec(prop_oneof![write, read], 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Reads and writes at any offset and of any length: a second file, treated by pread(2) and pwrite(2), has the same bytes all the time.
    #[test]
    fn reads_and_writes_do_what_the_plain_calls_do(steps in steps(), way in 0..4usize, register: bool) {
        if !has_rings() {
            return Ok(());
        }
        let mut ring = Ring::open(&ways()[way]).unwrap();
        let kernel = ring.kernel();
        let (asked, plain) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let same = asked.try_clone().unwrap();
        let file = if register { kernel.register(OwnedFd::from(asked)).unwrap() } else { kernel.file(asked) };
        prop_assert_eq!(file.is_registered(), register);
        let kernel = &kernel;
        run(&mut ring, async move {
            for step in &steps {
                let mut buffer = kernel.buffer().await;
                match step {
                    Step::Write { offset, bytes } => {
                        let written = kernel.write_at(&file, *offset, buffer.with(bytes)).await.unwrap().0;
                        assert_eq!(plain.write_at(bytes, *offset).unwrap(), written);
                    }
                    Step::Read { offset, len } => {
                        buffer.set_len(*len);
                        let (count, buffer) = kernel.read_at(&file, *offset, buffer).await.unwrap();
                        let mut expected = vec![0; *len];
                        assert_eq!(plain.read_at(&mut expected, *offset).unwrap(), count);
                        assert_eq!(buffer[..count], expected[..count]);
                    }
                }
            }
            let whole = |file: &std::fs::File| {
                let mut bytes = vec![0; 8192];
                let count = file.read_at(&mut bytes, 0).unwrap();
                bytes.truncate(count);
                bytes
            };
            assert_eq!(whole(&same), whole(&plain));
        });
    }
}

/// Many tasks over few slots, few buffers and a short submission queue: all of them come to their end, with their own bytes.
#[test]
fn full_queues_are_waited_for() {
    if !has_rings() {
        return;
    }
    for (polled, rounds) in [(None, 20), (Some(Duration::from_millis(1)), 4)] {
        let options = Options {
            operations: 16,
            entries: Some(2),
            completions: Some(2),
            buffers: 5,
            bytes: 64,
            polled,
            ..Options::default()
        };
        let mut ring = Ring::open(&options).unwrap();
        let kernel = ring.kernel();
        let file = kernel.file(tempfile::tempfile().unwrap());
        let done = Cell::new(0);
        let mut executor = Executor::new(64, ring.rouser());
        for task in 0..64u64 {
            let (kernel, file, done) = (&kernel, &file, &done);
            executor.spawn((task % 8) as usize, async move {
                for round in 0..rounds {
                    kernel.nop().await.unwrap();
                    let bytes = (task << 32 | round).to_le_bytes();
                    let buffer = kernel.buffer().await.with(&bytes);
                    let (count, buffer) = kernel.write_at(file, task * 8, buffer).await.unwrap();
                    assert_eq!(count, 8);
                    let (count, buffer) = kernel.read_at(file, task * 8, buffer).await.unwrap();
                    assert_eq!((count, &buffer[..]), (8, &bytes[..]));
                    done.set(done.get() + 1);
                }
            });
        }
        executor.run(&mut ring).unwrap();
        drop(executor);
        assert_eq!((done.get(), kernel.in_flight()), (64 * rounds, 0));
    }
}

/// What tasks ask between two turns enters the kernel by one call.
#[test]
fn what_is_asked_between_turns_enters_at_once() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 64, ..Options::default() }).unwrap();
    let kernel = ring.kernel();
    let mut executor = Executor::new(64, ring.rouser());
    for _ in 0..64 {
        executor.spawn(0, async {
            for _ in 0..100 {
                kernel.nop().await.unwrap();
            }
        });
    }
    executor.run(&mut ring).unwrap();
    drop(executor);
    // An interrupted call is made again.
    assert!((100..110).contains(&kernel.entries()), "6400 operations, 64 at a time: {}", kernel.entries());
}

/// With a thread of the kernel that looks, only who finds it asleep enters, and who sleeps itself.
#[test]
fn a_thread_of_the_kernel_takes_entries_without_calls() {
    if !has_rings() {
        return;
    }
    let patience = tollway_channel::wait::Patience { spin: u64::MAX, yields: 0 };
    let polled = Some(Duration::from_secs(5));
    let options = Options { operations: 64, polled, patience: Some(patience), ..Options::default() };
    let mut ring = Ring::open(&options).unwrap();
    let kernel = ring.kernel();
    run(&mut ring, async {
        for _ in 0..500 {
            kernel.nop().await.unwrap();
        }
    });
    let counts = ring.counts();
    assert!(counts.entries <= 10 && counts.wakes <= counts.entries, "{counts:?}");
}

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

/// Who looks again and again for a piece, as beside a clock, has no more wakers there than one.
#[test]
fn who_looks_often_for_a_piece_waits_once() {
    if !has_rings() {
        return;
    }
    let options = Options { operations: 4, pieces: 1, piece_bytes: 8, ..Options::default() };
    let mut ring = match Ring::open(&options) {
        Err(Error::Missing(missing)) => return tollway_host::requirement::skip_test(&["io-uring"], &missing),
        ring => ring.unwrap(),
    };
    let kernel = &ring.kernel();
    let (mut here, there) = UnixStream::pair().unwrap();
    let there = kernel.file(there);
    let mut receiving = kernel.receiving(&there);
    here.write_all(b"one").unwrap();
    let mut first = None;
    {
        let mut next = pin!(receiving.next());
        until(&mut ring, || match once(next.as_mut()) {
            Poll::Pending => false,
            Poll::Ready(piece) => {
                first = piece.unwrap();
                true
            }
        });
    }
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

/// A place in one ring's table of files is another file's in the other's; the same holds for buffers.
#[test]
fn a_file_means_the_same_in_every_ring() {
    if !has_rings() {
        return;
    }
    let options = Options { operations: 4, files: 2, registered: true, ..Options::default() };
    let (mut ring, other) = (Ring::open(&options).unwrap(), Ring::open(&options).unwrap());
    let (kernel, others) = (&ring.kernel(), &other.kernel());
    let file = |text: &[u8]| {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(text, 0).unwrap();
        file
    };
    let own = kernel.register(file(b"own")).unwrap();
    let foreign = others.register(file(b"foreign")).unwrap();
    run(&mut ring, async {
        for (file, text) in [(&own, &b"own"[..]), (&foreign, b"foreign")] {
            for buffer in [kernel.buffer().await, others.buffer().await] {
                let (bytes, buffer) = kernel.read_at(file, 0, buffer).await.unwrap();
                assert_eq!(&buffer[..bytes], text);
            }
        }
        let buffer = kernel.buffer().await.with(b"FOREIGN");
        kernel.write_at(&foreign, 0, buffer).await.unwrap();
    });
    let mut text = [0; 7];
    std::fs::File::from(foreign.as_fd().try_clone_to_owned().unwrap()).read_exact_at(&mut text, 0).unwrap();
    assert_eq!(&text, b"FOREIGN");
    assert!(own.is_registered() && foreign.is_registered());
}

/// Pages are there or not as asked, as a page table of this process tells (mincore(2)).
#[test]
fn pages_are_given_and_taken_back() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 4, ..Options::default() }).unwrap();
    if let Err(missing) = ring.offers(Offer::Memory) {
        return tollway_host::requirement::skip_test(&["io-uring"], &missing);
    }
    let kernel = &ring.kernel();
    let pages = Pages::new(1 << 20).unwrap();
    let resident = |pages: &Pages| {
        let mut is_there = vec![0u8; pages.len() / 4096];
        // SAFETY: the mapping lives, and the vector has a byte for each of its pages.
        let told = unsafe { libc::mincore(pages.as_ptr().cast(), pages.len(), is_there.as_mut_ptr()) };
        assert_eq!(told, 0);
        is_there.iter().filter(|byte| **byte & 1 != 0).count()
    };
    assert_eq!(resident(&pages), 0);
    run(&mut ring, async {
        let pages = &pages;
        let part = 4096 * 8..4096 * 72;
        kernel.madvise(pages, part.clone(), Advice::PopulateWrite).await.unwrap();
        assert_eq!(resident(pages), 64);
        pages.words()[4096].store(7, Ordering::Relaxed);
        kernel.madvise(pages, part.clone(), Advice::DontNeed).await.unwrap();
        assert_eq!((resident(pages), pages.words()[4096].load(Ordering::Relaxed)), (0, 0));
        let error = kernel.madvise(pages, 1..4096, Advice::DontNeed).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let file = tempfile::tempfile().unwrap();
        let same = file.try_clone().unwrap();
        let file = kernel.file(file);
        kernel.fallocate(&file, 0, 100, 5000).await.unwrap();
        assert_eq!(same.metadata().unwrap().len(), 5100);
    });
}

#[test]
fn time_passes_and_events_are_told() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 4, ..Options::default() }).unwrap();
    let kernel = &ring.kernel();
    let (here, mut there) = UnixStream::pair().unwrap();
    let begun = Instant::now();
    run(&mut ring, async {
        kernel.timeout(Duration::from_millis(20)).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(20));
        let here = kernel.file(OwnedFd::from(here));
        there.write_all(b"x").unwrap();
        assert_eq!(kernel.poll(&here, libc::POLLIN as u32).await.unwrap(), libc::POLLIN as u32);
    });
}

/// Somebody else's thread wakes a task of an executor that sleeps at a ring.
#[test]
fn another_thread_wakes_who_sleeps_at_a_ring() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 4, ..Options::default() }).unwrap();
    for _ in 0..3 {
        let (tell, told) = std::sync::mpsc::channel::<Waker>();
        let waking = std::thread::spawn(move || {
            let waker = told.recv().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            waker.wake();
        });
        let mut polls = 0;
        run(
            &mut ring,
            std::future::poll_fn(move |context| {
                polls += 1;
                match polls {
                    1 => {
                        tell.send(context.waker().clone()).unwrap();
                        Poll::Pending
                    }
                    _ => Poll::Ready(()),
                }
            }),
        );
        waking.join().unwrap();
    }
}

/// Who waits for a buffer and for a slot, has it or is on its way, and is dropped, leaves all as it was; and a buffer that the kernel may write is
/// nobody else's until the kernel has done with it.
#[test]
fn dropped_at_any_stage_nothing_is_written_that_is_anothers() {
    if !has_rings() {
        return;
    }
    for polled in [None, Some(Duration::from_millis(1))] {
        let options = Options { operations: 3, buffers: 2, bytes: 64, polled, ..Options::default() };
        let mut ring = Ring::open(&options).unwrap();
        let kernel = &ring.kernel();
        let (here, mut there) = UnixStream::pair().unwrap();
        let here = kernel.file(OwnedFd::from(here));
        for round in 0..60 {
            let buffer = kernel.try_buffer().unwrap().with(&[1; 64]);
            let mut kept = kernel.try_buffer().unwrap().with(&[2; 64]);
            assert!(kernel.try_buffer().is_none());
            let mut receive = Box::pin(kernel.receive(&here, buffer));
            let stage = round % 5;
            if stage > 0 {
                assert!(once(receive.as_mut()).is_pending());
            }
            if stage > 1 {
                ring.turn().unwrap();
            }
            if stage == 3 {
                // It comes as the operation is dropped: whether it is taken by it is open.
                there.write_all(&[9; 64]).unwrap();
            }
            if stage == 4 {
                there.write_all(&[9; 64]).unwrap();
                until(&mut ring, || once(receive.as_mut()).is_ready());
            }
            drop(receive);
            // Until the kernel has said that it is done nobody else has the buffer.
            assert_eq!(kernel.try_buffer().is_none(), (1..4).contains(&stage), "stage {stage}");
            // No byte of what is somebody's changes, whatever arrives from now on.
            assert!(kept.iter().all(|byte| *byte == 2));
            kept.fill(round as u8 | 0x80);
            until(&mut ring, || kernel.in_flight() == 0);
            let again = kernel.try_buffer().expect("it came back").with(&[4; 64]);
            there.write_all(&[5; 10]).unwrap();
            for _ in 0..3 {
                ring.turn().unwrap();
            }
            assert!(again.iter().all(|byte| *byte == 4));
            assert!(kept.iter().all(|byte| *byte == round as u8 | 0x80));
            // What was written is read, however much of it was.
            let mut come = 0;
            let mut buffer = Some(again);
            while come < 10 {
                let mut receive = pin!(kernel.receive(&here, buffer.take().unwrap()));
                let mut got = None;
                until(&mut ring, || match once(receive.as_mut()) {
                    Poll::Ready(done) => {
                        got = Some(done.unwrap());
                        true
                    }
                    Poll::Pending => false,
                });
                let (count, back) = got.unwrap();
                come += back[..count].iter().filter(|byte| **byte == 5).count();
                buffer = Some(back);
            }
        }
    }
}

/// A line of tasks for the slots, of which one in the middle is dropped after it was called.
#[test]
fn a_turn_in_line_for_a_slot_is_passed_on() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 1, ..Options::default() }).unwrap();
    let kernel = &ring.kernel();
    let mut first = Box::pin(kernel.nop());
    let mut second = Box::pin(kernel.nop());
    let mut third = Box::pin(kernel.nop());
    assert!(once(first.as_mut()).is_pending());
    assert!(once(second.as_mut()).is_pending());
    assert!(once(third.as_mut()).is_pending());
    until(&mut ring, || once(first.as_mut()).is_ready());
    drop(second);
    until(&mut ring, || once(third.as_mut()).is_ready());
    assert_eq!(kernel.in_flight(), 0);
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
            std::thread::sleep(Duration::from_millis(5));
            ring.turn().unwrap();
        }
        until(&mut ring, || kernel.in_flight() == 0);
        drop(listener);
        link.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // Closed, or reset if it had not been accepted.
        let closed = (&link).read(&mut [0]);
        let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(matches!(&closed, Ok(0)) || closed.as_ref().is_err_and(is_reset), "{closed:?}");
    }
}

/// A ring is closed with operations on their way: the kernel is done with all of them then, and who still waits is told.
#[test]
fn a_ring_closes_with_operations_on_their_way() {
    if !has_rings() {
        return;
    }
    for polled in [None, Some(Duration::from_millis(1))] {
        let ring =
            Ring::open(&Options { operations: 8, buffers: 8, bytes: 64, polled, ..Options::default() });
        let mut ring = ring.unwrap();
        let kernel = &ring.kernel();
        let (here, mut there) = UnixStream::pair().unwrap();
        let here = kernel.file(OwnedFd::from(here));
        let file = kernel.file(tempfile::tempfile().unwrap());
        let mut receives: Vec<_> = (0..3)
            .map(|_| Box::pin(kernel.receive(&here, kernel.try_buffer().unwrap().with(&[1; 64]))))
            .collect();
        receives.iter_mut().for_each(|receive| assert!(once(receive.as_mut()).is_pending()));
        ring.turn().unwrap();
        let mut writing = pin!(kernel.write_at(&file, 0, kernel.try_buffer().unwrap().with(&[3; 64])));
        let mut timing = pin!(kernel.timeout(Duration::from_secs(1000)));
        assert!(once(writing.as_mut()).is_pending() && once(timing.as_mut()).is_pending());
        drop(receives.pop());
        drop(ring);
        there.write_all(&[9; 64]).unwrap();
        for receive in &mut receives {
            let Poll::Ready(Err(error)) = once(receive.as_mut()) else {
                panic!("it waits, or has something")
            };
            assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        }
        assert!(matches!(once(timing.as_mut()), Poll::Ready(Err(_))));
        assert!(once(writing.as_mut()).is_ready());
        assert_eq!(kernel.in_flight(), 0);
        // All buffers are back, none of them written by what came later.
        let buffers: Vec<_> = std::iter::from_fn(|| kernel.try_buffer()).collect();
        assert!(buffers.iter().all(|buffer| !buffer.contains(&9)));
        assert_eq!(buffers.len(), 8);
        assert!(matches!(once(pin!(kernel.nop())), Poll::Ready(Err(_))));
    }
}

/// What there cannot be is refused with what to do instead.
#[test]
fn what_cannot_be_is_refused() {
    if !has_rings() {
        return;
    }
    let options = Options::default();
    let too_much = [
        Options { operations: 0, ..options },
        Options { operations: Options::MOST + 1, ..options },
        Options { bytes: 0, ..options },
        Options { pieces: 1 << 16, ..options },
        Options { registered: true, buffers: 1 << 20, bytes: 1 << 20, ..options },
    ];
    for options in too_much {
        assert!(matches!(Ring::open(&options), Err(Error::Input { .. })), "{options:?}");
    }
    let ring = Ring::open(&Options { files: 1, ..options }).unwrap();
    let kernel: Kernel = ring.kernel();
    let first = kernel.register(tempfile::tempfile().unwrap()).unwrap();
    assert!(matches!(kernel.register(tempfile::tempfile().unwrap()), Err(Error::Input { .. })));
    drop(first);
    assert!(kernel.register(tempfile::tempfile().unwrap()).is_ok());
}

/// Tells the test below that it is in a process of its own.
const FEW: &str = "TOLLWAY_CHANNEL_LOCKED";

/// Where less memory may be locked than is asked for, and fewer files opened, that is said with its remedy.
#[test]
fn limits_are_told() {
    if !has_rings() {
        return;
    }
    if std::env::var_os(FEW).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "limits_are_told", "--nocapture"]).env(FEW, "1");
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // capabilities(7): who has CAP_IPC_LOCK (14) has no limit. Without it in the bounding set, root has not got it after exec.
                libc::prctl(libc::PR_CAPBSET_DROP, 14, 0, 0, 0);
                let limit = |resource, most| {
                    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
                    libc::setrlimit(resource, &raw const limit)
                };
                limit(libc::RLIMIT_MEMLOCK, 4 << 20);
                limit(libc::RLIMIT_NOFILE, 100);
                Ok(())
            });
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let small = Options { operations: 8, buffers: 4, ..Options::default() };
    let told = |options: Options, limit: &str| match Ring::open(&options) {
        Err(Error::Input { reason, remedy, .. }) => {
            assert!(reason.contains(limit) && remedy.contains("ulimit"), "{reason}; {remedy}");
        }
        other => panic!("{:?}", other.map(drop)),
    };
    told(Options { registered: true, buffers: 4096, bytes: 4096, ..small }, "RLIMIT_MEMLOCK");
    told(Options { files: 1000, ..small }, "RLIMIT_NOFILE");
    assert!(Ring::open(&Options { registered: true, files: 10, ..small }).is_ok());
}
