//! A path, its variants, and the registry that names all paths.

use std::fmt;
use std::time::Duration;

use crate::{Actor, Axis, Error, Forecast, Params, Plan, Result, TollSource, Yield};

/// One design of a path.
pub trait Variant: Send + Sync {
    /// Its name in presets and on the command line.
    fn name(&self) -> &str;

    /// One line: what it does.
    fn about(&self) -> &str;

    /// What a reader of its figures must know: what is included, what is not, what can distort them.
    fn caveats(&self) -> &str {
        ""
    }

    /// Its parameters.
    fn axes(&self) -> Vec<Axis> {
        Vec::new()
    }

    /// The variant that this one is a change of, if it is one: what a change brings is predicted and measured against it.
    fn changes(&self) -> Option<&str> {
        None
    }

    /// The same point with what its parameters only name, told by what it holds: a file may change under its name, and points
    /// that are of different content are not the same. Asked when a run is planned or taken up, before [`plan`](Variant::plan).
    fn pinned(&self, params: Params) -> Result<Params> {
        Ok(params)
    }

    /// How it runs at a point. `params` are [complete](Params::complete).
    fn plan(&self, params: &Params) -> Result<Plan>;

    /// What a person calls a point of it, where its axes as they stand would say it badly: "random read, 4 KiB, 32 at once".
    fn title(&self, _params: &Params) -> Option<String> {
        None
    }

    /// What an operation gives, where a rate says more than a time: the first is the headline.
    fn yields(&self, _params: &Params) -> Vec<Yield> {
        Vec::new()
    }

    /// How long an actor may take beyond its window, or to get ready, where that is more than half a minute: one operation
    /// may be longer than any window, or a large file has to be made first.
    fn patience(&self, _params: &Params) -> Duration {
        Duration::ZERO
    }

    /// How long what is measured takes to be as it stays, where the warm-up of a preset may be too short for that: the least that a trial has of it.
    fn settles(&self, _params: &Params) -> Duration {
        Duration::ZERO
    }

    /// An actor for a role of that plan.
    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>>;

    /// What the point will cost, from tolls alone; `None` where the variant predicts nothing.
    ///
    /// Called after the tolls in [`Plan::needs`] have been measured and before the point is.
    fn predict(&self, _params: &Params, _tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        None
    }
}

/// An end-to-end way worth measuring.
pub struct Path {
    /// Its name.
    pub name: &'static str,
    /// The question it answers, in one line.
    pub question: &'static str,
    /// Its designs.
    pub variants: Vec<Box<dyn Variant>>,
    /// Its named experiments: file name and TOML text.
    pub presets: &'static [(&'static str, &'static str)],
    /// What was published about it, as TOML text ([`Claims`](crate::Claims)); empty where nothing was.
    pub claims: &'static str,
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Path {
    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Result<&dyn Variant> {
        self.variants.iter().map(|v| &**v).find(|v| v.name() == name).ok_or_else(|| Error::Input {
            place: format!("variant `{name}` of path `{}`", self.name),
            reason: "there is none of that name".into(),
            remedy: format!("`tollway list {}` names them", self.name),
        })
    }

    /// The text of the preset of that name.
    pub fn preset(&self, name: &str) -> Result<&'static str> {
        self.presets.iter().find(|(n, _)| *n == name).map(|(_, text)| *text).ok_or_else(|| Error::Input {
            place: format!("preset `{name}` of path `{}`", self.name),
            reason: "there is none of that name".into(),
            remedy: format!(
                "it has: {}",
                self.presets.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

/// All paths that a program knows.
#[derive(Debug)]
pub struct Registry {
    /// The paths, in the order in which they are shown.
    pub paths: Vec<Path>,
}

impl Registry {
    /// The path of that name.
    pub fn path(&self, name: &str) -> Result<&Path> {
        self.paths.iter().find(|p| p.name == name).ok_or_else(|| Error::Input {
            place: format!("path `{name}`"),
            reason: "there is none of that name".into(),
            remedy: format!(
                "there are: {}",
                self.paths.iter().map(|p| p.name).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}
