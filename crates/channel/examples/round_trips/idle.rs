//! What an idle end uses, and how long it takes to be awake.

use std::thread;
use std::time::Duration;

use tollway_channel::linux::{self, Client};
use tollway_core::Clock;
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::pin_current_thread;

use crate::Outcome;
use crate::answering::{USED, WHEN};
use crate::options::Options;
use crate::other::Other;

/// How often it is woken.
const WAKES: usize = 200;

/// How long it is left alone before that, in seconds: it sleeps by then.
const ALONE: f64 = 2e-3;

/// How often what it uses is looked at, and over how long.
const LOOKS: usize = 5;
const IDLE: Duration = Duration::from_millis(100);

/// Prints `median`, the ticks from before a request is sent until the server has seen it, and `used`, the microseconds that the server's thread ran
/// while it had nothing to do for 100 ms, to fall asleep and to wake up included: the median of five such times.
pub fn asks(options: &Options) -> Outcome {
    let (other, link) = Other::start()?;
    let mut client =
        Client::over(link, &linux::Options { slots: 1, bytes: 64, ..linux::Options::default() })?;
    pin_current_thread(options.cores[0])?;
    let run_clock = RunClock::chosen();
    let ticks = (clock::hz()? * ALONE) as u64;
    let mut ask = |tag: u16| -> Result<u64, linux::Failed> {
        let mut word = [0; 8];
        client.call(tag, &[0; 64], &mut word)?;
        Ok(u64::from_ne_bytes(word))
    };
    ask(WHEN)?;
    let mut latencies = Vec::with_capacity(WAKES);
    for _ in 0..WAKES {
        let begun = run_clock.now();
        while run_clock.now() - begun < ticks {
            std::hint::spin_loop();
        }
        let sent = run_clock.now();
        latencies.push(ask(WHEN)?.saturating_sub(sent));
    }
    latencies.sort_unstable();
    let mut used = Vec::with_capacity(LOOKS);
    for _ in 0..LOOKS {
        let before = ask(USED)?;
        thread::sleep(IDLE);
        used.push(ask(USED)? - before);
    }
    used.sort_unstable();
    println!("median {}\nused {:.1}", latencies[WAKES / 2], used[LOOKS / 2] as f64 / 1e3);
    drop(client);
    other.notices()?;
    Ok(())
}
