//! A data queue of a tenant.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_virtio::frontend::{self, Lane};
use tollway_virtio::{Area, Span};

use super::slot::{LONGEST_IV, Slots};
use super::waiting::{Looks, Waiter, Waiting};
use crate::engine::protocol::{Request, Status, Work};
use crate::engine::suite::Algorithm;

/// A session that a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The number by which the device knows it.
    pub number: u64,
    /// What it does.
    pub algorithm: Algorithm,
}

/// What is to be done to bytes in the shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// By which session.
    pub session: Handle,
    /// What it is.
    pub work: Work,
    /// The IV, counter or tweak: 16 bytes at most.
    pub iv: &'a [u8],
    /// What it is done to; to verify, the signature and after it the digest.
    pub source: &'a [Span],
    /// What is authenticated and not encrypted.
    pub associated: &'a [Span],
    /// Where the result goes.
    pub result: &'a [Span],
    /// Of [`Work::Verify`], how many bytes of the source are the digest.
    pub digest: u32,
}

impl<'a> Operation<'a> {
    /// One that only has a source and a result.
    #[inline]
    pub fn new(
        session: Handle,
        work: Work,
        iv: &'a [u8],
        source: &'a [Span],
        result: &'a [Span],
    ) -> Operation<'a> {
        Operation { session, work, iv, source, associated: &[], result, digest: 0 }
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it was submitted under.
    pub token: u64,
    /// How it ended.
    pub status: Status,
    /// Bytes of the result.
    pub bytes: u32,
}

/// A data queue. As a descriptor it is what the device calls by.
#[derive(Debug)]
pub struct DataQueue {
    lane: Lane,
    slots: Slots,
    waiter: Waiter,
    /// The pieces of the request that is being submitted: made once for all of them.
    readable: Vec<Span>,
    writable: Vec<Span>,
}

fn sum(spans: &[Span]) -> u32 {
    // What is too long is refused when it is submitted.
    spans.iter().fold(0, |all, span| all.saturating_add(span.bytes))
}

impl DataQueue {
    /// `at`: where its slots begin.
    pub(super) fn new(mut lane: Lane, at: usize, depth: u16, waiting: Waiting) -> Result<DataQueue> {
        let slots = Slots::new(lane.area().clone(), at, depth);
        let waiter = Waiter::new(waiting, &mut lane)?;
        let pieces = || Vec::with_capacity(64);
        Ok(DataQueue { lane, slots, waiter, readable: pieces(), writable: pieces() })
    }

    /// The shared memory.
    pub fn area(&self) -> &Area {
        self.lane.area()
    }

    /// Adds a request, which the device does not see until [`kick`](DataQueue::kick). Whether there was room for it.
    ///
    /// # Errors
    /// [`Error::Input`] for an IV that is too long, empty pieces, or such outside of the memory.
    #[inline]
    pub fn submit(&mut self, token: u64, operation: &Operation<'_>) -> Result<bool> {
        let Operation { session, work, iv, source, associated, result, digest } = *operation;
        if iv.len() > LONGEST_IV {
            return Err(Error::Input {
                place: "a request for a crypto device".into(),
                reason: format!("an IV of {} bytes", iv.len()),
                remedy: format!("let it have at most {LONGEST_IV}"),
            });
        }
        let request = Request {
            session: session.number,
            work,
            iv: iv.len() as u32,
            source: sum(source).saturating_sub(digest),
            associated: sum(associated),
            result: if work == Work::Verify { digest } else { sum(result) },
        };
        let Some(slot) = self.slots.fill(token, &request.compose(session.algorithm), iv) else {
            return Ok(false);
        };
        let [fixed, iv, status] = self.slots.parts(slot, iv.len());
        self.readable.clear();
        self.readable.push(fixed);
        if iv.bytes > 0 {
            self.readable.push(iv);
        }
        self.readable.extend_from_slice(source);
        self.readable.extend_from_slice(associated);
        self.writable.clear();
        self.writable.extend_from_slice(result);
        self.writable.push(status);
        let submitted = self.lane.submit(u64::from(slot), &self.readable, &self.writable);
        if !matches!(submitted, Ok(true)) {
            self.slots.empty(slot);
        }
        submitted
    }

    /// Has the device see what was submitted, and kicks it if it wants to be told. Whether it was.
    pub fn kick(&mut self) -> bool {
        self.lane.kick()
    }

    /// Has the device see what was submitted; whether it wants to be kicked for it, by whoever kicks in this queue's stead
    /// ([`Sessions::wire`](super::Sessions::wire)).
    #[inline]
    pub fn wants_kick(&mut self) -> bool {
        self.lane.wants_kick()
    }

    /// Takes a request that is done, if there is one.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the device does not keep to the protocol.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Completion>> {
        let found = self.waiter.take(&mut self.lane)?;
        found.map(|found| self.done(found)).transpose()
    }

    /// Takes a request that is done within so long, waiting as [`Waiting`] says.
    ///
    /// # Errors
    /// As [`DataQueue::take`]; and [`Error::System`] if the device is gone.
    #[inline]
    pub fn wait(&mut self, most: Duration) -> Result<Option<Completion>> {
        let found = self.waiter.wait(&mut self.lane, most)?;
        found.map(|found| self.done(found)).transpose()
    }

    /// The same for a driver that makes no system call, in a micro-guest: where another would sleep, `idle` returns when the device
    /// has called since the last time. One that is called after it has looked for a while does so until `is_over`; one that is
    /// never called takes a few looks, and comes back. It may come back without anything.
    ///
    /// # Errors
    /// As [`DataQueue::take`].
    #[inline]
    pub fn wait_idle(
        &mut self,
        is_over: impl Fn() -> bool,
        idle: impl FnOnce(),
    ) -> Result<Option<Completion>> {
        let found = self.waiter.wait_idle(&mut self.lane, is_over, idle)?;
        found.map(|found| self.done(found)).transpose()
    }

    #[inline]
    fn done(&mut self, found: frontend::Completion) -> Result<Completion> {
        let (token, status) = self.slots.empty(found.token as u16);
        match (Status::of(status), found.written.checked_sub(1)) {
            (Some(status), Some(bytes)) => Ok(Completion { token, status, bytes }),
            (_, written) => {
                let reason = format!("a request came back with status {status} and {written:?} bytes");
                Err(Error::Wrong(format!("the crypto device keeps to no protocol: {reason}")))
            }
        }
    }

    /// How many more requests there is room for, if each takes one descriptor.
    pub fn room(&self) -> usize {
        self.slots.free()
    }

    /// How many were submitted and not taken.
    pub fn in_flight(&self) -> usize {
        self.lane.in_flight()
    }

    /// How completions are learnt of.
    pub fn waiting(&self) -> Waiting {
        self.waiter.way()
    }

    /// What that has cost so far.
    pub fn looks(&self) -> Looks {
        self.waiter.looks
    }
}

impl AsFd for DataQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lane.as_fd()
    }
}
