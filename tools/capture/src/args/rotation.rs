//! Files in turn on the command line: tcpdump's -C, -G and -W.

use clap::{ArgGroup, Args};
use tollway_capture::engine::file::Rotation;

/// Several files in turn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several files in turn (with -w, in pcap)")]
#[command(group(ArgGroup::new("in_turn").args(["file_size", "rotate_seconds"]).multiple(true)))]
pub struct FilesInTurn {
    /// Begin a new file when this one has so many millions of bytes; a number is put behind its name.
    #[arg(short = 'C', long, value_name = "MB", requires = "write", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub file_size: Option<u64>,

    /// Begin a new file after so many seconds, by the packets' times; its name is made by strftime(3).
    #[arg(short = 'G', long, value_name = "SECONDS", requires = "write", value_parser = clap::value_parser!(u32).range(1..))]
    pub rotate_seconds: Option<u32>,

    /// With -C keep so many files, the oldest written anew; with -G end after so many.
    #[arg(short = 'W', long, value_name = "FILES", requires = "in_turn", value_parser = clap::value_parser!(u32).range(1..))]
    pub file_count: Option<u32>,
}

impl FilesInTurn {
    /// What was asked for, if anything was.
    pub fn rotation(&self) -> Option<Rotation> {
        let wanted = self.file_size.is_some() || self.rotate_seconds.is_some();
        wanted.then(|| Rotation {
            bytes: self.file_size.map(|millions| millions.saturating_mul(1_000_000)),
            seconds: self.rotate_seconds,
            files: self.file_count,
        })
    }
}
