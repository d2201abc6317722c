//! What is to be planned, from the command line, a file, or both.

use std::path::Path;

use anyhow::Result;
use tollway_model::ModelError;
use tollway_model::capacity::{Answer, CapacityError, Derived, Goal, Level, Question};
use tollway_model::catalogue;

use super::case::{Case, pair};
use super::file::PlanFile;
use crate::args;

/// The most cases of a plan.
const MOST_CASES: usize = 100;

/// A question for each case.
#[derive(Debug)]
pub struct Request {
    /// What it is about.
    pub title: String,
    /// The parameter to find.
    pub vary: String,
    /// The levels to keep.
    pub levels: Vec<Level>,
    /// Which end.
    pub goal: Goal,
    /// Whether the cases are there to choose from.
    pub choose: bool,
    /// Figures to show beside those of the levels.
    pub show: Vec<String>,
    /// The cases, in the order given.
    pub cases: Vec<PlannedCase>,
}

/// One case.
#[derive(Debug)]
pub struct PlannedCase {
    /// As it was written, with what all cases are given.
    pub case: Case,
    /// The question.
    pub question: Question,
}

impl Request {
    /// Reads the options; those of the command line come before those of a file.
    pub fn read(options: &args::Plan) -> Result<Request> {
        let mut given = options.given.clone();
        let mut file = PlanFile::default();
        let mut cases = options.case.iter().map(|text| Case::read(text)).collect::<Result<Vec<_>, _>>()?;
        match &options.what {
            Some(name) if is_file(name) => {
                file = PlanFile::read(Path::new(name))?;
                cases.splice(0..0, file.cases());
            }
            // With cases, there is no model, and the first word is a pair as well.
            Some(pair) if pair.contains('=') && !cases.is_empty() => given.insert(0, pair.clone()),
            Some(model) => {
                cases.insert(0, Case { name: model.clone(), model: model.clone(), ..Case::default() })
            }
            None => {}
        }
        let mut shared: Vec<(String, String)> =
            file.given.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
        for text in &given {
            let (name, value) = pair(text)?;
            shared.retain(|(other, _)| *other != name);
            shared.push((name, value));
        }
        let figures = file.figures.iter().map(|(name, sum)| format!("{name}={sum}"));
        let figures: Vec<String> = figures.chain(options.figure.iter().cloned()).collect();
        let keep = if options.keep.is_empty() { &file.keep } else { &options.keep };
        let levels = keep.iter().map(|text| Level::several(text)).collect::<Result<Vec<_>, _>>()?.concat();
        let vary = options.vary.clone().or(file.vary.clone()).ok_or_else(|| {
            ModelError::parameter("--vary", "nothing is to be found", "name a parameter, like --vary lambda")
        })?;
        if levels.is_empty() {
            let remedy = "give one, like --keep 'response.p99<500us'";
            return Err(ModelError::parameter("--keep", "there is no level", remedy).into());
        }
        let from = options.from.clone().or(file.from.as_ref().map(ToString::to_string));
        let to = options.to.clone().or(file.to.as_ref().map(ToString::to_string));
        let mut request = Request {
            title: file.title.clone(),
            vary,
            levels,
            goal: if options.smallest || file.smallest { Goal::Smallest } else { Goal::Largest },
            choose: file.choose,
            show: if options.show.is_empty() { file.show.clone() } else { options.show.clone() },
            cases: Vec::new(),
        };
        check(&cases, &shared)?;
        let single = cases.len() == 1;
        for case in cases {
            let place = format!("case `{}`", case.name);
            let planned = request.planned(case, &shared, &figures, from.as_deref(), to.as_deref());
            let planned = planned.map_err(|error| if single { error } else { error.within(&place) })?;
            request.cases.push(planned);
        }
        Ok(request)
    }

    /// One case with what it shares with all others.
    fn planned(
        &self,
        mut case: Case,
        shared: &[(String, String)],
        figures: &[String],
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<PlannedCase, ModelError> {
        let model = catalogue::find(&case.model)?;
        for (name, value) in shared {
            let asked = model.parameters.iter().any(|parameter| parameter.name == name);
            if asked && !case.given.iter().any(|(own, _)| own == name) {
                case.given.push((name.clone(), value.clone()));
            }
        }
        let own: Vec<Derived> = case.figures.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let others: Vec<Derived> = figures.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let others = others.into_iter().filter(|other| own.iter().all(|one| one.name() != other.name()));
        let derived = own.iter().cloned().chain(others).collect();
        let given = case.given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let question = Question::new(model, given, &self.vary, self.levels.clone())?;
        let ends = [from, to].map(|text| text.map(|text| question.read(text)).transpose());
        let [from, to] = ends;
        let question = question.deriving(derived).asking(self.goal).within(from?, to?)?;
        Ok(PlannedCase { case, question })
    }

    /// The answers, case by case, or why a case has none.
    ///
    /// # Errors
    /// When a model or level cannot be used, or every case keeps the levels up to the end of the range.
    pub fn answers(&self) -> Result<Vec<Result<Answer, CapacityError>>> {
        let mut answers = Vec::new();
        for planned in &self.cases {
            match planned.question.answer() {
                Err(CapacityError::Model(error)) => {
                    let place = format!("case `{}`", planned.case.name);
                    return Err(if self.cases.len() > 1 { error.within(&place) } else { error }.into());
                }
                answer => answers.push(answer),
            }
        }
        let unbounded =
            |answer: &Result<Answer, CapacityError>| matches!(answer, Err(CapacityError::AlwaysKept { .. }));
        match answers.iter().all(unbounded) {
            true => {
                Err(answers.into_iter().find_map(Result::err).map_or_else(|| nothing().into(), Into::into))
            }
            false => Ok(answers),
        }
    }
}

/// Whether a word names a file rather than a model: by its ending, by a folder in it, or because there is one; `-` is standard
/// input.
fn is_file(name: &str) -> bool {
    let is_path = name.contains('/') || Path::new(name).exists();
    name == "-"
        || name.ends_with(".toml")
        || (is_path && !name.contains('=') && catalogue::find(name).is_err())
}

/// Refuses no case, too many, two of one name, and what is given to none of them.
fn check(cases: &[Case], shared: &[(String, String)]) -> Result<(), ModelError> {
    if cases.is_empty() {
        return Err(nothing());
    }
    if cases.len() > MOST_CASES {
        let reason = format!("there are {}", cases.len());
        return Err(ModelError::parameter("cases", reason, format!("plan {MOST_CASES} at a time")));
    }
    for (at, case) in cases.iter().enumerate() {
        if cases[..at].iter().any(|other| other.name == case.name) {
            let place = format!("case `{}`", case.name);
            return Err(ModelError::parameter(
                place,
                "there are two of this name",
                "give each a name of its own",
            ));
        }
    }
    for (name, _) in shared {
        let known = |case: &Case| {
            catalogue::find(&case.model).is_ok_and(|model| model.parameters.iter().any(|p| p.name == name))
        };
        if cases.len() > 1 && !cases.iter().any(known) {
            let reason = "no case has such a parameter";
            return Err(ModelError::parameter(name, reason, "see `tollway model NAME` for those of a model"));
        }
        if let ([case], false) = (cases, cases.iter().any(known)) {
            let model = catalogue::find(&case.model)?;
            let names: Vec<&str> = model.parameters.iter().map(|parameter| parameter.name).collect();
            let reason = format!("{} has no such parameter", model.name);
            return Err(ModelError::parameter(
                name,
                reason,
                format!("its parameters are {}", names.join(", ")),
            ));
        }
    }
    Ok(())
}

fn nothing() -> ModelError {
    ModelError::parameter("cases", "there is none", "name a model, or give --case or a file")
}
