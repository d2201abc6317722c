//! Ends that fork(2) copies: in the child each is refused, whatever it is asked, and the parent's exchange
//! goes on.
//!
//! The child is one thread of a copy of this program: it takes no lock that another may have held, and ends
//! without dropping what it does not mean to.

use std::future::Future;
use std::os::unix::net::UnixStream;
use std::thread;

use tollway_channel::Failed;
use tollway_channel::coroutine::{Driver, Executor, Lost, Stopped};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server, plain};
use tollway_channel::ring::Violation;
use tollway_channel::ring::client::Refused;

fn meet(notice: Notice) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    (Client::over(here, &Options { notice, ..Options::default() }).unwrap(), answering.join().unwrap())
}

/// What a child found first that is not so: the number of a line, or nothing. It is ended by an alarm should
/// it hang.
#[track_caller]
fn child_finds(does: impl FnOnce() -> Option<u32>) {
    // SAFETY: the child takes no lock that another thread may have held, and leaves without running what this
    // program would at its end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: no address is passed.
        unsafe { libc::alarm(20) };
        let wrong = does().is_some_and(|line| {
            let mut text = *b"line 0000\n";
            text.iter_mut().skip(5).take(4).enumerate().for_each(|(at, digit)| {
                *digit += (line / 10u32.pow(3 - at as u32) % 10) as u8;
            });
            // SAFETY: the text is as long as is said.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
            true
        });
        // SAFETY: it ends this process.
        unsafe { libc::_exit(i32::from(wrong)) };
    }
    let mut status = 0;
    // SAFETY: the place for the status is this function's.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0, "the child's status; 14 is that it hung");
}

/// What fork(2) made a copy of is the child's, and the parent has its own: of which the compiler knows
/// nothing.
fn copied<T>(it: &T) -> T {
    // SAFETY: only in the child, which uses what this returns alone, and leaves without dropping what it was
    // read from.
    unsafe { std::ptr::read(it) }
}

macro_rules! want {
    ($is:expr, $wanted:expr) => {
        if $is != $wanted {
            return Some(line!());
        }
    };
}

const FORKED: Violation = Violation::Forked;

#[test]
fn client_in_a_forked_child_is_refused_and_the_parents_goes_on() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (mut client, mut server) = meet(notice);
        // A reply lies there that is the parent's.
        let slot = client.send(1, &[1]).unwrap();
        let request = server.take().unwrap().unwrap();
        server.answer(request, 2, &[3]);
        server.flush();
        child_finds(|| {
            let mut reply = [0];
            want!(client.take(), Err(FORKED));
            want!(client.wait(), Ok(()));
            want!(client.call(1, &[9], &mut reply), Err(Failed::Broken(FORKED)));
            want!(client.send(1, &[9]), Err(Refused::Broken(FORKED)));
            want!(client.nudge().is_err(), true);
            // As the child ends: the socket between the ends is one for both.
            drop(copied(&client));
            None
        });
        assert_eq!(server.take(), Ok(None), "what the child sent");
        let reply = client.take().unwrap().unwrap();
        assert_eq!((reply.slot(), reply.tag()), (slot, 2));
        client.release(reply);
        let serving = thread::spawn(move || server.serve(|tag, _, _| (tag + 1, 0)));
        assert_eq!(client.call(6, &[], &mut []), Ok((7, 0)));
        drop(client);
        assert_eq!(serving.join().unwrap(), Ok(()));
    }
}

#[test]
fn server_in_a_forked_child_answers_nothing() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (mut client, mut server) = meet(notice);
        client.send(1, &[1]).unwrap();
        let mut request = Some(server.take().unwrap().unwrap());
        client.send(2, &[2]).unwrap();
        child_finds(|| {
            want!(server.answer(request.take().unwrap(), 9, &[9]), 0);
            want!(server.take(), Err(FORKED));
            want!(server.serve(|_, _, _| (9, 1)), Err(FORKED));
            want!(server.nudged(), 0);
            drop(copied(&server));
            None
        });
        assert_eq!(client.take(), Ok(None), "what the child answered");
        server.answer(request.take().unwrap(), 3, &[4]);
        assert_eq!(client.take().unwrap().map(|reply| reply.tag()), Some(3));
        assert_eq!(server.take().unwrap().map(|request| request.tag()), Some(2));
    }
}

/// A request that a thread waits for was sent before; the child waits for nothing, and drops it without a
/// lock.
#[test]
fn threads_calls_in_a_forked_child_are_refused() {
    let (client, mut server) = meet(Notice::Futex);
    let caller = client.into_caller();
    let pending = caller.send(1, &[]).unwrap();
    let dropped = caller.send(2, &[]).unwrap();
    child_finds(|| {
        want!(caller.call(3, &[], &mut []), Err(Failed::Broken(FORKED)));
        want!(caller.send(3, &[]).err(), Some(Failed::Broken(FORKED)));
        want!(copied(&pending).wait(&mut []), Err(Failed::Broken(FORKED)));
        drop(copied(&dropped));
        None
    });
    let serving = thread::spawn(move || server.serve(|tag, _, _| (tag + 10, 0)));
    assert_eq!(pending.wait(&mut []), Ok((11, 0)));
    drop(dropped);
    assert_eq!(caller.call(3, &[], &mut []), Ok((13, 0)));
    drop(caller);
    assert_eq!(serving.join().unwrap(), Ok(()));
}

#[test]
fn tasks_in_a_forked_child_are_told() {
    let (client, server) = meet(Notice::Futex);
    let (calls, mut dispatcher) = client.into_calls();
    let (incoming, mut others) = server.into_incoming();
    child_finds(|| {
        let answer = std::cell::Cell::new(None);
        let mut executor = Executor::new(1, dispatcher.rouser());
        executor.spawn(0, async { answer.set(Some(calls.call(0, &[], &mut []).await)) });
        want!(executor.run(&mut dispatcher), Ok(()));
        want!(answer.get(), Some(Err(Lost::Stopped(Stopped::Broken(FORKED)))));
        want!(others.turn(), Err(FORKED));
        None
    });
    drop(incoming);
    assert_eq!(others.turn(), Ok(false));
}

#[test]
fn plain_ends_in_a_forked_child_are_refused() {
    for way in [plain::Way::Seqpacket, plain::Way::Handoff] {
        let (here, there) = UnixStream::pair().unwrap();
        let answering = thread::spawn(move || plain::Server::over(there, &plain::Limits::default()).unwrap());
        let mut client =
            plain::Client::over(here, &plain::Options { way, ..plain::Options::default() }).unwrap();
        let mut server = answering.join().unwrap();
        child_finds(|| {
            want!(client.call(9, &[9], &mut []), Err(plain::Failed::Forked));
            want!(server.next(&mut []), Err(plain::Failed::Forked));
            want!(server.serve(|_, _, _| (9, 0)), Err(plain::Failed::Forked));
            drop((copied(&client), copied(&server)));
            None
        });
        let serving = thread::spawn(move || server.serve(|tag, _, _| (tag + 1, 0)));
        assert_eq!(client.call(6, &[], &mut []), Ok((7, 0)));
        drop(client);
        assert_eq!(serving.join().unwrap(), Ok(()));
    }
}

/// A channel of its own is the child's to use.
#[test]
fn channel_that_a_child_makes_is_its_own() {
    let (before, _server) = meet(Notice::Futex);
    child_finds(|| {
        let (mut client, mut server) = meet(Notice::Futex);
        let serving = thread::spawn(move || server.serve(|tag, _, _| (tag + 1, 0)));
        want!(client.call(6, &[], &mut []), Ok((7, 0)));
        drop(client);
        want!(serving.join().is_ok_and(|ended| ended.is_ok()), true);
        let mut before = copied(&before);
        want!(before.take(), Err(FORKED));
        None
    });
}

/// The kernel's queues are memory that both processes have: what the child asked would be done in the
/// parent's name, and what it took be missing there.
#[test]
fn ring_of_the_kernel_in_a_forked_child_asks_and_takes_nothing() {
    use tollway_channel::linux::kernel;
    let mut ring = match kernel::Ring::open(&kernel::Options { files: 1, ..kernel::Options::default() }) {
        Ok(ring) => ring,
        Err(tollway_core::Error::Missing(missing)) => {
            return tollway_host::requirement::skip_test(&["io-uring"], &missing);
        }
        Err(error) => panic!("{error}"),
    };
    let kernel = ring.kernel();
    // Its result is the parent's, and may lie there already.
    let mut own = Box::pin(kernel.nop());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(own.as_mut().poll(&mut context).is_pending());
    ring.turn().unwrap();
    let entries = kernel.entries();
    let mut pipe = Some(rustix::pipe::pipe().unwrap().0);
    child_finds(|| {
        let said = std::cell::Cell::new(None);
        let mut executor = Executor::new(1, ring.rouser());
        executor
            .spawn(0, async { said.set(kernel.nop().await.err().and_then(|error| error.raw_os_error())) });
        want!(executor.run(&mut ring), Ok(()));
        want!(said.get(), Some(libc::EPERM));
        want!(kernel.entries(), entries);
        let Some(pipe) = pipe.take() else { return Some(line!()) };
        want!(kernel.register(pipe).is_err(), true);
        drop(copied(&ring));
        None
    });
    let mut executor = Executor::new(1, ring.rouser());
    executor.spawn(0, async { own.await.unwrap() });
    executor.run(&mut ring).unwrap();
}
