//! A tenant that is killed in the middle of its requests: the card goes on, its sessions end, others do not notice.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::Options;

use crate::KEY;
use crate::tenancy::{ENCRYPT, Served, encrypts};

/// The socket of the process that is to be killed.
const SOCKET: &str = "TOLLWAY_TEST_SOCKET";

#[test]
fn a_killed_tenant_leaves_no_session_and_disturbs_nobody() {
    let served = Served::start(1, &CardOptions::default());
    let mut steady = served.driver(1, &Options::default());
    let session = steady.open(ENCRYPT, &KEY).unwrap().unwrap();
    for round in 1..=5 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "killed::encrypts_until_it_is_killed", "--ignored", "--nocapture", "--quiet"])
            .env(SOCKET, served.socket(0))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Kept open: after a minute the test program says there that it still runs, and ends where nobody could read it.
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains("has a session")), "it has ended");
        let before = served.card.status().functions[0].counts.requests;
        served.wait_until(|card| card.status().functions[0].counts.requests > before + 1000);
        child.kill().unwrap();
        child.wait().unwrap();
        served.wait_until(|card| !card.status().functions[0].connected);
        let status = &served.card.status().functions[0];
        assert_eq!((status.sessions, status.served, status.counts.connections), (0, false, round));
        encrypts(&mut steady, 0, &KEY, session, 64, 100, 8);
    }
    assert_eq!(served.card.status().functions[1].counts.connections, 1);
}

/// Not a test of its own: it is a process that another kills.
#[test]
#[ignore = "a test of this file starts it, to kill it"]
fn encrypts_until_it_is_killed() {
    let Some(socket) = env::var_os(SOCKET) else { return };
    let mut driver =
        tollway_cipher::engine::driver::Driver::connect(socket.as_ref(), &Options::default()).unwrap();
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    println!("it has a session");
    loop {
        encrypts(&mut driver, 0, &KEY, session, 512, 1000, 32);
    }
}
