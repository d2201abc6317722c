//! Runs tasks of eight priorities in one thread, each when it is woken; where nothing is to be done, its driver waits.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};

use super::{Driver, Stopped};

/// How many priorities there are; 0 is served first.
pub const PRIORITIES: usize = 8;

/// Tasks of a word.
const WORD: usize = u64::BITS as usize;

/// Wakes the thread in which the executor waits, if it sleeps; called by whatever thread wakes a task.
pub type Rouser = Box<dyn Fn() + Send + Sync>;

/// Runs tasks until all are done.
pub struct Executor<'t> {
    tasks: Vec<Task<'t>>,
    woken: Arc<Woken>,
    alive: usize,
}

struct Task<'t> {
    future: Option<Pin<Box<dyn Future<Output = ()> + 't>>>,
    waker: Waker,
}

/// Which tasks are to be polled: a bit for each, by priority.
struct Woken {
    sets: Vec<Box<[AtomicU64]>>,
    /// Whether the executor's thread may be asleep.
    is_waiting: AtomicBool,
    rouse: Rouser,
}

impl Woken {
    fn is_any(&self) -> bool {
        self.sets.iter().flatten().any(|word| word.load(Ordering::SeqCst) != 0)
    }
}

/// What wakes a task.
struct Knob {
    woken: Arc<Woken>,
    priority: usize,
    number: usize,
}

impl Wake for Knob {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let bit = 1 << (self.number % WORD);
        let had = self.woken.sets[self.priority][self.number / WORD].fetch_or(bit, Ordering::SeqCst);
        // Either this sees that it waits, or it sees the bit before it sleeps: both are in the one order of sequentially consistent accesses.
        if had & bit == 0 && self.woken.is_waiting.load(Ordering::SeqCst) {
            (self.woken.rouse)();
        }
    }
}

impl<'t> Executor<'t> {
    /// For so many tasks at most. `rouse` is called when a task is woken while the driver waits.
    pub fn new(tasks: usize, rouse: Rouser) -> Executor<'t> {
        let words = tasks.div_ceil(WORD);
        let set = || (0..words).map(|_| AtomicU64::new(0)).collect();
        let sets = (0..PRIORITIES).map(|_| set()).collect();
        let woken = Woken { sets, is_waiting: AtomicBool::new(false), rouse };
        Executor { tasks: Vec::with_capacity(tasks), woken: Arc::new(woken), alive: 0 }
    }

    /// One more task, of that priority (0 first, to 7). Whether there was room for it.
    pub fn spawn(&mut self, priority: usize, future: impl Future<Output = ()> + 't) -> bool {
        let number = self.tasks.len();
        if number == self.tasks.capacity() {
            return false;
        }
        let knob =
            Arc::new(Knob { woken: self.woken.clone(), priority: priority.min(PRIORITIES - 1), number });
        knob.wake_by_ref();
        self.tasks.push(Task { future: Some(Box::pin(future)), waker: knob.into() });
        self.alive += 1;
        true
    }

    /// Runs the tasks until all are done. Where nothing comes any more they are told, and run on as far as they can.
    ///
    /// # Errors
    /// [`Stopped`] if some wait nevertheless; they are kept.
    pub fn run(&mut self, driver: &mut impl Driver) -> Result<(), Stopped> {
        while self.alive > 0 {
            let polled = self.round();
            if let Err(stopped) = self.brings(driver, polled) {
                while self.round() {}
                return if self.alive == 0 { Ok(()) } else { Err(stopped) };
            }
        }
        Ok(())
    }

    /// Has the driver bring what has come, and wait if that is nothing and nothing was done.
    fn brings(&self, driver: &mut impl Driver, polled: bool) -> Result<(), Stopped> {
        if driver.turn()? || polled {
            return Ok(());
        }
        self.woken.is_waiting.store(true, Ordering::SeqCst);
        let waited = driver.wait(&mut || self.woken.is_any());
        self.woken.is_waiting.store(false, Ordering::Relaxed);
        Ok(waited?)
    }

    /// Polls who is woken, those of the first priority first, each once; whether there was anybody.
    fn round(&mut self) -> bool {
        let mut polled = false;
        let woken = self.woken.clone();
        for set in &woken.sets {
            for (word, base) in set.iter().zip((0..).step_by(WORD)) {
                let mut bits = match word.load(Ordering::Relaxed) {
                    0 => continue,
                    _ => word.swap(0, Ordering::AcqRel),
                };
                while bits != 0 {
                    self.poll(base + bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                    polled = true;
                }
            }
        }
        polled
    }

    fn poll(&mut self, number: usize) {
        let task = &mut self.tasks[number];
        let Some(future) = &mut task.future else { return };
        if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(&task.waker)) {
            task.future = None;
            self.alive -= 1;
        }
    }
}
