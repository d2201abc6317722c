//! The same calls asked of io_uring (IORING_OP_MADVISE): a task for each that is on its way. What is asked between two turns of the executor enters the
//! kernel by one call, and a thread of the kernel's does it.

use std::cell::RefCell;

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::kernel::{Kernel, Ring};
use tollway_core::Result;

use super::Memory;
use crate::engine::ping_pong::tasks::State;
use crate::engine::ping_pong::{Course, Loss, Outcome};

/// Keeps so many calls on their way until the course says that it is enough.
pub fn ask(ring: &mut Ring, memory: &Memory, requests: usize, course: &mut impl Course) -> Outcome {
    let kernel = ring.kernel();
    let state = RefCell::new(State::new(course));
    let mut executor = Executor::new(requests, ring.rouser());
    for number in 0..requests {
        executor.spawn(0, task(&kernel, memory, number, &state));
    }
    let ended = executor.run(ring);
    drop(executor);
    let mut outcome = state.into_inner().outcome;
    outcome.lost = outcome.lost.or(ended.err().map(Loss::Stopped));
    outcome
}

/// One call after the other.
async fn task<C: Course>(kernel: &Kernel, memory: &Memory, number: usize, state: &RefCell<State<'_, C>>) {
    let mut user = memory.user(number);
    loop {
        let (_, began) = state.borrow_mut().begins();
        let (part, advice) = user.asks(memory);
        let done = kernel.madvise(memory.pages(), part, advice).await;
        if let Err(error) = done {
            return state.borrow_mut().loses(Loss::Kernel(error.raw_os_error().unwrap_or_default()));
        }
        let is_right = user.has(memory);
        if !state.borrow_mut().came(began, is_right) {
            return;
        }
    }
}

/// Whether both calls do what they are for, asked through the ring.
///
/// # Errors
/// As [`Memory::proves`].
pub fn proves(ring: &mut Ring, memory: &Memory) -> Result<()> {
    let kernel = ring.kernel();
    memory.proves(|part, advice| {
        let mut told = Ok(());
        let mut executor = Executor::new(1, ring.rouser());
        executor.spawn(0, async { told = kernel.madvise(memory.pages(), part, advice).await });
        let ended = executor.run(ring);
        drop(executor);
        ended.map_err(std::io::Error::other)?;
        told
    })
}
