//! Runs tasks of eight priorities in one thread, each when it is woken; where nothing is to be done, its driver waits.
//!
//! After each task the first priority that has any is served again. A task that is woken before all others whenever it ran keeps others of its
//! priority from nothing, and those of later ones from everything, but never the driver.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::mem;
use core::pin::Pin;
use core::task::{Context, Waker};

pub use super::woken::PRIORITIES;
use super::woken::{Turns, Woken};
use super::{Driver, Stopped};

/// So many tasks are polled at most before the driver has its turn.
const TURN: usize = 64;

/// Wakes the thread in which the executor waits, if it sleeps; called by whatever thread wakes a task.
pub type Rouser = Box<dyn Fn() + Send + Sync>;

type Future<'t> = Pin<Box<dyn core::future::Future<Output = ()> + 't>>;

/// Runs tasks until all are done.
pub struct Executor<'t> {
    tasks: Vec<Task<'t>>,
    /// Places of tasks that are done.
    free: Vec<usize>,
    alarm: Arc<Alarm>,
    turns: Turns,
    spawned: Rc<Spawned<'t>>,
}

impl core::fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Executor")
            .field("limit", &self.spawned.limit)
            .field("alive", &self.spawned.alive.get())
            .finish_non_exhaustive()
    }
}

struct Task<'t> {
    future: Option<Future<'t>>,
    priority: usize,
    waker: Waker,
}

/// What tasks share with who adds one, while others run.
struct Spawned<'t> {
    limit: usize,
    /// Tasks that are not done, those that have no place yet among them.
    alive: Cell<usize>,
    new: RefCell<Vec<(usize, Future<'t>)>>,
}

impl<'t> Spawned<'t> {
    fn has_room(&self) -> bool {
        let has = self.alive.get() < self.limit;
        if has {
            self.alive.set(self.alive.get() + 1);
        }
        has
    }
}

/// Adds tasks to an executor, from within one as well.
pub struct Spawner<'t>(Rc<Spawned<'t>>);

impl core::fmt::Debug for Spawner<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Spawner")
            .field("limit", &self.0.limit)
            .field("alive", &self.0.alive.get())
            .finish_non_exhaustive()
    }
}

impl Clone for Spawner<'_> {
    fn clone(&self) -> Self {
        Spawner(self.0.clone())
    }
}

impl<'t> Spawner<'t> {
    /// One more task, of that priority (0 first, to 7), from the next task on. Whether there was room for it.
    pub fn spawn(&self, priority: usize, future: impl core::future::Future<Output = ()> + 't) -> bool {
        let has_room = self.0.has_room();
        if has_room {
            self.0.new.borrow_mut().push((priority, Box::pin(future)));
        }
        has_room
    }
}

/// What wakers of an executor have in common.
struct Alarm {
    woken: Woken,
    /// The executor's thread ([`here`]).
    home: usize,
    rouse: Rouser,
}

/// What wakes a task.
struct Knob {
    alarm: Arc<Alarm>,
    priority: usize,
    number: usize,
}

impl Wake for Knob {
    #[inline]
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[inline]
    fn wake_by_ref(self: &Arc<Self>) {
        let alarm = &*self.alarm;
        if alarm.home == here() {
            alarm.woken.wake_here(self.priority, self.number);
        } else if alarm.woken.wake_from_elsewhere(self.priority, self.number) {
            (alarm.rouse)();
        }
    }
}

/// A number that no other thread has at the same time: where something of this one's own lies.
#[cfg(feature = "linux")]
#[inline]
fn here() -> usize {
    std::thread_local!(static MINE: u8 = const { 0 });
    MINE.with(|mine| core::ptr::from_ref(mine).addr())
}

/// Without threads of its own a system may call wakers from anywhere: none is called here.
#[cfg(not(feature = "linux"))]
fn here() -> usize {
    use core::sync::atomic::{AtomicUsize, Ordering};
    static EACH: AtomicUsize = AtomicUsize::new(0);
    EACH.fetch_add(1, Ordering::Relaxed)
}

impl<'t> Executor<'t> {
    /// For so many tasks at a time. `rouse` is called when a task is woken by another thread while the driver waits.
    pub fn new(tasks: usize, rouse: Rouser) -> Executor<'t> {
        let alarm = Arc::new(Alarm { woken: Woken::new(tasks), home: here(), rouse });
        let new = RefCell::new(Vec::new());
        let spawned = Rc::new(Spawned { limit: tasks, alive: Cell::new(0), new });
        Executor {
            tasks: Vec::with_capacity(tasks),
            free: Vec::new(),
            alarm,
            turns: Turns::default(),
            spawned,
        }
    }

    /// One more task, of that priority (0 first, to 7). Whether there was room for it: the places of tasks that are done are given anew.
    pub fn spawn(&mut self, priority: usize, future: impl core::future::Future<Output = ()> + 't) -> bool {
        let has_room = self.spawned.has_room();
        if has_room {
            self.places(priority, Box::pin(future));
        }
        has_room
    }

    /// What adds tasks while this one runs them.
    pub fn spawner(&self) -> Spawner<'t> {
        Spawner(self.spawned.clone())
    }

    /// A waker of the task that had a place before may still be called: that polls the one that has it now once more.
    fn places(&mut self, priority: usize, future: Future<'t>) {
        let priority = priority.min(PRIORITIES - 1);
        let number = self.free.pop().unwrap_or(self.tasks.len());
        if self.tasks.get(number).is_none_or(|task| task.priority != priority) {
            let waker = Arc::new(Knob { alarm: self.alarm.clone(), priority, number }).into();
            let task = Task { future: None, priority, waker };
            match self.tasks.get_mut(number) {
                Some(place) => *place = task,
                None => self.tasks.push(task),
            }
        }
        let task = &mut self.tasks[number];
        task.future = Some(future);
        task.waker.wake_by_ref();
    }

    /// Runs the tasks until all are done. Where nothing comes any more they are told, and run on as far as they can.
    ///
    /// # Errors
    /// [`Stopped`] if some wait nevertheless; they are kept.
    pub fn run(&mut self, driver: &mut impl Driver) -> Result<(), Stopped> {
        self.adopts();
        while self.spawned.alive.get() > 0 {
            self.round();
            if let Err(stopped) = self.brings(driver) {
                while self.alarm.woken.is_any() {
                    self.round();
                }
                return if self.spawned.alive.get() == 0 { Ok(()) } else { Err(stopped) };
            }
        }
        Ok(())
    }

    /// Has the driver bring what has come, and wait if that is nothing and nothing is to be done.
    fn brings(&self, driver: &mut impl Driver) -> Result<(), Stopped> {
        let woken = &self.alarm.woken;
        if driver.turn()? || woken.is_any() || self.spawned.alive.get() == 0 {
            return Ok(());
        }
        woken.waits();
        let waited = driver.wait(&mut || woken.is_any());
        woken.waits_no_more();
        waited?;
        driver.turn()?;
        Ok(())
    }

    /// Polls who is woken, [`TURN`] times at most.
    fn round(&mut self) {
        for _ in 0..TURN {
            let Some(number) = self.alarm.woken.next(&mut self.turns) else { return };
            self.poll(number);
        }
    }

    /// Gives places to tasks that others have added.
    #[inline]
    fn adopts(&mut self) {
        if !self.spawned.new.borrow().is_empty() {
            for (priority, future) in self.spawned.new.take() {
                self.places(priority, future);
            }
        }
    }

    #[inline]
    fn poll(&mut self, number: usize) {
        let task = &mut self.tasks[number];
        let Some(mut future) = task.future.take() else { return };
        // Who panics is not there any more.
        let over = Over { free: &mut self.free, spawned: &self.spawned, number };
        if future.as_mut().poll(&mut Context::from_waker(&task.waker)).is_pending() {
            task.future = Some(future);
            mem::forget(over);
        } else {
            drop(future);
            drop(over);
        }
        self.adopts();
    }
}

/// Gives the place of a task away that is done, or panics.
struct Over<'e, 't> {
    free: &'e mut Vec<usize>,
    spawned: &'e Spawned<'t>,
    number: usize,
}

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.free.push(self.number);
        self.spawned.alive.update(|alive| alive - 1);
    }
}

impl Drop for Executor<'_> {
    fn drop(&mut self) {
        // These may hold the spawner that holds them, and add others as they are dropped: which find no room.
        self.spawned.alive.set(self.spawned.limit);
        let new = self.spawned.new.take();
        drop(new);
    }
}
