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

/// Windows that are looked at: on a busy machine a tenant may not get to ask for anything for a while, and then has no share, or
/// asks for more later.
const WINDOWS: usize = 15;

/// As many windows as it takes until all of them together are as they should be.
fn good_window(server: &Server, is_good: impl Fn(&[f64], f64) -> bool) -> (Vec<f64>, f64) {
    let (mut got, mut seconds) = (vec![0.0; NAMES.len()], 0.0);
    for _ in 0..WINDOWS {
        let (more, took) = window(server, Duration::from_secs(2));
        got.iter_mut().zip(&more).for_each(|(all, more)| *all += more);
        seconds += took;
        println!("{got:?} in {seconds} s, {} MB/s", got.iter().sum::<f64>() / seconds / 1e6);
        if is_good(&got, seconds) {
            return (got, seconds);
        }
    }
    panic!("not as it should be: {got:?} in {seconds} s");
}

/// Whether they are all within a twentieth of their mean.
fn are_equal(got: &[f64]) -> bool {
    let mean = got.iter().sum::<f64>() / got.len() as f64;
    got.iter().all(|bytes| (bytes / mean - 1.0).abs() < 0.05)
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
    // The modest one asks for 64 bytes every millisecond, and catches up where it could not.
    let (got, seconds) = good_window(&server, |got, seconds| {
        are_equal(&got[..4]) && (got[4] / (64_000.0 * seconds) - 1.0).abs() < 0.05
    });

    greedy[0].tell("rest");
    greedy[0].hear("rested ");
    let (later, later_seconds) = good_window(&server, |later, _| are_equal(&later[1..4]));
    assert_eq!(later[0], 0.0, "it is idle");
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
