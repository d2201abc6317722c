//! `tollway entropy serve` and `tollway entropy status` on the command line.

use std::path::PathBuf;

use clap::Args;
use tollway_entropy::engine::source::Kind;
use tollway_service::peer::{Peer, mode};

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
    #[arg(value_parser = tenant)]
    pub tenants: Vec<Peer>,

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

fn tenant(text: &str) -> Result<Peer, String> {
    Peer::parse(text, "limit, burst, weight and connect", &mut |_, _| Ok(false))
}
