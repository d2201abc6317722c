//! What the card is to do: cipher, size, tenants.

use tollway_cipher::engine::suite::Named;
use tollway_core::{Case, Error, OneOrMany, Params, Preset, PresetHead, Registry, Result, TrialSpec, Value};
use tollway_lab::point::Selection;
use tollway_lab::{Foretold, Request};

use super::way::Way;
use crate::bench::library;

/// The path whose points are measured.
pub const PATH: &str = "cipher";

/// What is asked of the card.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// All paths.
    pub registry: &'a Registry,
    /// By the names of `openssl speed`.
    pub cipher: &'a str,
    /// Bytes of a request.
    pub size: usize,
    /// Tenants that share the card, each a process.
    pub tenants: u32,
    /// Of everything random.
    pub seed: u64,
}

/// A point: a variant of the path, and a value for each of its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// The path's name.
    pub path: &'static str,
    /// The variant's.
    pub variant: String,
    /// Complete.
    pub params: Params,
}

impl Asked<'_> {
    /// The card by that way at so many requests a second of each tenant; 0: each tenant has one on its way always.
    ///
    /// # Errors
    /// What the variant's axes do not have.
    pub fn card(&self, way: &Way, rate: u64, tenants: u32, awake: bool) -> Result<At> {
        let params = way.params.clone();
        let params = params
            .with("cipher", self.cipher)
            .with("size", self.size as u64)
            .with("tenants", u64::from(tenants))
            .with("rate", rate)
            .with("card", if awake { "awake" } else { "asleep" })
            .with("order", "arrival");
        self.at(PATH, way.variant, params)
    }

    /// A point of a path.
    ///
    /// # Errors
    /// What the variant's axes do not have.
    pub fn at(&self, path: &'static str, variant: &str, params: Params) -> Result<At> {
        let params = params.complete(&self.registry.path(path)?.variant(variant)?.axes())?;
        Ok(At { path, variant: variant.into(), params })
    }

    /// Nanoseconds that a request takes about: as long as the library, called here a few times.
    ///
    /// # Errors
    /// There is no such cipher, or the library refuses.
    pub fn by_library(&self) -> Result<f64> {
        let named = Named::find(self.cipher).ok_or_else(|| Error::Input {
            place: format!("cipher `{}`", self.cipher),
            reason: "there is none of that name".into(),
            remedy: "`tollway cipher predict --help` names them".into(),
        })?;
        library::takes(named, self.size)
    }

    /// The request to measure these points.
    pub fn request(&self, title: &str, groups: &[(&[At], TrialSpec)], foretold: Vec<Foretold>) -> Request {
        let mut presets = Vec::new();
        for (points, trial) in groups {
            let mut paths: Vec<&'static str> = points.iter().map(|at| at.path).collect();
            paths.dedup();
            for path in paths {
                let case = points.iter().filter(|at| at.path == path).map(case).collect();
                let head = PresetHead { name: title.into(), path: path.into(), ..PresetHead::default() };
                presets.push(Preset { preset: head, case, trial: trial.clone(), ..Preset::default() });
            }
        }
        Request {
            title: title.into(),
            selection: Selection { presets, only: Vec::new() },
            sides: Vec::new(),
            seed: self.seed,
            together: true,
            without_tolls: true,
            foretold,
            narrow: None,
            within: None,
        }
    }
}

fn case(at: &At) -> Case {
    let one = |(axis, value): (&str, &Value)| (axis.to_owned(), OneOrMany::One(value.clone()));
    let mut case = Case(at.params.iter().map(one).collect());
    case.0.insert("variant".into(), OneOrMany::One(Value::Text(at.variant.clone())));
    case
}
