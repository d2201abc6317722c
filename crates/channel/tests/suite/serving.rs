//! What `serve` does for whatever the closure says, at either kind of server.

use std::os::unix::net::UnixStream;
use std::thread;

use tollway_channel::linux::{Client, Failed, Limits, Options, Server, plain};

/// A closure that names more than it had room for is a fault of the server's: it panics, and its client is
/// told that it has no answer.
#[test]
fn who_names_more_than_there_was_room_for_panics() {
    let (here, there) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || {
        let mut server = Server::over(there, &Limits::default()).unwrap();
        server.serve(|_, _, reply| (0, reply.len() + 1))
    });
    let mut client = Client::over(here, &Options::default()).unwrap();
    assert_eq!(client.call(0, &[], &mut []), Err(Failed::Unanswered));
    assert!(serving.join().is_err());
    assert_eq!(client.call(0, &[], &mut []), Err(Failed::Gone));

    for way in [plain::Way::Seqpacket, plain::Way::Handoff] {
        let (here, there) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let mut server = plain::Server::over(there, &plain::Limits::default()).unwrap();
            server.serve(|_, _, reply| (0, reply.len() + 1))
        });
        let options = plain::Options { way, ..plain::Options::default() };
        let mut client = plain::Client::over(here, &options).unwrap();
        assert_eq!(client.call(0, &[], &mut []), Err(plain::Failed::Gone));
        assert!(serving.join().is_err());
    }
}

/// The server outlives a closure that panics: the one request has no answer, and its slot, the only one, has
/// the next.
#[test]
fn request_whose_answer_panics_is_given_up_and_the_next_is_served() {
    let (here, there) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || {
        let mut server = Server::over(there, &Limits::default()).unwrap();
        let mut first = true;
        let mut serves = || {
            server.serve(|tag, _, _| {
                assert!(!std::mem::take(&mut first), "the first is one too many");
                (tag, 0)
            })
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut serves)).is_err();
        (panicked, serves())
    });
    let mut client = Client::over(here, &Options { slots: 1, ..Options::default() }).unwrap();
    assert_eq!(client.call(7, &[], &mut []), Err(Failed::Unanswered));
    assert_eq!(client.call(7, &[], &mut []), Ok((7, 0)));
    drop(client);
    assert_eq!(serving.join().unwrap(), (true, Ok(())));
}

/// The longest reply there is room for is none too many.
#[test]
fn who_names_all_there_was_room_for_is_heard() {
    let (here, there) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || {
        let mut server = Server::over(there, &Limits::default()).unwrap();
        server.serve(|_, _, reply| (0, reply.len()))
    });
    let mut client = Client::over(here, &Options::default()).unwrap();
    assert_eq!(client.call(0, &[], &mut []), Ok((0, 0)));
    let mut reply = [1; 65];
    assert_eq!(client.call(0, &[], &mut reply), Ok((0, 64)));
    assert_eq!((&reply[..64], reply[64]), (&[0; 64][..], 1));
    drop(client);
    assert_eq!(serving.join().unwrap(), Ok(()));
}
