//! What to serve, to whom: from the command line or from a file.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tollway_core::Result;
use tollway_entropy::engine::source::Kind;
use tollway_service::config::{self, wrong};
use tollway_service::peer::{self, Peer, mode, places, share};

use crate::args::serve::Serve;

/// All that a server is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) tenants: Vec<Peer>,
    pub(super) source: Kind,
    pub(super) conditioned: bool,
    pub(super) threads: u32,
    pub(super) status: Option<PathBuf>,
    pub(super) mode: u32,
    pub(super) quantum: usize,
}

/// A file, word by word.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default = "rdrand")]
    source: String,
    #[serde(default)]
    conditioned: bool,
    #[serde(default = "one")]
    threads: u32,
    status: Option<PathBuf>,
    #[serde(default = "private")]
    mode: String,
    #[serde(default = "quantum")]
    quantum: usize,
    #[serde(default)]
    tenant: Vec<WrittenTenant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTenant {
    name: String,
    socket: PathBuf,
    #[serde(default)]
    connect: bool,
    limit: Option<u64>,
    burst: Option<u64>,
    #[serde(default = "one")]
    weight: u32,
}

fn rdrand() -> String {
    "rdrand".into()
}

fn one() -> u32 {
    1
}

fn private() -> String {
    "600".into()
}

fn quantum() -> usize {
    4096
}

/// Whether it is a plain file or a disk; what is not there is told of when it is opened.
fn stays(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() || data.file_type().is_block_device())
}

impl Config {
    /// As the command line has it.
    pub(super) fn of(options: &Serve) -> Result<Config> {
        if let Some(file) = &options.config {
            return Config::read(file);
        }
        let config = Config {
            tenants: options.tenants.clone(),
            source: options.source.clone(),
            conditioned: options.conditioned,
            threads: options.threads,
            status: options.status.clone(),
            mode: options.mode,
            quantum: options.quantum as usize,
        };
        config.checked("the command line")
    }

    /// As a file has it.
    pub(super) fn read(file: &Path) -> Result<Config> {
        Config::parse(&config::read(file)?, &file.display().to_string())
    }

    fn parse(text: &str, place: &str) -> Result<Config> {
        let written: Written = config::parse(text, place, "examples/entropy/serve.toml")?;
        let mut tenants = Vec::new();
        for tenant in written.tenant {
            let share = share(tenant.limit, tenant.burst, tenant.weight)
                .map_err(|e| wrong(&format!("{place}: tenant {}", tenant.name), e, "change it there"))?;
            tenants.push(Peer { name: tenant.name, socket: tenant.socket, connect: tenant.connect, share });
        }
        let source = written.source.parse().map_err(|e: String| wrong(place, e, "change `source`"))?;
        let config = Config {
            tenants,
            source,
            conditioned: written.conditioned,
            threads: written.threads,
            status: written.status,
            mode: mode(&written.mode).map_err(|e| wrong(place, e, "change `mode`"))?,
            quantum: written.quantum,
        };
        config.checked(place)
    }

    fn checked(self, place: &str) -> Result<Config> {
        peer::check(&self.tenants, self.status.as_deref(), place)?;
        if !(1..=256).contains(&self.threads) {
            return Err(wrong(place, format!("{} threads", self.threads), "use 1 to 256"));
        }
        if !(64..=65_536).contains(&self.quantum) {
            return Err(wrong(place, format!("a quantum of {}", self.quantum), "use 64 to 65536 bytes"));
        }
        if let Kind::Path(path) = &self.source
            && stays(path)
        {
            let reason = format!(
                "{} has the same bytes at every start, and guests would be given them again",
                path.display()
            );
            return Err(wrong(place, reason, "take a device or a pipe"));
        }
        if let (Kind::Path(path), 2..) = (&self.source, self.threads) {
            let reason =
                format!("several threads would read {} each, perhaps the same bytes", path.display());
            return Err(wrong(place, reason, "use one thread"));
        }
        Ok(self)
    }

    /// What another has that cannot be taken over while serving.
    pub(super) fn differs(&self, other: &Config) -> Vec<&'static str> {
        let mut found = Vec::new();
        let mut say = |differs: bool, what| found.extend(differs.then_some(what));
        say(places(&self.tenants) != places(&other.tenants), "tenants and their sockets");
        say(self.source != other.source || self.conditioned != other.conditioned, "the source");
        say(self.threads != other.threads, "threads");
        say(self.status != other.status, "the status socket");
        say(self.mode != other.mode, "permissions");
        say(self.quantum != other.quantum, "the quantum");
        found
    }
}

#[cfg(test)]
mod tests {
    use tollway_virtio::order::Share;

    use super::*;

    const EXAMPLE: &str = include_str!("../../../../examples/entropy/serve.toml");

    #[test]
    fn the_example_is_read_whole() {
        let config = Config::parse(EXAMPLE, "example").unwrap();
        let names: Vec<&str> = config.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        assert_eq!(names, ["web", "database"]);
        assert!(config.tenants[1].connect && !config.tenants[0].connect);
        assert_eq!(
            config.tenants[1].share,
            Share { weight: 2, limit: Some((1_000_000, 65_536)), ..Share::default() }
        );
        assert_eq!((config.source.clone(), config.conditioned), (Kind::Rdrand, true));
        assert_eq!((config.threads, config.mode, config.quantum), (2, 0o660, 4096));
        assert!(config.status.is_some());
        assert!(config.differs(&config).is_empty());
        let mut other = config.clone();
        other.tenants.reverse();
        other.tenants[0].share.weight = 9;
        assert!(config.differs(&other).is_empty());
        other.tenants[0].socket = "elsewhere".into();
        other.threads = 1;
        assert_eq!(config.differs(&other), ["tenants and their sockets", "threads"]);
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_place_and_remedy() {
        let tenant = "[[tenant]]\nname = \"a\"\nsocket = \"a.sock\"\n";
        for (text, told) in [
            ("", "nobody to serve"),
            ("sauce = 1", "unknown field"),
            ("threads = 0\n[[tenant]]\nname = \"a\"\nsocket = \"s\"", "use 1 to 256"),
            ("quantum = 1\n[[tenant]]\nname = \"a\"\nsocket = \"s\"", "64 to 65536"),
            ("mode = \"7\"\n[[tenant]]\nname = \"a\"\nsocket = \"s\"", "change `mode`"),
            ("source = \"dice\"\n[[tenant]]\nname = \"a\"\nsocket = \"s\"", "no source `dice`"),
            ("source = \"./f\"\nthreads = 2\n[[tenant]]\nname = \"a\"\nsocket = \"s\"", "same bytes"),
            ("status = \"s\"\n[[tenant]]\nname = \"a\"\nsocket = \"s\"", "named twice"),
            (&format!("{tenant}{tenant}"), "two are called a"),
            (&format!("{tenant}weight = 0"), "tenant a: weight 0"),
            ("[[tenant]]\nname = \"\"\nsocket = \"s\"", "is no name"),
            ("[[tenant]]\nname = \"a\"\nsocket = \"\"", "has no socket"),
        ] {
            let error = Config::parse(text, "file.toml").unwrap_err().to_string();
            assert!(error.starts_with("file.toml") && error.contains(told), "{text}: {error}");
        }
    }
}
