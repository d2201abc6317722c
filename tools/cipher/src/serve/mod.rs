//! `tollway cipher serve`: one crypto device for many virtual machines, of one card or several.

mod config;
mod document;
mod log;
mod warnings;

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::{DumpableBehavior, Resource, getrlimit, set_dumpable_behavior, setrlimit};
use signal_hook::consts::SIGHUP;
use tollway_cipher::engine::device::{Card, Told};
use tollway_core::Error;
use tollway_service::log::say;
use tollway_service::{Signals, TenantLog, status};
use tollway_virtio::socket::Listener;

use crate::args::serve::Serve;
use config::Config;
pub use document::StatusDocument;

/// Serves until a signal ends it.
///
/// # Errors
/// What was asked for cannot be.
pub fn run(options: &Serve, json: bool) -> Result<()> {
    let config = Config::of(options)?;
    let signals = Signals::new(SIGHUP)?;
    keep_keys()?;
    raise_descriptors();
    let status = config.status.as_deref().map(|path| Listener::bind(path, config.mode)).transpose()?;
    let functions = config.functions()?;
    let log = TenantLog::new(functions.iter().map(|function| function.name.clone()).collect());
    let over = Arc::new(
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::system("making an eventfd", e))?,
    );
    let rings = over.clone();
    let card = Card::start(functions, &config.options, move |told| {
        log::tell(&log, &told);
        if told == Told::Over {
            let _ = rustix::io::write(&*rings, &1u64.to_ne_bytes());
        }
    })?;
    warnings::tell(&config);
    say_ready(&config, json)?;
    let ended = wait(&signals, &over, options, config, &card, status.as_ref());
    say("stopping", &[]);
    card.stop();
    ended
}

/// Has this process leave no core dump, and no other process look into it, that has no right to look into any: keys are in its
/// memory.
fn keep_keys() -> Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| Error::system("forbidding core dumps", e))?;
    let mut limit = getrlimit(Resource::Core);
    (limit.current, limit.maximum) = (Some(0), Some(0));
    setrlimit(Resource::Core, limit).map_err(|e| Error::system("forbidding core dumps", e).into())
}

/// Has this process as many descriptors as it may: a machine takes a dozen, and the usual limit is 1024.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Then there are as many as there are.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// One line, as soon as virtual machines can connect.
fn say_ready(config: &Config, json: bool) -> Result<()> {
    let at = |path: &Path| path.display().to_string();
    let mut out = io::stdout().lock();
    let peers = config.functions.iter().map(|function| &function.peer);
    if json {
        let functions = peers.map(|peer| (peer.name.clone(), at(&peer.socket).into()));
        let line = serde_json::json!({
            "ready": true,
            "functions": serde_json::Value::Object(functions.collect()),
            "status": config.status.as_deref().map(at),
        });
        writeln!(out, "{line}")?;
    } else {
        let functions: Vec<String> =
            peers.map(|peer| format!("{} at {}", peer.name, at(&peer.socket))).collect();
        let status =
            config.status.as_deref().map_or("no status".into(), |path| format!("status at {}", at(path)));
        writeln!(out, "ready: {}; {status}", functions.join(", "))?;
    }
    out.flush()?;
    Ok(())
}

/// Answers who asks for the state, and takes over what may change, until it is told to end.
fn wait(
    signals: &Signals,
    over: &OwnedFd,
    options: &Serve,
    mut config: Config,
    card: &Card,
    status: Option<&Listener>,
) -> Result<()> {
    loop {
        let mut watched = vec![PollFd::new(signals, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        watched.extend(status.map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)));
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("waiting for signals", error).into()),
        }
        if watched[1].revents().contains(PollFlags::IN) {
            return Err(Error::Wrong(
                "nobody new is served any more: each card has failed, or what answers messages has".into(),
            )
            .into());
        }
        signals.drain();
        if signals.end() {
            return Ok(());
        }
        if signals.take_asked() {
            match options.config.as_deref().map(Config::read) {
                None => say("reload", &[("reason", "there is no --config to read again")]),
                Some(Err(error)) => say("reload-refused", &[("reason", &format!("{error:#}"))]),
                Some(Ok(new)) => {
                    for (number, function) in config.take_over(&new) {
                        card.change(number, function.peer.share, function.delivery);
                    }
                    warnings::tell(&config);
                    let kept = config.differs(&new).join(", ");
                    say(
                        "reloaded",
                        &[("needs-a-new-start", if kept.is_empty() { "nothing" } else { &kept })],
                    );
                }
            }
        }
        if let Some(listener) = status {
            status::answer(listener, || StatusDocument::from(card.status()));
        }
    }
}
