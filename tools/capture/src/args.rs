//! `tollway capture` on the command line.

pub mod advise;
pub mod generate;
pub mod profile;
mod rotation;

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use advise::Advise;
use generate::Generate;
use profile::Profile;
use rotation::FilesInTurn;

/// `tollway capture`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway capture -i eth0 -w web.pcap tcp port 80 or tcp port 443
  tollway capture -r web.pcap -c 10 -n
  tollway capture -r web.pcap -w one.pcap host 192.0.2.1
  tollway capture -d 'udp port 53'
  tollway capture -r web.pcap -w - tcp | less

The filter is in libpcap's language (pcap-filter(7)); the letters are tcpdump's. What was captured, filtered out and \
                  dropped, and where, is told on standard error at the end. Ctrl-C ends a capture well: exit code 0, \
                  and the file is whole. More in docs/capture.md.")]
pub struct Capture {
    /// What else there is to do.
    #[command(subcommand)]
    pub what: Option<What>,

    /// Capturing itself.
    #[command(flatten)]
    pub options: Options,
}

/// What else there is to do than to capture.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Which source, how large a buffer, how many packets a read and cores: measured here, predicted, and proved.
    Advise(Box<Advise>),
    /// Send frames at an exact rate, on the one interface that is named.
    Generate(Box<Generate>),
    /// Where a captured packet's cycles go on this machine: gate by gate, sampled, and drawn.
    Profile(Profile),
}

/// What is captured, and what becomes of it.
#[derive(Debug, Args)]
pub struct Options {
    /// Which packets, in libpcap's language (pcap-filter(7)) [default: all].
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,

    /// Capture on this interface (-D lists them).
    #[arg(short = 'i', long, value_name = "IF", conflicts_with = "read")]
    pub interface: Option<String>,

    /// Read packets from a pcap or pcapng file; `-` is standard input.
    #[arg(short = 'r', long, value_name = "FILE")]
    pub read: Option<PathBuf>,

    /// Write packets to a file instead of printing them; `-` is standard output.
    #[arg(short = 'w', long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// End after so many packets that the filter wanted.
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Keep so many bytes of a packet; 0, as with tcpdump, is 262144: all of it. Of a file (-r) packets are
    /// cut, too, which tcpdump does not [default: all, or what the file has].
    #[arg(short = 's', long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=262_144))]
    pub snapshot_length: Option<u32>,

    /// Memory for packets that wait to be read, in KiB.
    #[arg(
        short = 'B', long, value_name = "KIB", default_value_t = 16_384,
        value_parser = clap::value_parser!(u32).range(64..=4_194_303)
    )]
    pub buffer_size: u32,

    /// Names are never looked up for printing; the letter is taken for those who are used to give it.
    #[arg(short = 'n', action = ArgAction::Count, hide_short_help = true)]
    pub numeric: u8,

    /// Hand packets over at once, not in batches; so it is where packets are printed on a terminal.
    #[arg(long)]
    pub immediate_mode: bool,

    /// Do not ask the interface for frames that are for others.
    #[arg(short = 'p', long)]
    pub no_promiscuous_mode: bool,

    /// Hand every batch of packets to the file at once.
    #[arg(short = 'U', long)]
    pub packet_buffered: bool,

    /// Become this user once all is open (as root; all capabilities go in any case).
    #[arg(short = 'Z', long, value_name = "USER")]
    pub relinquish_privileges: Option<String>,

    /// List the interfaces of this machine.
    #[arg(short = 'D', long)]
    pub list_interfaces: bool,

    /// The filter, in one piece.
    #[command(flatten)]
    pub program: ProgramOptions,

    /// Several files in turn.
    #[command(flatten)]
    pub in_turn: FilesInTurn,

    /// How packets are printed.
    #[command(flatten)]
    pub printing: Printing,

    /// How they are captured.
    #[command(flatten)]
    pub ways: Ways,
}

/// Where the filter comes from, and looking at it.
#[derive(Debug, Args)]
#[command(next_help_heading = "The filter's program")]
pub struct ProgramOptions {
    /// Print the filter's program and stop: -d for people, -dd as C, -ddd as numbers.
    #[arg(short = 'd', action = ArgAction::Count)]
    pub dump: u8,

    /// Print the machine code that the program becomes, below each of its instructions, and stop.
    #[arg(long)]
    pub machine_code: bool,

    /// Take the filter from a file: an expression, or a program as -dd and -ddd print it.
    #[arg(short = 'F', long, value_name = "FILE", conflicts_with = "filter")]
    pub filter_file: Option<PathBuf>,

    /// Take this program as the filter, as -ddd prints it; commas may stand for the ends of lines.
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["filter", "filter_file"])]
    pub bytecode: Option<String>,

    /// Do not have libpcap's optimiser work on the program.
    #[arg(short = 'O', long)]
    pub no_optimize: bool,

    /// What packets are, where nothing else says so (for -d): a name such as EN10MB, RAW, LINUX_SLL, NULL, or
    /// a number.
    #[arg(short = 'y', long, value_name = "TYPE", value_parser = crate::link_type::read)]
    pub linktype: Option<u32>,
}

/// How packets are printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Printing")]
pub struct Printing {
    /// Times: -t none, -tt seconds since 1970, -ttt since the packet before, -tttt with the date, -ttttt since the first.
    #[arg(short = 't', action = ArgAction::Count)]
    pub times: u8,

    /// Print the link's header as well.
    #[arg(short = 'e')]
    pub link_header: bool,

    /// Print each packet's bytes: -x from the network's header on, -xx all.
    #[arg(short = 'x', action = ArgAction::Count)]
    pub hex: u8,

    /// Print each packet's bytes and characters: -X from the network's header on, -XX all.
    #[arg(short = 'X', action = ArgAction::Count)]
    pub hex_and_ascii: u8,

    /// Hand every line over at once.
    #[arg(short = 'l')]
    pub line_buffered: bool,
}

/// How packets are captured and written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ways")]
pub struct Ways {
    /// By which way packets come from the kernel.
    #[arg(long, value_enum, value_name = "WAY", default_value = "auto", conflicts_with = "read")]
    pub source: SourceWay,

    /// Where the filter runs. In the kernel what is not wanted is never copied; in user space all is counted.
    #[arg(long, value_enum, value_name = "WHERE", default_value = "kernel", conflicts_with = "read")]
    pub filter_in: FilterPlace,

    /// Share the packets out over so many threads, by flow (AF_XDP: a receive queue each).
    #[arg(
        long, value_name = "N", default_value_t = 1, conflicts_with = "read",
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    pub cores: u32,

    /// Whose time packets are stamped with: the kernel's when they came, or ours when they were read.
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "kernel", conflicts_with = "read")]
    pub clock: StampClock,

    /// Unit of times in files and in print.
    #[arg(long, value_enum, value_name = "UNIT", default_value = "micro")]
    pub time_stamp_precision: Precision,

    /// Format of the file that is written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "pcap")]
    pub format: FileFormat,
}

/// By which way packets come from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceWay {
    /// What costs least here: TPACKET_V3.
    Auto,
    /// A system call for each packet.
    Recv,
    /// A system call for up to 64 packets.
    Recvmmsg,
    /// TPACKET_V2: a ring of slots.
    #[value(alias = "tpacket-v2")]
    V2,
    /// TPACKET_V3: a ring of blocks.
    #[value(alias = "tpacket-v3")]
    V3,
    /// AF_XDP: packets instead of the kernel's network stack, which no longer sees them.
    #[value(alias = "af-xdp")]
    Xdp,
}

/// Where the filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FilterPlace {
    /// In the kernel.
    Kernel,
    /// In this program.
    User,
    /// In the kernel, and once more in this program.
    Both,
}

/// Whose time packets are stamped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StampClock {
    /// The kernel's, when the packet came (AF_XDP has none: then as vdso).
    Kernel,
    /// The time-stamp counter, when it is read. Takes 50 ms to calibrate.
    Tsc,
    /// The clock of the vDSO, when it is read.
    Vdso,
}

/// Unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Microseconds.
    Micro,
    /// Nanoseconds.
    Nano,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// pcap, as tcpdump writes it.
    Pcap,
    /// pcapng, with the account of the capture in it.
    Pcapng,
}
