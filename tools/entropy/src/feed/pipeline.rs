//! From the command line to a source whose every byte is tested, and to what feeding from it comes to.

use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use anyhow::Result;
use tollway_core::Error;
use tollway_entropy::engine::condition::{Conditioned, INPUT, SAMPLE, reduced};
use tollway_entropy::engine::feed::{Feeder, Portion, Sink};
use tollway_entropy::engine::health::{Limits, Monitored, Settings, Watch};
use tollway_entropy::engine::source::{self, Claim, Device, Kind, Source};

use crate::args::feed::Feed;

/// What feeding from a source comes to.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The source's name.
    pub source: String,
    /// Whether 512 bytes of it become one.
    pub conditioned: bool,
    /// Bits credited for a byte that is fed, at most.
    pub bits_per_byte: f64,
    /// A feeding.
    pub portion: Portion,
    /// Bytes that are drawn for it.
    pub drawn: usize,
    /// How the source is tested.
    pub limits: Limits,
}

/// A source under tests, not yet started.
pub struct Pipeline {
    monitored: Monitored<Box<dyn Source>>,
    plan: Plan,
}

impl Pipeline {
    /// What the command line says. It waits where opening a pipe waits.
    ///
    /// # Errors
    /// There is no such source, nothing can be derived from what is claimed of it, or nothing of it may be credited.
    pub fn of(options: &Feed) -> Result<Pipeline> {
        let settings = Settings {
            bits: options.false_alarms,
            least_rate: (options.least_rate > 0.0).then_some(options.least_rate),
            // It is for who feeds to wait.
            hold_off: Duration::ZERO,
            longest_hold_off: Duration::ZERO,
            ..Settings::default()
        };
        let monitored = Monitored::new(open(options)?, settings)?;
        let conditioned = options.is_conditioned();
        let claim = if conditioned { reduced(monitored.claim()) } else { monitored.claim() };
        let portion = Portion::of(monitored.name(), claim, options.bytes.map(|bytes| bytes as usize))?;
        let plan = Plan {
            source: monitored.name().into(),
            conditioned,
            bits_per_byte: claim.entropy.min(8.0),
            portion,
            drawn: if conditioned { portion.bytes.div_ceil(SAMPLE) * INPUT } else { portion.bytes },
            limits: monitored.limits().clone(),
        };
        Ok(Pipeline { monitored, plan })
    }

    /// What it comes to.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// For others to see how the source is.
    pub fn watch(&self) -> Watch {
        self.monitored.watch()
    }

    /// The start-up test.
    ///
    /// # Errors
    /// It was not passed.
    pub fn start(&mut self) -> Result<(), source::Error> {
        self.monitored.recover()
    }

    /// A feeder, once the source has started.
    ///
    /// # Errors
    /// It has failed just now.
    pub fn into_feeder<K: Sink>(self, sink: K) -> Result<Feeder<Box<dyn Source>, K>, Error> {
        let source: Box<dyn Source> = if self.plan.conditioned {
            Box::new(Conditioned::of(self.monitored)?)
        } else {
            Box::new(self.monitored)
        };
        Feeder::new(source, sink, Some(self.plan.portion.bytes))
    }
}

/// Refuses a file or disk, whose bytes are the same at every start.
fn is_fresh(options: &Feed) -> Result<(), Error> {
    let Kind::Path(path) = &options.source else { return Ok(()) };
    // What is not there is told of when it is opened.
    let stays = path.metadata().is_ok_and(|data| data.is_file() || data.file_type().is_block_device());
    if !stays || options.file_is_fresh {
        return Ok(());
    }
    Err(Error::Input {
        place: format!("feeding from {}", path.display()),
        reason: "it is a plain file or a disk: it gives the same bytes at every start, and whoever has read them knows \
                 what would be credited"
            .into(),
        remedy: "take a device or a pipe; or give --file-is-fresh if other bytes take their place before each start".into(),
    })
}

fn open(options: &Feed) -> Result<Box<dyn Source>, Error> {
    is_fresh(options)?;
    Ok(match (&options.source, options.entropy) {
        (kind, None) => kind.open()?,
        (Kind::Path(path), Some(bits)) => {
            let device = Device::open(path)?;
            // What this kernel gives it knows already, whatever somebody says.
            let own = device.claim().entropy == 0.0;
            let claim = Claim { evenness: bits, entropy: bits };
            Box::new(if own { device } else { device.claiming(claim) })
        }
        (kind, Some(_)) => {
            return Err(Error::Input {
                place: "--entropy".into(),
                reason: format!("what a byte of {kind} holds is known"),
                remedy: "leave it out; it is for paths".into(),
            });
        }
    })
}
