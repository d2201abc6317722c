//! Many points of a model: which values a sweep stands for, and the answer at each.

use tollway_model::catalogue::{Given, Kind, Model};
use tollway_model::{ModelError, Result, Solution, quantity};

/// The most points of all sweeps together.
const POINTS: usize = 10_000;

/// Parameters that take many values, each with these.
#[derive(Debug, Default)]
pub struct Sweep<'a> {
    axes: Vec<Axis<'a>>,
}

/// One parameter and its values, as texts.
#[derive(Debug)]
struct Axis<'a> {
    name: &'a str,
    values: Vec<String>,
}

/// What a model answers at some points.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The model.
    pub model: &'static Model,
    /// The parameters that are the same at all points.
    pub fixed: Vec<(&'a str, &'a str)>,
    /// The names of those that are not.
    pub swept: Vec<&'a str>,
    /// The points, the last sweep changing fastest.
    pub points: Vec<Point>,
}

/// One point and the answer there.
#[derive(Debug)]
pub struct Point {
    /// The text of each swept parameter.
    pub at: Vec<String>,
    /// Figures, or why there are none.
    pub solution: Result<Solution>,
}

impl<'a> Sweep<'a> {
    /// Reads `KEY=VALUES` texts.
    pub fn read(model: &Model, texts: &'a [String]) -> Result<Self> {
        let mut sweep = Sweep::default();
        let mut points = 1_usize;
        for text in texts {
            let (name, values) = text.split_once('=').ok_or_else(|| {
                ModelError::parameter(
                    format!("--sweep {text}"),
                    "it has no `=`",
                    "write KEY=VALUES, like lambda=1000..9000:1000",
                )
            })?;
            let name = name.trim();
            if sweep.axes.iter().any(|axis| axis.name == name) {
                return Err(ModelError::parameter(
                    format!("--sweep {name}"),
                    "it is swept twice",
                    "sweep it once",
                ));
            }
            let kind = model.parameters.iter().find(|p| p.name == name).map(|p| p.kind);
            // An unknown name is told by the model, with the names that it has.
            let values = values_of(name, kind.unwrap_or(Kind::Number), values.trim())?;
            points = points.saturating_mul(values.len());
            if points > POINTS {
                return Err(too_many(name));
            }
            sweep.axes.push(Axis { name, values });
        }
        Ok(sweep)
    }

    /// The texts of each combination.
    fn combinations(&self) -> Vec<Vec<String>> {
        self.axes.iter().fold(vec![Vec::new()], |begun, axis| {
            let more = begun.iter().flat_map(|point| {
                axis.values.iter().map(move |value| {
                    let mut point = point.clone();
                    point.push(value.clone());
                    point
                })
            });
            more.collect()
        })
    }
}

impl<'a> Answer<'a> {
    /// Asks the model at every point.
    ///
    /// # Errors
    /// The first point's, where no point has an answer.
    pub fn of(model: &'static Model, fixed: Vec<(&'a str, &'a str)>, sweep: Sweep<'a>) -> Result<Self> {
        let swept: Vec<&str> = sweep.axes.iter().map(|axis| axis.name).collect();
        let solve = |at: &[String]| {
            let moving = swept.iter().copied().zip(at.iter().map(String::as_str));
            let given: Given = model.given(fixed.iter().copied().chain(moving))?;
            model.solve(&given)
        };
        let points: Vec<Point> = sweep
            .combinations()
            .into_iter()
            .map(|at| {
                let solution = solve(&at);
                Point { at, solution }
            })
            .collect();
        if points.iter().all(|point| point.solution.is_err())
            && let Some(Point { solution: Err(error), .. }) = points.first()
        {
            return Err(error.clone());
        }
        Ok(Answer { model, fixed, swept, points })
    }
}

/// The values of a sweep: a range with a step, a range with a factor, or a list.
fn values_of(name: &str, kind: Kind, text: &str) -> Result<Vec<String>> {
    let simple = matches!(kind, Kind::Rate | Kind::Time | Kind::Count | Kind::Number);
    if simple && let Some((from, rest)) = text.split_once("..") {
        return range(name, kind, from, rest);
    }
    // Where a value may itself have commas, `|` stands between values.
    let separator = if simple || matches!(kind, Kind::Word(_)) { ',' } else { '|' };
    let values: Vec<String> = text.split(separator).map(|value| value.trim().to_owned()).collect();
    let base = |value: &String| if simple { Ok(plain(read(kind, name, value)?)) } else { Ok(value.clone()) };
    match values.iter().any(String::is_empty) {
        true => Err(ModelError::parameter(
            format!("--sweep {name}"),
            "a value is empty",
            format!("write values with `{separator}` between them"),
        )),
        false if values.len() > POINTS => Err(too_many(name)),
        false => values.iter().map(base).collect(),
    }
}

fn range(name: &str, kind: Kind, from: &str, rest: &str) -> Result<Vec<String>> {
    let place = format!("--sweep {name}");
    let remedy = "write FROM..TO:STEP like 1000..9000:1000, or FROM..TO:xFACTOR like 1..16:x2";
    let (to, step) =
        rest.split_once(':').ok_or_else(|| ModelError::parameter(&place, "it has no step", remedy))?;
    let read = |text: &str| read(kind, name, text);
    let (first, last) = (read(from)?, read(to)?);
    if last < first {
        return Err(ModelError::parameter(place, "it ends below where it begins", remedy));
    }
    let factor = step.trim().strip_prefix('x').map(|factor| quantity::number(&place, factor)).transpose()?;
    let steps = match factor {
        Some(factor) if factor > 1.0 && first > 0.0 => (last / first).ln() / factor.ln(),
        Some(_) => {
            return Err(ModelError::parameter(
                place,
                "it does not grow",
                "begin above 0, with a factor above 1",
            ));
        }
        None => {
            let step = read(step)?;
            if step <= 0.0 {
                return Err(ModelError::parameter(place, "its step is not above 0", remedy));
            }
            (last - first) / step
        }
    };
    // Of a last value that rounding alone keeps out, the end is meant.
    let steps = (steps + 1e-9).floor();
    if steps >= POINTS as f64 {
        return Err(too_many(name));
    }
    let value = |i: usize| match factor {
        Some(factor) => first * factor.powi(i as i32),
        None => first + (last - first).min(i as f64 * read(step).unwrap_or(0.0)),
    };
    Ok((0..=steps as usize).map(|i| plain(value(i))).collect())
}

/// A value of that kind, in base units.
fn read(kind: Kind, name: &str, text: &str) -> Result<f64> {
    let place = format!("--sweep {name}");
    match kind {
        Kind::Rate => quantity::rate(&place, text),
        Kind::Time => quantity::time(&place, text),
        _ => quantity::number(&place, text),
    }
}

/// A value as a text in base units, without the dust of adding up steps.
fn plain(value: f64) -> String {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    rounded.to_string()
}

fn too_many(name: &str) -> ModelError {
    ModelError::parameter(
        format!("--sweep {name}"),
        format!("that makes more than {POINTS} points"),
        "take larger steps, or sweep less at once",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(kind: Kind, text: &str) -> Vec<String> {
        values_of("x", kind, text).unwrap()
    }

    #[test]
    fn ranges_lists_and_factors() {
        assert_eq!(values(Kind::Number, "0.1..0.5:0.1"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(values(Kind::Rate, "1k/s .. 3k/s : 1000"), ["1000", "2000", "3000"]);
        assert_eq!(values(Kind::Count, "1..16:x2"), ["1", "2", "4", "8", "16"]);
        assert_eq!(values(Kind::Count, "1..15:x2"), ["1", "2", "4", "8"]);
        assert_eq!(values(Kind::Time, "3us"), ["0.000003"]);
        assert_eq!(values(Kind::Time, "1us..2us:1us"), ["0.000001", "0.000002"]);
        assert_eq!(values(Kind::Distribution, "erlang(4, 1us)|constant(1us)").len(), 2);
    }

    #[test]
    fn what_is_no_range_says_how_to_write_one() {
        for bad in
            ["1..2", "2..1:1", "1..2:0", "1..2:-1", "1..2:x1", "0..2:x2", "1..2:xx", "a..b:c", "1,,2", ""]
        {
            let told = values_of("x", Kind::Number, bad).unwrap_err().to_string();
            assert!(told.starts_with("--sweep x: "), "{told}");
        }
        assert!(values_of("x", Kind::Number, "0..1:1e-9").is_err());
        assert!(values_of("x", Kind::Number, "0..1e300:1e-300").is_err());
    }
}
