//! The desk at which threads that serve take turns of tenants. Who finds nothing to do there sleeps until a tenant kicks, or until
//! something is due by itself; and who takes a turn and leaves more behind wakes one that sleeps.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tollway_core::Result;

use crate::backend::Kicks;
use crate::order::{Grant, Order, Share};

/// A desk. Its times are nanoseconds since it began.
#[derive(Debug)]
pub struct Desk<Beside = ()> {
    kicks: Arc<Kicks>,
    begun: Instant,
    over: AtomicBool,
    /// Threads that wait for kicks. There are only more of them while what lies on it is held, so who has found something to do there
    /// sees all that did not.
    dozing: AtomicUsize,
    top: Mutex<Top<Beside>>,
}

/// What lies on it.
#[derive(Debug)]
pub struct Top<Beside> {
    /// Whose turn it is.
    pub order: Order,
    /// What is noted of tenants besides, under the same lock.
    pub beside: Beside,
}

/// What a thread that waits at a desk saw when it looked last.
#[derive(Debug)]
pub struct Look {
    /// When that was; whoever looks at all queues without waiting sets it then.
    pub at: u64,
    /// Tenants that kicked, and their queues: to be taken out by whoever waited.
    pub kicked: Vec<(usize, usize)>,
    /// Since when they may have been waiting.
    pub since: u64,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There was something to do already.
    AtOnce,
    /// Somebody kicked.
    Kicked,
    /// Something was due.
    Due,
    /// Another thread rang, or it has waited as long as it was to.
    Otherwise,
}

impl<Beside> Desk<Beside> {
    /// With that on it, of a device that began then.
    ///
    /// # Errors
    /// [`Error::System`](tollway_core::Error::System) if the kernel has no descriptors left.
    pub fn new(order: Order, beside: Beside, begun: Instant) -> Result<Desk<Beside>> {
        Ok(Desk {
            kicks: Arc::new(Kicks::new()?),
            begun,
            over: AtomicBool::new(false),
            dozing: AtomicUsize::new(0),
            top: Mutex::new(Top { order, beside }),
        })
    }

    /// The time.
    pub fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Where kicks are waited for.
    pub fn kicks(&self) -> &Arc<Kicks> {
        &self.kicks
    }

    /// What lies on it. What a thread that panicked left there is taken as it is.
    pub fn lock(&self) -> MutexGuard<'_, Top<Beside>> {
        self.top.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a thread that has not looked before.
    pub fn look(&self) -> Look {
        Look { at: self.now(), kicked: Vec::new(), since: 0 }
    }

    /// Waits until a tenant kicks, somebody rings, it is a tenant's turn, or it is `due`; for so long at most.
    ///
    /// # Errors
    /// [`Error::System`](tollway_core::Error::System) if the kernel refuses.
    pub fn wait(&self, look: &mut Look, due: Option<u64>, longest: Option<Duration>) -> Result<Woken> {
        let due = self.doze(due);
        let is_there = due == Some(Duration::ZERO);
        let most = due.into_iter().chain(longest).min();
        let since = self.kicks.wait_since(&mut look.kicked, most, &mut look.at, || self.now());
        if !is_there {
            self.dozing.fetch_sub(1, Ordering::Relaxed);
        }
        look.since = since?;
        Ok(match look.kicked.is_empty() {
            _ if is_there => Woken::AtOnce,
            false => Woken::Kicked,
            true if due.is_some() && most == due => Woken::Due,
            true => Woken::Otherwise,
        })
    }

    /// A thread is about to wait: for how long at most.
    fn doze(&self, due: Option<u64>) -> Option<Duration> {
        let mut top = self.lock();
        let now = self.now();
        let due = top.order.due(now).into_iter().chain(due).min();
        if due.is_none_or(|due| due > now) {
            self.dozing.fetch_add(1, Ordering::Relaxed);
        }
        due.map(|due| Duration::from_nanos(due.saturating_sub(now)))
    }

    /// Whose turn it is, with at most so much; another thread is woken if there is more to do.
    pub fn next(&self, most: usize) -> Option<Grant> {
        let mut top = self.lock();
        let now = self.now();
        let grant = top.order.next(most, now)?;
        let wake = self.dozing.load(Ordering::Relaxed) > 0 && top.order.due(now) == Some(now);
        drop(top);
        if wake {
            self.ring();
        }
        Some(grant)
    }

    /// A tenant has another share from now on.
    pub fn change(&self, tenant: usize, share: Share) {
        self.lock().order.change(tenant, share, self.now());
        // Somebody may wait for tokens that come earlier now.
        self.ring();
    }

    /// Wakes a thread that waits, or the next that would.
    pub fn ring(&self) {
        self.kicks.ring();
    }

    /// Wakes a thread if one waits; what there is for it to do has been noted.
    pub fn wake(&self) {
        if self.dozing.load(Ordering::Relaxed) > 0 {
            self.ring();
        }
    }

    /// Whether it has ended: nobody takes turns any more.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends it, and wakes one that waits: to be called until all have gone. Whether it had ended before.
    pub fn end(&self) -> bool {
        let before = self.over.swap(true, Ordering::AcqRel);
        self.ring();
        before
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use crate::order::Discipline;

    /// What must not happen is waited for so long.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// For tenants with such shares, with turns of so much at most.
    fn desk(quantum: usize, shares: &[Share]) -> Desk {
        Desk::new(Order::new(Discipline::Fair, quantum, quantum, shares, 0), (), Instant::now()).unwrap()
    }

    /// One bell is rung, for three who want something: each that comes wakes the next.
    #[test]
    fn who_leaves_more_behind_wakes_another() {
        let desk = Arc::new(desk(1, &[Share::default(); 3]));
        let (served, turns) = channel();
        for _ in 0..3 {
            let (desk, served) = (desk.clone(), served.clone());
            thread::spawn(move || {
                let mut look = desk.look();
                while !desk.is_over() {
                    if let Some(grant) = desk.next(1) {
                        // It is busy with it until the end.
                        return served.send(grant.tenant).unwrap();
                    }
                    desk.wait(&mut look, None, None).unwrap();
                }
            });
        }
        let deadline = Instant::now() + PATIENCE;
        while desk.dozing.load(Ordering::Relaxed) < 3 {
            assert!(Instant::now() < deadline, "they do not sleep");
            thread::yield_now();
        }
        let now = desk.now();
        let mut top = desk.lock();
        (0..3).for_each(|tenant| top.order.want(tenant, now));
        drop(top);
        desk.wake();
        let mut found: Vec<usize> = (0..3).map(|_| turns.recv_timeout(PATIENCE).unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2]);
        assert_eq!(desk.dozing.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_wait_ends_by_whatever_is_first() {
        let desk = desk(1, &[Share { limit: Some((5, 1)), ..Share::default() }]);
        let (mut look, short) = (desk.look(), Some(Duration::from_millis(1)));
        let in_ten = |desk: &Desk| Some(desk.now() + 10_000_000);
        let mut wait = |due, longest| (desk.wait(&mut look, due, longest).unwrap(), look.kicked.pop());
        assert_eq!(wait(None, short), (Woken::Otherwise, None));
        assert_eq!(wait(in_ten(&desk), Some(PATIENCE)), (Woken::Due, None));
        assert_eq!(wait(Some(u64::MAX), short), (Woken::Otherwise, None));
        assert_eq!(wait(Some(0), None), (Woken::AtOnce, None));
        // A turn that is somebody's now, and one that is somebody's as soon as there are tokens.
        desk.lock().order.want(0, desk.now());
        assert_eq!(wait(None, None), (Woken::AtOnce, None));
        assert_eq!(desk.next(1).map(|grant| grant.tenant), Some(0));
        desk.lock().order.done(0, 1, 1, Some(1), desk.now());
        assert_eq!(wait(None, None), (Woken::Due, None));
        assert_eq!(desk.next(1).map(|grant| grant.tenant), Some(0));
        let kick = eventfd(1, EventfdFlags::empty()).unwrap();
        desk.kicks().watch(&kick, 7, 2).unwrap();
        assert_eq!(wait(None, None), (Woken::Kicked, Some((7, 2))));
        assert_eq!(desk.dozing.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_waits_for_tokens_is_woken_by_a_change_and_by_the_end() {
        // It takes 1000 seconds until it may have another turn.
        let slow = Share { limit: Some((1, 1000)), ..Share::default() };
        let desk = Arc::new(desk(1000, &[slow]));
        desk.lock().order.want(0, 0);
        assert!(desk.next(1000).is_some());
        desk.lock().order.done(0, 1000, 1000, Some(1000), desk.now());
        let (woken, ends) = channel();
        let waits = desk.clone();
        thread::spawn(move || {
            let mut look = waits.look();
            while !waits.is_over() {
                waits.wait(&mut look, None, None).unwrap();
                woken.send(waits.next(1000).is_some()).unwrap();
            }
        });
        desk.change(0, Share { limit: Some((1_000_000_000, 1000)), ..slow });
        while !ends.recv_timeout(PATIENCE).unwrap() {}
        assert!(!desk.end() && desk.end());
        let last = loop {
            match ends.recv_timeout(PATIENCE) {
                Ok(found) => assert!(!found, "it has had its turn"),
                Err(error) => break error,
            }
        };
        assert_eq!(last, RecvTimeoutError::Disconnected);
    }
}
