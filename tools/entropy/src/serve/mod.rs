//! `tollway entropy serve`: one generator for many virtual machines.

mod config;
mod document;
mod log;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, getrlimit, setrlimit};
use signal_hook::consts::SIGHUP;
use tollway_core::Error;
use tollway_entropy::engine::condition::Conditioned;
use tollway_entropy::engine::health::{Monitored, Settings};
use tollway_entropy::engine::serve::{Options, Server, Tenant, Told};
use tollway_entropy::engine::source::Source;
use tollway_service::log::say;
use tollway_service::{Signals, TenantLog, status};
use tollway_virtio::socket::{Listener, Meeting};

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
        let meeting = if tenant.connect {
            Meeting::Call(tenant.socket.clone())
        } else {
            Meeting::Listen(Listener::bind(&tenant.socket, config.mode)?)
        };
        tenants.push(Tenant { name: tenant.name.clone(), meeting, share: tenant.share });
    }
    let log = TenantLog::new(config.tenants.iter().map(|tenant| tenant.name.clone()).collect());
    let (over, waker) = UnixStream::pair().context("making a socket")?;
    for end in [&over, &waker] {
        end.set_nonblocking(true).context("making a socket")?;
    }
    let tell = move |told| {
        log::tell(&log, &told);
        if let Told::Over { .. } = told {
            // Full: it has been woken before.
            let _ = (&waker).write(&[1]);
        }
    };
    let server = Server::start(tenants, sources, Options { quantum: config.quantum }, tell)?;
    say_ready(&config, json)?;
    let ended = wait(&signals, &over, options, config, &server, status.as_ref());
    say("stopping", &[]);
    server.stop();
    ended
}

/// Has this process as many descriptors as it may: a machine takes a dozen, and the usual limit is 1024.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Then there are as many as there are.
    let _ = setrlimit(Resource::Nofile, limit);
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

/// One line, as soon as virtual machines can connect.
fn say_ready(config: &Config, json: bool) -> Result<()> {
    let at = |path: &Path| path.display().to_string();
    let mut out = io::stdout().lock();
    if json {
        let tenants = config.tenants.iter().map(|tenant| (tenant.name.clone(), at(&tenant.socket).into()));
        let line = serde_json::json!({
            "ready": true,
            "source": config.source.to_string(),
            "tenants": serde_json::Value::Object(tenants.collect()),
            "status": config.status.as_deref().map(at),
        });
        writeln!(out, "{line}")?;
    } else {
        let tenants: Vec<String> = config
            .tenants
            .iter()
            .map(|tenant| format!("{} at {}", tenant.name, at(&tenant.socket)))
            .collect();
        let status =
            config.status.as_deref().map_or("no status".into(), |path| format!("status at {}", at(path)));
        writeln!(out, "ready: {}; {status}", tenants.join(", "))?;
    }
    out.flush()?;
    Ok(())
}

/// Answers who asks for the state, and takes limits over, until it is told to end, or no source gives any more.
fn wait(
    signals: &Signals,
    over: &UnixStream,
    options: &Serve,
    mut config: Config,
    server: &Server,
    status: Option<&Listener>,
) -> Result<()> {
    loop {
        let mut watched = vec![PollFd::new(signals, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        watched.extend(status.map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)));
        match poll(&mut watched, Some(&crate::LOOK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("waiting for signals", error).into()),
        }
        signals.drain();
        if signals.end() {
            return Ok(());
        }
        server.look();
        let mut noticed = [0; 64];
        while (&*over).read(&mut noticed).is_ok_and(|read| read == noticed.len()) {}
        if server.is_over() {
            let reasons = server.status().workers.into_iter().filter_map(|worker| worker.reason);
            let reasons: Vec<String> = reasons.collect();
            return Err(Error::system("drawing random bytes", reasons.join("; ")).into());
        }
        if signals.take_asked() {
            match &options.config {
                None => say("reload", &[("reason", "there is no --config to read again")]),
                Some(file) => match Config::read(file) {
                    Err(error) => say("reload-refused", &[("reason", &format!("{error:#}"))]),
                    Ok(new) => {
                        take_over(&mut config, &new, server);
                        let kept = config.differs(&new).join(", ");
                        say(
                            "reloaded",
                            &[("needs-a-new-start", if kept.is_empty() { "nothing" } else { &kept })],
                        );
                    }
                },
            }
        }
        if let Some(listener) = status {
            status::answer(listener, || StatusDocument::from(server.status()));
        }
    }
}

/// Takes over what tenants of the same name are entitled to.
fn take_over(config: &mut Config, new: &Config, server: &Server) {
    for (number, tenant) in config.tenants.iter_mut().enumerate() {
        let Some(wanted) = new.tenants.iter().find(|other| other.name == tenant.name) else { continue };
        if wanted.share != tenant.share {
            tenant.share = wanted.share;
            server.change(number, wanted.share);
        }
    }
}
