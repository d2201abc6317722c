//! Signals as something to wait for: SIGTERM and SIGINT end a service, another asks something of it.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

/// What signals have asked for.
#[derive(Debug)]
pub struct Signals {
    woken: UnixStream,
    waker: UnixStream,
    end: Arc<AtomicBool>,
    asked: Arc<AtomicBool>,
}

impl Signals {
    /// Takes notice from now on; `asks` is the signal that asks.
    ///
    /// # Errors
    /// If the system takes no handler.
    pub fn new(asks: i32) -> Result<Signals> {
        let doing = "taking notice of signals";
        let (woken, waker) = UnixStream::pair().context(doing)?;
        for socket in [&woken, &waker] {
            socket.set_nonblocking(true).context(doing)?;
        }
        let (end, asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        for (signal, flag) in [(SIGTERM, &end), (SIGINT, &end), (asks, &asked)] {
            // In this order: who is woken finds the flag.
            signal_hook::flag::register(signal, flag.clone()).context(doing)?;
            signal_hook::low_level::pipe::register(signal, waker.try_clone().context(doing)?)
                .context(doing)?;
        }
        Ok(Signals { woken, waker, end, asked })
    }

    /// What wakes whoever waits here.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn waker(&self) -> Result<Waker> {
        self.waker.try_clone().map(Waker).context("making a socket")
    }

    /// To be called when there is something to read: it has been noticed.
    pub fn drain(&self) {
        let mut bytes = [0; 64];
        while (&self.woken).read(&mut bytes).is_ok_and(|read| read > 0) {}
    }

    /// Whether to end.
    pub fn end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether somebody asked since this was called last.
    pub fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

/// Wakes whoever waits for signals, in the place of one.
#[derive(Debug)]
pub struct Waker(UnixStream);

impl Waker {
    /// Does so; waits for nobody.
    pub fn wake(&self) {
        // Full: it has been woken before.
        let _ = (&self.0).write(&[1]);
    }
}
