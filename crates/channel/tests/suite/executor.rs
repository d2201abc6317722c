//! The executor without a channel: in which order tasks run, how many there may be, and who wakes them.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};

use tollway_channel::coroutine::{Driver, Executor, Rouser, Spawner, Stopped};
use tollway_channel::ring::Violation;
use tollway_channel::wait::Gone;

/// Brings nothing; waits until it is roused, or says that nothing can come any more.
#[derive(Default)]
struct Nothing {
    waits: usize,
    turns: usize,
    is_over: bool,
}

impl Driver for Nothing {
    fn turn(&mut self) -> Result<bool, Violation> {
        self.turns += 1;
        Ok(false)
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        self.waits += 1;
        while !is_ready() {
            if self.is_over {
                return Err(Gone);
            }
            thread::park();
        }
        Ok(())
    }
}

fn unparks(thread: Thread) -> Rouser {
    Box::new(move || thread.unpark())
}

fn executor<'t>(tasks: usize) -> Executor<'t> {
    Executor::new(tasks, unparks(thread::current()))
}

/// Lets others go first, once.
fn steps_back() -> impl Future<Output = ()> {
    let mut is_second = false;
    poll_fn(move |context| {
        if is_second {
            return Poll::Ready(());
        }
        is_second = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

#[test]
fn the_first_priority_is_served_again_after_each_task() {
    let ran = RefCell::new(Vec::new());
    let first: RefCell<Option<Waker>> = RefCell::default();
    let mut executor = executor(8);
    // Named by priority and number; whoever runs at priority 3 wakes the one of priority 0.
    executor.spawn(
        0,
        poll_fn(|context| {
            first.replace(Some(context.waker().clone()));
            ran.borrow_mut().push("0");
            if ran.borrow().len() == 7 { Poll::Ready(()) } else { Poll::Pending }
        }),
    );
    for name in ["3 a", "3 b", "3 c"] {
        let (ran, first) = (&ran, &first);
        executor.spawn(3, async move {
            ran.borrow_mut().push(name);
            first.borrow().as_ref().unwrap().wake_by_ref();
        });
    }
    executor.spawn(7, async { ran.borrow_mut().push("7") });
    executor.spawn(9, async { ran.borrow_mut().push("none is later than 7") });
    executor.run(&mut Nothing::default()).unwrap();
    drop(executor);
    let order = ["0", "3 a", "0", "3 b", "0", "3 c", "0", "7", "none is later than 7"];
    assert_eq!(*ran.borrow(), order);
}

/// Tasks of one priority that wake themselves whenever they run have their turns one after another, however many words their bits fill.
#[test]
fn nobody_keeps_others_of_its_priority_waiting() {
    for tasks in [1, 64, 65, 700, 5000] {
        let turns: Vec<Cell<usize>> = vec![Cell::new(0); tasks];
        let mut executor = executor(tasks);
        for own in &turns {
            let turns = &turns;
            let is_there = executor.spawn(5, async move {
                for _ in 0..20 {
                    own.set(own.get() + 1);
                    // The last one sees all others one turn ahead, or as far.
                    let is_ahead = own.get() - turns[turns.len() - 1].get();
                    assert!(is_ahead <= 1, "{is_ahead}");
                    steps_back().await;
                }
            });
            assert!(is_there);
        }
        let mut driver = Nothing::default();
        executor.run(&mut driver).unwrap();
        drop(executor);
        assert!(turns.iter().all(|turns| turns.get() == 20));
        // The driver had its turn though nobody ever waited.
        assert!(driver.waits == 0 && driver.turns >= tasks * 20 / 64, "{} turns", driver.turns);
    }
}

#[test]
fn places_are_given_anew() {
    let done = Cell::new(0);
    let mut executor = executor(3);
    for round in 0..2000 {
        for priority in 0..3 {
            assert!(executor.spawn((priority + round) % 8, async {
                steps_back().await;
                done.set(done.get() + 1);
            }));
        }
        assert!(!executor.spawn(0, async {}), "there was room for three");
        executor.run(&mut Nothing::default()).unwrap();
    }
    drop(executor);
    assert_eq!(done.get(), 6000);
}

/// A waker outlives its task: whoever has the place then is polled once too often, and no more.
#[test]
fn a_waker_of_a_task_that_is_done_harms_nobody() {
    let [old, waker]: [RefCell<Option<Waker>>; 2] = Default::default();
    let polls = Cell::new(0);
    let mut executor = executor(1);
    executor.spawn(
        2,
        poll_fn(|context| {
            old.replace(Some(context.waker().clone()));
            Poll::Ready(())
        }),
    );
    executor.run(&mut Nothing::default()).unwrap();
    executor.spawn(
        6,
        poll_fn(|context| {
            polls.set(polls.get() + 1);
            match polls.get() {
                1 => {
                    waker.replace(Some(context.waker().clone()));
                    old.borrow().as_ref().unwrap().wake_by_ref();
                    Poll::Pending
                }
                2 => {
                    waker.borrow().as_ref().unwrap().wake_by_ref();
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        }),
    );
    executor.run(&mut Nothing::default()).unwrap();
    drop(executor);
    assert_eq!(polls.get(), 3);
    old.take().unwrap().wake();
}

#[test]
fn tasks_add_tasks() {
    let ran = RefCell::new(Vec::new());
    let mut executor = executor(3);
    let spawner = executor.spawner();
    executor.spawn(4, {
        let ran = &ran;
        async move {
            for number in 0..100 {
                // This one, and two more: of these each is done before there is room for others.
                assert!(spawner.spawn(1, async move { ran.borrow_mut().push(number) }));
                assert!(spawner.spawn(0, async move { ran.borrow_mut().push(1000 + number) }));
                assert!(!spawner.spawn(0, async {}));
                steps_back().await;
            }
        }
    });
    executor.run(&mut Nothing::default()).unwrap();
    drop(executor);
    let order: Vec<i32> = (0..100).flat_map(|number| [1000 + number, number]).collect();
    assert_eq!(*ran.borrow(), order);
}

/// An executor that ends before it has adopted what holds its own spawner frees that.
#[test]
fn what_was_never_run_is_freed() {
    let held = Rc::new(());
    let mut executor = executor(2);
    let spawner = executor.spawner();
    let (inner, kept) = (spawner.clone(), held.clone());
    spawner.spawn(0, async move {
        drop((inner, kept));
    });
    executor.spawn(0, std::future::pending());
    drop((executor, spawner));
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn who_waits_for_what_cannot_come_is_kept() {
    let mut executor = executor(2);
    executor.spawn(0, std::future::pending());
    let mut over = Nothing { is_over: true, ..Nothing::default() };
    assert_eq!(executor.run(&mut over), Err(Stopped::Gone));
    assert!(executor.spawn(0, async {}));
    assert!(!executor.spawn(0, async {}));
}

/// What several threads count up and wait for.
struct Post {
    sent: AtomicUsize,
    waiting: Mutex<Option<Waker>>,
}

/// Waits until so many were sent.
struct Until(Arc<Post>, usize);

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        *self.0.waiting.lock().unwrap() = Some(context.waker().clone());
        if self.0.sent.load(Ordering::SeqCst) >= self.1 { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Four threads wake two hundred tasks, each as soon as it has run, while the executor sleeps whenever it can.
#[test]
fn other_threads_wake_tasks_and_none_is_lost() {
    const TASKS: usize = 200;
    const ROUNDS: usize = 200;
    let post = || Arc::new(Post { sent: AtomicUsize::new(0), waiting: Mutex::default() });
    let (there, back): (Vec<_>, Vec<_>) = (0..TASKS).map(|_| (post(), Arc::new(AtomicUsize::new(0)))).unzip();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (there, back) = (there.clone(), back.clone());
            thread::spawn(move || {
                for round in 1..=ROUNDS {
                    for task in (thread..TASKS).step_by(4) {
                        while back[task].load(Ordering::SeqCst) < round {
                            thread::yield_now();
                        }
                        there[task].sent.store(round, Ordering::SeqCst);
                        let waker = there[task].waiting.lock().unwrap().take();
                        waker.into_iter().for_each(Waker::wake);
                    }
                }
            })
        })
        .collect();
    let mut executor = executor(TASKS);
    for (task, (there, back)) in there.into_iter().zip(back).enumerate() {
        executor.spawn(task % 8, async move {
            for round in 1..=ROUNDS {
                back.store(round, Ordering::SeqCst);
                Until(there.clone(), round).await;
            }
        });
    }
    executor.run(&mut Nothing::default()).unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A task that panics has no place any more: the others run on, and its place is another's.
#[test]
fn who_panics_is_waited_for_no_longer() {
    let ran = Cell::new(0);
    let mut executor = executor(2);
    executor.spawn(0, async { std::panic::resume_unwind(Box::new(())) });
    executor.spawn(0, async { ran.set(ran.get() + 1) });
    let mut driver = Nothing { is_over: true, ..Nothing::default() };
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| executor.run(&mut driver)));
    assert!(run.is_err());
    assert!(executor.spawn(0, async { ran.set(ran.get() + 1) }), "its place is free");
    executor.run(&mut driver).unwrap();
    drop(executor);
    assert_eq!(ran.get(), 2);
}

/// Adds a task when it is dropped.
struct Adds<'t>(Spawner<'t>, &'t Cell<Option<bool>>);

impl Drop for Adds<'_> {
    fn drop(&mut self) {
        self.1.set(Some(self.0.spawn(0, async {})));
    }
}

/// Tasks that are dropped with the executor, those without a place among them, find no room for others.
#[test]
fn a_task_that_is_dropped_may_add_another() {
    for has_place in [true, false] {
        let added = Cell::new(None);
        let mut executor = executor(4);
        let adds = Adds(executor.spawner(), &added);
        let task = async move {
            let _adds = adds;
            std::future::pending().await
        };
        let spawned = if has_place { executor.spawn(0, task) } else { executor.spawner().spawn(0, task) };
        assert!(spawned);
        drop(executor);
        assert_eq!(added.get(), Some(false));
    }
}
