//! Checks of devices for the coordinator ([`tollway_tenant::probe`]).

use std::fs::{self, File};
use std::io::{self, Error, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use tollway_host::af_alg::AfAlg;
use tollway_tenant::probe::{Probe, pattern};
use tollway_tenant::protocol::Answer;

use crate::{disk, functions};

/// How long two ends of a connection wait for each other.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a call is tried.
const AGAIN: Duration = Duration::from_millis(20);

/// Makes a check.
pub(crate) fn make(probe: &Probe) -> Answer {
    let outcome = match probe {
        Probe::FillDisk { disk, seed } => {
            disk::fill(disk, *seed).and_then(|_| disk::compare(disk, *seed)).map(|size| size.to_string())
        }
        Probe::DiskHolds { disk, seed } => disk::compare(disk, *seed).map(|size| size.to_string()),
        Probe::Scratch { bytes } => {
            disk::scratch(u64::from(*bytes)).map(|folder| folder.display().to_string())
        }
        Probe::Echo { at } => echo(*at).map(|bytes| bytes.to_string()),
        Probe::Call { at, bytes } => call(*at, *bytes).map(|()| bytes.to_string()),
        Probe::Random { bytes } => random(*bytes),
        Probe::Encipher { implementation, key, iv, plain } => {
            encipher(implementation, key, iv, plain).map(|bytes| digits(&bytes))
        }
        Probe::VirtualFunctions { count } => functions::make(Path::new("/"), *count),
    };
    match outcome {
        Ok(found) => Answer::Probed(found),
        Err(error) => Answer::Failed(tollway_core::Error::system(format!("checking {probe:?}"), error)),
    }
}

fn echo(at: SocketAddrV4) -> io::Result<u64> {
    let listener = TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + PATIENCE;
    let (mut caller, _) = loop {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                sleep(AGAIN)
            }
            accepted => break accepted?,
        }
    };
    caller.set_nonblocking(false)?;
    caller.set_read_timeout(Some(PATIENCE))?;
    let mut back = caller.try_clone()?;
    io::copy(&mut caller, &mut back)
}

fn call(at: SocketAddrV4, bytes: u32) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut stream = loop {
        match TcpStream::connect_timeout(&at.into(), PATIENCE) {
            // The other end may not listen yet.
            Err(_) if Instant::now() < deadline => sleep(AGAIN),
            connected => break connected?,
        }
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut sent = vec![0; bytes as usize];
    pattern(u64::from(bytes), 0, &mut sent);
    let (mut back, text) = (stream.try_clone()?, sent.clone());
    let sender = thread::spawn(move || back.write_all(&text).and_then(|()| back.shutdown(Shutdown::Write)));
    let mut received = Vec::new();
    stream.read_to_end(&mut received)?;
    sender.join().map_err(|_| Error::other("the sender panicked"))??;
    match received == sent {
        true => Ok(()),
        false => Err(Error::other(format!("{} of {bytes} bytes came back, or others", received.len()))),
    }
}

fn random(bytes: u32) -> io::Result<String> {
    let mut read = vec![0; bytes as usize];
    File::open("/dev/hwrng")?.read_exact(&mut read)?;
    let device = fs::read_to_string("/sys/class/misc/hw_random/rng_current")?;
    Ok(format!("{} {}", device.trim(), digits(&read)))
}

fn encipher(implementation: &str, key: &[u8], iv: &[u8], plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut result = vec![0; plain.len()];
    AfAlg::open(implementation, key)?.encrypt(iv, plain, &mut result)?;
    Ok(result)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_comes_back() {
        let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string().parse().unwrap();
        let server = thread::spawn(move || make(&Probe::Echo { at }));
        assert_eq!(make(&Probe::Call { at, bytes: 300_000 }), Answer::Probed("300000".into()));
        assert_eq!(server.join().unwrap(), Answer::Probed("300000".into()));
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let probe =
            Probe::Encipher { implementation: "x".repeat(64), key: vec![], iv: vec![], plain: vec![] };
        assert!(matches!(make(&probe), Answer::Failed(_)));
        let iv = vec![0; 17];
        let probe =
            Probe::Encipher { implementation: "cbc(aes)".into(), key: vec![0; 16], iv, plain: vec![0; 16] };
        assert!(matches!(make(&probe), Answer::Failed(_)));
    }
}
