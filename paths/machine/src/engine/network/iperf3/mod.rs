//! The same by iperf3, where it is installed: a server at one end, a client at the other, each with its own account of it.
//!
//! iperf3 runs for whole seconds, keeps its own time, and looks at no content. A window of more than 512 MiB it refuses
//! (`MAX_TCP_BUFFER`, iperf.h), and blocks of more than a MiB; iperf 3.0.9 refused no window, and did not
//! look at what the kernel granted either.

mod report;

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollway_core::{Error, Requirement, Result};
use tollway_host::program::{Given, Program};

pub use report::Counted;
use report::{End, read};

use super::streams::Shape;
use super::{Listener, PATIENCE};

const NAME: &str = "iperf3";

/// The largest socket buffer that it takes, in bytes.
pub const LARGEST_BUFFER: usize = 512 << 20;

/// The most bytes that it hands over at a time (`MAX_BLOCKSIZE`, iperf.h).
pub const LARGEST_BLOCK: usize = 1 << 20;

/// What one needs for it.
pub fn required() -> Requirement {
    Requirement::Program(NAME.into(), NAME.into())
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Traffic {
    /// By TCP, as fast as it goes.
    Streams(Shape),
    /// By UDP.
    Datagrams {
        /// Bytes of each.
        bytes: usize,
        /// Bits a second, of content.
        rate: u64,
    },
}

/// A server that serves one client.
#[derive(Debug)]
pub struct Server {
    program: Program,
    address: SocketAddrV4,
}

impl Server {
    /// Starts one at an address of this thread's network, at a port that is free, and waits until it listens.
    ///
    /// # Errors
    /// It does not.
    pub fn start(ip: Ipv4Addr) -> Result<Server> {
        // It cannot choose one itself. Somebody else may take it first: then it says so.
        let address = Listener::at(ip)?.address();
        let mut command = Command::new(NAME);
        command.args(["-s", "-1", "-J", "-i", "0", "-B", &ip.to_string(), "-p", &address.port().to_string()]);
        let (mut server, begun) = (Server { program: start(&mut command)?, address }, Instant::now());
        while !listens(address)? {
            if server.program.has_ended().map_err(|e| Error::system("waiting for iperf3", e))? {
                return server
                    .hear(Duration::ZERO)
                    .and(Err(Error::system("starting iperf3", "it has ended")));
            }
            if begun.elapsed() > PATIENCE {
                return Err(Error::system("starting iperf3", "it does not listen"));
            }
            sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    /// Where it is reached.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// What it received, once its client has done.
    ///
    /// # Errors
    /// It failed, or has not ended within this time.
    pub fn hear(self, within: Duration) -> Result<Counted> {
        hear(self.program, End::Receiver, within)
    }
}

/// Has a client send to a server for so many seconds; what it sent.
///
/// # Errors
/// It fails, or does not end [`PATIENCE`] after that time.
pub fn send(to: SocketAddrV4, traffic: &Traffic, seconds: u32) -> Result<Counted> {
    let mut command = Command::new(NAME);
    command.args(["-c", &to.ip().to_string(), "-p", &to.port().to_string()]);
    command.args(["-J", "-i", "0", "-t", &seconds.to_string(), "--connect-timeout", "3000"]);
    match traffic {
        Traffic::Streams(shape) => {
            command.args(["-P", &shape.streams.to_string(), "-l", &shape.block.to_string()]);
            if let Some(bytes) = shape.buffer {
                command.args(["-w", &bytes.to_string()]);
            }
        }
        Traffic::Datagrams { bytes, rate } => {
            command.args(["-u", "-l", &bytes.to_string(), "-b", &rate.to_string()]);
        }
    }
    hear(start(&mut command)?, End::Sender, Duration::from_secs(seconds.into()) + PATIENCE)
}

fn start(command: &mut Command) -> Result<Program> {
    Program::start(command, Given::default()).map_err(|e| Error::system("starting iperf3", e))
}

fn hear(program: Program, end: End, within: Duration) -> Result<Counted> {
    const RUNNING: &str = "running iperf3";
    let ended = program.ends_within(within).map_err(|e| Error::system(RUNNING, e))?;
    // What it says besides, such as that datagrams are longer than segments, is no error; one that keeps it
    // from running is not in its JSON, after which its complaints are not looked at.
    let told = format!("{}\n{}", ended.said, ended.complained);
    match read(&told, end) {
        Ok(_) if !ended.status.success() => Err(Error::system(RUNNING, ended.status)),
        Err(Error::System { doing, reason }) if !ended.status.success() => {
            Err(Error::System { doing, reason: format!("{reason} ({})", ended.status) })
        }
        told => told,
    }
}

/// Whether somebody listens there, in this thread's network. To try would be taken for its one client.
fn listens(address: SocketAddrV4) -> Result<bool> {
    const TABLE: &str = "/proc/thread-self/net/tcp";
    let text = fs::read_to_string(TABLE).map_err(|e| Error::system(format!("reading {TABLE}"), e))?;
    // Linux, net/ipv4/tcp_ipv4.c, get_openreq4 and get_tcp4_sock: local address, remote address, state (10: TCP_LISTEN).
    let ip = u32::from_ne_bytes(address.ip().octets());
    let wanted = format!("{ip:08X}:{:04X}", address.port());
    Ok(text.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        words.get(1) == Some(&&*wanted) && words.get(3) == Some(&"0A")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_seen_and_who_does_not_is_not() {
        let listener = Listener::at(Ipv4Addr::LOCALHOST).unwrap();
        assert!(listens(listener.address()).unwrap());
        let address = listener.address();
        drop(listener);
        assert!(!listens(address).unwrap());
    }
}
