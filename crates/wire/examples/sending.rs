//! How fast each way of sending is, in turns: frames of so many bytes over a veth pair made for it, or on an interface
//! that is named.
//!
//! ```text
//! cargo run --release -p tollway-wire --example sending -- 60 1000000 [INTERFACE]
//! ```

use std::time::Instant;

use tollway_host::samplers::thread_time;
use tollway_wire::send::{Many, Ring, Single, Transmit};
use tollway_wire::{Cable, Interface, WireError};

/// Turns; the best of each way counts, for a neighbour only ever takes away.
const TURNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let bytes: usize = words.next().map_or(Ok(60), |w| w.parse())?;
    let frames: u64 = words.next().map_or(Ok(300_000), |w| w.parse())?;
    let cable;
    let interface = match words.next() {
        Some(name) => Interface::named(&name)?,
        None => {
            cable = Cable::new()?;
            cable.namespace().enter()?;
            Interface::named(Cable::LEFT)?
        }
    };
    let mut best = [(0.0f64, f64::MAX); 3];
    for _ in 0..TURNS {
        let turn = [
            drive(&mut Single::open(&interface)?, bytes, frames)?,
            drive(&mut Many::open(&interface)?, bytes, frames)?,
            drive(&mut Ring::open(&interface)?, bytes, frames)?,
        ];
        for (best, (rate, cost)) in best.iter_mut().zip(turn) {
            *best = (best.0.max(rate), best.1.min(cost));
        }
    }
    for (name, (rate, cost)) in ["send", "sendmmsg", "ring"].iter().zip(best) {
        println!("{name:10} {:8.3} M frames/s   {cost:6.0} ns of processor time a frame", rate / 1e6);
    }
    Ok(())
}

/// Frames per second, and nanoseconds of the thread's processor time a frame.
fn drive(way: &mut impl Transmit, bytes: usize, frames: u64) -> Result<(f64, f64), WireError> {
    let (begun, used) = (Instant::now(), thread_time::thread());
    for number in 0..frames {
        let slot = loop {
            match way.slot() {
                // A borrow that a later turn of the loop does not end (a limit of today's borrow checker).
                Some(_) => break way.slot().expect("it was there a moment ago"),
                None => way.flush()?,
            }
        };
        slot[..6].fill(0xff);
        slot[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
        // An experimental type (IEEE 802, 9.2.3), which no protocol listens to.
        slot[12..14].copy_from_slice(&[0x88, 0xb5]);
        slot[14..22].copy_from_slice(&number.to_be_bytes());
        way.commit(bytes);
    }
    way.flush()?;
    let (seconds, used) = (begun.elapsed().as_secs_f64(), thread_time::thread() - used);
    let counts = way.counts();
    assert_eq!(counts.frames + counts.refused(), frames, "every frame has one fate");
    Ok((counts.frames as f64 / seconds, used.as_nanos() as f64 / counts.frames as f64))
}
