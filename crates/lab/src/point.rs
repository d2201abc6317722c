//! From presets to points: every combination of axes, checked against the variants that are to run it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollway_core::{Error, Params, Plan, Preset, Registry, Result, TollKey, TrialSpec, Value, Variant};

use crate::side::Side;

/// A variant at one point of its axes, ready to be tried.
#[derive(Clone, Debug)]
pub struct Point {
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// One value for each axis.
    pub params: Params,
    /// Those of them that are not the axis's default: what a reader has to know.
    pub departures: Params,
    /// What its variant calls it, where it has words for it.
    pub name: Option<String>,
    /// How the variant runs there.
    pub plan: Plan,
    /// How long an actor may take beyond its window, where that is more than usual.
    pub patience: Duration,
    /// How it is tried.
    pub spec: TrialSpec,
    /// Which of the presets named it, or what needs it.
    pub preset: usize,
    /// Whether that preset has it among its headlines.
    pub headline: bool,
}

impl Point {
    /// What a person reads: the toll's title where the point measures one, alone or as one of many.
    pub fn title(&self) -> String {
        let measured = self.plan.roles.iter().find(|role| role.measured).map_or(1, |role| role.count);
        let crossing = self.plan.gates.first().and_then(|gate| gate.toll.as_ref());
        match (&self.plan.provides, crossing) {
            (Some(key), _) => key.title(),
            (None, Some(key)) if measured > 1 => format!("{}, {measured} tenants", key.title()),
            (None, _) => self.name.clone().unwrap_or_else(|| {
                format!("{} {} {}", self.path, self.variant, self.departures).trim_end().into()
            }),
        }
    }

    /// A variant at values of its axes that are complete.
    ///
    /// # Errors
    /// What the variant does not take.
    fn of(path: &str, variant: &dyn Variant, params: Params, spec: TrialSpec) -> Result<Point> {
        let settles = variant.settles(&params).as_secs_f64() * 1e3;
        let spec = TrialSpec { warmup_ms: spec.warmup_ms.max(settles), ..spec };
        Ok(Point {
            path: path.into(),
            variant: variant.name().into(),
            departures: departures(&params, variant),
            name: variant.title(&params),
            plan: variant.plan(&params)?,
            patience: variant.patience(&params),
            params,
            spec,
            preset: 0,
            headline: false,
        })
    }

    /// The same point as a side has it: with the values that the side gives its axes.
    ///
    /// # Errors
    /// What the variant does not take.
    pub fn on(&self, side: &Side, registry: &Registry) -> Result<Point> {
        let variant = self.variant(registry)?;
        let axes = variant.axes();
        let own = side.axes.iter().filter(|(name, _)| axes.iter().any(|axis| axis.name == *name));
        let params = own.fold(self.params.clone(), |params, (name, value)| params.with(name, value.clone()));
        if params == self.params {
            return Ok(self.clone());
        }
        let place = |error| match error {
            Error::Input { place, reason, remedy } => Error::Input {
                place: format!("side {}, {} {place}", side.label, self.variant),
                reason,
                remedy,
            },
            other => other,
        };
        let params = params.complete(&axes).and_then(|params| variant.pinned(params)).map_err(place)?;
        let there = Point::of(&self.path, variant, params, self.spec.clone()).map_err(place)?;
        Ok(Point { preset: self.preset, headline: self.headline, ..there })
    }

    /// The variant itself.
    pub fn variant<'r>(&self, registry: &'r Registry) -> Result<&'r dyn Variant> {
        registry.path(&self.path)?.variant(&self.variant)
    }
}

/// Presets as they were asked for: what a run stores, so that it can be taken up again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The presets, parsed.
    pub presets: Vec<Preset>,
    /// If not empty: only points whose toll key, variant or title contains one of these.
    pub only: Vec<String>,
}

/// Seconds that a preset may have as its budget.
const BUDGETS: std::ops::RangeInclusive<f64> = 0.1..=86_400.0;

/// Reads a preset.
///
/// # Errors
/// Names the line, as the TOML reader tells it.
pub fn parse_preset(name: &str, text: &str) -> Result<Preset> {
    let preset: Preset = toml::from_str(text).map_err(|e| Error::Input {
        place: format!("preset `{name}`"),
        reason: e.to_string().trim_end().into(),
        remedy: "CONTRIBUTING.md shows what a preset contains".into(),
    })?;
    let spec = &preset.trial;
    let length = 0.01..=60_000.0;
    let fits = length.contains(&spec.window_ms)
        && (0.0..=60_000.0).contains(&spec.warmup_ms)
        && (1..=1000).contains(&spec.runs)
        && (1..=1000).contains(&spec.repeats);
    if preset.preset.budget_s.is_some_and(|budget| !BUDGETS.contains(&budget)) {
        Err(Error::Input {
            place: format!("preset `{name}`, budget_s"),
            reason: "the time is out of bounds".into(),
            remedy: format!("budget_s takes {} to {} seconds", BUDGETS.start(), BUDGETS.end()),
        })
    } else if fits {
        Ok(preset)
    } else {
        Err(Error::Input {
            place: format!("preset `{name}`, [trial]"),
            reason: "a length or a count is out of bounds".into(),
            remedy: "window_ms takes 0.01 to 60000, warmup_ms 0 to 60000, runs and repeats 1 to 1000".into(),
        })
    }
}

/// All points of the selection, in the order of the presets; a point that two presets name is kept once. Points that
/// measure tolls which these need, and which the selection does not have, follow.
pub fn points(registry: &Registry, selection: &Selection) -> Result<Vec<Point>> {
    with_tolls(registry, selection, |plan| plan.needs.clone())
}

/// As [`points`], but with the tolls of all gates as well: a bill is not complete without them, a prediction may be.
pub fn billed(registry: &Registry, selection: &Selection) -> Result<Vec<Point>> {
    with_tolls(registry, selection, |plan| {
        let of_gates = plan.gates.iter().flat_map(|gate| gate.toll.iter().chain(&gate.less));
        plan.needs.iter().chain(of_gates).cloned().collect()
    })
}

fn with_tolls(
    registry: &Registry,
    selection: &Selection,
    tolls: impl Fn(&Plan) -> Vec<TollKey>,
) -> Result<Vec<Point>> {
    let mut points = named(registry, selection)?;
    for at in 0..points.len() {
        for key in tolls(&points[at].plan) {
            if !points.iter().any(|p| p.plan.provides.as_ref() == Some(&key))
                && let Some(provider) = provider(registry, &key, &points[at])?
            {
                points.push(provider);
            }
        }
    }
    Ok(points)
}

/// As [`points`], but only those that the presets name.
pub fn named(registry: &Registry, selection: &Selection) -> Result<Vec<Point>> {
    let mut points: Vec<Point> = Vec::new();
    for (at, preset) in selection.presets.iter().enumerate() {
        let path = registry.path(&preset.preset.path)?;
        let mut headlines = vec![false; preset.headline.len()];
        for (name, params) in preset.points() {
            if name.is_empty() {
                return Err(Error::Input {
                    place: format!("preset `{}`", preset.preset.name),
                    reason: "a case names no variant".into(),
                    remedy: format!("add `variant = [\"…\"]`; `tollway list {}` names them", path.name),
                });
            }
            let variant = path.variant(&name)?;
            let params = params
                .complete(&variant.axes())
                .and_then(|params| variant.pinned(params))
                .map_err(|e| in_preset(&preset.preset.name, &name, e))?;
            let mut point = Point::of(path.name, variant, params, preset.trial.clone())?;
            point.preset = at;
            for (case, met) in preset.headline.iter().zip(&mut headlines) {
                let names = case.names(&point.variant, &point.params);
                point.headline |= names;
                *met |= names;
            }
            let twice = points
                .iter()
                .any(|p| p.path == point.path && p.variant == point.variant && p.params == point.params);
            if !twice && chosen(&point, &selection.only) {
                points.push(point);
            }
        }
        if let Some(unmet) = headlines.iter().position(|met| !met) {
            return Err(Error::Input {
                place: format!("preset `{}`, headline {}", preset.preset.name, unmet + 1),
                reason: "the preset has no such point".into(),
                remedy: "name a variant and values of its axes that a case has".into(),
            });
        }
    }
    if points.is_empty() {
        return Err(Error::Input {
            place: "selection".into(),
            reason: if selection.only.is_empty() {
                "the presets name no point".into()
            } else {
                format!("no point fits {}", selection.only.join(", "))
            },
            remedy: "`tollway list PATH` shows what there is".into(),
        });
    }
    Ok(points)
}

/// The point that measures that toll, tried as the one that needs it; `None` where no path measures it.
///
/// A variant that measures a crossing has its name, and axes named like the parts of its key.
fn provider(registry: &Registry, key: &TollKey, needing: &Point) -> Result<Option<Point>> {
    let name = key.crossing.name();
    let own_first = registry.paths.iter().filter(|p| p.name == needing.path);
    for path in own_first.chain(registry.paths.iter().filter(|p| p.name != needing.path)) {
        let Some(variant) = path.variants.iter().find(|v| v.name() == name) else { continue };
        let mut params = Params::new();
        for axis in variant.axes() {
            let value = match axis.name {
                "kind" => key.kind.clone().map(Value::Text),
                "tenant" => key.tenant.map(|t| Value::Text(t.name().into())),
                "placement" => key.placement.map(|p| Value::Text(p.name().into())),
                "warmth" => key.warmth.map(|w| Value::Text(w.name().into())),
                "size" => key.size.map(Value::Int),
                "depth" => key.depth.map(|d| Value::Int(d.into())),
                _ => None,
            };
            if let Some(value) = value {
                params.set(axis.name, value);
            }
        }
        let Ok(params) = params.complete(&variant.axes()) else { continue };
        let point = Point::of(path.name, &**variant, params, needing.spec.clone())?;
        let point = Point { preset: needing.preset, ..point };
        if point.plan.provides.as_ref() == Some(key) {
            return Ok(Some(point));
        }
    }
    Ok(None)
}

/// The values that are not the defaults of their axes.
fn departures(params: &Params, variant: &dyn Variant) -> Params {
    let mut departures = Params::new();
    for axis in variant.axes() {
        if let Some(value) = params.get(axis.name).filter(|value| **value != axis.default) {
            departures.set(axis.name, value.clone());
        }
    }
    departures
}

fn chosen(point: &Point, only: &[String]) -> bool {
    let key = point.plan.provides.as_ref().map(ToString::to_string).unwrap_or_default();
    let title = point.title();
    only.is_empty() || only.iter().any(|o| key.contains(o) || point.variant.contains(o) || title.contains(o))
}

fn in_preset(preset: &str, variant: &str, error: Error) -> Error {
    match error {
        Error::Input { place, reason, remedy } => {
            Error::Input { place: format!("preset `{preset}`, variant `{variant}`, {place}"), reason, remedy }
        }
        other => other,
    }
}
