//! One tenant, a process, with so many requests on their way: it writes each text, and reads each result.

use std::path::Path;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Driver, Operation, Options, Waiting};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode};
use tollway_core::{Error, Result};
use tollway_host::cpu::pin_current_thread;
use tollway_virtio::Span;

use crate::{IV, KEY, Load, processors, served};

const PATIENCE: Duration = Duration::from_secs(10);

/// A card, and the tenant in a process of its own.
pub fn serves(load: Load) -> Result<()> {
    let failed = |e: std::io::Error| Error::system("making a folder for a socket", e);
    let folder = tempfile::tempdir().map_err(failed)?;
    let cipher = if matches!(load.algorithm, Algorithm::Cipher(CipherMode::Cbc, _)) { "cbc" } else { "ctr" };
    let socket = folder.path().join("0").display().to_string();
    let [bytes, depth, seconds] =
        [load.bytes.to_string(), load.depth.to_string(), load.time.as_secs_f64().to_string()];
    let words = ["asks", &socket, cipher, &bytes, &depth, &seconds];
    served::serve(folder.path(), 1, CardOptions::default(), &words)
}

/// The tenant. The first tenth of the time does not count.
pub fn asks(socket: &Path, load: &Load) -> Result<()> {
    let Load { algorithm, bytes, depth, time } = *load;
    let [first, _] = processors()?;
    pin_current_thread(first)?;
    let options = Options {
        waiting: Waiting::Busy,
        bytes: 2 * bytes * depth,
        depth: (depth as u16).next_power_of_two(),
        ..Options::default()
    };
    let mut driver = Driver::connect(socket, &options)?;
    let session = driver.open(algorithm, &KEY)?.map_err(|status| Error::Wrong(status.to_string()))?;
    let (area, free) = (driver.area().clone(), driver.free());
    let queue = &mut driver.queues[0];
    let (mut text, mut result) = (vec![0; bytes], vec![0; bytes]);
    let span = |at: usize| [Span { at, bytes: bytes as u32 }];
    let place = |number: usize| free + 2 * bytes * (number % depth);
    let (mut sent, mut done) = (0, 0);
    let mut begun = Instant::now();
    let mut counted = None;
    loop {
        while sent < done + depth {
            let at = place(sent);
            text[0] = sent as u8;
            area.write(at, &text);
            let (source, target) = (span(at), span(at + bytes));
            let operation = Operation::new(session, Work::Encrypt, &IV, &source, &target);
            if !queue.submit(sent as u64, &operation)? {
                return Err(Error::Wrong("there is no room for a request".into()));
            }
            sent += 1;
        }
        queue.kick();
        let mut found = queue.wait(PATIENCE)?;
        if found.is_none() {
            return Err(Error::system("waiting for a card", "nothing came"));
        }
        while let Some(completion) = found {
            if completion.status != Status::Ok {
                return Err(Error::Wrong(completion.status.to_string()));
            }
            area.read(place(completion.token as usize) + bytes, &mut result);
            done += 1;
            found = queue.take()?;
        }
        let took = begun.elapsed();
        match counted {
            None if took >= time / 10 => (counted, begun) = (Some(done), Instant::now()),
            Some(before) if took >= time => {
                println!("{}", (done - before) as f64 / took.as_secs_f64());
                return Ok(());
            }
            _ => {}
        }
    }
}
