//! A network namespace without a name: made by a thread of its own, held by a descriptor, gone with the last of them,
//! however the process ends.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use tollway_core::Missing;

use crate::{WireError, set_up};

/// Interfaces, addresses and routes of their own, with an interface `lo` that is up.
#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
}

impl Namespace {
    /// A new one. Needs CAP_SYS_ADMIN. Nobody speaks in it but who is made to: IPv6 is off, which would send
    /// solicitations and reports of its own.
    ///
    /// # Errors
    /// [`WireError::Missing`] if this process may not.
    pub fn new() -> Result<Namespace, WireError> {
        on_own_thread("making a network namespace", || {
            // SAFETY: of this thread, which was made for it, only the network is changed: no memory, no descriptors.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| {
                let remedy = match error {
                    rustix::io::Errno::NOSPC => "raise it: sysctl user.max_net_namespaces",
                    _ => "run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN",
                };
                WireError::Missing(Missing::new("a network namespace", error.to_string(), remedy))
            })?;
            for scope in ["default", "all"] {
                // A kernel without IPv6 has no such file, and is as silent.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
            }
            set_up("lo", true)?;
            Namespace::current()
        })
    }

    /// The one in which the calling thread is.
    ///
    /// # Errors
    /// If /proc is not mounted.
    pub fn current() -> Result<Namespace, WireError> {
        Namespace::at("/proc/thread-self/ns/net")
    }

    /// The one that a file stands for: /proc/PID/fd/N is how another process of this user reaches one that has no name.
    ///
    /// # Errors
    /// If there is no such file, or this process may not open it. That it is no network namespace shows when it is entered.
    pub fn at(path: &str) -> Result<Namespace, WireError> {
        let file = File::open(path).map_err(|error| WireError::system(format!("opening {path}"), error))?;
        Ok(Namespace { descriptor: file.into() })
    }

    /// Moves the calling thread into it, for good. Sockets it has opened stay where they were opened.
    ///
    /// # Errors
    /// [`WireError::Missing`] without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<(), WireError> {
        move_into_link_name_space(self.descriptor.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| WireError::system("entering a network namespace", error))
    }

    /// Runs something in it, on a thread that is gone afterwards. What it opens can be taken out.
    ///
    /// # Errors
    /// That of entering.
    ///
    /// # Panics
    /// If `inside` does.
    pub fn run<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, WireError> {
        on_own_thread("entering a network namespace", || {
            self.enter()?;
            Ok(inside())
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// What `work` answers, on a thread that ends with it.
fn on_own_thread<T: Send>(
    doing: &str,
    work: impl FnOnce() -> Result<T, WireError> + Send,
) -> Result<T, WireError> {
    thread::scope(|scope| {
        let started = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work);
        let thread = started.map_err(|error| WireError::system(doing, error))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
