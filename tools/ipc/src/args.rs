//! `tollway ipc` on the command line.

pub mod advise;
pub mod words;

use clap::{Args, Subcommand};

use advise::Advise;
use words::{Cores, Notice, Style};

/// `tollway ipc`.
#[derive(Debug, Args)]
pub struct Ipc {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Requests and replies between two processes, synchronous and asynchronous, by how many are on their way at once.
    PingPong(PingPong),
    /// Memory that is taken and given back by system calls: made one by one, queued, or asked of a server.
    AllocServer(AllocServer),
    /// A TCP server behind a network stack in a process of its own, by the number of connections.
    TcpServer(TcpServer),
    /// Synchronous or asynchronous, look or sleep, and from where on that changes: foretold from tolls, and tried.
    Advise(Advise),
}

/// How often and how long.
#[derive(Clone, Debug, Args)]
pub struct Repeats {
    /// Blocks of trials, each with processes of its own; intervals are had from 2 on.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: u32,

    /// Seconds that the whole may take; runs and windows are cut to fit.
    #[arg(long, value_name = "SECONDS", value_parser = words::seconds)]
    pub time: Option<f64>,

    /// Seed of the order of trials.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be done, how long it would take and what it needs; do nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Treat a missing requirement as a failure (exit code 4).
    #[arg(long)]
    pub strict: bool,
}

/// `tollway ipc ping-pong`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway ipc ping-pong
  tollway ipc ping-pong --concurrency 1..256 --cores 1 --style async
  tollway ipc ping-pong --matrix 20 --concurrency 8,16,32 --cores 2

Every way is measured at every concurrency, in turns, in an order drawn from the seed; each reply is checked. All that is measured is in \
                  the store: `tollway export FILE.csv` writes it to a file. docs/ipc.md says how to read the tables.")]
pub struct PingPong {
    /// Requests on their way at once, up to 1024; 1..32 is 1, 2, 4 and so on.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1..32", value_parser = words::concurrency)]
    pub concurrency: Vec<words::Steps>,

    /// Bytes of a request, and of its reply.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = words::size)]
    pub size: u64,

    /// Cycles of work that the server has with each request.
    #[arg(long, value_name = "CYCLES", default_value_t = 0, value_parser = words::work)]
    pub work: u64,

    /// Rows and columns of the matrices that the server multiplies for each request, as in the study; 0: none.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = words::matrix)]
    pub matrix: u64,

    /// Client and server on one core, on two, or first the one and then the other.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2")]
    pub cores: Vec<Cores>,

    /// Which ways.
    #[arg(long, value_enum, value_name = "STYLE", default_value = "both")]
    pub style: Style,

    /// By what an asynchronous end that sleeps is woken.
    #[arg(long, value_enum, value_name = "NOTICE", default_value = "futex")]
    pub notice: Notice,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,
}

/// `tollway ipc alloc-server`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway ipc alloc-server
  tollway ipc alloc-server --concurrency 1..512 --style async --cores 1

A request has the kernel give memory to a range of addresses, and take it back: real pages, by the same calls in every way.")]
pub struct AllocServer {
    /// Calls on their way at once, up to 1024; 1..64 is 1, 2, 4 and so on.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1..64", value_parser = words::concurrency)]
    pub concurrency: Vec<words::Steps>,

    /// Pages of 4096 bytes that a call takes or gives back.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = words::pages)]
    pub pages: u64,

    /// Program and kernel or server on one core, on two, or first the one and then the other.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2")]
    pub cores: Vec<Cores>,

    /// Which ways: synchronous is the call itself.
    #[arg(long, value_enum, value_name = "STYLE", default_value = "both")]
    pub style: Style,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,
}

/// `tollway ipc tcp-server`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway ipc tcp-server
  tollway ipc tcp-server --connections 1..128 --cores 2 --linux

A client in a network namespace, a process with a network stack of its own, and the TCP server, which it asks for each message's reply. It needs \
                  CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW; no interface of this machine is touched.")]
pub struct TcpServer {
    /// Connections, up to 256, each with one message on its way; 1..32 is 1, 2, 4 and so on.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1..32", value_parser = words::connections)]
    pub connections: Vec<words::Steps>,

    /// Network stack and TCP server on one core, on two, or first the one and then the other.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "2")]
    pub cores: Vec<Cores>,

    /// Which ways.
    #[arg(long, value_enum, value_name = "STYLE", default_value = "both")]
    pub style: Style,

    /// Linux's own TCP beside them, by epoll and by io_uring.
    #[arg(long)]
    pub linux: bool,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,
}
