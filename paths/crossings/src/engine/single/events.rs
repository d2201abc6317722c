//! Event counters, and calls that ask which descriptors are ready.
//!
//! What is waited for is an eventfd that is ready for ever, or never.

use std::fs::read_to_string;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{
    EventfdFlags, FdSetElement, FdSetIter, Timespec, eventfd, fd_set_insert, fd_set_num_elements, select,
};
use rustix::io::{self, Errno};
use tollway_core::{Error, Result};

use super::{IN_A_ROW, Row, Single};

/// What an eventfd begins with of which one is taken at a time: more than anybody will take.
const PLENTY: u32 = u32::MAX;

/// Does not wait.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

pub(super) fn read(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(TakeOne(counter(PLENTY, EventfdFlags::SEMAPHORE)?, row.of(IN_A_ROW))))
}

pub(super) fn write(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(AddOne(counter(0, EventfdFlags::empty())?, row.of(IN_A_ROW))))
}

pub(super) fn epoll_wait(_: usize, row: Row) -> Result<Box<dyn Single>> {
    wait(1, row)
}

pub(super) fn epoll_wait_none(_: usize, row: Row) -> Result<Box<dyn Single>> {
    wait(0, row)
}

pub(super) fn epoll_wait_8(_: usize, row: Row) -> Result<Box<dyn Single>> {
    wait(MOST, row)
}

fn wait(ready: usize, row: Row) -> Result<Box<dyn Single>> {
    let epoll = Watched::new(u32::from(ready > 0))?;
    let others = (1..ready).map(|_| epoll.another()).collect::<Result<_>>()?;
    Ok(Box::new(Wait { epoll, _others: others, ready, row: row.of(IN_A_ROW) }))
}

pub(super) fn epoll_ctl(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Modify { epoll: Watched::new(0)?, last: NAME, row: row.of(IN_A_ROW) }))
}

pub(super) fn poll_one(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Poll::new(1, 1, row)?))
}

pub(super) fn poll_8(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Poll::new(MOST, MOST, row)?))
}

pub(super) fn poll_none(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Poll::new(1, 0, row)?))
}

pub(super) fn select_one(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let ready = counter(1, EventfdFlags::empty())?;
    let end = ready.as_raw_fd() + 1;
    let words = fd_set_num_elements(0, end);
    let mut asked = vec![FdSetElement::default(); words];
    fd_set_insert(&mut asked, ready.as_raw_fd());
    Ok(Box::new(Select { ready, end, answered: asked.clone(), asked, row: row.of(IN_A_ROW) }))
}

fn counter(value: u32, flags: EventfdFlags) -> Result<OwnedFd> {
    eventfd(value, flags | EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|e| Error::system("making an eventfd", e))
}

/// What an eventfd holds, without taking it: proc_pid_fdinfo(5), in hexadecimal digits.
fn held(counter: &OwnedFd) -> Result<u64> {
    let path = format!("/proc/self/fdinfo/{}", counter.as_raw_fd());
    let text = read_to_string(&path).map_err(|e| Error::system(format!("reading {path}"), e))?;
    let digits = text.lines().find_map(|line| line.strip_prefix("eventfd-count:"));
    digits
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .ok_or_else(|| Error::Wrong(format!("{path} has no eventfd-count")))
}

/// Reads one of many.
struct TakeOne(OwnedFd, u32);

impl Single for TakeOne {
    fn count(&self) -> u32 {
        self.1
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let mut one = [0; 8];
        (0..self.1)
            .map(|_| u32::from(io::read(&self.0, &mut one) == Ok(8) && u64::from_ne_bytes(one) == 1))
            .sum()
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        let left = held(&self.0)?;
        if left + done == u64::from(PLENTY) {
            return Ok(());
        }
        Err(Error::Wrong(format!("{done} were taken out of {PLENTY}, and {left} are left")))
    }
}

/// Writes a one.
struct AddOne(OwnedFd, u32);

impl Single for AddOne {
    fn count(&self) -> u32 {
        self.1
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.1).map(|_| u32::from(io::write(&self.0, &1u64.to_ne_bytes()) == Ok(8))).sum()
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match held(&self.0)? {
            held if held == done => Ok(()),
            held => Err(Error::Wrong(format!("{done} ones were written, and {held} are there"))),
        }
    }
}

/// The name under which an epoll knows the eventfd at first.
const NAME: u64 = 0x7011;

/// The most descriptors that an epoll names at once here.
const MOST: usize = 8;

/// An epoll, level-triggered, and the one eventfd that it watches.
struct Watched {
    epoll: OwnedFd,
    counter: OwnedFd,
}

impl Watched {
    fn new(value: u32) -> Result<Watched> {
        let refused = |e: Errno| Error::system("making an epoll", e);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(refused)?;
        let counter = counter(value, EventfdFlags::empty())?;
        epoll::add(&epoll, &counter, EventData::new_u64(NAME), EventFlags::IN).map_err(refused)?;
        Ok(Watched { epoll, counter })
    }

    /// One more eventfd that it watches, ready for ever.
    fn another(&self) -> Result<OwnedFd> {
        let another = counter(1, EventfdFlags::empty())?;
        epoll::add(&self.epoll, &another, EventData::new_u64(NAME), EventFlags::IN)
            .map_err(|e| Error::system("adding to an epoll", e))?;
        Ok(another)
    }
}

/// Asks which are ready: none, one, or several.
struct Wait {
    epoll: Watched,
    _others: Vec<OwnedFd>,
    ready: usize,
    row: u32,
}

impl Single for Wait {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let (epoll, mut events) =
            (self.epoll.epoll.as_raw_fd(), [libc::epoll_event { events: 0, u64: 0 }; MOST]);
        (0..self.row)
            .map(|_| {
                // rustix makes epoll_pwait2 of it, which reads a time limit from memory; what programs make is this one.
                // SAFETY: the events are live memory of as many places as are named.
                let there = unsafe {
                    libc::syscall(libc::SYS_epoll_wait, epoll, events.as_mut_ptr(), events.len(), 0)
                };
                let named = self.ready == 0 || { events[0].u64 } == NAME;
                u32::from(there == self.ready as i64 && named)
            })
            .sum()
    }
}

/// Gives the eventfd another name (EPOLL_CTL_MOD).
struct Modify {
    epoll: Watched,
    last: u64,
    row: u32,
}

impl Single for Modify {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let Modify { epoll: Watched { epoll, counter }, last, row } = self;
        (0..*row)
            .map(|_| {
                *last += 1;
                u32::from(
                    epoll::modify(&*epoll, &*counter, EventData::new_u64(*last), EventFlags::IN).is_ok(),
                )
            })
            .sum()
    }

    /// It is known by the last name.
    fn verify(&mut self, done: u64) -> Result<()> {
        let _ = io::write(&self.epoll.counter, &1u64.to_ne_bytes());
        let mut events = [const { MaybeUninit::<Event>::uninit() }; 2];
        let (there, _) = epoll::wait(&self.epoll.epoll, &mut events, Some(&AT_ONCE))
            .map_err(|e| Error::system("asking an epoll", e))?;
        match there {
            [event] if event.data.u64() == NAME + done => Ok(()),
            _ => Err(Error::Wrong(format!("after {done} changes the epoll does not know the last name"))),
        }
    }
}

/// poll(2) of one or several, all of which are ready, or none.
struct Poll {
    counters: Vec<OwnedFd>,
    ready: usize,
    row: u32,
}

impl Poll {
    fn new(asked: usize, ready: usize, row: Row) -> Result<Poll> {
        let made = |at| counter(u32::from(at < ready), EventfdFlags::empty());
        let counters = (0..asked).map(made).collect::<Result<_>>()?;
        Ok(Poll { counters, ready, row: row.of(IN_A_ROW) })
    }
}

impl Single for Poll {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let mut asked = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; MOST];
        for (asked, counter) in asked.iter_mut().zip(&self.counters) {
            asked.fd = counter.as_raw_fd();
        }
        let asked = &mut asked[..self.counters.len()];
        (0..self.row)
            .map(|_| {
                // rustix makes ppoll of it, as with epoll.
                // SAFETY: what is asked about is as many live entries.
                let found = unsafe { libc::syscall(libc::SYS_poll, asked.as_mut_ptr(), asked.len(), 0) };
                let last = asked.last().map_or(0, |asked| asked.revents);
                let named = last == if self.ready > 0 { libc::POLLIN } else { 0 };
                u32::from(found == self.ready as i64 && named)
            })
            .sum()
    }
}

/// select(2) of one that is ready, for reading, as C libraries make it: pselect6.
struct Select {
    ready: OwnedFd,
    /// One more than its number.
    end: i32,
    asked: Vec<FdSetElement>,
    answered: Vec<FdSetElement>,
    row: u32,
}

impl Single for Select {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let Select { end, asked, answered, row, .. } = self;
        (0..*row)
            .map(|_| {
                answered.copy_from_slice(asked);
                // SAFETY: the one descriptor of the set is open: `ready` owns it.
                let one = unsafe { select(*end, Some(answered), None, None, Some(&AT_ONCE)) };
                u32::from(one == Ok(1))
            })
            .sum()
    }

    /// The last answer named the descriptor.
    fn verify(&mut self, _: u64) -> Result<()> {
        let ready = self.ready.as_raw_fd();
        if FdSetIter::new(&self.answered).eq([ready]) {
            return Ok(());
        }
        Err(Error::Wrong("select did not name the descriptor that is ready".into()))
    }
}
