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

/// How long is looked at, how many of these in a row must be as they should be, and how many there are at most: on a busy machine a tenant
/// may not get to ask for anything for a while, and then has no share, or asks for more later.
const WINDOW: Duration = Duration::from_millis(100);
const ROW: usize = 20;
const WINDOWS: usize = 400;

/// Bytes a second that each got, in one window after the other.
struct Windows {
    each: Vec<[f64; NAMES.len()]>,
}

impl Windows {
    /// As many as it takes until they are as they should be.
    fn until(server: &Server, are_good: impl Fn(&Windows) -> bool) -> Windows {
        let bytes = |status: &Status| -> [f64; NAMES.len()] {
            std::array::from_fn(|tenant| status.tenants[tenant].counts.bytes as f64)
        };
        let (mut windows, mut before) = (Windows { each: Vec::new() }, server.status());
        while windows.each.len() < WINDOWS {
            thread::sleep(WINDOW);
            let after = server.status();
            let (now, then, seconds) = (bytes(&after), bytes(&before), after.seconds - before.seconds);
            windows.each.push(std::array::from_fn(|tenant| (now[tenant] - then[tenant]) / seconds));
            before = after;
            if windows.each.len() >= ROW && are_good(&windows) {
                println!("after {} windows: {:?}", windows.each.len(), windows.row());
                return windows;
            }
        }
        panic!("not as it should be: {:?}, the last {:?}", windows.row(), windows.each.last());
    }

    /// What each got in the last row of them.
    fn row(&self) -> [f64; NAMES.len()] {
        let row = &self.each[self.each.len().saturating_sub(ROW)..];
        std::array::from_fn(|tenant| row.iter().map(|window| window[tenant]).sum())
    }

    /// What all tenants got, from the worst window to the best.
    fn totals(&self) -> Vec<f64> {
        let mut totals: Vec<f64> = self.each.iter().map(|window| window.iter().sum()).collect();
        totals.sort_by(f64::total_cmp);
        totals
    }
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
    // The modest one asks for 64 bytes every millisecond, and catches up where it could not: it has all of it in some window, if it has
    // not to wait for the others.
    let windows = Windows::until(&server, |windows| {
        are_equal(&windows.row()[..4]) && windows.each.iter().any(|window| window[4] > 0.95 * 64_000.0)
    });

    greedy[0].tell("rest");
    greedy[0].hear("rested ");
    // Nor is its part lost: some window is as good as half of them were.
    let usual = windows.totals()[windows.each.len() / 2];
    let later = Windows::until(&server, |later| {
        are_equal(&later.row()[1..4]) && later.totals().last().is_some_and(|best| *best > 0.95 * usual)
    });
    assert!(later.each.iter().all(|window| window[0] == 0.0), "it is idle");

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
