//! Four greedy tenants and a modest one; and one that goes idle.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tollway_entropy::engine::serve::{Server, Status};

use super::numbered::Numbered;
use super::player::{Player, serve, words};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "modest"];

/// Bytes a second that there are to share.
const RATE: u64 = 10_000_000;

/// Bytes that each got in a while, and all together, and how long it was.
fn window(server: &Server, length: Duration) -> (Vec<f64>, f64) {
    let bytes = |status: &Status| status.tenants.iter().map(|t| t.counts.bytes).collect::<Vec<_>>();
    let before = server.status();
    thread::sleep(length);
    let after = server.status();
    let got = bytes(&after).iter().zip(bytes(&before)).map(|(a, b)| (a - b) as f64).collect();
    (got, after.seconds - before.seconds)
}

#[test]
fn greedy_tenants_get_the_same_and_a_modest_one_all_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let first = Numbered::new(RATE / 2);
    let second = first.another();
    let server = serve(folder.path(), &NAMES, vec![Box::new(first), Box::new(second)]);
    let sockets: Vec<PathBuf> = NAMES.iter().map(|n| folder.path().join(format!("{n}.sock"))).collect();
    let mut greedy: Vec<Player> = sockets[..4].iter().map(|socket| Player::start("greedy", socket)).collect();
    greedy.iter_mut().for_each(|player| drop(player.hear("ready")));
    let mut modest = Player::start("modest", &sockets[4]);
    modest.hear("round 100 ");
    let (got, seconds) = window(&server, Duration::from_secs(2));
    let mean = got[..4].iter().sum::<f64>() / 4.0;
    println!("{got:?} in {seconds} s, {} MB/s", got.iter().sum::<f64>() / seconds / 1e6);
    for bytes in &got[..4] {
        assert!((bytes / mean - 1.0).abs() < 0.05, "not equal: {got:?}");
    }
    // 64 bytes every millisecond.
    let asked = 64_000.0 * seconds;
    assert!((got[4] / asked - 1.0).abs() < 0.05, "the modest one got {} of {asked}", got[4]);

    greedy[0].tell("rest");
    greedy[0].hear("rested ");
    let (later, later_seconds) = window(&server, Duration::from_secs(2));
    let mean = later[..4].iter().sum::<f64>() / 3.0;
    println!("{later:?} in {later_seconds} s");
    assert_eq!(later[0], 0.0, "it is idle");
    for bytes in &later[1..4] {
        assert!((bytes / mean - 1.0).abs() < 0.05, "not equal: {later:?}");
    }
    let rates = [got.iter().sum::<f64>() / seconds, later.iter().sum::<f64>() / later_seconds];
    assert!((rates[1] / rates[0] - 1.0).abs() < 0.05, "its part is lost: {rates:?}");

    for player in &mut greedy[1..] {
        player.tell("rest");
        player.hear("rested ");
    }
    drop(modest);
    let status = server.status();
    server.stop();
    let mut all = words(&sockets);
    let delivered = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), delivered, "words were delivered twice");
    let counted: u64 = status.tenants.iter().map(|tenant| tenant.counts.bytes / 8).sum();
    // What the modest one had not yet written down when it was killed.
    assert!(counted >= delivered as u64 && counted - delivered as u64 <= 16, "{counted} {delivered}");
    for (tenant, socket) in status.tenants.iter().zip(&sockets) {
        println!("{tenant:?}");
        assert_eq!(tenant.counts.refused_chains + tenant.counts.refused_messages, 0);
        assert_eq!(tenant.counts.connections, 1);
        assert!(!socket.exists(), "a socket is left");
    }
}
