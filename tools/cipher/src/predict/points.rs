//! What is to be foretold: ways at loads, or the points of a preset.

use std::collections::BTreeSet;

use tollway_core::{Error, Params, Registry, Result, TrialSpec, Value};
use tollway_lab::point::{self, Selection, parse_preset};

use crate::args::predict::Predict;
use crate::fitted::asked::{Asked, At, PATH};
use crate::fitted::way::Way;

/// What the model knows of each axis of a point: all other axes must be at one value throughout a preset, or belong to its way.
const KNOWN: [(&str, &str); 7] = [
    ("tasks", "1"),
    ("depth", "1"),
    ("arrivals", "poisson"),
    ("tenant", "process"),
    ("classes", ""),
    ("mix", ""),
    ("trace", ""),
];

/// A point that is to be foretold.
pub(crate) struct Asking {
    pub(crate) at: At,
    pub(crate) way: Way,
    /// Requests a second of each tenant; 0: it loops.
    pub(crate) rate: f64,
    pub(crate) tenants: u32,
    pub(crate) trial: TrialSpec,
}

/// What a preset is about.
pub(super) struct Preset {
    points: Vec<point::Point>,
    pub(super) cipher: String,
    pub(super) size: usize,
}

impl Preset {
    /// Reads it.
    ///
    /// # Errors
    /// If there is none of that name, or the model does not know what it asks.
    pub(super) fn read(registry: &Registry, name: &str) -> Result<Preset> {
        let preset = parse_preset(&format!("{PATH}/{name}"), registry.path(PATH)?.preset(name)?)?;
        let points = point::named(registry, &Selection { presets: vec![preset], only: Vec::new() })?;
        let refused = |reason: String| {
            Error::Input {
            place: format!("--preset {name}"),
            reason,
            remedy: "take one of tenants with a request at a time or a rate, all of one size: arrival, moderation, queue, many-vcm".into(),
        }
        };
        let mut asked = BTreeSet::new();
        for point in &points {
            if tollway_cipher::told(&point.variant, &point.params)?.is_none() {
                return Err(refused(format!("`{}` has no card to tell anybody", point.variant)));
            }
            let word = |axis: &str| point.params.get(axis).map(Value::to_string).unwrap_or_default();
            if let Some((axis, known)) = KNOWN.iter().find(|(axis, known)| word(axis) != *known) {
                let reason = format!("`{axis}={}`: the model knows {axis}={known} only", word(axis));
                return Err(refused(reason));
            }
            asked.insert((word("cipher"), point.params.int("size")? as usize));
        }
        let Some((cipher, size)) = asked.pop_first().filter(|_| asked.is_empty()) else {
            return Err(refused(
                "its points are of several sizes or ciphers, and a model is fitted to one".into(),
            ));
        };
        Ok(Preset { points, cipher, size })
    }

    /// Its points.
    pub(super) fn asking(self) -> Result<Vec<Asking>> {
        let vary = varying(&self.points);
        let ask = |point: point::Point| {
            let (rate, tenants) = (point.params.real("rate")?, point.params.int("tenants")? as u32);
            let differs = point.params.iter().filter(|(axis, _)| vary.contains(*axis));
            let words: Vec<String> = differs.map(|(axis, value)| format!("{axis}={value}")).collect();
            Ok(Asking {
                way: Way::told(&point.variant, &words.join(" "))?,
                rate,
                tenants,
                trial: point.spec,
                at: At { path: PATH, variant: point.variant, params: point.params },
            })
        };
        self.points.into_iter().map(ask).collect()
    }
}

/// Axes in which points differ.
fn varying(points: &[point::Point]) -> BTreeSet<String> {
    let Some(first) = points.first() else { return BTreeSet::new() };
    let differs = |axis: &str, params: &Params| {
        params.get(axis).is_some_and(|value| first.params.get(axis) != Some(value))
    };
    let of = |point: &point::Point| -> Vec<String> {
        let axes = point.params.iter().map(|(axis, _)| axis);
        axes.filter(|axis| differs(axis, &point.params)).map(str::to_owned).collect()
    };
    points.iter().flat_map(of).collect()
}

/// Ways at loads, as the command line has them, at these rates.
pub(super) fn loads(
    options: &Predict,
    asked: &Asked<'_>,
    rate_of: impl Fn(f64, &Way) -> Result<f64>,
) -> Result<Vec<Asking>> {
    let mut all = Vec::new();
    for way in &options.ways {
        for load in &options.loads {
            let rate = rate_of(*load, way)?;
            let window_ms = 1e3 * options.requests as f64 / rate / f64::from(options.runs);
            let trial =
                TrialSpec { window_ms: window_ms.max(50.0), warmup_ms: 20.0, runs: options.runs, repeats: 1 };
            let at = asked.card(way, rate as u64, 1, false)?;
            all.push(Asking { at, way: way.clone(), rate, tenants: 1, trial });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        Registry { paths: vec![tollway_cipher::path()] }
    }

    #[test]
    fn points_of_a_preset_are_foretold_as_it_says() {
        let arrival = Preset::read(&registry(), "arrival").unwrap();
        assert_eq!((arrival.cipher.as_str(), arrival.size), ("aes-128-cbc", 65536));
        let asking = arrival.asking().unwrap();
        assert_eq!(asking.len(), 10);
        assert_eq!((asking[3].rate, asking[3].tenants), (4000.0, 1));
        assert_eq!(asking[3].way.to_string(), "interrupt rate=4000");
        assert_eq!((asking[3].trial.runs, asking[3].at.variant.as_str()), (6, "interrupt"));
        let queue = Preset::read(&registry(), "queue").unwrap().asking().unwrap();
        let tenants: Vec<u32> = queue.iter().map(|asking| asking.tenants).collect();
        assert_eq!(tenants, [1, 2, 4, 8, 16]);
        assert!(queue.iter().all(|asking| asking.rate == 0.0));
    }

    #[test]
    fn what_the_model_does_not_know_is_refused_by_name() {
        for (preset, told) in [
            ("one-vcm", "`tasks=2`: the model knows tasks=1 only"),
            ("back-ends", "`library` has no card"),
            ("exit-less", "`tenant=micro-guest`"),
            ("classes", "`classes=0,1`"),
            ("no-such", "there is none of that name"),
        ] {
            let error = Preset::read(&registry(), preset).err().expect(preset).to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
