//! Calls whose server does not answer in time: they come back, and what comes too late is nobody's.

use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tollway_channel::Failed;
use tollway_channel::linux::{Client, Limits, Notice, Options, Server, plain};
use tollway_channel::ring::client::Refused;
use tollway_channel::wait::Patience;

const TIMEOUT: Duration = Duration::from_millis(30);

/// Who sleeps at once, who looks and then sleeps, who only looks, who only gives way.
const PATIENCES: [Option<Patience>; 4] = [
    Some(Patience { spin: 0, yields: 0 }),
    None,
    Some(Patience { spin: u64::MAX, yields: 0 }),
    Some(Patience { spin: 0, yields: u32::MAX }),
];

fn meet(slots: usize, notice: Notice, patience: Option<Patience>, timeout: Duration) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    let options = Options { slots, notice, patience, timeout: Some(timeout), ..Options::default() };
    (Client::over(here, &options).unwrap(), answering.join().unwrap())
}

/// No sooner than is said. How much later is the scheduler's affair; that it ends at all is what the test's
/// own end tells.
fn timed<T>(does: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = does();
    assert!(begun.elapsed() >= TIMEOUT, "it was given up after {:?}", begun.elapsed());
    done
}

#[test]
fn call_that_nobody_answers_times_out_however_it_waits() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        for patience in PATIENCES {
            let (mut client, _server) = meet(2, notice, patience, TIMEOUT);
            assert_eq!(timed(|| client.call(0, &[], &mut [])), Err(Failed::TimedOut));
            assert_eq!(timed(|| client.wait_for(TIMEOUT)), Ok(false));
            let (caller, _server) = meet(2, notice, patience, TIMEOUT);
            let caller = caller.into_caller();
            assert_eq!(timed(|| caller.call(0, &[], &mut [])), Err(Failed::TimedOut));
            let pending = caller.send(0, &[]).unwrap();
            assert_eq!(timed(|| pending.wait(&mut [])), Err(Failed::TimedOut));
            // Both slots are taken: it waits for one as long as for a reply.
            assert_eq!(timed(|| caller.call(0, &[], &mut [])), Err(Failed::TimedOut));
        }
    }
}

/// Threads that sleep while another leads time out by themselves, and so does who waits for a slot.
#[test]
fn threads_time_out_whether_they_lead_or_not() {
    let (client, _server) = meet(2, Notice::Futex, PATIENCES[0], TIMEOUT);
    let caller = client.into_caller();
    thread::scope(|scope| {
        let calls = [(); 6].map(|()| scope.spawn(|| caller.call(0, &[], &mut [])));
        for call in calls {
            assert_eq!(call.join().unwrap(), Err(Failed::TimedOut));
        }
    });
}

/// The reply that comes too late frees its slot, and is not taken for the next one's.
#[test]
fn late_reply_is_nobodys_and_frees_its_slot() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (mut client, mut server) = meet(1, notice, PATIENCES[0], TIMEOUT);
        let (goes_on, waits) = mpsc::channel();
        let (answered, is_answered) = mpsc::channel();
        let serving = thread::spawn(move || {
            server.wait().unwrap();
            let request = server.take().unwrap().unwrap();
            waits.recv().unwrap();
            server.answer(request, 1, &[1]);
            server.flush();
            answered.send(()).unwrap();
            server.serve(|_, _, reply| {
                reply[0] = 2;
                (2, 1)
            })
        });
        let mut reply = [0];
        assert_eq!(client.call(0, &[], &mut reply), Err(Failed::TimedOut));
        // Its slot is the server's still.
        assert_eq!(client.call(0, &[], &mut reply), Err(Failed::Refused(Refused::Full)));
        goes_on.send(()).unwrap();
        is_answered.recv().unwrap();
        // However slow the other thread is.
        let answer = std::iter::repeat_with(|| client.call(0, &[], &mut reply)).find(|answer| {
            *answer != Err(Failed::TimedOut) && *answer != Err(Failed::Refused(Refused::Full))
        });
        assert_eq!((answer, reply), (Some(Ok((2, 1))), [2]));
        drop(client);
        assert_eq!(serving.join().unwrap(), Ok(()));
    }
}

/// A time limit that does not run out changes nothing.
#[test]
fn call_that_is_answered_in_time_has_its_reply() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        for patience in PATIENCES {
            let (mut client, mut server) = meet(2, notice, patience, Duration::from_secs(600));
            let serving = thread::spawn(move || server.serve(|tag, _, _| (tag + 1, 0)));
            for tag in 0..50 {
                assert_eq!(client.call(tag, &[], &mut []), Ok((tag + 1, 0)));
            }
            drop(client);
            assert_eq!(serving.join().unwrap(), Ok(()));
        }
    }
}

#[test]
fn plain_call_that_nobody_answers_times_out_and_ends_its_connection() {
    for way in [plain::Way::Seqpacket, plain::Way::Handoff] {
        for patience in PATIENCES {
            let meet = |timeout| {
                let (here, there) = UnixStream::pair().unwrap();
                let answering =
                    thread::spawn(move || plain::Server::over(there, &plain::Limits::default()).unwrap());
                let options =
                    plain::Options { way, patience, timeout: Some(timeout), ..plain::Options::default() };
                (plain::Client::over(here, &options).unwrap(), answering.join().unwrap())
            };
            let (mut client, _server) = meet(TIMEOUT);
            assert_eq!(timed(|| client.call(0, &[], &mut [])), Err(plain::Failed::TimedOut));
            // What comes now would be the first one's.
            assert_eq!(client.call(0, &[], &mut []), Err(plain::Failed::TimedOut));
            let (mut client, mut server) = meet(Duration::from_secs(600));
            let serving = thread::spawn(move || server.serve(|tag, _, _| (tag + 1, 0)));
            for tag in 0..20 {
                assert_eq!(client.call(tag, &[], &mut []), Ok((tag + 1, 0)));
            }
            drop(client);
            assert_eq!(serving.join().unwrap(), Ok(()));
        }
    }
}
