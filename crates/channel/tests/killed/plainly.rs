//! Plain requests by both ways, from either end.

use std::os::unix::net::UnixStream;

use tollway_channel::linux::plain::{self, Client, Failed, Limits, Options, Server};
use tollway_channel::wait::Patience;

use crate::{Way, is_second, link, patience};

pub fn ways() -> Vec<Way> {
    [false, true]
        .into_iter()
        .flat_map(|is_second| {
            [
                Way { name: "plain requests", other: "plainly::serves", is_second, works: calls },
                Way { name: "a server of plain requests", other: "plainly::asks", is_second, works: answers },
            ]
        })
        .collect()
}

fn options(is_second: bool, patience: Option<Patience>) -> Options {
    let way = if is_second { plain::Way::Handoff } else { plain::Way::Seqpacket };
    Options { way, bytes: 64, patience, ..Options::default() }
}

fn limits(patience: Option<Patience>) -> Limits {
    Limits { patience, ..Limits::default() }
}

#[test]
#[ignore = "the test of all ways starts it, as a process of its own, and kills it"]
fn serves() {
    answers(false, patience(), link());
}

#[test]
#[ignore = "the test of all ways starts it, as a process of its own, and kills it"]
fn asks() {
    calls(is_second(), patience(), link());
}

fn calls(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(mut client) = Client::over(link, &options(is_second, patience)) else { return };
    let failed = loop {
        let mut reply = [0; 64];
        match client.call(7, &[2; 64], &mut reply) {
            Ok(answer) => assert_eq!((answer, reply), ((7, 64), [2; 64])),
            Err(failed) => break failed,
        }
    };
    assert_eq!(failed, Failed::Gone);
}

fn answers(_: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(mut server) = Server::over(link, &limits(patience)) else { return };
    let served = server.serve(|tag, request, reply| {
        reply[..request.len()].copy_from_slice(request);
        (tag, request.len())
    });
    assert_eq!(served, Ok(()));
}
