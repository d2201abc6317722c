//! The same calls asked of io_uring (IORING_OP_MADVISE): a task for each that is on its way. What is asked between two turns of the executor enters the
//! kernel by one call, and a thread of the kernel's does it.

use std::cell::RefCell;

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::kernel::{Kernel, Ring};
use tollway_core::Result;

use super::{Memory, refused};
use crate::engine::ping_pong::tasks::State;
use crate::engine::ping_pong::{Course, Loss, Outcome};

/// Keeps so many calls on their way until the course says that it is enough.
pub fn ask(ring: &mut Ring, memory: &Memory, requests: usize, course: &mut impl Course) -> Outcome {
    let kernel = ring.kernel();
    let state = RefCell::new(State { course, outcome: Outcome::default(), goes_on: true });
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
        let began = {
            let state = &mut *state.borrow_mut();
            state.outcome.asked += 1;
            state.course.begins()
        };
        let (part, advice) = user.asks(memory);
        let done = kernel.madvise(memory.pages(), part, advice).await;
        let state = &mut *state.borrow_mut();
        if let Err(error) = done {
            state.outcome.lost = Some(Loss::Kernel(error.raw_os_error().unwrap_or_default()));
            state.goes_on = false;
            return;
        }
        state.outcome.done += 1;
        state.outcome.wrong += u64::from(!user.has(memory));
        let done = state.outcome.done;
        state.goes_on &= state.course.came(began, || done);
        if !state.goes_on {
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

/// Whether a kernel knows what is asked of it.
///
/// # Errors
/// [`tollway_core::Error::Missing`] if it does not.
pub fn known(outcome: &Outcome) -> Result<()> {
    match outcome.lost {
        Some(Loss::Kernel(errno)) => Err(refused(&std::io::Error::from_raw_os_error(errno))),
        _ => Ok(()),
    }
}
