//! `tollway cipher serve`: one crypto device for many virtual machines, of one card or several.

mod config;
mod document;
mod log;
mod warnings;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rustix::process::{DumpableBehavior, Resource, getrlimit, set_dumpable_behavior, setrlimit};
use signal_hook::consts::SIGHUP;
use tollway_cipher::engine::device::{Card, Told};
use tollway_core::Error;
use tollway_service::serving::{raise_descriptors, say_ready, serve};
use tollway_service::{Service, Signals, TenantLog};
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
    let (over, waker) = (Arc::new(AtomicBool::new(false)), signals.waker()?);
    let ends = over.clone();
    let card = Card::start(functions, &config.options, move |told| {
        log::tell(&log, &told);
        if told == Told::Over {
            ends.store(true, Ordering::Release);
            waker.wake();
        }
    })?;
    warnings::tell(&config);
    say_ready(json, "functions", config.peers(), config.status.as_deref(), &[])?;
    let mut serving = Serving { card, over, config };
    let ended = serve(&mut serving, &signals, options.config.as_deref(), status.as_ref());
    serving.card.stop();
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

/// The card, and what it was told.
struct Serving {
    card: Card,
    /// Whether nobody new is served any more.
    over: Arc<AtomicBool>,
    config: Config,
}

impl Service for Serving {
    type State = StatusDocument;

    fn look(&mut self) -> Result<()> {
        if self.over.load(Ordering::Acquire) {
            return Err(Error::Wrong(
                "nobody new is served any more: each card has failed, or what answers messages has".into(),
            )
            .into());
        }
        Ok(())
    }

    fn reload(&mut self, config: &Path) -> Result<Vec<&'static str>> {
        let new = Config::read(config)?;
        for (number, function) in self.config.take_over(&new) {
            self.card.change(number, function.peer.share, function.delivery);
        }
        warnings::tell(&self.config);
        Ok(self.config.differs(&new))
    }

    fn state(&self) -> StatusDocument {
        self.card.status().into()
    }
}
