//! Feeding as a service: signals, the state for whoever asks, and an end that waits for nobody.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGUSR1};
use tollway_entropy::engine::feed::{Kernel, rest};
use tollway_service::{Signals, log, status};
use tollway_virtio::socket::Listener;

use super::worker::{self, Progress};
use crate::args::feed::Feed;

/// How long the thread that feeds has to end. Beyond that it waits for its source, perhaps for ever.
const PATIENCE: Duration = Duration::from_secs(1);

/// Feeds until a signal ends it.
///
/// # Errors
/// There is no such source, it has ended, or the kernel refuses.
pub fn run(options: &Feed, kernel: Kernel, json: bool) -> Result<()> {
    let signals = Signals::new(SIGUSR1)?;
    // A terminal that goes away ends it, unless it was started under nohup(1).
    let hangups = if is_ignored(SIGHUP) { None } else { Some(Signals::new(SIGHUP)?) };
    let listener = options.status.as_deref().map(|path| Listener::bind(path, 0o600)).transpose()?;
    let progress = Arc::new(Progress::new(options));
    let (stop, stopped) = UnixStream::pair().context("making a socket")?;
    // Its other end is gone when the thread has ended, however it did.
    let (done, doing) = UnixStream::pair().context("making a socket")?;
    let worker = {
        let (options, progress) = (options.clone(), progress.clone());
        thread::spawn(move || {
            let _doing = doing;
            worker::work(&options, kernel, json, &progress, &stopped)
        })
    };
    loop {
        let mut watched = vec![PollFd::new(&signals, PollFlags::IN), PollFd::new(&done, PollFlags::IN)];
        watched.extend(listener.as_ref().map(|one| PollFd::new(one, PollFlags::IN)));
        watched.extend(hangups.as_ref().map(|one| PollFd::new(one, PollFlags::IN)));
        match poll(&mut watched, Some(&crate::LOOK)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(anyhow!("waiting for signals: {error}")),
        }
        let ended = !watched[1].revents().is_empty();
        progress.look();
        signals.drain();
        hangups.iter().for_each(Signals::drain);
        if signals.end() || hangups.as_ref().is_some_and(Signals::take_asked) {
            let fed = progress.fed();
            let (portions, bits) = (fed.portions.to_string(), fed.bits.to_string());
            log::say("stopping", &[("portions", &portions), ("bits", &bits)]);
            drop(stop);
            rest(PATIENCE, done.as_fd())?;
            return if worker.is_finished() { joined(worker) } else { Ok(()) };
        }
        if ended {
            return joined(worker);
        }
        if signals.take_asked() {
            let line = serde_json::to_string(&progress.document())?;
            log::answer(&line);
        }
        if let Some(listener) = &listener {
            status::answer(listener, || progress.document());
        }
    }
}

/// Whether this process was started with that signal ignored.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero bytes are a valid sigaction, which the call fills in; it changes nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

fn joined(worker: thread::JoinHandle<Result<()>>) -> Result<()> {
    worker.join().unwrap_or_else(|_| Err(anyhow!("the thread that feeds has died")))
}
