//! `tollway entropy serve` and `tollway entropy status` on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use tollway_entropy::engine::source::Kind;
use tollway_virtio::order::Share;

/// `tollway entropy serve`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway entropy serve --tenant web=/run/user/1000/web.sock --tenant db=/run/user/1000/db.sock,weight=2,limit=1M
  qemu-system-x86_64 … -object memory-backend-memfd,id=memory,size=1G,share=on -machine memory-backend=memory \\
    -chardev socket,id=rng,path=/run/user/1000/web.sock -device vhost-user-rng-pci,chardev=rng

The guest's driver is virtio-rng. docs/entropy-serve.md has what becomes of guests when this server ends and comes again. SIGHUP reads the weights \
                  and limits of --config again; SIGTERM and SIGINT end it, and remove its sockets.")]
pub struct Serve {
    /// Somebody to serve: a name, and the socket where its virtual machine connects, or, with `connect`, listens.
    #[arg(long = "tenant", value_name = "NAME=SOCKET[,limit=BYTES/S][,burst=BYTES][,weight=N][,connect]")]
    #[arg(required_unless_present = "config")]
    pub tenants: Vec<TenantOption>,

    /// All of this from a file: examples/entropy/serve.toml has every word of it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tenants", "source", "conditioned", "threads", "status", "mode", "quantum"])]
    pub config: Option<PathBuf>,

    /// Where the bytes come from: rdrand, rdseed, getrandom, or a path.
    #[arg(long, value_name = "SOURCE", default_value = "rdrand")]
    pub source: Kind,

    /// Makes one byte of 512, by AES (seed-grade where the source is RDRAND).
    #[arg(long)]
    pub conditioned: bool,

    /// Threads that draw, each for itself. A path has one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,

    /// A socket that answers each connection with the state of all, as JSON.
    #[arg(long, value_name = "SOCKET")]
    pub status: Option<PathBuf>,

    /// Permissions of all sockets, in octal.
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub mode: u32,

    /// The most bytes that a tenant gets before the next one's turn, and that are drawn ahead.
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub quantum: u32,
}

/// `tollway entropy status`.
#[derive(Debug, Args)]
pub struct Status {
    /// The socket that `serve` or `feed` was given as --status.
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
}

/// A tenant as a person writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantOption {
    /// Its name.
    pub name: String,
    /// Where it is met.
    pub socket: PathBuf,
    /// Whether it listens there, and is called.
    pub connect: bool,
    /// What it is entitled to.
    pub share: Share,
}

impl FromStr for TenantOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once('=').ok_or("it has no `=`: write NAME=SOCKET")?;
        let mut words = rest.split(',');
        let socket = words.next().unwrap_or_default();
        let (mut limit, mut burst, mut weight, mut connect) = (None, None, 1, false);
        for word in words {
            if word == "connect" {
                connect = true;
                continue;
            }
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no value"))?;
            match key {
                "limit" => limit = Some(bytes(value)?),
                "burst" => burst = Some(bytes(value)?),
                "weight" => {
                    let number =
                        value.parse().map_err(|_| format!("`{value}` is no whole number for a weight"))?;
                    weight = number;
                }
                _ => return Err(format!("`{key}` is not known; there are limit, burst, weight and connect")),
            }
        }
        Ok(TenantOption {
            name: name.into(),
            socket: socket.into(),
            connect,
            share: share(limit, burst, weight)?,
        })
    }
}

/// What a tenant is entitled to; without a burst, a tenth of a second's bytes, and 4 KiB at least.
///
/// # Errors
/// What is wrong with the numbers.
pub fn share(limit: Option<u64>, burst: Option<u64>, weight: u32) -> Result<Share, String> {
    if !(1..=1_000_000).contains(&weight) {
        return Err(format!("weight {weight}: give 1 to 1,000,000"));
    }
    let limit = match (limit, burst) {
        (None, None) => None,
        (None, Some(_)) => return Err("a burst without a limit means nothing: give a limit".into()),
        (Some(0), _) => return Err("limit 0 serves nobody: leave the tenant out".into()),
        (_, Some(0)) => return Err("burst 0 serves nobody: give a byte at least".into()),
        (Some(limit), burst) => Some((limit, burst.unwrap_or((limit / 10).max(4096)))),
    };
    Ok(Share { weight, limit, ..Share::default() })
}

/// A number of bytes: with k, M or G for thousands, millions, thousand millions.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.chars().last() {
        Some('k') => (&text[..text.len() - 1], 1000),
        Some('M') => (&text[..text.len() - 1], 1_000_000),
        Some('G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    let wrong = || format!("`{text}` is no number of bytes: write 65536, 64k, 10M or 1G");
    number.and_then(|number| number.checked_mul(unit)).ok_or_else(wrong)
}

/// Permissions, in octal.
///
/// # Errors
/// What is wrong with them.
pub fn mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode & !0o777 == 0 && mode & 0o600 == 0o600 => Ok(mode),
        _ => Err(format!("`{text}` are no permissions of a socket: write 600, 660 or 666")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_a_name_a_socket_and_what_it_may_have() {
        let tenant: TenantOption = "web=/run/web.sock,limit=1M,weight=3".parse().unwrap();
        assert_eq!((tenant.name.as_str(), tenant.socket.to_str()), ("web", Some("/run/web.sock")));
        assert_eq!(tenant.share, Share { weight: 3, limit: Some((1_000_000, 100_000)), ..Share::default() });
        assert!(!tenant.connect);
        let tenant: TenantOption = "a=b,connect,limit=64k,burst=1G".parse().unwrap();
        assert!(tenant.connect);
        assert_eq!(tenant.share.limit, Some((64_000, 1_000_000_000)));
        assert_eq!("a=b".parse::<TenantOption>().unwrap().share, Share::default());
    }

    #[test]
    fn what_means_nothing_is_refused_with_a_remedy() {
        for (text, told) in [
            ("web", "NAME=SOCKET"),
            ("a=b,limit", "has no value"),
            ("a=b,limit=x", "no number of bytes"),
            ("a=b,limit=99999999999G", "no number of bytes"),
            ("a=b,limit=0", "leave the tenant out"),
            ("a=b,burst=5", "give a limit"),
            ("a=b,limit=5,burst=0", "a byte at least"),
            ("a=b,weight=0", "1 to 1,000,000"),
            ("a=b,weight=-1", "no whole number"),
            ("a=b,speed=1", "limit, burst, weight and connect"),
        ] {
            let error = text.parse::<TenantOption>().unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        assert_eq!((mode("660"), mode("0600")), (Ok(0o660), Ok(0o600)));
        assert!(mode("1777").is_err() && mode("060").is_err() && mode("9").is_err());
    }
}
