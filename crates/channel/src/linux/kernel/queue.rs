//! The ring itself: a table of operations, each of which keeps what the kernel may touch until its completion has come, and the two queues.
//!
//! Nothing that belongs to others is dropped or woken here, as all of this is borrowed meanwhile: it is handed out.

use std::cell::{RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use io_uring::squeue::Entry;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode};
use rustix::event::{EventfdFlags, eventfd};
use tollway_core::{Error, Result};
use tollway_host::fork::Origin;

use super::deed::{Came, Deed, Held};
use super::file::Table;
use super::memory::Arena;
use super::provided::Pool;
use super::slot::{After, Look, Slot, State};
use crate::coroutine::line::Line;
use crate::wait::Waits;

/// As user data: of entries whose completions nobody waits for.
const NOBODY: u64 = u64::MAX;

/// As user data: what wakes this thread; the lowest bits say which.
const BELLS: u64 = u64::MAX - 8;

/// How many bells there are.
const BELLS_COUNT: u64 = 4;

/// The bell by which another thread of this process wakes this one.
const ROUSED: usize = 0;

/// How often what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of io_uring_enter(2).
    pub entries: u64,
    /// Those of them that woke the kernel's thread (IORING_ENTER_SQ_WAKEUP).
    pub wakes: u64,
    /// How the waits of the ring ended.
    pub waits: Waits,
}

pub(super) struct Queue {
    ring: IoUring,
    /// A child that fork(2) makes has the two queues in memory as well: what it wrote there would be its
    /// parent's request, what it took its parent's result.
    origin: Origin,
    is_polled: bool,
    slots: Box<[Slot]>,
    free: Vec<u32>,
    /// Who waits until a slot is free.
    pub full: Line,
    /// Entries for which the submission queue had no room.
    staged: VecDeque<Entry>,
    times: Box<[UnsafeCell<Timespec>]>,
    /// Places in the table of registered files.
    pub files: Vec<u32>,
    /// Which bells the kernel watches.
    armed: [bool; BELLS_COUNT as usize],
    /// Has this thread woken by another one. It blocks, so that a read of it waits in the kernel; a write would only after 2^64 - 1 of them.
    roused: Arc<OwnedFd>,
    /// Where its count is read to.
    rung: Box<UnsafeCell<[u8; 8]>>,
    pub arena: Rc<Arena>,
    pub pool: Option<Rc<Pool>>,
    pub counts: Counts,
    /// Why nothing is submitted any more.
    stopped: Option<i32>,
}

/// What operations say in a child that fork(2) made: the ring is its parent's.
pub(super) const FORKED: i32 = libc::EPERM;

impl Queue {
    pub fn new(ring: IoUring, operations: usize, arena: Rc<Arena>) -> Result<Queue> {
        let roused = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Error::system("making an eventfd", e))?;
        Ok(Queue {
            is_polled: ring.params().is_setup_sqpoll(),
            origin: Origin::here(),
            ring,
            slots: (0..operations).map(|_| Slot::free()).collect(),
            free: (0..operations as u32).rev().collect(),
            full: Line::default(),
            // Each operation and its cancellation, and the bells.
            staged: VecDeque::with_capacity(2 * operations + BELLS_COUNT as usize),
            times: (0..operations).map(|_| UnsafeCell::new(Timespec::new())).collect(),
            files: Vec::new(),
            armed: [false; BELLS_COUNT as usize],
            roused: Arc::new(roused),
            rung: Box::default(),
            arena,
            pool: None,
            counts: Counts::default(),
            stopped: None,
        })
    }

    pub fn ring(&self) -> &IoUring {
        &self.ring
    }

    /// Whether this is the process that opened the ring.
    pub fn is_own(&self) -> bool {
        self.origin.is_here()
    }

    /// Why nothing is submitted any more; nothing if all is.
    #[inline]
    pub fn stopped(&self) -> Option<i32> {
        self.stopped.or_else(|| (!self.is_own()).then_some(FORKED))
    }

    /// How many operations have a slot.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether the kernel has, or may yet get, anything of this ring's.
    pub fn is_busy(&self) -> bool {
        let at_kernel = |slot: &Slot| matches!(slot.state, State::Sent | State::Dropped);
        self.armed.contains(&true) || self.slots.iter().any(at_kernel)
    }

    /// Writes an entry, to be submitted with all others at the next turn.
    fn stage(&mut self, entry: Entry) {
        if !self.is_own() {
            return;
        }
        // SAFETY: what the entry points to is held by its slot until the completion has come, or lives as long as the ring (`arms`).
        if !self.staged.is_empty() || unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.staged.push_back(entry);
        }
    }

    /// Begins an operation if there is a slot for it, which one was called for if it stood in line; else what was to be held, and the waker, are given back.
    pub fn begin(
        &mut self,
        deed: Deed,
        held: Held,
        waker: Waker,
        is_called: bool,
    ) -> Result<u32, (Held, Waker)> {
        let may = is_called || self.full.leaves_one_of(self.free.len());
        let Some(at) = may.then(|| self.free.pop()).flatten() else { return Err((held, waker)) };
        let slot = &mut self.slots[at as usize];
        slot.age = slot.age.wrapping_add(1) & 0x7fff_ffff;
        let entry = deed.entry(&held, &self.arena, self.times[at as usize].get());
        (slot.state, slot.deed, slot.held, slot.waker) = (State::Sent, deed, held, Some(waker));
        let entry = entry.user_data(token(at, slot.age));
        self.stage(entry);
        Ok(at)
    }

    /// Whether something has come for that operation.
    pub fn look(&mut self, at: u32, waker: &Waker) -> Look {
        let stopped = self.stopped();
        let slot = &mut self.slots[at as usize];
        if let Some(came) = slot.came.pop_front() {
            return Look::Came(came);
        }
        match slot.state {
            State::Done(result, flags) => {
                let held = mem::take(&mut slot.held);
                slot.state = State::Free;
                let after = After { drops: slot.waker.take(), wakes: self.frees(at), ..After::default() };
                Look::Last(Came { result, flags }, held, after)
            }
            _ => match (stopped, &slot.waker) {
                // The kernel may still have it: what it holds stays.
                (Some(errno), _) => Look::Came(Came::failed(errno)),
                (None, Some(own)) if own.will_wake(waker) => Look::Waits,
                _ => Look::Otherwise,
            },
        }
    }

    /// That operation's task is woken by that waker; the one that is not needed any more.
    pub fn renew(&mut self, at: u32, waker: Waker) -> Option<Waker> {
        self.slots[at as usize].waker.replace(waker)
    }

    /// Nobody wants that operation any more: the kernel is asked to give it up, and what it holds stays until the kernel has said that it has.
    pub fn forgets(&mut self, at: u32) -> After {
        let slot = &mut self.slots[at as usize];
        let mut after = After { drops: slot.waker.take(), ..After::default() };
        if let State::Done(result, flags) = slot.state {
            slot.state = State::Free;
            after.over = Some((slot.deed, Came { result, flags }, mem::take(&mut slot.held)));
            after.wakes = self.frees(at);
        } else {
            slot.state = State::Dropped;
            let token = token(at, slot.age);
            if self.stopped().is_none() {
                self.stage(opcode::AsyncCancel::new(token).build().user_data(NOBODY));
            }
        }
        after
    }

    /// The next completion of several that came for an operation nobody wants any more.
    pub fn leftover(&mut self, at: u32) -> Option<After> {
        let slot = &mut self.slots[at as usize];
        let came = slot.came.pop_front()?;
        Some(self.useless(at, came))
    }

    fn useless(&mut self, at: u32, came: Came) -> After {
        let slot = &self.slots[at as usize];
        match slot.deed {
            Deed::AcceptMany => After { over: Some((slot.deed, came, Held::default())), ..After::default() },
            _ => After { piece: slot.held.pool.clone().map(|pool| (pool, came)), ..After::default() },
        }
    }

    /// The slot is free again; who is to be woken for that.
    fn frees(&mut self, at: u32) -> Option<Waker> {
        self.free.push(at);
        self.full.call()
    }

    /// Has the kernel do that before it lets this thread sleep; it completes when that bell is rung.
    ///
    /// # Safety
    /// What the entry points to lives, and may be accessed as it says, for as long as the ring.
    pub unsafe fn arms(&mut self, bell: usize, entry: Entry) {
        if !self.armed[bell] {
            self.armed[bell] = true;
            self.stage(entry.user_data(BELLS + bell as u64));
        }
    }

    /// Has another thread able to wake this one when it sleeps.
    pub fn arms_roused(&mut self) {
        let (roused, rung) = (Fd(self.roused.as_raw_fd()), self.rung.get().cast());
        // SAFETY: the cell is the queue's own, and nobody else's.
        unsafe { self.arms(ROUSED, opcode::Read::new(roused, rung, 8).build()) };
    }

    /// What [`rouses`] this thread.
    pub fn roused(&self) -> Arc<OwnedFd> {
        self.roused.clone()
    }

    /// Whether there are completions to take.
    pub fn has_some(&mut self) -> bool {
        if !self.is_own() {
            return false;
        }
        if !self.ring.completion().is_empty() {
            return true;
        }
        let queue = self.ring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Submits all that was written, by one call of the kernel unless the submission queue is too short for it. With `sleeps` it returns when a completion is
    /// there, or the call was interrupted.
    ///
    /// # Errors
    /// What io_uring_enter(2) says, if that is not for the moment only.
    pub fn submit(&mut self, sleeps: bool) -> io::Result<()> {
        if !self.is_own() {
            return Err(io::Error::from_raw_os_error(FORKED));
        }
        loop {
            self.pushes();
            let queue = self.ring.submission();
            let (written, is_due) = (queue.len(), queue.taskrun() || queue.cq_overflow());
            let wakes = self.is_polled && written > 0 && queue.need_wakeup();
            drop(queue);
            let mut flags = EnterFlags::empty();
            flags.set(EnterFlags::SQ_WAKEUP, wakes);
            // With entries left over it must not sleep for completions: they may be what brings those.
            let waits = sleeps && self.staged.is_empty();
            flags.set(EnterFlags::GETEVENTS, waits || is_due);
            flags.set(EnterFlags::SQ_WAIT, sleeps && self.is_polled && !self.staged.is_empty());
            if flags.is_empty() && (self.is_polled || written == 0) {
                return Ok(());
            }
            self.counts.entries += 1;
            self.counts.wakes += u64::from(wakes);
            // SAFETY: no argument is passed, and the numbers are those of this ring.
            let entered = unsafe {
                self.ring.submitter().enter::<libc::sigset_t>(
                    written as u32,
                    waits.into(),
                    flags.bits(),
                    None,
                )
            };
            match entered.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)) {
                Ok(0) if !self.is_polled && written > 0 => return Ok(()),
                Ok(_) => {}
                // Interrupted; short of memory; or completions are to be taken first. All of it is tried again at the next turn.
                Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => return Ok(()),
                Err(errno) => return Err(io::Error::from_raw_os_error(errno)),
            }
            if self.staged.is_empty() || (self.is_polled && !sleeps) {
                return Ok(());
            }
        }
    }

    /// Submits, and waits for a completion for so long at most; for who is about to close.
    ///
    /// # Errors
    /// As [`submit`](Queue::submit).
    pub fn submits_for(&mut self, most: Duration) -> io::Result<()> {
        self.submit(false)?;
        if !self.ring.completion().is_empty() {
            return Ok(());
        }
        if !self.ring.params().is_feature_ext_arg() {
            std::thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        self.counts.entries += 1;
        let most = Timespec::from(most);
        match self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&most)) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Writes what had no room, as far as there is now.
    fn pushes(&mut self) {
        let mut queue = self.ring.submission();
        while let Some(entry) = self.staged.front() {
            // SAFETY: as in `stage`.
            if unsafe { queue.push(entry) }.is_err() {
                return;
            }
            self.staged.pop_front();
        }
    }

    /// Takes the next completion; whether somebody waited for it, and what is to be done.
    pub fn take(&mut self) -> Option<(bool, After)> {
        if !self.is_own() {
            return None;
        }
        let entry = self.ring.completion().next()?;
        let (data, came) = (entry.user_data(), Came { result: entry.result(), flags: entry.flags() });
        if data >= BELLS {
            if data < BELLS + BELLS_COUNT {
                self.armed[(data - BELLS) as usize] = false;
            }
            return Some((false, After::default()));
        }
        let at = (data & 0xffff_ffff) as u32;
        let slot = &mut self.slots[at as usize];
        debug_assert!(data == token(at, slot.age), "a completion of an operation that is over");
        if let Some(pool) = &slot.held.pool
            && cqueue::buffer_select(came.flags).is_some()
        {
            pool.filled();
        }
        let goes_on = cqueue::more(came.flags);
        match (slot.state, goes_on) {
            (State::Sent, true) => {
                slot.came.push_back(came);
                Some((true, After { wakes: slot.waker.take(), ..After::default() }))
            }
            (State::Sent, false) => {
                slot.state = State::Done(came.result, came.flags);
                Some((true, After { wakes: slot.waker.take(), ..After::default() }))
            }
            (State::Dropped, true) => Some((true, self.useless(at, came))),
            (State::Dropped, false) => {
                slot.state = State::Free;
                let over = Some((slot.deed, came, mem::take(&mut slot.held)));
                Some((true, After { over, wakes: self.frees(at), ..After::default() }))
            }
            (State::Free | State::Done(..), _) => Some((false, After::default())),
        }
    }

    /// Nothing is submitted any more, for that reason: who is to be told.
    pub fn stops(&mut self, errno: i32) -> Vec<Waker> {
        self.stopped.get_or_insert(errno);
        let mut wakers: Vec<Waker> = std::iter::from_fn(|| self.full.call()).collect();
        wakers.extend(self.slots.iter_mut().filter_map(|slot| slot.waker.take()));
        wakers.extend(self.pool.iter().flat_map(|pool| pool.waiting()));
        wakers
    }

    /// Asks the kernel to give up all that it has; whether there is anything.
    pub fn cancels(&mut self) -> bool {
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            if matches!(slot.state, State::Sent | State::Dropped) {
                let token = token(at as u32, slot.age);
                self.stage(opcode::AsyncCancel::new(token).build().user_data(NOBODY));
            }
        }
        for bell in 0..BELLS_COUNT {
            if self.armed[bell as usize] {
                self.stage(opcode::AsyncCancel::new(BELLS + bell).build().user_data(NOBODY));
            }
        }
        self.is_busy()
    }
}

impl Table for RefCell<Queue> {
    fn unregisters(&self, at: u32) {
        let mut queue = self.borrow_mut();
        if !queue.is_own() {
            return;
        }
        // The place was taken; should the kernel refuse to clear it, the next file takes it nevertheless.
        let _ = queue.ring.submitter().register_files_update(at, &[-1]);
        queue.files.push(at);
    }
}

/// Wakes the thread that sleeps at the ring of that eventfd.
pub(super) fn rouses(roused: &OwnedFd) {
    // It fails only where the count is full, when the thread is woken anyway.
    let _ = rustix::io::write(roused, &1u64.to_ne_bytes());
}

/// Which operation that is, as user data: the slot, and which one of this slot.
fn token(at: u32, age: u32) -> u64 {
    u64::from(at) | u64::from(age) << 32
}
