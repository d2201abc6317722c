//! The same application over Linux's own TCP.

use std::io::{Read, Write};
use std::net::TcpStream;

use tollway_core::Requirement;
use tollway_host::requirement::{check as has, skip_test};
use tollway_ipc::engine::tcp::{BYTES, By, Client, LinuxServer, Network, Speaker, check, request};

use crate::setting::{HANG_TIMEOUT, answers, may};

/// Those ways that this machine has.
fn ways() -> Vec<By> {
    let mut ways = vec![By::Epoll];
    match has(&Requirement::IoUring) {
        Ok(()) => ways.push(By::IoUring),
        Err(missing) => skip_test(&["io-uring"], &missing),
    }
    ways
}

#[test]
fn it_answers_one_some_and_many_connections() {
    if !may() {
        return;
    }
    for by in ways() {
        for connections in [1, 4, 64] {
            let network = Network::new(Speaker::Linux).unwrap();
            let server = LinuxServer::start(&network, by, None).unwrap();
            let mut client = Client::connect(network.client(), Network::APPLICATION, connections).unwrap();
            let answered = answers(&mut client, connections, 100);
            drop(client);
            let served = server.stop().unwrap();
            let all: u64 = answered.iter().sum();
            println!("{by:?}, {connections}: {all} answered, {served:?}");
            assert_eq!(served.replies, all);
            assert_eq!(answered, vec![100; connections], "{by:?}");
        }
    }
}

#[test]
fn whoever_leaves_or_does_not_read_is_no_trouble_to_others() {
    if !may() {
        return;
    }
    for by in ways() {
        let network = Network::new(Speaker::Linux).unwrap();
        let server = LinuxServer::start(&network, by, None).unwrap();
        let connected = || {
            let stream = network.client().run(|| TcpStream::connect(Network::APPLICATION).unwrap()).unwrap();
            stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
            stream
        };
        // Sends on and on and reads nothing, until there is no room for either side's bytes.
        let mut greedy = connected();
        greedy.set_nonblocking(true).unwrap();
        let many: Vec<u8> = (0..512).flat_map(|number| request(0, number)).collect();
        let mut sent = 0;
        while let Ok(count) = greedy.write(&many[sent % many.len()..]) {
            sent += count;
            if sent > 64 << 20 {
                break;
            }
        }
        let mut stays = connected();
        for turn in 0..30 {
            let mut leaves = connected();
            match turn % 3 {
                0 => leaves.write_all(&request(7, turn)[..9]).unwrap(),
                1 => leaves.write_all(&request(7, turn)).unwrap(),
                _ => {
                    leaves.write_all(&[3; BYTES]).unwrap();
                    // Closed, and told so in one way or the other.
                    assert!(!matches!(leaves.read(&mut [0; BYTES]), Ok(1..)));
                }
            }
            drop(leaves);
            let mut reply = [0; BYTES];
            stays.write_all(&request(1, turn)).unwrap();
            stays.read_exact(&mut reply).unwrap();
            check(&reply, 1, turn).unwrap();
        }
        // Who was greedy is answered when it reads at last.
        greedy.set_nonblocking(false).unwrap();
        greedy.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        for number in 0..(sent / BYTES).min(5000) {
            let mut reply = [0; BYTES];
            greedy.read_exact(&mut reply).unwrap();
            check(&reply, 0, number as u32 % 512).unwrap();
        }
        drop((greedy, stays));
        println!("{by:?}: {sent} bytes unread, {:?}", server.stop().unwrap());
    }
}

#[test]
fn it_ends_with_connections_open() {
    if !may() {
        return;
    }
    for by in ways() {
        let network = Network::new(Speaker::Linux).unwrap();
        let server = LinuxServer::start(&network, by, None).unwrap();
        let mut client = Client::connect(network.client(), Network::APPLICATION, 8).unwrap();
        answers(&mut client, 8, 10);
        server.stop().unwrap();
        let error = client.run(|_| false).unwrap_err().to_string();
        assert!(error.contains("connection"), "{error}");
        drop::<Client>(client);
    }
}
