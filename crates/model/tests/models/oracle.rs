//! The models against figures of other software, kept in `tests/vectors` (how they are made: `oracle/README.md`).

mod typed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use tollway_model::catalogue;

/// Bars of issue 4: closed forms relative, transform inversion absolute in the probability.
const RELATIVE: f64 = 1e-9;
const PROBABILITY: f64 = 1e-6;
/// Where a quantile is found by inversion, it is also right to this share of itself.
const INVERTED: f64 = 1e-6;

/// Vectors of this name are of distributions, which are no model of the catalogue.
const DISTRIBUTION: &str = "distribution";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    #[expect(dead_code, reason = "for readers")]
    made: String,
    point: Vec<Point>,
}

/// Parameters of one model and what another software says there.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    model: String,
    source: String,
    given: BTreeMap<String, String>,
    #[serde(default)]
    tolerance: Tolerance,
    figures: BTreeMap<String, f64>,
    /// The density of the distribution at a quantile, 1/s.
    #[serde(default)]
    density: BTreeMap<String, f64>,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tolerance {
    #[default]
    Exact,
    Inversion,
}

/// One figure and how far off it is, as a multiple of what is allowed: up to 1 is right.
struct Checked {
    place: String,
    relative: f64,
    share_of_allowed: f64,
}

fn vectors() -> Vec<Point> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let read = |path: &Path| -> Vectors {
        toml::from_str(&std::fs::read_to_string(path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.iter().flat_map(|path| read(path).point).collect()
}

type Find<'a> = Box<dyn Fn(&str) -> Option<tollway_model::Result<f64>> + 'a>;

/// Where figures are found by name: in the catalogue's answer, else in the typed interface.
fn figures_of(point: &Point) -> tollway_model::Result<Find<'_>> {
    if point.model == DISTRIBUTION {
        return Ok(Box::new(|name| typed::of_distribution(&point.given, name)));
    }
    let model = catalogue::find(&point.model)?;
    let pairs = point.given.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let solution = model.solve(&model.given(pairs)?)?;
    Ok(Box::new(move |name| {
        solution.get(name).map(Ok).or_else(|| typed::figure(&point.model, &point.given, name))
    }))
}

fn check(point: &Point) -> Result<Vec<Checked>, String> {
    let place = format!("{} {:?}", point.model, point.given);
    let find = figures_of(point).map_err(|error| format!("{place}: {error}"))?;
    let one = |(name, expected): (&String, &f64)| {
        let place = format!("{place} {name}");
        let found = find(name).transpose().map_err(|error| format!("{place}: {error}"))?;
        let Some(found) = found else { return Err(format!("{place}: no such figure")) };
        let error = (found - expected).abs();
        let relative = if error == 0.0 { 0.0 } else { error / expected.abs() };
        let quantile = name.contains(".p") && !name.ends_with("probability");
        let share_of_allowed = if point.tolerance == Tolerance::Inversion && quantile {
            let probability = point.density.get(name).map_or(f64::INFINITY, |density| error * density);
            (relative / INVERTED).min(probability / PROBABILITY)
        } else {
            relative / RELATIVE
        };
        let place = format!("{place}: {found:e}, but {expected:e} by {}", point.source);
        Ok(Checked { place, relative, share_of_allowed })
    };
    point.figures.iter().map(one).collect()
}

#[test]
fn figures_agree_with_other_software() {
    let points = vectors();
    let mut worst: BTreeMap<&str, (usize, f64, f64)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for point in &points {
        match check(point) {
            Err(told) => wrong.push(told),
            Ok(figures) => {
                for figure in figures {
                    let entry = worst.entry(&point.model).or_default();
                    entry.0 += 1;
                    entry.1 = entry.1.max(figure.relative);
                    entry.2 = entry.2.max(figure.share_of_allowed);
                    if figure.share_of_allowed.is_nan() || figure.share_of_allowed > 1.0 {
                        wrong.push(format!("{} (off by {:.1e})", figure.place, figure.relative));
                    }
                }
            }
        }
    }
    let count: usize = worst.values().map(|(count, ..)| count).sum();
    println!("{count} figures of {} models; worst of each:", worst.len());
    for (model, (count, relative, share)) in &worst {
        println!("{model:24} {count:4} figures, off by {relative:.1e}, {share:.1e} of what is allowed");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 150, "only {count}");
}

#[test]
fn every_model_has_vectors() {
    let points = vectors();
    let lacking: Vec<&str> = catalogue::all()
        .iter()
        .filter(|model| {
            let own = points.iter().filter(|point| point.model == model.name);
            own.map(|point| point.figures.len()).sum::<usize>() < 3
        })
        .map(|model| model.name)
        .collect();
    assert!(lacking.is_empty(), "without three values of other software: {lacking:?}");
    let strange: BTreeSet<&str> = points
        .iter()
        .map(|point| point.model.as_str())
        .filter(|name| *name != DISTRIBUTION && catalogue::find(name).is_err())
        .collect();
    assert!(strange.is_empty(), "vectors of models that are not in the catalogue: {strange:?}");
}

/// The check can fail: every figure that is off by 1e-8 is found.
#[test]
fn a_planted_error_is_found() {
    for point in vectors().into_iter().filter(|point| point.tolerance == Tolerance::Exact) {
        for name in point.figures.keys().filter(|name| point.figures[*name] != 0.0) {
            let mut planted = point.clone();
            planted.figures.retain(|other, _| other == name);
            *planted.figures.get_mut(name).unwrap() *= 1.0 + 1e-8;
            let Ok(found) = check(&planted) else { continue };
            assert!(found[0].share_of_allowed > 1.0, "{}", found[0].place);
        }
    }
}
