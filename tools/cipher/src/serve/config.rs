//! What to serve, to whom: from the command line or from a file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tollway_cipher::engine::device::{Delivery, LONGEST, NewFunction, Options};
use tollway_core::Result;
use tollway_service::config::{self, wrong};
use tollway_service::peer::{self, Peer, mode, places, share};

use crate::args::serve::{FunctionOption, OrderWord, Serve, delivery, time};

/// All that a card is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) functions: Vec<FunctionOption>,
    pub(super) status: Option<PathBuf>,
    pub(super) mode: u32,
    pub(super) options: Options,
}

/// A file, word by word.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default = "one")]
    cards: u32,
    #[serde(default = "one")]
    engines: u32,
    #[serde(default)]
    order: OrderWord,
    #[serde(default = "one")]
    queues: u32,
    #[serde(default = "thousand")]
    sessions: u32,
    #[serde(default = "longest")]
    longest: u64,
    #[serde(default = "zero")]
    spin: String,
    status: Option<PathBuf>,
    #[serde(default = "private")]
    mode: String,
    #[serde(default)]
    function: Vec<WrittenFunction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFunction {
    name: String,
    socket: PathBuf,
    #[serde(default)]
    connect: bool,
    limit: Option<u64>,
    burst: Option<u64>,
    #[serde(default = "one")]
    weight: u32,
    #[serde(default)]
    rank: u8,
    #[serde(default = "each")]
    tell: String,
}

fn one() -> u32 {
    1
}

fn thousand() -> u32 {
    1024
}

fn longest() -> u64 {
    LONGEST
}

fn zero() -> String {
    "0".into()
}

fn private() -> String {
    "600".into()
}

fn each() -> String {
    "each".into()
}

impl Config {
    /// As the command line has it.
    pub(super) fn of(serve: &Serve) -> Result<Config> {
        if let Some(file) = &serve.config {
            return Config::read(file);
        }
        let config = Config {
            functions: serve.functions.clone(),
            status: serve.status.clone(),
            mode: serve.mode,
            options: Options {
                cards: serve.cards as usize,
                engines: serve.engines as usize,
                discipline: serve.order.into(),
                queues: serve.queues as usize,
                sessions: serve.sessions as usize,
                longest: serve.longest,
                spin: serve.spin,
                ..Options::default()
            },
        };
        config.checked("the command line")
    }

    /// As a file has it.
    pub(super) fn read(file: &Path) -> Result<Config> {
        Config::parse(&config::read(file)?, &file.display().to_string())
    }

    fn parse(text: &str, place: &str) -> Result<Config> {
        let written: Written = config::parse(text, place, "examples/cipher/serve.toml")?;
        let mut functions = Vec::new();
        for function in written.function {
            let wrong =
                |e: String| wrong(&format!("{place}: function {}", function.name), e, "change it there");
            let share = share(function.limit, function.burst, function.weight).map_err(wrong)?;
            let delivery = delivery(&function.tell).map_err(wrong)?;
            let mut peer =
                Peer { name: function.name, socket: function.socket, connect: function.connect, share };
            peer.share.rank = function.rank;
            functions.push(FunctionOption { peer, delivery });
        }
        let spin = time(&written.spin).map_err(|e| wrong(place, e, "change `spin`"))?;
        let config = Config {
            functions,
            status: written.status,
            mode: mode(&written.mode).map_err(|e| wrong(place, e, "change `mode`"))?,
            options: Options {
                cards: written.cards as usize,
                engines: written.engines as usize,
                discipline: written.order.into(),
                queues: written.queues as usize,
                sessions: written.sessions as usize,
                longest: written.longest,
                spin,
                ..Options::default()
            },
        };
        config.checked(place)
    }

    fn checked(self, place: &str) -> Result<Config> {
        peer::check(self.peers(), self.status.as_deref(), place)?;
        if !(1..=64).contains(&self.options.cards) {
            return Err(wrong(place, format!("{} cards", self.options.cards), "use 1 to 64"));
        }
        if !(1..=256).contains(&self.options.engines) {
            return Err(wrong(place, format!("{} engines", self.options.engines), "use 1 to 256"));
        }
        if !(1..=64).contains(&self.options.queues) {
            return Err(wrong(place, format!("{} queues", self.options.queues), "use 1 to 64"));
        }
        if !(1..=1_000_000).contains(&self.options.sessions) {
            return Err(wrong(place, format!("{} sessions", self.options.sessions), "use 1 to 1,000,000"));
        }
        if !(4096..=64 << 20).contains(&self.options.longest) {
            let reason = format!("requests of {} bytes", self.options.longest);
            return Err(wrong(place, reason, "use 4096 to 67,108,864"));
        }
        Ok(self)
    }

    /// Whom it serves.
    pub(super) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.functions.iter().map(|function| &function.peer)
    }

    /// The functions, at sockets of their own.
    ///
    /// # Errors
    /// A socket cannot be had.
    pub(super) fn functions(&self) -> Result<Vec<NewFunction>> {
        let function = |FunctionOption { peer, delivery }: &FunctionOption| {
            let (name, share, delivery) = (peer.name.clone(), peer.share, delivery.clone());
            Ok(NewFunction { name, meeting: peer.meeting(self.mode)?, share, delivery })
        };
        self.functions.iter().map(function).collect()
    }

    /// What functions of the same name are entitled to, and when their tenants are told, where another has it otherwise: takes it
    /// over, and says of which.
    pub(super) fn take_over(&mut self, other: &Config) -> Vec<(usize, FunctionOption)> {
        let mut changed = Vec::new();
        for (number, function) in self.functions.iter_mut().enumerate() {
            let same = |wanted: &&FunctionOption| wanted.peer.name == function.peer.name;
            let Some(wanted) = other.functions.iter().find(same) else { continue };
            let now = (wanted.peer.share, &wanted.delivery);
            if now != (function.peer.share, &function.delivery) {
                function.peer.share = wanted.peer.share;
                function.delivery = Delivery::clone(&wanted.delivery);
                changed.push((number, function.clone()));
            }
        }
        changed
    }

    /// What another has that cannot be taken over while serving.
    pub(super) fn differs(&self, other: &Config) -> Vec<&'static str> {
        let mut found = Vec::new();
        let mut say = |differs: bool, what| found.extend(differs.then_some(what));
        say(places(self.peers()) != places(other.peers()), "functions and their sockets");
        say(self.options.cards != other.options.cards, "cards");
        say(self.options.engines != other.options.engines, "engines");
        say(self.options.discipline != other.options.discipline, "the order");
        say(self.options.queues != other.options.queues, "queues");
        say(self.options.sessions != other.options.sessions, "sessions");
        say(self.options.longest != other.options.longest, "the longest request");
        say(self.options.spin != other.options.spin, "spin");
        say(self.status != other.status, "the status socket");
        say(self.mode != other.mode, "permissions");
        found
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const EXAMPLE: &str = include_str!("../../../../examples/cipher/serve.toml");

    #[test]
    fn the_example_is_read_whole() {
        let config = Config::parse(EXAMPLE, "example").unwrap();
        let names: Vec<&str> = config.functions.iter().map(|f| f.peer.name.as_str()).collect();
        assert_eq!(names, ["web", "database"]);
        let database = &config.functions[1];
        assert!(database.peer.connect && database.peer.share.rank == 1 && database.peer.share.weight == 2);
        assert_eq!(database.peer.share.limit, Some((100_000, 4096)));
        let hold = Some(Duration::from_micros(50));
        assert_eq!(database.delivery, Delivery::Coalesced { count: 8, hold });
        assert_eq!((config.options.cards, config.options.engines), (1, 2));
        assert_eq!(config.options.spin, Duration::from_micros(20));
        assert_eq!((config.options.sessions, config.options.longest), (1024, 1 << 20));
        assert_eq!((config.mode, config.differs(&config)), (0o660, vec![]));
        let mut other = config.clone();
        other.functions[0].delivery = Delivery::Never;
        (other.options.cards, other.options.engines) = (2, 1);
        assert_eq!(config.differs(&other), ["cards", "engines"]);
        let mut kept = config.clone();
        assert_eq!(kept.take_over(&other), [(0, other.functions[0].clone())]);
        assert_eq!(kept.take_over(&other), []);
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_place_and_remedy() {
        let function = "[[function]]\nname = \"a\"\nsocket = \"a.sock\"\n";
        for (text, told) in [
            ("".to_owned(), "nobody to serve"),
            ("sauce = 1".to_owned(), "unknown field"),
            (format!("cards = 65\n{function}"), "65 cards"),
            (format!("engines = 0\n{function}"), "use 1 to 256"),
            (format!("queues = 65\n{function}"), "use 1 to 64"),
            (format!("sessions = 0\n{function}"), "use 1 to 1,000,000"),
            (format!("longest = 4095\n{function}"), "use 4096 to 67,108,864"),
            (format!("spin = \"long\"\n{function}"), "change `spin`"),
            (format!("order = \"luck\"\n{function}"), "unknown variant"),
            (format!("mode = \"7\"\n{function}"), "change `mode`"),
            (format!("{function}{function}"), "two are called a"),
            (format!("{function}tell = \"soon\""), "function a: `soon`"),
            (format!("{function}weight = 0"), "function a: weight 0"),
        ] {
            let error = Config::parse(&text, "file.toml").unwrap_err().to_string();
            assert!(error.starts_with("file.toml") && error.contains(told), "{text}: {error}");
        }
    }
}
