//! What the rings cost each side per message, in one thread: without the way of a cache line from core to core.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tollway_channel::ring::client::Client;
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server::Server;
use tollway_core::Clock;
use tollway_host::clock::RunClock;
use tollway_host::cpu::pin_current_thread;

use crate::Outcome;
use crate::message::{answer, fill, is_answer};
use crate::options::Options;

/// Prints `client` and `server`, the ticks that each takes per round trip, of which it has two messages: the medians over stretches of as many as are on
/// their way at a time; and `median`, both together.
pub fn measures(options: &Options) -> Outcome {
    pin_current_thread(options.cores[0])?;
    let geometry = Geometry::new(options.depth, options.bytes).ok_or("there are no rings of that size")?;
    let memory: Arc<[AtomicU64]> = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let mut client = Client::new(memory.clone(), geometry);
    let mut server = Server::new(memory, geometry);
    let (mut request, mut reply) = (vec![0; options.bytes], vec![0; options.bytes]);
    let (mut asked, mut answered) = (vec![0; options.bytes], vec![0; options.bytes]);
    let clock = RunClock::chosen();
    let mut sides = [Vec::new(), Vec::new()];
    for stretch in 0..options.trips / options.depth as u64 {
        let first = stretch * options.depth as u64;
        let begun = clock.now();
        for number in first..first + options.depth as u64 {
            fill(&mut request, number);
            client.send(0, &request)?;
        }
        let sent = clock.now();
        while let Some(came) = server.take()? {
            let bytes = server.read(&came, &mut asked);
            answer(&asked[..bytes], &mut answered);
            server.answer(came, 0, &answered[..bytes]);
        }
        let replied = clock.now();
        let mut number = first;
        while let Some(came) = client.take()? {
            client.read(&came, &mut reply);
            client.release(came);
            if !is_answer(&reply, number) {
                return Err("a reply is not its request's".into());
            }
            number += 1;
        }
        let ended = clock.now();
        if number != first + options.depth as u64 {
            return Err("not every request has a reply".into());
        }
        sides[0].push(sent - begun + (ended - replied));
        sides[1].push(replied - sent);
    }
    let [client, server] = sides.map(|mut ticks| {
        ticks.sort_unstable();
        ticks[ticks.len() / 2] as f64 / options.depth as f64
    });
    println!("client {client:.3}\nserver {server:.3}\nmedian {:.3}", client + server);
    Ok(())
}
