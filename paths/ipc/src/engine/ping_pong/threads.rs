//! A thread for each request that is on its way: it asks, sleeps until the reply is there, and asks again. So it is with synchronous calls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::{io, thread};

use tollway_channel::linux::plain::{Client, Counts, Failed, Server};
use tollway_core::Ticks;

use super::{Course, Demand, Loss, Outcome};
use crate::engine::message;
use crate::engine::service::Service;

/// Bytes of a thread's stack: it copies one message at a time.
const STACK: usize = 128 << 10;

/// By which bits of its number a request tells its thread.
const OF_THREAD: u32 = 40;

/// Keeps as many requests on their way as there are clients, each by a thread of its own, until the course says that it is enough; what came of it, and
/// how they waited. The calling thread is the first of them, and it alone has the course.
///
/// # Errors
/// If the kernel gives no thread.
pub fn ask(clients: Vec<Client>, demand: &Demand, course: &mut impl Course) -> io::Result<(Outcome, Counts)> {
    let crowd =
        &Crowd { over: AtomicBool::new(false), done: clients.iter().map(|_| Line::default()).collect() };
    let mut clients = clients.into_iter().enumerate();
    let first = clients.next();
    thread::scope(|scope| {
        let hire = |(number, client)| {
            hired().spawn_scoped(scope, move || one(number, client, demand, crowd, &mut Follower(crowd)))
        };
        let others: Vec<_> = clients.map(hire).collect();
        if others.iter().any(Result::is_err) {
            crowd.over.store(true, Ordering::Relaxed);
        }
        let (mut all, mut counts) = match first {
            Some((_, client)) => one(0, client, demand, crowd, &mut Leader { course, crowd }),
            None => Default::default(),
        };
        for other in others {
            let (outcome, counted) = other?.join().map_err(panicked)?;
            all.asked += outcome.asked;
            all.done += outcome.done;
            all.wrong += outcome.wrong;
            all.lost = all.lost.or(outcome.lost);
            add(&mut counts, counted);
        }
        Ok((all, counts))
    })
}

/// Answers each client by a thread of its own until all are gone: how many requests there were, how they waited, and why one ended that should
/// not have.
///
/// # Errors
/// If the kernel gives no thread.
pub fn serve(servers: Vec<Server>, service: &Service) -> io::Result<(u64, Counts, Option<Failed>)> {
    thread::scope(|scope| {
        let hire = |mut server: Server| {
            let mut service = service.another().map_err(|e| io::Error::other(e.to_string()))?;
            hired().spawn_scoped(scope, move || {
                let ended = server.serve(|_, request, reply| (0, service.answers(request, reply)));
                (service.served(), server.counts(), ended.err())
            })
        };
        let threads: Vec<_> = servers.into_iter().map(hire).collect();
        let (mut all, mut counts, mut failed) = (0, Counts::default(), None);
        for thread in threads {
            let (served, counted, ended) = thread?.join().map_err(panicked)?;
            all += served;
            add(&mut counts, counted);
            failed = failed.or(ended);
        }
        Ok((all, counts, failed))
    })
}

fn hired() -> Builder {
    Builder::new().name("one request".into()).stack_size(STACK)
}

fn panicked<E>(_: E) -> io::Error {
    io::Error::other("a thread panicked")
}

fn add(all: &mut Counts, more: Counts) {
    all.notices += more.notices;
    all.yields += more.yields;
    all.sleeps += more.sleeps;
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
    mut client: Client,
    demand: &Demand,
    crowd: &Crowd,
    course: &mut impl Course,
) -> (Outcome, Counts) {
    let (mut request, mut reply) = (vec![0; demand.size], vec![0; demand.size]);
    let mut outcome = Outcome::default();
    let mut goes_on = true;
    while goes_on {
        let number = (thread as u64) << OF_THREAD | outcome.asked;
        let began = course.begins();
        message::ask(number, &mut request);
        outcome.asked += 1;
        match client.call(0, &request, &mut reply) {
            Ok((_, bytes)) => {
                outcome.done += 1;
                outcome.wrong += u64::from(!demand.is_right(number, &reply[..bytes]));
                crowd.done[thread].0.store(outcome.done, Ordering::Relaxed);
                goes_on = course.came(began, || outcome.done) && !crowd.over.load(Ordering::Relaxed);
            }
            Err(failed) => {
                outcome.lost = Some(Loss::Called(failed));
                crowd.over.store(true, Ordering::Relaxed);
                goes_on = false;
            }
        }
    }
    (outcome, client.counts())
}
