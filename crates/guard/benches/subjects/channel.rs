//! Instructions of what runs for every request, on either side, counted under callgrind. A limit fails `make guard`; it is a few per cent above what was
//! measured, so that no stored baseline is needed.

use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::task::Poll;

use gungraun::prelude::*;
use tollway_channel::coroutine::{Calls, Driver, Executor, Incoming, Shared};
use tollway_channel::ring::client::Client;
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server::Server;
use tollway_channel::ring::{Violation, Watched};
use tollway_channel::wait::Gone;

use crate::at_most;

type Words = Rc<[AtomicU64]>;

/// How often each thing is done.
const TIMES: usize = 100;

struct Ends {
    client: Client<Words>,
    server: Server<Words>,
}

/// Ends of 64 slots of 64 bytes; all memory has been touched.
fn ends() -> Ends {
    let geometry = Geometry::new(64, 64).unwrap();
    let words: Words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let mut ends =
        Ends { client: Client::new(words.clone(), geometry), server: Server::new(words, geometry) };
    ends.goes(64);
    ends
}

impl Ends {
    /// So many requests there, read and answered, and the replies back.
    fn goes(&mut self, depth: usize) {
        let (mut request, mut reply) = ([0; 64], [1; 64]);
        for _ in 0..depth {
            let _ = black_box(self.client.send(3, black_box(&request)));
        }
        let _ = black_box(self.client.theirs().answer());
        while let Ok(Some(came)) = self.server.take() {
            self.server.read(&came, &mut request);
            self.server.answer(came, 4, black_box(&request));
        }
        let _ = black_box(self.server.theirs().answer());
        while let Ok(Some(came)) = self.client.take() {
            self.client.read(&came, &mut reply);
            black_box(&reply);
            self.client.release(came);
        }
    }
}

// A hundred requests of 64 bytes and their replies, one at a time, both sides: measured 60_985. Of these
// 39 a request are what it takes to refuse a ticket of another end: 56_262 before.
#[library_benchmark(config = at_most(62_500))]
#[bench::warm(setup = ends)]
fn one_at_a_time(mut ends: Ends) -> Ends {
    for _ in 0..TIMES {
        ends.goes(1);
    }
    ends
}

// A hundred batches of 64: measured 3_080_370 (2_829_947 before tickets were refused).
#[library_benchmark(config = at_most(3_160_000))]
#[bench::warm(setup = ends)]
fn in_batches(mut ends: Ends) -> Ends {
    for _ in 0..TIMES {
        ends.goes(64);
    }
    ends
}

/// Both ends in one thread, as tasks see them: nobody ever waits.
struct Both {
    calls: Calls<Words>,
    incoming: Incoming<Words>,
}

impl Driver for Both {
    fn turn(&mut self) -> Result<bool, Violation> {
        Ok(self.incoming.turn()? | self.calls.turn()?)
    }

    fn wait(&mut self, _: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        Err(Gone)
    }
}

fn both() -> Both {
    let Ends { client, server } = ends();
    Both { calls: Calls::new(client), incoming: Incoming::new(server) }
}

/// A server's task, and so many that ask, each so often.
fn asks(both: &mut Both, tasks: usize, times: usize) {
    let (calls, incoming) = (both.calls.clone(), both.incoming.clone());
    let mut executor = Executor::new(tasks + 1, Box::new(|| ()));
    executor.spawn(1, async {
        for _ in 0..tasks * times {
            let Some(request) = incoming.next().await else { break };
            let mut bytes = [0; 64];
            incoming.read(&request, &mut bytes);
            incoming.answer(request, 1, &bytes);
        }
    });
    for _ in 0..tasks {
        executor.spawn(2, async {
            let mut reply = [0; 64];
            for _ in 0..times {
                let _ = black_box(calls.call(2, black_box(&[5; 64]), &mut reply).await);
            }
        });
    }
    let _ = black_box(executor.run(both));
}

// A hundred requests as futures, and their replies, one at a time, both sides, with making the executor: measured 220_885
// (213_551 before).
#[library_benchmark(config = at_most(226_500))]
#[bench::warm(setup = both)]
fn futures(mut both: Both) -> Both {
    asks(&mut both, 1, TIMES);
    both
}

// The same by 64 tasks at a time, a hundred times each: measured 7_898_580 (7_394_551 before).
#[library_benchmark(config = at_most(8_100_000))]
#[bench::warm(setup = both)]
fn futures_of_many_tasks(mut both: Both) -> Both {
    asks(&mut both, 64, TIMES);
    both
}

struct Nothing;

impl Driver for Nothing {
    fn turn(&mut self) -> Result<bool, Violation> {
        Ok(false)
    }

    fn wait(&mut self, _: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        Err(Gone)
    }
}

fn tasks() -> Executor<'static> {
    let mut executor = Executor::new(1024, Box::new(|| ()));
    for task in 0..64 {
        let mut turns = 0;
        let turn = poll_fn(move |context| {
            turns += 1;
            context.waker().wake_by_ref();
            if turns > TIMES { Poll::Ready(()) } else { Poll::Pending }
        });
        executor.spawn(task % 8, turn);
    }
    executor
}

// 6464 turns of tasks that wake themselves, of eight priorities: measured 1_055_455.
#[library_benchmark(config = at_most(1_091_000))]
#[bench::warm(setup = tasks)]
fn turns(mut executor: Executor<'static>) -> Executor<'static> {
    let _ = black_box(executor.run(&mut Nothing));
    executor
}

library_benchmark_group!(
    name = channel,
    benchmarks = [one_at_a_time, in_batches, futures, futures_of_many_tasks, turns]
);
