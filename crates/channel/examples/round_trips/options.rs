//! What the command line asks for.

use std::error::Error;

use tollway_channel::linux::plain::Way;
use tollway_host::cpu::allowed_cpus;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Ring,
    Futures,
    Plain(Way),
    Idle,
    Sides,
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub mode: Mode,
    /// Requests on their way at a time.
    pub depth: usize,
    /// Ticks that the server works on each request.
    pub work: u64,
    /// Bytes of a message, a multiple of 8.
    pub bytes: usize,
    /// Round trips in all, the first tenth of which is not counted.
    pub trips: u64,
    /// The processors of the end that asks and of the one that answers.
    pub cores: [u32; 2],
}

impl Options {
    pub fn read(words: &[String]) -> Result<Options, Box<dyn Error>> {
        let (mode, rest) = words
            .split_first()
            .ok_or("say what to measure: ring, futures, slow-path, fast-path, idle or sides")?;
        let mode = match mode.as_str() {
            "ring" => Mode::Ring,
            "futures" => Mode::Futures,
            "slow-path" => Mode::Plain(Way::Seqpacket),
            "fast-path" => Mode::Plain(Way::Handoff),
            "idle" => Mode::Idle,
            "sides" => Mode::Sides,
            other => {
                return Err(format!(
                    "`{other}` cannot be measured; say ring, futures, slow-path, fast-path, idle or sides"
                )
                .into());
            }
        };
        let cpus = allowed_cpus()?;
        let cores = [cpus[0], cpus[1 % cpus.len()]];
        let mut options = Options { mode, depth: 1, work: 0, bytes: 64, trips: 100_000, cores };
        let (pairs, alone) = rest.as_chunks::<2>();
        if let [word] = alone {
            return Err(format!("`{word}` lacks a value").into());
        }
        for [option, value] in pairs {
            let number = || value.parse().map_err(|_| format!("{option}: `{value}` is no number"));
            match option.as_str() {
                "--depth" => options.depth = number()? as usize,
                "--work" => options.work = number()?,
                "--bytes" => options.bytes = number()? as usize,
                "--trips" => options.trips = number()?,
                "--cores" => {
                    let read = |(a, b): (&str, &str)| Some([a.parse().ok()?, b.parse().ok()?]);
                    let cores = value.split_once(',').and_then(read);
                    options.cores = cores
                        .ok_or_else(|| format!("--cores: `{value}` should be two numbers, as in 0,1"))?;
                }
                other => return Err(format!("there is no option `{other}`").into()),
            }
        }
        let is_of_words = options.bytes.is_multiple_of(8) && (8..=65_472).contains(&options.bytes);
        if !is_of_words || !(1..=4096).contains(&options.depth) || options.trips < 1000 {
            return Err("messages have 8 to 65472 bytes, a multiple of 8; the depth is 1 to 4096; there are 1000 trips and more".into());
        }
        if options.depth > 1 && matches!(options.mode, Mode::Plain(_)) {
            return Err("plain requests go one at a time: leave --depth out".into());
        }
        Ok(options)
    }
}
