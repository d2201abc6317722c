//! The key under which the cost of a crossing is kept, and that cost.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Boundary, Crossing, Error, TenantKind};

/// Whether the two sides of a crossing share a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Both on one core.
    Same,
    /// On two cores.
    Across,
}

impl Placement {
    /// The name in keys and presets.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Same => "same",
            Placement::Across => "across",
        }
    }
}

/// Whether what is touched was in cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warmth {
    /// In the nearest cache that it fits into.
    Hot,
    /// Flushed from all caches beforehand, or by whatever a core does while its thread sleeps.
    Cold,
}

impl Warmth {
    /// The name in keys and presets.
    pub fn name(self) -> &'static str {
        match self {
            Warmth::Hot => "hot",
            Warmth::Cold => "cold",
        }
    }
}

/// What the cost of a crossing is a function of.
///
/// Written `crossing[/kind=…][/in=tenant][/placement][/warmth][/size=bytes][/depth=n]`, for instance `pipe/across` or
/// `copy/in=linux-guest/cold/size=1514`; [`FromStr`] reads what [`fmt::Display`] writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TollKey {
    /// Which crossing.
    pub crossing: Crossing,
    /// Which kind of it, where there are several (`kind=monotonic` of a clock).
    pub kind: Option<String>,
    /// Where the actors live, if not in processes of this machine.
    pub tenant: Option<TenantKind>,
    /// Where the two sides ran.
    pub placement: Option<Placement>,
    /// Hot or cold.
    pub warmth: Option<Warmth>,
    /// Bytes moved by one crossing.
    pub size: Option<u64>,
    /// Operations under way at once.
    pub depth: Option<u32>,
}

impl TollKey {
    /// The key of a crossing that depends on nothing else.
    pub fn of(crossing: Crossing) -> Self {
        TollKey { crossing, kind: None, tenant: None, placement: None, warmth: None, size: None, depth: None }
    }

    /// The same key for one kind. Letters, digits, `-` and `_` only.
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// The same key in another kind of tenant; processes are what a key means by itself.
    pub fn tenant(mut self, tenant: TenantKind) -> Self {
        self.tenant = (tenant != TenantKind::Process).then_some(tenant);
        self
    }

    /// The same key at a placement.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = Some(placement);
        self
    }

    /// The same key for hot or cold memory.
    pub fn warmth(mut self, warmth: Warmth) -> Self {
        self.warmth = Some(warmth);
        self
    }

    /// The same key for a size in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// The same key for a depth.
    pub fn depth(mut self, depth: u32) -> Self {
        self.depth = Some(depth);
        self
    }

    /// The boundary that is crossed. The vDSO hands the clocks of processor time and the alarm clocks on to
    /// the kernel.
    pub fn boundary(&self) -> Boundary {
        match (self.crossing, self.kind.as_deref()) {
            (
                Crossing::ClockVdso,
                Some("process-cputime" | "thread-cputime" | "realtime-alarm" | "boottime-alarm"),
            ) => Boundary::UserKernel,
            (Crossing::PacketStamp, Some("system-call")) => Boundary::UserKernel,
            (crossing, _) => crossing.boundary(),
        }
    }

    /// What a person reads: the crossing's title and what it depends on.
    pub fn title(&self) -> String {
        let mut out = self.crossing.title().to_string();
        let mut notes = Vec::new();
        if let Some(kind) = &self.kind {
            notes.push(kind.clone());
        }
        match self.tenant {
            Some(TenantKind::Thread) => notes.push("threads".into()),
            Some(TenantKind::Process) | None => {}
            Some(guest) => notes.push(format!("in a {}", guest.title())),
        }
        match self.size {
            Some(cycles) if matches!(self.crossing, Crossing::PacketWork | Crossing::RequestWork) => {
                notes.push(format!("{cycles} cycles"));
            }
            Some(rows) if self.crossing == Crossing::MatrixProduct => notes.push(format!("n = {rows}")),
            Some(size) => notes.push(bytes(size)),
            None => {}
        }
        if let Some(depth) = self.depth {
            notes.push(format!("{depth} at once"));
        }
        if let Some(warmth) = self.warmth {
            notes.push(warmth.name().into());
        }
        match self.placement {
            Some(Placement::Same) => notes.push("same core".into()),
            Some(Placement::Across) => notes.push("across cores".into()),
            None => {}
        }
        if !notes.is_empty() {
            out.push_str(", ");
            out.push_str(&notes.join(", "));
        }
        out
    }
}

/// A size in IEC units where it is whole, else in bytes.
fn bytes(n: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match n {
        n if n >= MIB && n % MIB == 0 => format!("{} MiB", n / MIB),
        n if n >= KIB && n % KIB == 0 => format!("{} KiB", n / KIB),
        n => format!("{n} B"),
    }
}

impl fmt::Display for TollKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.crossing.name())?;
        if let Some(kind) = &self.kind {
            write!(f, "/kind={kind}")?;
        }
        if let Some(tenant) = self.tenant {
            write!(f, "/in={tenant}")?;
        }
        if let Some(p) = self.placement {
            write!(f, "/{}", p.name())?;
        }
        if let Some(w) = self.warmth {
            write!(f, "/{}", w.name())?;
        }
        if let Some(size) = self.size {
            write!(f, "/size={size}")?;
        }
        if let Some(depth) = self.depth {
            write!(f, "/depth={depth}")?;
        }
        Ok(())
    }
}

impl FromStr for TollKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |part: &str| Error::Input {
            place: format!("toll key `{text}`"),
            reason: format!("`{part}` is not a part of a toll key"),
            remedy: "write crossing[/kind=…][/in=tenant][/same|across][/hot|cold][/size=bytes][/depth=n]"
                .into(),
        };
        let mut parts = text.split('/');
        let mut key = TollKey::of(parts.next().unwrap_or_default().parse()?);
        for part in parts {
            match part.split_once('=') {
                None if part == "same" => key.placement = Some(Placement::Same),
                None if part == "across" => key.placement = Some(Placement::Across),
                None if part == "hot" => key.warmth = Some(Warmth::Hot),
                None if part == "cold" => key.warmth = Some(Warmth::Cold),
                Some(("kind", kind)) if !kind.is_empty() => key.kind = Some(kind.into()),
                Some(("in", tenant)) => key.tenant = Some(tenant.parse().map_err(|_| bad(part))?),
                Some(("size", n)) => key.size = Some(n.parse().map_err(|_| bad(part))?),
                Some(("depth", n)) => key.depth = Some(n.parse().map_err(|_| bad(part))?),
                _ => return Err(bad(part)),
            }
        }
        Ok(key)
    }
}

impl Serialize for TollKey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TollKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What one crossing costs: a distribution in brief, in ticks of the run's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Toll {
    /// What it depends on.
    pub key: TollKey,
    /// Median over trials of the trials' medians, in ticks per operation.
    pub median: f64,
    /// Lower end of the median's 95 % interval, in ticks.
    pub lo: f64,
    /// Upper end of the median's 95 % interval, in ticks.
    pub hi: f64,
    /// Mean over trials of the trials' means, in ticks per operation, less what something else took meanwhile: what a
    /// bill adds up.
    pub work: f64,
    /// Lower end of its 95 % interval, in ticks.
    pub work_lo: f64,
    /// Upper end of its 95 % interval, in ticks.
    pub work_hi: f64,
    /// Ticks per second of the clock it was measured with.
    pub hz: f64,
    /// The run that it was measured in.
    pub run: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_key() -> impl Strategy<Value = TollKey> {
        (
            prop::sample::select(Crossing::ALL),
            prop::option::of("[a-z0-9_-]{1,12}"),
            prop::option::of(prop::sample::select(TenantKind::ALL)),
            prop::option::of(prop::sample::select(&[Placement::Same, Placement::Across][..])),
            prop::option::of(prop::sample::select(&[Warmth::Hot, Warmth::Cold][..])),
            prop::option::of(any::<u64>()),
            prop::option::of(any::<u32>()),
        )
            .prop_map(|(crossing, kind, tenant, placement, warmth, size, depth)| TollKey {
                crossing,
                kind,
                tenant,
                placement,
                warmth,
                size,
                depth,
            })
    }

    proptest! {
        #[test]
        fn a_key_reads_what_it_writes(key in any_key()) {
            prop_assert_eq!(key.to_string().parse::<TollKey>().unwrap(), key);
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<TollKey>();
        }
    }

    #[test]
    fn a_bad_key_names_the_part() {
        let error = "pipe/sideways".parse::<TollKey>().unwrap_err().to_string();
        assert!(error.contains("`sideways`"), "{error}");
    }
}
