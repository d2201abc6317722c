//! Requests, of every size, and answers that are none.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use tollway_core::Error;
use tollway_machine::engine::network::Listener;
use tollway_machine::engine::network::requests::{Asker, answer};

#[test]
fn as_many_are_answered_as_are_asked() {
    for bytes in [1, 8, 64, 100_000] {
        let listener = Listener::at(Ipv4Addr::LOCALHOST).unwrap();
        let address = listener.address();
        let server = thread::spawn(move || answer(&listener, bytes));
        let mut asker = Asker::come(address, bytes).unwrap();
        (0..300).for_each(|_| asker.ask().unwrap());
        assert_eq!(asker.finish().unwrap(), 300);
        assert_eq!(server.join().unwrap().unwrap(), 300);
    }
}

/// A server by hand, which answers by `reply` and says that it answered `said`.
fn asks(reply: impl Fn(&mut Vec<u8>) + Sync, said: u64) -> Result<u64, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("IPv4") };
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = listener.accept().unwrap();
            let mut question = vec![0; 17];
            socket.read_exact(&mut question).unwrap();
            let mut question = question.split_off(1);
            reply(&mut question);
            let _ = socket.write_all(&question).and_then(|()| socket.write_all(&said.to_le_bytes()));
        });
        let mut asker = Asker::come(address, 16)?;
        asker.ask()?;
        asker.finish()
    })
}

#[test]
fn what_is_no_answer_is_refused() {
    assert_eq!(asks(|_| (), 1), Ok(1));
    let wrong = |answered: Result<u64, Error>, wanted: &str| {
        let reason = answered.unwrap_err().to_string();
        assert!(reason.contains(wanted), "{reason}");
    };
    wrong(asks(|answer| answer[0] ^= 1, 1), "question 0");
    wrong(asks(|answer| answer[15] ^= 1, 1), "question 0");
    wrong(asks(|_| (), 2), "1 were asked, 2 answered");
    wrong(asks(|answer| answer.truncate(3), 1), "has gone");
}
