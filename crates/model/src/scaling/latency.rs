//! The latency ledger of a bill: what stages explain of a time that was measured end to end. Stages one after the other
//! add; of those at once the longest counts, and hides the others.

use tollway_stats::Interval;

use super::bill::{added, less, too_large, with_error};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::scaling::crossover::deviations;
use crate::{ModelError, Result, Solution, Unit, check};

/// One stage of a latency, or several of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Takes this time.
    Takes(String, Interval),
    /// One after the other: their times add.
    Serial(Vec<Stage>),
    /// At once: the longest counts, the others hide behind it.
    Parallel(Vec<Stage>),
}

/// The longest way through stages.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalPath {
    /// The names of the stages on it, in order.
    pub stages: Vec<String>,
    /// Its time. The estimate takes the longest mean of those that run at once, which is a lower bound of the mean of the
    /// longest where times vary.
    pub time: Interval,
}

impl CriticalPath {
    /// What was measured less the path's time.
    ///
    /// # Errors
    /// When the confidences differ, or the numbers leave floating point.
    pub fn unexplained(&self, measured: Interval) -> Result<Interval> {
        if measured.confidence != self.time.confidence {
            return Err(ModelError::parameter(
                "measured",
                "its interval has another confidence than the stages",
                "give all intervals at one confidence",
            ));
        }
        less(measured, self.time)
    }
}

impl Stage {
    /// The latency ledger: serial stages add (by MOVER, as [`work`](super::work) does), of parallel ones the one with the longest mean
    /// counts, and each end of the interval is the longest of their ends.
    ///
    /// # Errors
    /// When a list of stages is empty, a time is negative, or intervals differ in confidence.
    pub fn critical_path(&self) -> Result<CriticalPath> {
        match self {
            Stage::Takes(name, time) => {
                check::non_negative(&format!("stage {name}"), time.estimate)?;
                Ok(CriticalPath { stages: vec![name.clone()], time: *time })
            }
            Stage::Serial(stages) => {
                let parts = paths(stages)?;
                let time = added(parts.iter().map(|part| part.time), parts[0].time.confidence)?;
                Ok(CriticalPath { stages: parts.into_iter().flat_map(|part| part.stages).collect(), time })
            }
            Stage::Parallel(stages) => {
                let parts = paths(stages)?;
                let longest =
                    |end: fn(&Interval) -> f64| parts.iter().map(|p| end(&p.time)).fold(0.0, f64::max);
                let (lo, hi) = (longest(|t| t.lo), longest(|t| t.hi));
                let confidence = parts[0].time.confidence;
                let slowest = parts
                    .into_iter()
                    .reduce(|a, b| if b.time.estimate > a.time.estimate { b } else { a })
                    .ok_or_else(none)?;
                let time =
                    Interval::new(slowest.time.estimate, lo, hi, confidence).map_err(|_| too_large())?;
                Ok(CriticalPath { stages: slowest.stages, time })
            }
        }
    }
}

/// The critical path of each stage of a list that is not empty, all at one confidence.
fn paths(stages: &[Stage]) -> Result<Vec<CriticalPath>> {
    let parts = stages.iter().map(Stage::critical_path).collect::<Result<Vec<_>>>()?;
    let first = parts.first().ok_or_else(none)?;
    match parts.iter().find(|part| part.time.confidence != first.time.confidence) {
        None => Ok(parts),
        Some(other) => Err(ModelError::parameter(
            format!("stage {}", other.stages.join(", ")),
            "its interval has another confidence than those beside it",
            "give all intervals at one confidence",
        )),
    }
}

fn none() -> ModelError {
    ModelError::parameter("stages", "there is none", "give at least one stage of each list")
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "latency",
    title: "latency ledger",
    family: Family::Scaling,
    summary: "stages along the critical path, and what they leave unexplained of a measured latency",
    formula: "Σ over serial stages, max over lanes at once; unexplained m − that; ends of intervals of sums: estimate ± √(Σ(distance to that end)²), of a maximum: the longest of the ends",
    assumptions: "the latency ledger: what runs at once hides behind the longest; times are means, each measured on its own and independent; where times vary, the mean of the longest of several is longer than the longest mean, which is what this takes",
    source: "Zou and Donner (2008), Construction of confidence limits about effect measures: a general approach (MOVER); critical path: Kelley and Walker (1959), Critical-path planning and scheduling",
    holds: "arithmetic; the interval is as good as those that go into it",
    parameters: &[
        Parameter {
            name: "stages",
            kind: Kind::Numbers,
            means: "time, standard error and lane of each stage in order, `time,error,lane;…`; without a lane (or in lane 0) it is on the common way, neighbours in lanes 1, 2 … run at once",
            default: None,
            example: "5,1;9,2,1;4,1,2;8,2,2;3,1",
        },
        Parameter {
            name: "measured",
            kind: Kind::Number,
            means: "latency end to end, measured on its own, in the unit of the stages",
            default: None,
            example: "22",
        },
        Parameter {
            name: "error",
            kind: Kind::Number,
            means: "standard error of what was measured",
            default: Some("0"),
            example: "1",
        },
        Parameter {
            name: "confidence",
            kind: Kind::Number,
            means: "confidence of the intervals",
            default: Some("0.95"),
            example: "0.95",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let confidence = given.number("confidence")?;
    let deviations = deviations(confidence, None)?;
    let interval = |name: &str, estimate, error| with_error(name, estimate, error, deviations, confidence);
    let rows = given.rows("stages")?;
    check::count("stages", rows.len() as u64, 1, 100_000)?;
    let mut way = Vec::new();
    // Lanes that are open now, by number, each with its stages.
    let mut lanes: Vec<(f64, Vec<Stage>)> = Vec::new();
    let mut all = 0.0;
    for (i, row) in rows.into_iter().enumerate() {
        let (time, error, lane) = match row[..] {
            [time] => (time, 0.0, 0.0),
            [time, error] => (time, error, 0.0),
            [time, error, lane] if lane >= 0.0 && lane.fract() == 0.0 => (time, error, lane),
            _ => {
                return Err(ModelError::parameter(
                    "stages",
                    format!("stage {} is not time, error and lane", i + 1),
                    "write time, time,error or time,error,lane for each stage; a lane is 0, 1, 2 …",
                ));
            }
        };
        let time = check::non_negative("stages: time", time)?;
        all += time;
        let stage = Stage::Takes((i + 1).to_string(), interval("stages: error", time, error)?);
        if lane == 0.0 {
            join(&mut lanes, &mut way);
            way.push(stage);
        } else if let Some((_, stages)) = lanes.iter_mut().find(|(number, _)| *number == lane) {
            stages.push(stage);
        } else {
            lanes.push((lane, vec![stage]));
        }
    }
    join(&mut lanes, &mut way);
    let path = Stage::Serial(way).critical_path().map_err(|error| error.within("stages"))?;
    let measured = check::positive("measured", given.number("measured")?)?;
    let measured = interval("error", measured, given.number("error")?)?;
    let unexplained = path.unexplained(measured)?;
    Ok(Solution::new()
        .with("path", path.time.estimate, Unit::AsGiven)
        .with("path.low", path.time.lo, Unit::AsGiven)
        .with("path.high", path.time.hi, Unit::AsGiven)
        .with("path.stages", path.stages.len() as f64, Unit::Count)
        .with("hidden", (all - path.time.estimate).max(0.0), Unit::AsGiven)
        .with("unexplained", unexplained.estimate, Unit::AsGiven)
        .with("unexplained.low", unexplained.lo, Unit::AsGiven)
        .with("unexplained.high", unexplained.hi, Unit::AsGiven)
        .with("unexplained.share", unexplained.estimate / measured.estimate, Unit::Ratio))
}

/// Puts lanes that run at once on the common way.
fn join(lanes: &mut Vec<(f64, Vec<Stage>)>, way: &mut Vec<Stage>) {
    if !lanes.is_empty() {
        way.push(Stage::Parallel(lanes.drain(..).map(|(_, stages)| Stage::Serial(stages)).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(estimate: f64, below: f64, above: f64) -> Interval {
        Interval::new(estimate, estimate - below, estimate + above, 0.95).unwrap()
    }

    #[test]
    fn latency_adds_along_the_critical_path_only() {
        let takes = |name: &str, time| Stage::Takes(name.into(), time);
        let path = Stage::Serial(vec![
            takes("submit", about(5.0, 3.0, 3.0)),
            Stage::Parallel(vec![
                takes("prefetch", about(9.0, 1.0, 8.0)),
                Stage::Serial(vec![
                    takes("dma", about(4.0, 0.0, 0.0)),
                    takes("device", about(8.0, 4.0, 4.0)),
                ]),
            ]),
        ]);
        let critical = path.critical_path().unwrap();
        assert_eq!(critical.stages, ["submit", "dma", "device"]);
        // Parallel: 12 in 8 … 17 (the slower ends of both); serial: √(3² + 4²) below, √(3² + 5²) above.
        assert_eq!((critical.time.estimate, critical.time.lo), (17.0, 12.0));
        assert!((critical.time.hi - (17.0 + 34_f64.sqrt())).abs() < 1e-12);
        assert_eq!(critical.unexplained(about(20.0, 0.0, 0.0)).unwrap().estimate, 3.0);
        assert!(Stage::Parallel(vec![]).critical_path().is_err());
    }

    #[test]
    fn intervals_of_different_confidence_do_not_mix() {
        let other = Interval::new(1.0, 0.9, 1.1, 0.9).unwrap();
        let stages = vec![Stage::Takes("a".into(), other), Stage::Takes("b".into(), about(1.0, 0.1, 0.1))];
        assert!(Stage::Serial(stages).critical_path().is_err());
    }

    #[test]
    fn lanes_at_once_hide_behind_the_longest() {
        let ask = |stages: &str, figure: &str| {
            let given = MODEL.given([("stages", stages), ("measured", "25")]).unwrap();
            MODEL.solve(&given).map(|solution| solution.get(figure).unwrap())
        };
        // submit, then prefetch beside dma and device, then deliver: 5 + max(9, 4 + 8) + 3.
        let whole = "5;9,0,1;4,0,2;8,0,2;3";
        for (figure, value) in [("path", 20.0), ("hidden", 9.0), ("unexplained", 5.0), ("path.stages", 4.0)] {
            assert_eq!(ask(whole, figure).unwrap(), value, "{figure}");
        }
        // A common stage between them: lanes do not reach over it.
        assert_eq!(ask("9,0,1;1;8,0,1", "path").unwrap(), 18.0);
        for wrong in ["5,1,0.5", "5,1,-1", "1,2,3,4", "-5", "5,-1"] {
            assert!(ask(wrong, "path").is_err(), "{wrong}");
        }
    }
}
