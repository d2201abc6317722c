//! Every message is answered, by every style, whatever the number of connections. `TOLLWAY_TCP_SECONDS` says for how long each is tried.

use std::time::Duration;

use crate::setting::{STYLES, Served, after, may, until};

#[test]
fn each_style_answers_one_some_and_many_connections() {
    if !may() {
        return;
    }
    let long =
        std::env::var("TOLLWAY_TCP_SECONDS").map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    let time = long.unwrap_or(Duration::from_millis(200));
    for style in STYLES {
        for connections in [1, 4, 64, 128] {
            let served = Served::start(style, connections);
            let mut client = served.client(connections);
            let mut answered = vec![0u64; connections];
            client.run(until(after(time), |reply| answered[reply.connection] += 1)).unwrap();
            drop(client);
            let counts = served.end();
            let all: u64 = answered.iter().sum();
            println!("{style:?}, {connections}: {all} answered, {counts:?}");
            assert_eq!((counts.requests, counts.replies), (all, all));
            assert_eq!((counts.malformed, counts.late), (0, 0));
            assert!(answered.iter().all(|one| *one > 0), "{answered:?}");
        }
    }
}
