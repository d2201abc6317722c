//! Ends that go, lie down or say nothing: the other one ends with a reason, and does not wait without end.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_machine::engine::network::datagrams::{self, Receiver};
use tollway_machine::engine::network::requests::{Asker, answer};
use tollway_machine::engine::network::streams::{Sender, Shape, receive};
use tollway_machine::engine::network::{Listener, Network, PATIENCE};
use tollway_wire::{Interface, set_up};

use crate::eventually::eventually;

use super::may_make_namespaces;
use super::rogue::{CONTENT, CONTROL, connect};

/// How long an end may take beyond its patience: only a hang takes as long.
const BEYOND: Duration = Duration::from_secs(60);

fn ends<T: std::fmt::Debug>(within: Duration, wanted: &str, does: impl FnOnce() -> Result<T>) {
    let begun = Instant::now();
    let reason = does().unwrap_err().to_string();
    assert!(reason.contains(wanted), "{reason}");
    assert!(begun.elapsed() < within + BEYOND, "after {:?}: {reason}", begun.elapsed());
}

fn listener() -> Listener {
    Listener::at(Ipv4Addr::LOCALHOST).unwrap()
}

#[test]
fn a_client_that_never_comes_or_says_nothing_is_not_waited_for_long() {
    let (silent, there) = (listener(), listener());
    let (_control, _stream) = (connect(there.address(), CONTROL), connect(there.address(), CONTENT));
    thread::scope(|scope| {
        scope.spawn(|| ends(PATIENCE, "nothing came", || receive(&silent, &Shape::USUAL, || ())));
        scope.spawn(|| ends(PATIENCE, "nothing came", || receive(&there, &Shape::USUAL, || ())));
        scope.spawn(|| {
            let listener = listener();
            let _client = connect(listener.address(), CONTENT);
            ends(PATIENCE, "nothing came", || answer(&listener, 64));
        });
        scope.spawn(|| {
            let receiver = Receiver::at(listener(), 64).unwrap();
            let _control = connect(receiver.listener().address(), CONTROL);
            ends(PATIENCE, "nothing came", || receiver.receive(|| ()));
        });
    });
}

#[test]
fn a_client_that_goes_is_noticed_at_once() {
    let there = listener();
    let mut stream = connect(there.address(), CONTENT);
    drop(connect(there.address(), CONTROL));
    stream.write_all(&[0; 8]).unwrap();
    drop(stream);
    // It says no count: that it ended is no sign that this was all.
    ends(Duration::ZERO, "has gone", || receive(&there, &Shape { block: 16, ..Shape::USUAL }, || ()));
    let receiver = Receiver::at(listener(), 64).unwrap();
    drop(connect(receiver.listener().address(), CONTROL));
    ends(Duration::ZERO, "has gone", || receiver.receive(|| ()));
    let there = listener();
    connect(there.address(), CONTENT).write_all(&[0; 3]).unwrap();
    ends(Duration::ZERO, "has gone", || answer(&there, 8));
}

/// A server by hand, which accepts so many connections and then goes, or lies down until it is told.
fn server(accepts: usize, goes: bool) -> (std::net::SocketAddrV4, std::sync::mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("IPv4") };
    let (done, until) = channel();
    thread::spawn(move || {
        let connections: Vec<_> = (0..accepts).map(|_| listener.accept().unwrap()).collect();
        if !goes {
            let _ = until.recv();
        }
        drop(connections);
    });
    (address, done)
}

#[test]
fn a_server_that_goes_or_lies_down_is_noticed() {
    let send = |to| {
        let mut sender = Sender::come(to, &Shape::USUAL)?;
        sender.send(|| true)?;
        sender.finish()
    };
    thread::scope(|scope| {
        scope.spawn(|| ends(Duration::ZERO, "sending over TCP", || send(server(2, true).0)));
        scope.spawn(|| {
            let (address, _held) = server(2, false);
            ends(PATIENCE, "nothing came", || send(address));
        });
        scope.spawn(|| ends(Duration::ZERO, "asking", || Asker::come(server(1, true).0, 64)?.ask()));
        scope.spawn(|| {
            let (address, _held) = server(1, false);
            ends(PATIENCE, "nothing came", || Asker::come(address, 64)?.ask());
        });
        scope.spawn(|| {
            let (address, _held) = server(1, false);
            ends(PATIENCE, "nothing came", || datagrams::Sender::come(address, 64)?.finish());
        });
        scope.spawn(|| {
            // Nobody has that port of UDP: the kernel says so.
            let (address, _held) = server(1, false);
            let mut sender = datagrams::Sender::come(address, 64).unwrap();
            ends(Duration::ZERO, "refused", || sender.send(Duration::from_millis(1), || true));
        });
    });
}

#[test]
fn a_cable_that_is_pulled_is_noticed_at_both_ends() {
    if !may_make_namespaces() {
        return;
    }
    let network = Network::on_one_node().unwrap();
    let listener = network.server().run(|| Listener::at(network.address()).unwrap()).unwrap();
    let address = listener.address();
    let (sends, sending) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = || {
                let mut sender = Sender::come(address, &Shape::USUAL).unwrap();
                sends.send(()).unwrap();
                ends(PATIENCE, "nothing came", || sender.send(|| true));
                ends(PATIENCE, "connecting", || Asker::come(address, 64).map(drop));
            };
            network.client().run(client).unwrap();
        });
        let network = &network;
        scope.spawn(move || {
            sending.recv().unwrap();
            // Of what is sent more has come than the greetings.
            let flows = || Interface::named(Network::INTERFACE).unwrap().counters.received_bytes > 1 << 20;
            eventually("content comes", || network.server().run(flows).unwrap());
            network.client().run(|| set_up(Network::INTERFACE, false).unwrap()).unwrap();
        });
        ends(PATIENCE, "nothing came", || receive(&listener, &Shape::USUAL, || ()));
    });
}

#[test]
fn an_address_that_nobody_has_is_given_up() {
    if !may_make_namespaces() {
        return;
    }
    let network = Network::on_one_node().unwrap();
    let nobody = std::net::SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 77), 7);
    network
        .client()
        .run(|| ends(PATIENCE, "connecting", || Sender::come(nobody, &Shape::USUAL).map(drop)))
        .unwrap();
}
