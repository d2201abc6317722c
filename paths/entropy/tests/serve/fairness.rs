//! Four greedy tenants and a modest one; and one that goes idle.

use std::path::PathBuf;
use std::time::Duration;

use tollway_entropy::engine::serve::{Server, Status};

use super::numbered::Numbered;
use super::pause::pause;
use super::player::{Player, serve, words};
use super::quiet::is_quiet;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "modest"];

/// Bytes a second that there are to share.
const RATE: u64 = 10_000_000;

/// How long is looked at. A greedy tenant has as much on its way as it gets in a tenth of a second, and a modest one catches up.
const WINDOW: Duration = Duration::from_secs(3);

/// Bytes a second that each gets.
fn rates(server: &Server) -> [f64; NAMES.len()] {
    let before = server.status();
    pause(WINDOW);
    let after = server.status();
    let bytes = |status: &Status, tenant: usize| status.tenants[tenant].counts.bytes;
    let got = |tenant| (bytes(&after, tenant) - bytes(&before, tenant)) as f64;
    let rates = std::array::from_fn(|tenant| got(tenant) / (after.seconds - before.seconds));
    println!("{rates:.0?}");
    rates
}

/// They all are near their mean.
fn are_equal(got: &[f64]) {
    let mean = got.iter().sum::<f64>() / got.len() as f64;
    let most = if is_quiet() { 0.05 } else { 0.6 };
    assert!(got.iter().all(|bytes| (bytes / mean - 1.0).abs() < most), "{got:?}");
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
    // The modest one asks for 64 bytes every millisecond, and catches up where it could not: it has all of it, if it has not to wait
    // for the others. These have a megabyte on its way: behind that it would have a hundredth.
    let usual = rates(&server);
    are_equal(&usual[..4]);
    let least = if is_quiet() { 0.95 } else { 0.05 };
    assert!(usual[4] > least * 64_000.0, "{usual:?}");

    greedy[0].tell("rest");
    greedy[0].hear("rested ");
    // Nor is its part lost.
    let later = rates(&server);
    are_equal(&later[1..4]);
    assert_eq!(later[0], 0.0, "it is idle");
    let all = |rates: &[f64]| rates.iter().sum::<f64>();
    assert!(!is_quiet() || all(&later) > 0.95 * all(&usual), "{later:?}, and before {usual:?}");

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
