//! The axes of live capture, and what their values mean for source and generator.

use std::time::Duration;

use tollway_core::{Axis, Domain, Error, Params, Result, Value};

use crate::engine::generate::{Flows, Group, Schedule, Size, Transport};
use crate::engine::source::{self, Kind, Placement};
use crate::filters::StudyFilter;
use crate::params::{self, BUFFER_NAMES, BUFFERS, meant};

/// The shortest frames over IPv6 that have room for a number, in bytes as handed over.
const SHORTEST_V6: usize = 76;

const PLACEMENTS: &[(&str, Placement)] =
    &[("user", Placement::User), ("kernel", Placement::Kernel), ("both", Placement::Both)];

/// One point of a live variant.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) kind: Kind,
    pub(super) size: Size,
    /// What is wanted; `None`: everything.
    pub(super) filter: Option<&'static StudyFilter>,
    pub(super) placement: Placement,
    /// Which part of the frames is wanted, 0 to 1.
    pub(super) share: f64,
    /// Frames per second; 0: as fast as the interface takes them.
    rate: u64,
    snapshot: u32,
    pub(super) buffer: usize,
    immediate: bool,
    patience: Duration,
    /// Cycles that the application spends on a packet besides looking at it.
    pub(super) work: u32,
    /// How long the application stops, once in [`STALLS_APART`] times as long.
    pub(super) stall: Duration,
}

/// How far apart stalls begin, in lengths of one.
pub(super) const STALLS_APART: u64 = 10;

pub(super) fn axes(kind: Kind) -> Vec<Axis> {
    let is_xdp = kind == Kind::AfXdp;
    let word = |name, about, words, default: &str| Axis {
        name,
        about,
        domain: Domain::Words(words),
        default: Value::Text(default.into()),
    };
    let whole = |name, about, from, to, default| Axis {
        name,
        about,
        domain: Domain::Whole(from, to),
        default: Value::Int(default),
    };
    vec![
        params::size(),
        word(
            "filter",
            "which packets are wanted: all, or those of a filter of the study (see `before`)",
            &["none", "ip", "ports", "addresses"],
            "none",
        ),
        // No classic filter of the kernel sees the frames of AF_XDP.
        word(
            "where",
            "where the filter runs",
            if is_xdp { &["user"] } else { &["user", "kernel", "both"] },
            if is_xdp { "user" } else { "kernel" },
        ),
        whole("share", "frames that the filter wants, in per cent", 0, 100, 100),
        whole("rate", "frames sent per second; 0: as many as the interface takes", 0, 10_000_000, 148_809),
        params::snapshot(),
        word("buffer", "memory for packets that wait to be read", BUFFER_NAMES, "16MiB"),
        word(
            "immediate",
            "whether a packet is handed over at once, or waits for others to share its wake-up",
            &["no", "yes"],
            "no",
        ),
        whole("patience", "how long a packet may wait for others at the most, in milliseconds", 1, 1000, 10),
        whole("work", "cycles that the application spends on each packet besides", 0, 1_000_000, 0),
        whole(
            "stall",
            "how long the application stops, once in ten times as long, in milliseconds; 0: never",
            0,
            1000,
            0,
        ),
    ]
}

impl Setting {
    pub(super) fn of(kind: Kind, params: &Params) -> Result<Setting> {
        let filter = match params.word("filter")? {
            "none" => None,
            name => Some(StudyFilter::named(name)?),
        };
        let setting = Setting {
            kind,
            size: Size::new((params.int("size")? + 4) as u16)?,
            filter,
            placement: meant(PLACEMENTS, params.word("where")?)?,
            share: params.int("share")? as f64 / 100.0,
            rate: params.int("rate")?,
            snapshot: params.int("snapshot")? as u32,
            buffer: meant(BUFFERS, params.word("buffer")?)?,
            immediate: params.word("immediate")? == "yes",
            patience: Duration::from_millis(params.int("patience")?),
            work: params.int("work")? as u32,
            stall: Duration::from_millis(params.int("stall")?),
        };
        let refused = |reason: &str, remedy: String| {
            let place =
                format!("axis `share` = {}", params.get("share").map_or(String::new(), Value::to_string));
            Err(Error::Input { place, reason: reason.into(), remedy })
        };
        match filter {
            None if setting.share < 1.0 => {
                refused("without a filter everything is wanted", "choose a `filter`, or 100".into())
            }
            Some(_) if setting.share == 0.0 => {
                refused("nothing would ever be read, so nothing has a cost", "take 1 to 100".into())
            }
            Some(filter)
                if setting.share < 1.0 && filter.name == "ip" && setting.size.handed() < SHORTEST_V6 =>
            {
                refused(
                    "what is not IPv4 here is IPv6, whose frames are longer",
                    format!("take `size` {SHORTEST_V6} or more, or another filter"),
                )
            }
            _ => Ok(setting),
        }
    }

    /// Bytes kept of each frame.
    pub(super) fn kept(&self) -> usize {
        self.size.handed().min(self.snapshot as usize)
    }

    /// How long a wait sleeps, if it does: until the next frame comes, or a block of TPACKET_V3 is handed over.
    pub(super) fn sleep(&self) -> Duration {
        const LEAST: Duration = Duration::from_micros(1);
        match (self.kind, self.immediate, self.rate) {
            (Kind::TpacketV3, true, _) => Duration::from_millis(1),
            (Kind::TpacketV3, false, _) => self.patience,
            (_, _, 0) => LEAST,
            (_, _, rate) => Duration::from_secs_f64(1.0 / (rate as f64 * self.share.max(0.01))).max(LEAST),
        }
    }

    /// Whether more frames are waited for once there are some.
    pub(super) fn naps(&self) -> bool {
        !self.source().is_ok_and(|settings| settings.nap().is_zero())
    }

    pub(super) fn source(&self) -> Result<source::Settings> {
        Ok(source::Settings {
            kind: self.kind,
            snapshot: self.snapshot,
            buffer: self.buffer,
            immediate: self.immediate,
            patience: self.patience,
            // The capture's end of the cable sends nothing.
            outgoing: false,
            filter: self.filter.map(StudyFilter::program).transpose()?,
            placement: self.placement,
            ..source::Settings::default()
        })
    }

    /// Who talks to whom, so that the filter wants its share.
    pub(super) fn flows(&self) -> Result<Flows> {
        let Some(filter) = self.filter else { return Ok(Group::v4(Transport::Tcp).into()) };
        let unwanted =
            if filter.name == "ip" { Group::v6(Transport::Udp) } else { Group::v4(Transport::Tcp) };
        Ok(Flows::with_share(self.share, vec![filter.flows()], vec![unwanted])?)
    }

    pub(super) fn schedule(&self) -> Schedule {
        match self.rate {
            0 => Schedule::FullSpeed,
            rate => Schedule::Constant { rate: rate as f64 },
        }
    }
}
