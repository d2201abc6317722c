//! Who serves and who is served ends without a word: nothing is lost but what was on its way.

use std::thread;
use std::time::{Duration, Instant};

use super::numbered::Numbered;
use super::player::{PATIENCE, Player, serve, words};

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
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(300));
        server.kill();
        assert!(sockets.iter().all(|socket| socket.exists()), "a killed server cannot clear anything away");
        server = start();
        for tenant in &mut tenants {
            let lost: usize = tenant.hear("reconnected ").parse().unwrap();
            // All that were with the server, and no more than there are.
            assert!(lost <= 64, "{lost}");
        }
    }
    thread::sleep(Duration::from_millis(300));
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
    for round in 1..=5 {
        let mut short = Player::start("greedy", &sockets[1]);
        short.hear("ready");
        thread::sleep(Duration::from_millis(100));
        short.kill();
        let deadline = Instant::now() + PATIENCE;
        while server.status().tenants[1].connected {
            assert!(Instant::now() < deadline, "its end is not noticed");
            thread::sleep(Duration::from_millis(1));
        }
        let status = server.status();
        assert!(!status.tenants[1].served);
        assert_eq!(status.tenants[1].counts.connections, round);
    }
    // Others may have the processors for a while: of many short whiles one is enough. What is saved up meanwhile is 5 ms at most.
    let mut most = 0.0f64;
    for _ in 0..500 {
        let (begun, before) = (Instant::now(), server.status().tenants[0].counts.bytes);
        thread::sleep(Duration::from_millis(60));
        let bytes = (server.status().tenants[0].counts.bytes - before) as f64;
        most = most.max(bytes / begun.elapsed().as_secs_f64());
        if most > 0.9 * RATE as f64 {
            break;
        }
    }
    assert!(most > 0.9 * RATE as f64, "the steady one gets {most} bytes a second");
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
