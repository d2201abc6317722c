//! `tollway entropy serve`: one generator for many virtual machines.

mod config;
mod document;
mod log;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rustix::event::Timespec;
use signal_hook::consts::SIGHUP;
use tollway_core::Error;
use tollway_entropy::engine::condition::Conditioned;
use tollway_entropy::engine::health::{Monitored, Settings};
use tollway_entropy::engine::serve::{Options, Server, Tenant, Told};
use tollway_entropy::engine::source::Source;
use tollway_service::serving::{raise_descriptors, say_ready, serve};
use tollway_service::{Service, Signals, TenantLog};
use tollway_virtio::socket::Listener;

use crate::args::serve::Serve;
use config::Config;
pub use document::StatusDocument;

/// Serves until a signal ends it.
///
/// # Errors
/// What was asked for cannot be, or no source gives any more.
pub fn run(options: &Serve, json: bool) -> Result<()> {
    let config = Config::of(options)?;
    let signals = Signals::new(SIGHUP)?;
    raise_descriptors();
    let sources = (0..config.threads).map(|_| source(&config)).collect::<Result<Vec<_>>>()?;
    let status = config.status.as_deref().map(|path| Listener::bind(path, config.mode)).transpose()?;
    let mut tenants = Vec::new();
    for tenant in &config.tenants {
        let meeting = tenant.meeting(config.mode)?;
        tenants.push(Tenant { name: tenant.name.clone(), meeting, share: tenant.share });
    }
    let log = TenantLog::new(config.tenants.iter().map(|tenant| tenant.name.clone()).collect());
    let waker = signals.waker()?;
    let tell = move |told| {
        log::tell(&log, &told);
        if let Told::Over { .. } = told {
            waker.wake();
        }
    };
    let server = Server::start(tenants, sources, Options { quantum: config.quantum }, tell)?;
    let source = ("source", config.source.to_string());
    say_ready(json, "tenants", &config.tenants, config.status.as_deref(), &[source])?;
    let mut serving = Serving { server, config };
    let ended = serve(&mut serving, &signals, options.config.as_deref(), status.as_ref());
    serving.server.stop();
    ended
}

/// What one thread draws from: the source, under health tests, and conditioned if that is wanted.
fn source(config: &Config) -> Result<Box<dyn Source>> {
    // One that stops is noticed after eight seconds.
    let settings =
        Settings { least_rate: Some(64.0), rate_over: Duration::from_secs(8), ..Settings::default() };
    let source = Monitored::new(config.source.open().map_err(Error::from)?, settings)?;
    if !config.conditioned {
        return Ok(Box::new(source));
    }
    Ok(Box::new(Conditioned::of(source).map_err(Error::from)?))
}

/// The generator, and what it was told.
struct Serving {
    server: Server,
    config: Config,
}

impl Service for Serving {
    type State = StatusDocument;

    const LOOK: Option<Timespec> = Some(crate::LOOK);

    fn look(&mut self) -> Result<()> {
        self.server.look();
        if self.server.is_over() {
            let reasons = self.server.status().workers.into_iter().filter_map(|worker| worker.reason);
            let reasons: Vec<String> = reasons.collect();
            return Err(Error::system("drawing random bytes", reasons.join("; ")).into());
        }
        Ok(())
    }

    /// Takes over what tenants of the same name are entitled to.
    fn reload(&mut self, config: &Path) -> Result<Vec<&'static str>> {
        let new = Config::read(config)?;
        for (number, tenant) in self.config.tenants.iter_mut().enumerate() {
            let Some(wanted) = new.tenants.iter().find(|other| other.name == tenant.name) else { continue };
            if wanted.share != tenant.share {
                tenant.share = wanted.share;
                self.server.change(number, wanted.share);
            }
        }
        Ok(self.config.differs(&new))
    }

    fn state(&self) -> StatusDocument {
        self.server.status().into()
    }
}
