//! `tollway cipher serve` and `tollway cipher status` on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tollway_cipher::engine::device::{Delivery, LONGEST};
use tollway_service::peer::{Peer, amount, mode};
use tollway_virtio::order::Discipline;

/// `tollway cipher serve`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway cipher serve --function web=/run/user/1000/web.sock --function db=/run/user/1000/db.sock,weight=2,tell=8/50us
  qemu-system-x86_64 … -object memory-backend-memfd,id=memory,size=1G,share=on -machine memory-backend=memory \\
    -chardev socket,id=card,path=/run/user/1000/web.sock -object cryptodev-vhost-user,id=crypto,chardev=card \\
    -device virtio-crypto-pci,cryptodev=crypto,event_idx=off

The guest's driver is virtio_crypto. docs/cipher-serve.md has what guests can and cannot do. SIGHUP reads weights, ranks, limits and `tell` of --config \
                  again; SIGTERM and SIGINT end it, and remove its sockets.")]
pub struct Serve {
    /// A virtual function: a name, and the socket where its virtual machine connects, or, with `connect`, listens.
    ///
    /// weight: its part of the engines' time beside others', 1 (the default) to 1,000,000, in the order `fair`.
    /// rank: 0 (the default, the first) to 255, in the order `rank`.
    /// limit, burst: requests a second and at once at most; 20k, 1M; without a burst a tenth of a second's, 4096 at least.
    /// tell: when its guest is interrupted, which is WHEN: `each` request done (the default); `8` requests; `50us` after the first of
    /// them (up to 60s); `8/50us`, whichever is first; `cap:10k` times a second at most (1 to 1M); `adaptive`, a cap that the load picks;
    /// `never`, for programs that look for themselves.
    #[arg(long = "function", verbatim_doc_comment)]
    #[arg(
        value_name = "NAME=SOCKET[,weight=N][,rank=N][,limit=REQUESTS/S][,burst=REQUESTS][,tell=WHEN][,connect]"
    )]
    #[arg(required_unless_present = "config")]
    pub functions: Vec<FunctionOption>,

    /// All of this from a file: examples/cipher/serve.toml has every word of it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["functions", "cards", "engines", "order", "queues", "sessions", "longest", "spin", "status", "mode"])]
    pub config: Option<PathBuf>,

    /// Cards behind the front, each with engines and an order of its own. A function is put on that of which the least is entitled to.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cards: u32,

    /// Threads of each card that do requests.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub engines: u32,

    /// Whose request is next.
    #[arg(long, value_name = "ORDER", default_value = "fair")]
    pub order: OrderWord,

    /// Data queues of each function.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub queues: u32,

    /// Sessions, that is keys, of each function at most.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sessions: u32,

    /// Bytes at most that a request has encrypted, hashed or authenticated.
    #[arg(long, value_name = "BYTES", default_value_t = LONGEST, value_parser = clap::value_parser!(u64).range(4096..=64 << 20))]
    pub longest: u64,

    /// How long an engine without work looks for some itself before it sleeps: 0, 50us, 2ms.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = time)]
    pub spin: Duration,

    /// A socket that answers each connection with the state of all, as JSON.
    #[arg(long, value_name = "SOCKET")]
    pub status: Option<PathBuf>,

    /// Permissions of all sockets, in octal.
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub mode: u32,
}

/// `tollway cipher status`.
#[derive(Debug, Args)]
pub struct Status {
    /// The socket that `serve` was given as --status.
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
}

/// Whose request is next, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderWord {
    /// Each function gets its share of the engines' time, by weight.
    #[default]
    Fair,
    /// First come, first served.
    Arrival,
    /// The lowest rank first.
    Rank,
}

impl From<OrderWord> for Discipline {
    fn from(word: OrderWord) -> Discipline {
        match word {
            OrderWord::Fair => Discipline::Fair,
            OrderWord::Arrival => Discipline::Arrival,
            OrderWord::Rank => Discipline::Rank,
        }
    }
}

/// A virtual function as a person writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionOption {
    /// Whom it serves, and where.
    pub peer: Peer,
    /// When its tenant is told.
    pub delivery: Delivery,
}

impl FromStr for FunctionOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut delivery, mut rank) = (Delivery::Each, 0);
        let known = "weight, rank, limit, burst, tell and connect";
        let mut peer = Peer::parse(text, known, &mut |key, value| {
            match key {
                "tell" => delivery = self::delivery(value)?,
                "rank" => {
                    rank = value.parse().map_err(|_| format!("`{value}` is no rank: write 0 to 255"))?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        peer.share.rank = rank;
        Ok(FunctionOption { peer, delivery })
    }
}

/// A time: 0, 50us, 2ms, 1s.
///
/// # Errors
/// It is none, or longer than a minute.
pub fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time: write 50us, 2ms or 1s");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let micros = match unit {
        "us" => 1,
        "ms" => 1000,
        "s" => 1_000_000,
        _ => return Err(wrong()),
    };
    let most = Duration::from_secs(60);
    let time = number.checked_mul(micros).map(Duration::from_micros).filter(|time| *time <= most);
    time.ok_or_else(|| format!("`{text}` is longer than a minute"))
}

/// When a tenant is told: `each`, `8`, `50us`, `8/50us`, `cap:10k`, `adaptive`, `never`.
///
/// # Errors
/// It is none of these.
pub fn delivery(text: &str) -> Result<Delivery, String> {
    let wrong = || {
        format!(
            "`{text}` is no way to tell that requests are done: write each, 8, 50us, 8/50us, cap:10k, adaptive or never"
        )
    };
    let count = |text: &str| text.parse().ok().filter(|count| *count >= 1).ok_or_else(wrong);
    Ok(match text {
        "each" => Delivery::Each,
        "never" => Delivery::Never,
        "adaptive" => Delivery::adaptive(),
        _ => match (text.strip_prefix("cap:"), text.split_once('/')) {
            (Some(cap), _) => {
                let cap = amount(cap).ok().filter(|cap| (1..=1_000_000).contains(cap)).ok_or_else(wrong)?;
                Delivery::Capped { gap: Duration::from_nanos(1_000_000_000 / cap) }
            }
            (_, Some((number, hold))) => {
                Delivery::Coalesced { count: count(number)?, hold: Some(time(hold).map_err(|_| wrong())?) }
            }
            (_, None) if text.bytes().all(|c| c.is_ascii_digit()) => {
                Delivery::Coalesced { count: count(text)?, hold: None }
            }
            (_, None) => {
                Delivery::Coalesced { count: u32::MAX, hold: Some(time(text).map_err(|_| wrong())?) }
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_a_name_a_socket_and_what_it_may_have() {
        let function: FunctionOption = "web=/run/web.sock,rank=3,tell=8/50us,weight=2".parse().unwrap();
        assert_eq!((function.peer.name.as_str(), function.peer.share.rank), ("web", 3));
        assert_eq!(function.peer.share.weight, 2);
        let both = Delivery::Coalesced { count: 8, hold: Some(Duration::from_micros(50)) };
        assert_eq!(function.delivery, both);
    }

    #[test]
    fn ways_to_tell() {
        let micros = Duration::from_micros;
        for (text, rule) in [
            ("each", Delivery::Each),
            ("never", Delivery::Never),
            ("16", Delivery::Coalesced { count: 16, hold: None }),
            ("2ms", Delivery::Coalesced { count: u32::MAX, hold: Some(micros(2000)) }),
            ("cap:10k", Delivery::Capped { gap: micros(100) }),
            ("adaptive", Delivery::adaptive()),
        ] {
            assert_eq!(delivery(text), Ok(rule), "{text}");
        }
        for text in ["", "0", "often", "8/", "/8", "cap:0", "cap:2M", "50", "5m", "-1us", "99s", "8/61s"] {
            let told = delivery(text);
            assert!(text == "50" || told.is_err(), "{text}: {told:?}");
        }
        assert_eq!((time("0"), time("1s")), (Ok(Duration::ZERO), Ok(Duration::from_secs(1))));
        assert!(time("61s").unwrap_err().contains("minute"));
    }

    #[test]
    fn what_means_nothing_is_refused_with_a_remedy() {
        for (text, told) in [
            ("a=b,rank=256", "0 to 255"),
            ("a=b,tell=soon", "write each"),
            ("a=b,speed=1", "weight, rank, limit, burst, tell and connect"),
        ] {
            let error = text.parse::<FunctionOption>().unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
