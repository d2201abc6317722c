//! iperf3 itself, where it is installed.

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use tollway_core::Requirement;
use tollway_host::requirement::test_has;
use tollway_machine::engine::network::Network;
use tollway_machine::engine::network::datagrams::{HEADER, MOST};
use tollway_machine::engine::network::iperf3::{LARGEST_BLOCK, Server, Traffic, required, send};
use tollway_machine::engine::network::streams::Shape;

use super::may_make_namespaces;

/// Longer than a second of traffic takes anywhere.
const HANG: Duration = Duration::from_secs(600);

fn is_installed() -> bool {
    test_has(&[(required(), "iperf3"), (Requirement::Loopback, "iperf3")])
}

#[test]
fn both_ends_tell_of_streams_and_datagrams() {
    if !is_installed() {
        return;
    }
    let datagrams = Traffic::Datagrams { bytes: 1000, rate: 8_000_000 };
    for traffic in [Traffic::Streams(Shape { streams: 2, ..Shape::USUAL }), datagrams] {
        let server = Server::start(Ipv4Addr::LOCALHOST).unwrap();
        let address = server.address();
        let client = thread::spawn(move || send(address, &traffic, 1));
        let received = server.hear(HANG).unwrap();
        let sent = client.join().unwrap().unwrap();
        assert!(received.bytes > 0 && received.bytes <= sent.bytes, "{received:?} {sent:?}");
        assert!((0.9..5.0).contains(&received.seconds), "{received:?}");
        if traffic == datagrams {
            let rate = sent.bytes as f64 * 8.0 / sent.seconds;
            // In its second it may not have caught up with what it missed.
            assert!((4e6..9e6).contains(&rate), "{sent:?}");
            assert_eq!((received.datagrams - received.lost) * 1000, received.bytes, "{received:?}");
        }
    }
}

/// What the axes allow by iperf3 it takes; one more it refuses, which the plan does before.
#[test]
fn arguments_at_their_ends_are_what_iperf3_takes() {
    if !is_installed() {
        return;
    }
    let streams = |streams, block| Traffic::Streams(Shape { streams, block, buffer: None });
    let datagrams = |bytes, rate| Traffic::Datagrams { bytes, rate };
    let (slow, fast) = (1_000_000, 100_000_000_000);
    for traffic in [
        streams(1, 1 << 10),
        streams(8, LARGEST_BLOCK),
        datagrams(HEADER, slow),
        datagrams(MOST, slow),
        datagrams(HEADER, fast),
        datagrams(MOST, fast),
    ] {
        let server = Server::start(Ipv4Addr::LOCALHOST).unwrap();
        let address = server.address();
        let client = thread::spawn(move || send(address, &traffic, 1));
        let received = server.hear(Duration::from_secs(20));
        let sent = client.join().unwrap().unwrap_or_else(|e| panic!("{traffic:?}: {e}"));
        let received = received.unwrap_or_else(|e| panic!("{traffic:?}: {e}"));
        assert!(received.bytes > 0 && sent.bytes > 0, "{traffic:?}");
    }
    let nobody = "127.0.0.1:9".parse().unwrap();
    for traffic in [streams(1, LARGEST_BLOCK + 1), datagrams(MOST + 1, slow)] {
        let error = send(nobody, &traffic, 1).unwrap_err().to_string();
        assert!(error.contains("block size"), "{traffic:?}: {error}");
    }
}

#[test]
fn it_runs_in_namespaces_and_its_failures_are_told() {
    if !is_installed() || !may_make_namespaces() {
        return;
    }
    let network = Network::on_two_nodes().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            network.server().enter().unwrap();
            let server = Server::start(network.address()).unwrap();
            let address = server.address();
            // Not on a thread that ends before it.
            let client = scope.spawn(move || {
                network.client().enter().unwrap();
                send(address, &Traffic::Streams(Shape::USUAL), 1).unwrap()
            });
            (server.hear(HANG).unwrap(), client.join().unwrap())
        });
        let (received, sent) = server.join().unwrap();
        assert!(received.bytes > 0 && received.bytes <= sent.bytes);
    });
    let nobody = "127.0.0.1:9".parse().unwrap();
    let error = send(nobody, &Traffic::Streams(Shape::USUAL), 1).unwrap_err().to_string();
    assert!(error.contains("unable to connect"), "{error}");
    let alone = Server::start(Ipv4Addr::LOCALHOST).unwrap();
    let error = alone.hear(Duration::from_millis(100)).unwrap_err().to_string();
    assert!(error.contains("was killed"), "{error}");
}
