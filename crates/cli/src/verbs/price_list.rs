//! The tolls by which a program's bill is priced: this machine's, which are measured first where there are none that fit.

use std::collections::BTreeSet;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tollway_core::{Error, TollSource};
use tollway_host::meters::Verdict;
use tollway_host::steadiness;
use tollway_lab::Lab;
use tollway_program_tool::own_tolls;
use tollway_program_tool::prices::needed;
use tollway_store::{RunId, RunSpec, Store, Tolls};

use super::work::{self, Work};
use crate::args::{Arguments, Repeats};
use crate::{laboratory, output};

/// How old a toll may be.
const AGE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How old one may be that was measured while others had the machine too, once they have not.
const AGE_OF_NOISY: SignedDuration = SignedDuration::from_hours(1);

/// What crossings cost here.
pub struct PriceList {
    /// The tolls, in ticks of the laboratory's clock.
    pub tolls: Tolls,
    /// What else this machine had to do as they were measured; `None` where it was quiet.
    pub noisy: Option<String>,
}

impl PriceList {
    /// Of this machine. `spec` makes a run's description of its title.
    ///
    /// # Errors
    /// A toll that no bill can be without cannot be measured; the store's.
    pub fn of_this_machine(
        arguments: &Arguments,
        lab: &Lab<'_>,
        store: &mut Store,
        spec: impl Fn(String) -> RunSpec,
    ) -> Result<PriceList> {
        let known = |store: &Store| store.tolls(&lab.machine, Timestamp::now() - AGE);
        let mut tolls = known(store)?;
        let mut is_measured = own_tolls::measure(store, &tolls, spec)?;
        let why = if missing(&tolls).is_some() {
            Some("this machine's price list is measured first; it is kept for a week")
        } else if is_to_be_better(&tolls, store)? {
            Some(
                "this machine's price list is measured again, as others had the machine too when it was measured",
            )
        } else {
            None
        };
        if let Some(why) = why {
            output::tell(why);
            measure(arguments, lab)?;
            is_measured = true;
        }
        if is_measured {
            tolls = known(store)?;
        }
        if let Some(missing) = missing(&tolls) {
            return Err(Error::Input {
                place: format!("toll {missing}"),
                reason: "it could not be measured here, and there is no bill without it".into(),
                remedy: "`tollway measure crossings --preset calls` says why".into(),
            }
            .into());
        }
        let noisy = noise(&tolls, store)?.map(|(_, what)| what);
        Ok(PriceList { tolls: tolls.in_ticks_of(lab.hz), noisy })
    }
}

/// A toll that no bill can be without, and that is not there.
fn missing(tolls: &Tolls) -> Option<String> {
    needed().iter().find(|key| tolls.toll(key).is_none()).map(ToString::to_string)
}

/// Whether prices were noisy some time ago, and would not be now.
fn is_to_be_better(tolls: &Tolls, store: &Store) -> Result<bool> {
    let Some((measured, _)) = noise(tolls, store)? else { return Ok(false) };
    let is_old = measured < Timestamp::now() - AGE_OF_NOISY;
    Ok(is_old && !matches!(steadiness::examine().quiet.verdict, Verdict::Noisy(_)))
}

/// When prices were measured beside something else, and what that was.
fn noise(tolls: &Tolls, store: &Store) -> Result<Option<(Timestamp, String)>> {
    let runs: BTreeSet<i64> = needed().iter().filter_map(|key| Some(tolls.toll(key)?.run)).collect();
    for run in runs {
        let spec = store.run(RunId(run))?.spec;
        if let Some(what) = noise_of(&spec.fingerprint) {
            return Ok(Some((spec.started, what)));
        }
    }
    Ok(None)
}

/// What else a machine had to do, of the fingerprint of a run that was begun then.
fn noise_of(fingerprint: &Value) -> Option<String> {
    let verdict = fingerprint.get("steadiness")?.get("quiet")?.get("verdict")?;
    match serde_json::from_value(verdict.clone()).ok()? {
        Verdict::Noisy(what) => Some(what),
        Verdict::Quiet | Verdict::Unknown(_) => None,
    }
}

fn measure(arguments: &Arguments, lab: &Lab<'_>) -> Result<()> {
    let presets = vec![laboratory::preset(lab.registry, "crossings", "calls")?];
    let title = "price list of system calls".into();
    let work = Work { title, presets, only: Vec::new(), resume: false, together: false, budgeted: true };
    let repeats = Repeats {
        runs: None,
        warmup: None,
        time: None,
        seed: 1,
        dry_run: false,
        strict: false,
        export: None,
    };
    work::carry_out(arguments, &repeats, lab, work)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_what_else_the_machine_had_to_do() {
        let of = |verdict: Verdict| {
            let steadiness = steadiness::Steadiness {
                quiet: tollway_host::meters::Quiet { verdict, ..steadiness::examine().quiet },
                ..steadiness::examine()
            };
            noise_of(&serde_json::json!({ "steadiness": steadiness }))
        };
        assert_eq!(of(Verdict::Noisy("30 % foreign".into())).as_deref(), Some("30 % foreign"));
        assert_eq!(of(Verdict::Quiet), None);
        assert_eq!(noise_of(&Value::Null), None);
    }
}
