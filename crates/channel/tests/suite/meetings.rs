//! Meetings with whoever does not keep to the protocol: they are refused soon, and nothing that was offered is touched.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use tollway_channel::coroutine::Executor;
use tollway_channel::linux::{Client, Failed, Limits, Notice, Options, Server, plain};
use tollway_channel::wait::Patience;
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

use crate::asleep::Thread;
use crate::peer::{CLIENTS_BELL, agrees, greets, hello, memory};

const SECOND: Duration = Duration::from_secs(1);

fn options(notice: Notice) -> Options {
    let patience = Some(Patience { spin: 0, yields: 0 });
    Options { slots: 8, bytes: 64, notice, patience, within: 600 * SECOND, timeout: None }
}

/// Of a client that nobody will answer.
fn impatient() -> Options {
    Options { within: SECOND / 2, ..options(Notice::Futex) }
}

/// A server that meets whoever greets so; why it does not agree.
fn refusal(greets: impl FnOnce(&UnixStream)) -> String {
    let (here, there) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let answering = scope.spawn(move || Server::over(there, &Limits::default()).err());
        greets(&here);
        answering.join().unwrap().expect("it agreed").to_string()
    })
}

/// What another process might give for an epoll instance: each would have the one that looks at it wait, or tell it nonsense.
fn no_epolls() -> Vec<OwnedFd> {
    let (fifo, _) = rustix::pipe::pipe().unwrap();
    let (socket, _) = UnixStream::pair().unwrap();
    let eventfd = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let folder = File::open("/").unwrap();
    vec![fifo, socket.into(), eventfd, folder.into(), tempfile::tempfile().unwrap().into()]
}

#[test]
fn a_greeting_in_pieces_is_refused_at_the_first() {
    let mine = memory(8, 64);
    // The rest never comes: it is not waited for.
    let why = refusal(|link| descriptor::send_with(link, b"T", &[mine.as_fd()]).unwrap());
    assert!(!why.contains("said nothing in time"), "{why}");
}

#[test]
fn an_answer_without_end_is_none() {
    let (here, there) = UnixStream::pair().unwrap();
    let asking = thread::spawn(move || Client::over(here, &impatient()).err());
    let why = asking.join().unwrap().expect("nobody answered").to_string();
    assert!(why.contains("said nothing in time"), "{why}");
    drop(there);
}

/// A link of a listener that does not block does not either: ends wait for each other nevertheless.
#[test]
fn a_link_that_does_not_block_is_waited_at() {
    let links = || {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        there.set_nonblocking(true).unwrap();
        (here, there)
    };
    let (here, there) = links();
    let (tell, told) = std::sync::mpsc::channel();
    let telling = tell.clone();
    let asking = thread::spawn(move || {
        telling.send(Thread::here()).unwrap();
        Client::over(here, &options(Notice::Futex)).map(drop)
    });
    // It waits for an answer.
    told.recv().unwrap().falls_asleep();
    Server::over(there, &Limits::default()).map(drop).unwrap();
    asking.join().unwrap().unwrap();
    let (here, there) = links();
    let answering = thread::spawn(move || {
        tell.send(Thread::here()).unwrap();
        plain::Server::over(there, &plain::Limits::default()).map(drop)
    });
    told.recv().unwrap().falls_asleep();
    plain::Client::over(here, &plain::Options::default()).map(drop).unwrap();
    answering.join().unwrap().unwrap();
}

/// A server that takes no connections keeps nobody waiting, whether there is room in its queue or not.
#[test]
fn a_queue_without_end_is_waited_at_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let waiting = Client::connect(&path, &impatient()).expect_err("nobody answered").to_string();
    assert!(waiting.contains("said nothing in time"), "{waiting}");
    // Each that has gone is in the queue still.
    let full = (0..8).find_map(|_| {
        let why = Client::connect(&path, &impatient()).err()?.to_string();
        (!why.contains("said nothing")).then_some(why)
    });
    let why = full.expect("there was room for all");
    assert!(why.contains("took none") && why.contains("full"), "{why}");
}

/// Signals come all the time: that does not begin the time anew in which something has to be said, or a connection taken.
#[test]
fn who_is_interrupted_waits_no_longer() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: all zero is a set of no flags and no signals: with this handler, which does nothing, a call is interrupted and not begun again.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as *const () as usize;
    // SAFETY: the handler lives as long as the program, and nothing else here uses that signal.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) }, 0);
    let interrupted = |waits: Box<dyn FnOnce() -> String + Send>| {
        let (tell, told) = std::sync::mpsc::channel();
        let (mine, whose) = std::sync::mpsc::channel();
        let waiting = thread::spawn(move || {
            // SAFETY: it takes nothing.
            mine.send(unsafe { libc::pthread_self() }).unwrap();
            tell.send(waits()).unwrap();
            // It is there for as long as somebody signals to it.
            thread::park();
        });
        let whose = whose.recv().unwrap();
        let deadline = Instant::now() + 120 * SECOND;
        let why = loop {
            match told.recv_timeout(SECOND / 20) {
                Ok(why) => break why,
                Err(RecvTimeoutError::Disconnected) => panic!("it had something else to say"),
                Err(_) => assert!(Instant::now() < deadline, "each signal begins the time anew"),
            }
            // SAFETY: the thread is there, as it is not told to go yet.
            assert_eq!(unsafe { libc::pthread_kill(whose, libc::SIGUSR1) }, 0);
        };
        waiting.thread().unpark();
        waiting.join().unwrap();
        why
    };
    let (here, _there) = UnixStream::pair().unwrap();
    let why = interrupted(Box::new(move || {
        Server::over(here, &Limits::default()).expect_err("nobody greeted").to_string()
    }));
    assert!(why.contains("said nothing in time"), "{why}");
    let (here, _there) = UnixStream::pair().unwrap();
    let why = interrupted(Box::new(move || {
        Client::over(here, &impatient()).expect_err("nobody answered").to_string()
    }));
    assert!(why.contains("said nothing in time"), "{why}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let _first = UnixStream::connect(&path).unwrap();
    let why = interrupted(Box::new(move || {
        Client::connect(&path, &impatient()).expect_err("there was room").to_string()
    }));
    assert!(why.contains("took none"), "{why}");
}

/// A server that wakes, and is woken, by one of both alone says so.
#[test]
fn a_notice_that_is_not_allowed_is_refused() {
    for (allowed, asked) in [(Notice::Futex, Notice::Eventfd), (Notice::Eventfd, Notice::Futex)] {
        for asks in [allowed, asked] {
            let (here, there) = UnixStream::pair().unwrap();
            let limits = Limits { notice: Some(allowed), ..Limits::default() };
            let answering = thread::spawn(move || Server::over(there, &limits).map(drop));
            let met = Client::over(here, &options(asks)).map(drop);
            assert_eq!(met.is_ok(), asks == allowed);
            assert_eq!(answering.join().unwrap().is_ok(), asks == allowed);
            if let Err(why) = met {
                assert!(why.to_string().contains(&format!("Notice::{allowed:?}")), "{why}");
            }
        }
    }
}

#[test]
fn only_an_epoll_instance_may_tell_that_an_eventfd_was_written() {
    for wrong in no_epolls() {
        let mut heard = None;
        let why = refusal(|link| {
            greets(link, &hello(8, 64, 1), &memory(8, 64), &[wrong]);
            heard = Some(descriptor::receive(link).map(drop));
        });
        assert!(why.contains("epoll"), "{why}");
        assert!(heard.unwrap().is_err(), "it was told that the server agrees");
    }
    for wrong in no_epolls() {
        let (here, there) = UnixStream::pair().unwrap();
        let answering = thread::spawn(move || agrees(&there, &[wrong]));
        let why = Client::over(here, &options(Notice::Eventfd)).expect_err("it agreed").to_string();
        assert!(why.contains("epoll"), "{why}");
        answering.join().unwrap();
    }
}

#[test]
fn descriptors_that_are_too_few_or_too_many_are_refused() {
    let wrong = |n: usize| no_epolls().into_iter().take(n).collect::<Vec<_>>();
    for (notice, others) in [(0, 1), (1, 0), (1, 2), (0, 5)] {
        let why = refusal(|link| greets(link, &hello(8, 64, notice), &memory(8, 64), &wrong(others)));
        assert!(why.contains("Memory"), "{why}");
    }
    refusal(|link| descriptor::send_with(link, &hello(8, 64, 0), &[] as &[OwnedFd]).unwrap());
    for others in [1, 5] {
        let (here, there) = UnixStream::pair().unwrap();
        let answering = thread::spawn(move || agrees(&there, &wrong(others)));
        assert!(Client::over(here, &options(Notice::Futex)).is_err());
        answering.join().unwrap();
    }
}

/// Memory of another size than was agreed on is not touched: no page of it is made.
#[test]
fn memory_is_looked_at_before_it_is_mapped() {
    let large = memfd_create("large", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&large, 64 << 20).unwrap();
    fcntl_add_seals(&large, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).unwrap();
    let why = refusal(|link| greets(link, &hello(8, 64, 0), &large, &[]));
    assert!(why.contains("Memory"), "{why}");
    assert_eq!(fstat(&large).unwrap().st_blocks, 0, "it was touched");
    // Too small, not sealed, no memory at all.
    refusal(|link| greets(link, &hello(256, 4096, 0), &SharedPages::new(64).unwrap(), &[]));
    let loose = memfd_create("loose", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&loose, memory(8, 64).len() as u64).unwrap();
    refusal(|link| greets(link, &hello(8, 64, 0), &loose, &[]));
    refusal(|link| greets(link, &hello(8, 64, 0), &tempfile::tempfile().unwrap(), &[]));
}

#[test]
fn numbers_that_are_no_size_are_refused() {
    let numbers = [0, 1, 7, 63, 64, 65, 4097, 32768, 65472, 65536, 1 << 20, u32::MAX];
    for slots in numbers {
        for bytes in numbers {
            let allowed = |n: u32| (1..=4096).contains(&n);
            if allowed(slots) && allowed(bytes) && slots.is_power_of_two() && bytes.is_multiple_of(64) {
                continue;
            }
            let why = refusal(|link| greets(link, &hello(slots, bytes, 0), &memory(8, 64), &[]));
            assert!(why.contains("Geometry"), "{slots} × {bytes}: {why}");
        }
    }
    let (here, _there) = UnixStream::pair().unwrap();
    let too_much = Options { slots: 32768, bytes: 65472, ..options(Notice::Futex) };
    let why = Client::over(here, &too_much).err().unwrap().to_string();
    assert!(why.contains("memory"), "{why}");
}

/// The server says all the time that the client need not be woken. Another thread of the client's wakes it nevertheless.
#[test]
fn a_server_cannot_keep_the_clients_own_threads_from_waking_it() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (here, there) = UnixStream::pair().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let silences = scope.spawn(|| {
                let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
                let gives = if notice == Notice::Eventfd { vec![epoll] } else { vec![] };
                let (memory, _others) = agrees(&there, &gives);
                while !is_over.load(Ordering::Relaxed) {
                    memory.words()[CLIENTS_BELL].store(0, Ordering::Relaxed);
                }
            });
            let client = Client::over(here, &options(notice)).unwrap();
            let (_calls, mut dispatcher) = client.into_calls();
            let mut executor = Executor::new(1, dispatcher.rouser());
            let (tell, told) = std::sync::mpsc::channel::<std::task::Waker>();
            let sleeping = Thread::here();
            scope.spawn(move || {
                for waker in told {
                    sleeping.falls_asleep();
                    waker.wake();
                }
            });
            let mut polls = 0;
            executor.spawn(
                0,
                std::future::poll_fn(move |context| {
                    polls += 1;
                    if polls > 50 {
                        return std::task::Poll::Ready(());
                    }
                    tell.send(context.waker().clone()).unwrap();
                    std::task::Poll::Pending
                }),
            );
            executor.run(&mut dispatcher).unwrap();
            is_over.store(true, Ordering::Relaxed);
            silences.join().unwrap();
        });
    }
}

/// The server says all the time that the client sleeps, and goes: the client learns it nevertheless.
#[test]
fn a_server_that_writes_on_cannot_hide_that_it_is_gone() {
    for _ in 0..50 {
        let (here, there) = UnixStream::pair().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (goes, go) = std::sync::mpsc::channel::<()>();
            scope.spawn(|| {
                let (memory, _) = agrees(&there, &[]);
                let going = scope.spawn(move || {
                    let _ = go.recv();
                    drop(there);
                });
                while !is_over.load(Ordering::Relaxed) {
                    memory.words()[CLIENTS_BELL].store(1, Ordering::Relaxed);
                }
                going.join().unwrap();
            });
            let mut client = Client::over(here, &options(Notice::Futex)).unwrap();
            drop(goes);
            assert_eq!(client.call(0, &[1], &mut [0]), Err(Failed::Gone));
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

/// Who looks and looks is told as well.
#[test]
fn who_never_sleeps_is_told_that_the_other_is_gone() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        for patience in [Patience { spin: u64::MAX, yields: 0 }, Patience { spin: 0, yields: u32::MAX }] {
            let (here, there) = UnixStream::pair().unwrap();
            let answering = thread::spawn(move || {
                let mut server = Server::over(there, &Limits::default()).unwrap();
                server.wait().unwrap();
            });
            let mut client =
                Client::over(here, &Options { patience: Some(patience), ..options(notice) }).unwrap();
            assert_eq!(client.call(0, &[1], &mut [0]), Err(Failed::Gone));
            answering.join().unwrap();
        }
    }
}

/// The same of one that gives its core away and gives it away, by the fast path of plain requests.
#[test]
fn who_only_gives_way_is_told_that_the_other_is_gone() {
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let (here, there) = UnixStream::pair().unwrap();
        let answering = thread::spawn(move || {
            let mut server = plain::Server::over(there, &plain::Limits::default()).unwrap();
            server.next(&mut [0]).unwrap();
        });
        let patience = Some(Patience { spin: 0, yields: u32::MAX });
        let mut client =
            plain::Client::over(here, &plain::Options { patience, ..Default::default() }).unwrap();
        tell.send(client.call(0, &[1], &mut [0])).unwrap();
        answering.join().unwrap();
    });
    assert_eq!(told.recv_timeout(120 * SECOND), Ok(Err(plain::Failed::Gone)), "it gives way on");
}

/// A server that has others to meet, or meets one client after the other, keeps a client waiting for as long as this allows.
#[test]
fn a_client_waits_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy");
    let listener = UnixListener::bind(&path).unwrap();
    let serves = |plainly: bool| {
        let mut links = listener.incoming();
        // The next one is heard when this one has gone; whoever has given up by then is no client any more.
        for served in 0..4 {
            let link = links.next().unwrap().unwrap();
            let met = if plainly {
                plain::Server::over(link, &plain::Limits::default()).map(|mut server| {
                    server.serve(|_, _, _| (0, 0)).unwrap();
                })
            } else {
                Server::over(link, &Limits::default()).map(|mut server| {
                    server.serve(|_, _, _| (0, 0)).unwrap();
                })
            };
            assert_eq!(met.is_ok(), served % 2 == 0);
        }
    };
    let long = 600 * SECOND;
    let (tell, told) = std::sync::mpsc::channel();
    let ask = |within| Client::connect(&path, &Options { within, ..options(Notice::Futex) });
    let plainly =
        |within| plain::Client::connect(&path, &plain::Options { within, ..plain::Options::default() });
    thread::scope(|scope| {
        let serving = scope.spawn(|| serves(false));
        let first = ask(long).unwrap();
        let why = ask(SECOND / 2).err().unwrap().to_string();
        assert!(why.contains("said nothing in time"), "{why}");
        let waiting = scope.spawn(|| {
            tell.send(Thread::here()).unwrap();
            ask(long).map(|mut client| client.call(0, &[], &mut []))
        });
        told.recv().unwrap().falls_asleep();
        // It outlasts another that comes later and has given up.
        assert!(ask(SECOND / 2).is_err());
        drop(first);
        assert_eq!(waiting.join().unwrap().unwrap(), Ok((0, 0)));
        serving.join().unwrap();

        let serving = scope.spawn(|| serves(true));
        let first = plainly(long).unwrap();
        let why = plainly(SECOND / 2).err().unwrap().to_string();
        assert!(why.contains("said nothing in time"), "{why}");
        let waiting = scope.spawn(|| {
            tell.send(Thread::here()).unwrap();
            plainly(long).map(|mut client| client.call(0, &[], &mut []))
        });
        told.recv().unwrap().falls_asleep();
        // It outlasts another that comes later and has given up.
        assert!(plainly(SECOND / 2).is_err());
        drop(first);
        assert_eq!(waiting.join().unwrap().unwrap(), Ok((0, 0)));
        serving.join().unwrap();
    });
}

#[test]
fn no_server_answers_in_no_time() {
    let (here, _there) = UnixStream::pair().unwrap();
    let within = Duration::ZERO;
    let why = Client::over(here, &Options { within, ..options(Notice::Futex) }).err().unwrap().to_string();
    assert!(why.contains("time that a server has to answer") && why.contains("10 s"), "{why}");
    let (here, _there) = UnixStream::pair().unwrap();
    let wants = plain::Options { within, ..plain::Options::default() };
    assert!(plain::Client::over(here, &wants).is_err());
    assert_eq!((Options::default().within, plain::Options::default().within), (10 * SECOND, 10 * SECOND));
}

/// A server that listens is not even connected to, and where nobody listens the fault that is told is the one
/// in what was asked for.
#[test]
fn options_that_nobody_can_give_are_refused_before_connecting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("channel.sock");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let ring = options(Notice::Futex);
    let rings = [
        (Options { slots: 0, ..ring }, "0 messages"),
        (Options { slots: 1 << 20, ..ring }, "1048576 messages"),
        (Options { bytes: 0, ..ring }, "0 bytes"),
        (Options { within: Duration::ZERO, ..ring }, "time that a server has to answer"),
        (Options { timeout: Some(Duration::ZERO), ..ring }, "time that a server has to reply"),
    ];
    let plain = plain::Options::default();
    let plains = [
        (plain::Options { bytes: 0, ..plain }, "0 bytes"),
        (plain::Options { bytes: 1 << 20, ..plain }, "1048576 bytes"),
        (plain::Options { within: Duration::ZERO, ..plain }, "time that a server has to answer"),
        (plain::Options { timeout: Some(Duration::ZERO), ..plain }, "time that a server has to reply"),
    ];
    for path in [path.clone(), folder.path().join("nobody.sock")] {
        let refused = rings.iter().map(|(wrong, place)| (Client::connect(&path, wrong).err(), place));
        let plainly = plains.iter().map(|(wrong, place)| (plain::Client::connect(&path, wrong).err(), place));
        for (error, place) in refused.chain(plainly) {
            let error = error.unwrap();
            assert!(matches!(error, tollway_core::Error::Input { .. }), "{error}");
            assert!(error.to_string().contains(place), "{error}");
        }
    }
    assert_eq!(listener.accept().map(drop).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
