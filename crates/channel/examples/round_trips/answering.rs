//! The end that answers, until the other is gone; then it prints how often it woke it.

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::{Limits, Server, plain};
use tollway_core::Clock;
use tollway_host::clock::RunClock;
use tollway_host::cpu::pin_current_thread;
use tollway_host::descriptor::connect;
use tollway_host::samplers::thread_time;

use crate::options::{Mode, Options};
use crate::{Outcome, message};

/// The tag of a request that is answered by when it was seen.
pub const WHEN: u16 = 1;

/// The tag of a request that is answered by how long this thread has run, in nanoseconds.
pub const USED: u16 = 2;

pub fn answers(name: &str, options: &Options) -> Outcome {
    let link = connect(name)?;
    let limits = Limits { bytes: options.bytes, ..Limits::default() };
    let notices = match options.mode {
        Mode::Plain(_) => {
            let limits = plain::Limits { bytes: options.bytes.next_multiple_of(64), patience: None };
            let mut server = plain::Server::over(link, &limits)?;
            pin_current_thread(options.cores[1])?;
            server.serve(|_, request, reply| {
                works(options.work);
                message::answer(request, reply);
                (0, request.len())
            })?;
            server.counts().notices
        }
        Mode::Futures => {
            let server = Server::over(link, &limits)?;
            pin_current_thread(options.cores[1])?;
            in_tasks(server, options)?
        }
        _ => {
            let mut server = Server::over(link, &limits)?;
            pin_current_thread(options.cores[1])?;
            server.serve(|tag, request, reply| {
                let word = match tag {
                    WHEN => Some(RunClock::chosen().now()),
                    USED => Some(thread_time::thread().as_nanos() as u64),
                    _ => None,
                };
                if let Some(word) = word {
                    reply[..8].copy_from_slice(&word.to_ne_bytes());
                    return (tag, 8);
                }
                works(options.work);
                message::answer(request, reply);
                (tag, request.len())
            })?;
            server.counts().notices
        }
    };
    println!("{notices}");
    Ok(())
}

/// As many tasks as there can be requests, each of which answers one at a time.
fn in_tasks(server: Server, options: &Options) -> Result<u64, Box<dyn std::error::Error>> {
    let (incoming, mut dispatcher) = server.into_incoming();
    let mut executor = Executor::new(options.depth, dispatcher.rouser());
    for _ in 0..options.depth {
        let incoming = incoming.clone();
        executor.spawn(0, async move {
            let (mut request, mut reply) = (vec![0; options.bytes], vec![0; options.bytes]);
            while let Some(came) = incoming.next().await {
                let bytes = incoming.read(&came, &mut request);
                works(options.work);
                message::answer(&request[..bytes], &mut reply);
                incoming.answer(came, 0, &reply[..bytes]);
            }
        });
    }
    executor.run(&mut dispatcher)?;
    Ok(dispatcher.counts().notices)
}

/// Is busy for so many ticks.
fn works(ticks: u64) {
    if ticks > 0 {
        let clock = RunClock::chosen();
        let begun = clock.now();
        while clock.now() - begun < ticks {
            std::hint::spin_loop();
        }
    }
}
