//! A thread for each request that is on its way: it asks, sleeps until the reply is there, and asks again. So it is with synchronous calls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::{io, thread};

use tollway_core::Ticks;

use super::{Course, Demand, Loss, Outcome};
use crate::engine::message;

/// Bytes of a thread's stack: it copies one message at a time.
const STACK: usize = 128 << 10;

/// By which bits of its number a request tells its thread.
const OF_THREAD: u32 = 40;

/// Calls a server: a request, room for its reply, and how many bytes that has.
pub trait Call: FnMut(&[u8], &mut [u8]) -> Result<usize, Loss> + Send {}

impl<C: FnMut(&[u8], &mut [u8]) -> Result<usize, Loss> + Send> Call for C {}

/// Keeps as many requests on their way as there are calls, each by a thread of its own, until the course says that it is enough. The calling thread is
/// the first of them, and it alone has the course.
///
/// # Errors
/// If the kernel gives no thread.
pub fn ask(calls: Vec<impl Call>, demand: &Demand, course: &mut impl Course) -> io::Result<Outcome> {
    let crowd =
        &Crowd { over: AtomicBool::new(false), done: calls.iter().map(|_| Line::default()).collect() };
    let mut calls = calls.into_iter().enumerate();
    let first = calls.next();
    thread::scope(|scope| {
        let hire = |(number, call)| {
            let builder = Builder::new().name("asks".into()).stack_size(STACK);
            builder.spawn_scoped(scope, move || one(number, call, demand, crowd, &mut Follower(crowd)))
        };
        let others: Vec<_> = calls.map(hire).collect();
        if others.iter().any(Result::is_err) {
            crowd.over.store(true, Ordering::Relaxed);
        }
        let mut all = match first {
            Some((_, call)) => one(0, call, demand, crowd, &mut Leader { course, crowd }),
            None => Outcome::default(),
        };
        for other in others {
            let outcome = other?.join().map_err(|_| io::Error::other("a thread that asks panicked"))?;
            all.asked += outcome.asked;
            all.done += outcome.done;
            all.wrong += outcome.wrong;
            all.lost = all.lost.or(outcome.lost);
        }
        Ok(all)
    })
}

/// What the threads share.
struct Crowd {
    over: AtomicBool,
    /// How many replies each thread has had: written by it alone.
    done: Box<[Line]>,
}

/// A cache line for each, and the one that is fetched with it.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Crowd {
    fn sum(&self) -> u64 {
        self.done.iter().map(|line| line.0.load(Ordering::Relaxed)).sum()
    }
}

/// The one that has the course.
struct Leader<'c, C> {
    course: &'c mut C,
    crowd: &'c Crowd,
}

impl<C: Course> Course for Leader<'_, C> {
    fn begins(&mut self) -> Option<Ticks> {
        self.course.begins()
    }

    fn came(&mut self, began: Option<Ticks>, _: impl FnOnce() -> u64) -> bool {
        let goes_on = self.course.came(began, || self.crowd.sum());
        if !goes_on {
            self.crowd.over.store(true, Ordering::Relaxed);
        }
        goes_on
    }
}

/// One of the others.
struct Follower<'c>(&'c Crowd);

impl Course for Follower<'_> {
    fn begins(&mut self) -> Option<Ticks> {
        None
    }

    fn came(&mut self, _: Option<Ticks>, _: impl FnOnce() -> u64) -> bool {
        !self.0.over.load(Ordering::Relaxed)
    }
}

/// A thread's requests. Whoever cannot go on ends the others.
fn one(
    thread: usize,
    mut call: impl Call,
    demand: &Demand,
    crowd: &Crowd,
    course: &mut impl Course,
) -> Outcome {
    let (mut request, mut reply) = (vec![0; demand.size], vec![0; demand.size]);
    let mut outcome = Outcome::default();
    let mut goes_on = true;
    while goes_on {
        let number = (thread as u64) << OF_THREAD | outcome.asked;
        let began = course.begins();
        message::ask(number, &mut request);
        outcome.asked += 1;
        match call(&request, &mut reply) {
            Ok(bytes) => {
                outcome.done += 1;
                outcome.wrong += u64::from(!demand.is_right(number, &reply[..bytes]));
                crowd.done[thread].0.store(outcome.done, Ordering::Relaxed);
                goes_on = course.came(began, || outcome.done) && !crowd.over.load(Ordering::Relaxed);
            }
            Err(lost) => {
                outcome.lost = Some(lost);
                crowd.over.store(true, Ordering::Relaxed);
                goes_on = false;
            }
        }
    }
    outcome
}
