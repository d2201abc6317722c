//! Every message is answered, by every style, whatever the number of connections. `TOLLWAY_TCP_SECONDS` says for how long each is tried.

use std::time::{Duration, Instant};

use tollway_ipc::engine::tcp::{Client, Itself, Network, Running, Speaker, Stack};

use crate::setting::{STYLES, Served, answers, answers_while, may};

/// Messages over each connection, where no time is said.
const MESSAGES: u64 = 100;

#[test]
fn each_style_answers_one_some_and_many_connections() {
    if !may() {
        return;
    }
    let long =
        std::env::var("TOLLWAY_TCP_SECONDS").map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    for style in STYLES {
        for connections in [1, 4, 64, 128] {
            let served = Served::start(style, connections);
            let mut client = served.client(connections);
            let begun = Instant::now();
            let answered = match long {
                Ok(time) => answers_while(&mut client, connections, |_| begun.elapsed() < time),
                Err(_) => answers(&mut client, connections, MESSAGES),
            };
            drop(client);
            let counts = served.end();
            let all: u64 = answered.iter().sum();
            println!("{style:?}, {connections}: {all} answered, {counts:?}");
            assert_eq!((counts.requests, counts.replies), (all, all));
            assert_eq!((counts.malformed, counts.late), (0, 0));
            assert!(long.is_ok() || answered == vec![MESSAGES; connections], "{answered:?}");
        }
    }
}

/// And by a stack that has no application.
#[test]
fn a_stack_by_itself_answers_as_well() {
    if !may() {
        return;
    }
    for itself in [Itself::Tasks, Itself::Threads] {
        for connections in [1, 7, 128] {
            let network = Network::new(Speaker::Program).unwrap();
            let stack = Stack::open(&network, connections).unwrap();
            let stack = Running::alone(stack, itself, None).unwrap();
            let mut client = Client::connect(network.client(), Network::APPLICATION, connections).unwrap();
            let answered = answers(&mut client, connections, MESSAGES);
            drop(client);
            let counts = stack.stop().unwrap();
            let all: u64 = answered.iter().sum();
            assert_eq!((counts.requests, counts.replies), (all, all), "{itself:?}, {connections}");
            assert_eq!(
                (counts.malformed, counts.late, counts.notices),
                (0, 0, 0),
                "{itself:?}, {connections}"
            );
            assert_eq!(answered, vec![MESSAGES; connections], "{itself:?}");
        }
    }
}
