//! Who serves and who is served ends without a word: nothing is lost but what was on its way.

use std::path::PathBuf;
use std::time::Instant;

use super::eventually::eventually;
use super::numbered::{Numbered, number};
use super::player::{Player, serve, words};
use super::quiet::is_quiet;

/// Waits until each tenant has drawn from the server of that number.
fn is_drawn_from(server: u64, sockets: &[PathBuf]) {
    let has = |socket| words(&[socket]).iter().any(|word| number(*word).unwrap() >> 32 == server);
    eventually("all draw", || sockets.iter().all(has));
}

/// Kills the server while two tenants draw, and starts another in its place, which takes its sockets over.
#[test]
fn tenants_of_a_killed_server_go_on_with_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = ["a", "b"].map(|name| folder.path().join(format!("{name}.sock")));
    let start = || {
        let mut server = Player::start("server", folder.path());
        server.hear("ready");
        server
    };
    let mut server = start();
    let mut tenants = sockets.each_ref().map(|socket| Player::start("greedy", socket));
    tenants.iter_mut().for_each(|tenant| drop(tenant.hear("ready")));
    for number in 1..=3 {
        is_drawn_from(number, &sockets);
        server.kill();
        assert!(sockets.iter().all(|socket| socket.exists()), "a killed server cannot clear anything away");
        server = start();
        for tenant in &mut tenants {
            let lost: usize = tenant.hear("reconnected ").parse().unwrap();
            // All that were with the server, and no more than there are.
            assert!(lost <= 64, "{lost}");
        }
    }
    is_drawn_from(4, &sockets);
    for tenant in &mut tenants {
        tenant.tell("rest");
        let got: u64 = tenant.hear("rested ").parse().unwrap();
        assert!(got > 0);
    }
    let mut all = words(&sockets);
    let delivered = all.len();
    all.sort_unstable();
    // All four servers were drawn from.
    let servers = all.chunk_by(|a, b| a >> 32 == b >> 32).count();
    assert_eq!(servers, 4);
    all.dedup();
    assert_eq!(all.len(), delivered, "words were delivered twice");
}

/// Bytes a second that there are.
const RATE: u64 = 4_000_000;

/// Kills a tenant again and again; the other one does not notice, and the next in its place gets nothing of its.
#[test]
fn a_killed_tenant_harms_nobody_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = ["a", "b"].map(|name| folder.path().join(format!("{name}.sock")));
    let server = serve(folder.path(), &["a", "b"], vec![Box::new(Numbered::new(RATE))]);
    let mut steady = Player::start("greedy", &sockets[0]);
    steady.hear("ready");
    let bytes = |tenant: usize| server.status().tenants[tenant].counts.bytes;
    for round in 1..=5 {
        let mut short = Player::start("greedy", &sockets[1]);
        short.hear("ready");
        let before = bytes(1);
        eventually("it draws", || bytes(1) > before + (1 << 18));
        short.kill();
        eventually("its end is noticed", || !server.status().tenants[1].connected);
        let status = server.status();
        assert!(!status.tenants[1].served);
        assert_eq!(status.tenants[1].counts.connections, round);
    }
    // It has all that there is again, if nobody else takes the processors.
    let (begun, before) = (Instant::now(), bytes(0));
    eventually("it goes on", || bytes(0) > before + RATE / 2);
    let rate = (bytes(0) - before) as f64 / begun.elapsed().as_secs_f64();
    assert!(!is_quiet() || rate > 0.9 * RATE as f64, "the steady one gets {rate} bytes a second");
    steady.tell("rest");
    steady.hear("rested ");
    let status = server.status();
    assert_eq!(status.tenants[0].counts.connections, 1);
    let mut all = words(&sockets);
    let delivered = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), delivered, "words were delivered twice");
}
