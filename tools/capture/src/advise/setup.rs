//! What is asked, and the ways to capture that advice chooses from.

use std::fmt;
use std::time::Duration;

use tollway_capture::engine::source::Kind;
use tollway_core::{Domain, Error, Params, Registry, Result};

use crate::args::SourceWay;
use crate::args::advise::{Advise, FilterWord, bytes};
use crate::args::generate::Rate;

/// The path whose live variants are measured.
pub const PATH: &str = "capture";

/// What sources are measured at where as many frames as possible come: the study's rate, 100 Mbit/s of the shortest frames.
const STUDY_RATE: f64 = 148_809.0;

/// The lowest rate that is taken, in frames per second: at less, a pilot's window would be empty.
const LOWEST_RATE: f64 = 1000.0;

/// The buffer of who names none, in bytes: what `tollway capture` has.
const USUAL_BUFFER: u64 = 16 << 20;

/// What a person wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Frames per second; `None`: as many as possible.
    pub rate: Option<f64>,
    /// Bytes of a frame as it is handed over: without its check sequence.
    pub size: u64,
    /// The word of the axis `filter`.
    pub filter: &'static str,
    /// Cycles that the application spends on each packet.
    pub work: u32,
    /// How long the application stops now and then.
    pub stall: Duration,
    /// How long a packet may wait for others, in milliseconds; 0: not at all.
    pub delay: u32,
    /// Processors that may capture.
    pub cores: u32,
    /// Whether frames may be taken away from the machine's own network stack.
    pub bypass: bool,
    /// How is captured today.
    pub now: Setup,
    /// The buffers that can be tried, in bytes, ascending.
    pub buffers: Vec<u64>,
}

/// A way to capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// By which way packets come.
    pub kind: Kind,
    /// Bytes of memory for packets that wait.
    pub buffer: u64,
    /// Whether each packet is handed over at once.
    pub immediate: bool,
    /// How long packets may wait for others, in milliseconds, where they do.
    pub patience: u32,
    /// Processors that capture, each with a socket and a buffer of its own.
    pub cores: u32,
}

impl Asked {
    /// What the command line says; `processors` is how many there are.
    ///
    /// # Errors
    /// What cannot be, with the remedy.
    pub fn of(options: &Advise, registry: &Registry, processors: u32) -> Result<Asked> {
        let input = |place: String, reason: &str, remedy: String| {
            Err(Error::Input { place, reason: reason.into(), remedy })
        };
        let rate = match options.rate {
            Rate::Full => None,
            Rate::PerSecond(rate) if (LOWEST_RATE..=1e7).contains(&rate) => Some(rate),
            Rate::PerSecond(rate) => {
                let remedy = format!("give {LOWEST_RATE} to 10M, or `full`");
                return input(format!("--rate {rate}"), "there is nothing to advise at it", remedy);
            }
        };
        let buffers = buffers(registry)?;
        let buffer = options.now.buffer.unwrap_or(USUAL_BUFFER);
        if !buffers.contains(&buffer) {
            let words: Vec<String> = buffers.iter().map(|b| size_word(*b)).collect();
            return input(
                format!("--now with a buffer of {}", size_word(buffer)),
                "it is none that can be measured",
                format!("take the nearest of {}", words.join(", ")),
            );
        }
        let now = Setup {
            kind: kind(options.now.source),
            buffer,
            immediate: options.now.immediate,
            patience: options.delay.max(1),
            cores: 1,
        };
        Ok(Asked {
            rate,
            size: u64::from(options.size) - 4,
            filter: match options.filter {
                FilterWord::None => "none",
                FilterWord::Ip => "ip",
                FilterWord::Ports => "ports",
                FilterWord::Addresses => "addresses",
            },
            work: options.work,
            stall: Duration::from_millis(options.stall.into()),
            delay: options.delay,
            cores: options.cores.unwrap_or(processors),
            bypass: options.bypass,
            now,
            buffers,
        })
    }

    /// The rate at which sources are measured when not at full speed, in frames per second.
    pub fn light_rate(&self) -> f64 {
        self.rate.unwrap_or(STUDY_RATE)
    }

    /// Whether a source may be advised.
    pub fn allows(&self, kind: Kind) -> bool {
        kind != Kind::AfXdp || self.bypass || self.now.kind == Kind::AfXdp
    }
}

impl Setup {
    /// The live variant that captures so.
    pub fn variant(&self) -> &'static str {
        variant(self.kind)
    }

    /// The values of its axes; `rate` in frames per second, 0 for as many as the interface takes.
    ///
    /// # Errors
    /// If the variant has not these axes.
    pub fn params(&self, asked: &Asked, registry: &Registry, rate: u64) -> Result<Params> {
        let params = Params::new()
            .with("size", asked.size)
            .with("filter", asked.filter)
            .with("rate", rate)
            .with("buffer", &*size_word(self.buffer))
            .with("immediate", if self.immediate { "yes" } else { "no" })
            .with("patience", u64::from(self.patience));
        params.complete(&registry.path(PATH)?.variant(self.variant())?.axes())
    }

    /// How packets share wake-ups, in words.
    pub fn batching(&self) -> String {
        match (self.immediate, self.kind) {
            (true, _) => "immediate".into(),
            (false, Kind::TpacketV3) => format!("batches of up to {} ms", self.patience),
            // The others wait for a tenth of what their buffer holds: see the engine's `nap`.
            (false, _) => "batches of up to 1 ms".into(),
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = if self.cores == 1 { "1 core".into() } else { format!("{} cores", self.cores) };
        write!(f, "{}, {}, {}, {cores}", source_word(self.kind), size_word(self.buffer), self.batching())
    }
}

/// The live variant of a source.
pub fn variant(kind: Kind) -> &'static str {
    match kind {
        Kind::Recv => "live-recv",
        Kind::Recvmmsg => "live-recvmmsg",
        Kind::TpacketV2 => "live-v2",
        Kind::TpacketV3 => "live-v3",
        Kind::AfXdp => "live-xdp",
    }
}

/// The word of `--source`.
pub fn source_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Recv => "recv",
        Kind::Recvmmsg => "recvmmsg",
        Kind::TpacketV2 => "v2",
        Kind::TpacketV3 => "v3",
        Kind::AfXdp => "xdp",
    }
}

fn kind(way: SourceWay) -> Kind {
    match way {
        SourceWay::Auto | SourceWay::V3 => Kind::TpacketV3,
        SourceWay::Recv => Kind::Recv,
        SourceWay::Recvmmsg => Kind::Recvmmsg,
        SourceWay::V2 => Kind::TpacketV2,
        SourceWay::Xdp => Kind::AfXdp,
    }
}

/// `64KiB`, `4MiB`.
pub fn size_word(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) {
        format!("{}MiB", bytes >> 20)
    } else {
        format!("{}KiB", bytes >> 10)
    }
}

/// The buffers that live variants can be tried with, in bytes, ascending.
fn buffers(registry: &Registry) -> Result<Vec<u64>> {
    let axes = registry.path(PATH)?.variant(variant(Kind::TpacketV3))?.axes();
    let domain = axes.iter().find(|axis| axis.name == "buffer").map(|axis| &axis.domain);
    let mut buffers: Vec<u64> = match domain {
        Some(Domain::Words(words)) => words.iter().filter_map(|word| bytes(word)).collect(),
        _ => Vec::new(),
    };
    buffers.sort_unstable();
    Ok(buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_back() {
        for size in [64 << 10, 256 << 10, 1 << 20, 64 << 20] {
            assert_eq!(bytes(&size_word(size)), Some(size));
        }
    }
}
