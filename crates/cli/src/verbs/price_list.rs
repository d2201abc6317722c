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
use crate::exit::Ending;
use crate::{laboratory, output};

/// How old a toll may be.
const AGE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How old one may be that was measured while the machine had something else to do, once it has not.
const AGE_OF_NOISY: SignedDuration = SignedDuration::from_hours(1);

/// What crossings cost here.
pub struct PriceList {
    /// The tolls, in ticks of the laboratory's clock.
    pub tolls: Tolls,
    /// What else this machine had to do just before they were measured; `None` where it was quiet.
    pub noisy: Option<String>,
}

impl PriceList {
    /// Of this machine. `spec` makes a run's description of its title. `None` where a person interrupted before it was measured.
    ///
    /// # Errors
    /// A toll that no bill can be without cannot be measured; the store's.
    pub fn of_this_machine(
        arguments: &Arguments,
        lab: &Lab<'_>,
        store: &mut Store,
        spec: impl Fn(String) -> RunSpec,
    ) -> Result<Option<PriceList>> {
        let known = |store: &Store| store.tolls(&lab.machine, Timestamp::now() - AGE);
        let mut tolls = known(store)?;
        let why = if missing(&tolls).is_some() {
            Some("this machine's price list is measured first; it is kept for a week")
        } else if is_to_be_better(&tolls, store)? {
            Some("this machine's price list is measured again: it had something else to do the last time")
        } else {
            None
        };
        let is_any = match why {
            Some(why) => {
                output::tell(why);
                own_tolls::measure(store, &Tolls::default(), spec)?;
                if measure(arguments, lab)? == Ending::Interrupted {
                    return Ok(None);
                }
                true
            }
            None => own_tolls::measure(store, &tolls, spec)?,
        };
        if is_any {
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
        let noisy = noise(&tolls, store)?.what;
        Ok(Some(PriceList { tolls: tolls.in_ticks_of(lab.hz), noisy }))
    }
}

/// A toll that no bill can be without, and that is not there.
fn missing(tolls: &Tolls) -> Option<String> {
    needed().iter().find(|key| tolls.toll(key).is_none()).map(ToString::to_string)
}

/// Whether prices were noisy, the last time that they were measured is some time ago, and they would not be noisy now.
fn is_to_be_better(tolls: &Tolls, store: &Store) -> Result<bool> {
    let noise = noise(tolls, store)?;
    let is_old = noise.measured.is_some_and(|measured| measured < Timestamp::now() - AGE_OF_NOISY);
    let is_quiet = || !matches!(steadiness::examine().quiet.verdict, Verdict::Noisy(_));
    Ok(noise.what.is_some() && is_old && is_quiet())
}

/// What is known of when prices were measured.
#[derive(Default)]
struct Noise {
    /// When the newest of them began to be.
    measured: Option<Timestamp>,
    /// What else the machine had to do just before, where there was something.
    what: Option<String>,
}

fn noise(tolls: &Tolls, store: &Store) -> Result<Noise> {
    let runs: BTreeSet<i64> = needed().iter().filter_map(|key| Some(tolls.toll(key)?.run)).collect();
    runs.into_iter().try_fold(Noise::default(), |noise, run| {
        let spec = store.run(RunId(run))?.spec;
        let what = noise_of(&spec.fingerprint).or(noise.what);
        Ok(Noise { measured: noise.measured.max(Some(spec.started)), what })
    })
}

/// What else a machine had to do, of the fingerprint of a run that was begun then.
fn noise_of(fingerprint: &Value) -> Option<String> {
    let verdict = fingerprint.get("steadiness")?.get("quiet")?.get("verdict")?;
    match serde_json::from_value(verdict.clone()).ok()? {
        Verdict::Noisy(what) => Some(what),
        Verdict::Quiet | Verdict::Unknown(_) => None,
    }
}

fn measure(arguments: &Arguments, lab: &Lab<'_>) -> Result<Ending> {
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
    let ended = work::carry_out(arguments, &repeats, lab, work)?;
    Ok(ended.map_or(Ending::Done, |(_, ended)| work::ending(&ended, &repeats)))
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
