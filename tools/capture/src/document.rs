//! How a capture ended: the document of `--json`, and the same in words.

use std::fmt::Write as _;

use serde::Serialize;
use tollway_capture::engine::Accounting;

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// What a capture did. Counts that nobody knows are null, never 0.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaptureDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Where packets came from.
    pub source: SourceDocument,
    /// Which were wanted; null: all.
    pub filter: Option<FilterDocument>,
    /// What they were written to; null: they were printed, or only counted.
    pub output: Option<OutputDocument>,
    /// Where every packet went.
    pub packets: PacketsDocument,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Processor time of this program, in seconds.
    pub user_seconds: f64,
    /// Processor time of the kernel on its behalf, in seconds.
    pub system_seconds: f64,
    /// How it ended.
    pub ended: Ended,
    /// What went wrong, where something did. What came before is good.
    pub error: Option<String>,
}

/// Where packets came from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceDocument {
    /// The interface; null for a file.
    pub interface: Option<String>,
    /// The file; null for an interface.
    pub file: Option<String>,
    /// By which way: `tpacket-v3`, …; null for a file.
    pub way: Option<String>,
    /// Threads that packets were shared out over.
    pub cores: u32,
    /// Number of the packets' link type, in the LINKTYPE_ registry.
    pub link_type: u32,
    /// Bytes kept of a packet at most.
    pub snapshot_length: u32,
}

/// Which packets were wanted.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FilterDocument {
    /// In libpcap's language; null where a program was given.
    pub expression: Option<String>,
    /// Instructions of its program.
    pub instructions: usize,
    /// What ran it in this program.
    pub engine: String,
    /// Where it ran: `user`, `kernel`, `both`.
    pub place: String,
}

/// What packets were written to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OutputDocument {
    /// The file.
    pub file: String,
    /// `pcap` or `pcapng`.
    pub format: String,
    /// Its bytes, or those of all files in turn; null where that is not known. Where writing failed: what is whole.
    pub bytes: Option<u64>,
}

/// Packets by their fate: offered = captured + after_end + filtered_out + dropped + lost_before.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PacketsDocument {
    /// All that came by.
    pub offered: Option<u64>,
    /// Those that were written, printed or counted.
    pub captured: u64,
    /// Wanted, but not written: read after as many as -c asked for, or not in the file when writing had failed.
    pub after_end: u64,
    /// Those that the filter did not want.
    pub filtered_out: Option<u64>,
    /// Wanted, but the buffer was full.
    pub dropped: Option<u64>,
    /// Lost by the interface or its driver, before they reached the socket.
    pub lost_before: Option<u64>,
    /// Who says how many were offered: `file`, `socket`, `interface`, or `nobody`.
    pub offered_by: OfferedBy,
    /// Whether the fates add up to what was offered; null where one of them is not known.
    pub balances: Option<bool>,
}

/// Who says how many packets were offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OfferedBy {
    /// The file that was read.
    File,
    /// The socket, which saw every frame.
    Socket,
    /// The interface's counters, which can be off by the frames under way when they were read.
    Interface,
    /// Nobody.
    #[default]
    Nobody,
}

/// How a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The file was at its end.
    EndOfFile,
    /// As many packets came as were asked for.
    Count,
    /// As many files are full as were asked for (-G with -W).
    Files,
    /// It was called off: Ctrl-C, SIGTERM, SIGHUP.
    CalledOff,
    /// Reading failed: a damaged file, an interface that has gone.
    SourceFailed,
    /// Writing failed: no room, nobody who reads.
    OutputFailed,
}

impl PacketsDocument {
    /// By the books of a source or a file.
    pub fn of(books: &Accounting, after_end: u64, offered_by: OfferedBy) -> PacketsDocument {
        PacketsDocument {
            offered: books.offered,
            captured: books.delivered - after_end,
            after_end,
            filtered_out: books.filtered_out,
            dropped: books.dropped,
            lost_before: books.lost_before,
            offered_by,
            balances: books.balances(),
        }
    }
}

impl CaptureDocument {
    /// For people, in lines.
    pub fn summary(&self) -> String {
        let packets = &self.packets;
        let mut lines = vec![counted(Some(packets.captured), "captured")];
        if packets.after_end > 0 {
            lines.push(counted(
                Some(packets.after_end),
                "wanted, but not written: after the end (-c), or no room in the file",
            ));
        }
        let by_filter = match &self.filter {
            Some(filter) if self.source.interface.is_some() => format!("filtered out ({})", filter.place),
            _ => "filtered out".into(),
        };
        lines.push(counted(packets.filtered_out, &by_filter));
        if let Some(interface) = &self.source.interface {
            lines.push(counted(packets.dropped, "dropped: the buffer was full (-B makes it larger)"));
            lines.push(counted(packets.lost_before, &format!("lost before, by {interface} or its driver")));
            let by = match packets.offered_by {
                OfferedBy::Interface => "offered, by the interface's counters",
                _ => "offered",
            };
            lines.push(format!("{}{}", counted(packets.offered, by), self.balance()));
        } else {
            lines.push(format!("{}{}", counted(packets.offered, "read"), self.balance()));
        }
        let mut text = lines.join("\n");
        if let Some(bytes) = self.output.as_ref().and_then(|output| output.bytes) {
            let _ = write!(text, "\n{bytes:>12} bytes written");
        }
        text
    }

    fn balance(&self) -> &'static str {
        match self.packets.balances {
            Some(true) => ": the account balances",
            Some(false) => ": the account does not balance",
            None if self.source.file.is_some() => "",
            None => ": whether the account balances cannot be told",
        }
    }
}

fn counted(count: Option<u64>, what: &str) -> String {
    match count {
        Some(count) => format!("{count:>12} {what}"),
        None => format!("{:>12} {what}", "unknown"),
    }
}
