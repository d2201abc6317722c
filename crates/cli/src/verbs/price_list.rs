//! The tolls by which a program's bill is priced: of this machine's price list; what a bill needs and the list lacks is measured.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tollway_core::{Case, OneOrMany, Preset, TollKey};
use tollway_host::meters::Verdict;
use tollway_host::steadiness;
use tollway_lab::point::{Point, Selection, named};
use tollway_lab::{Ended, Lab, Request};
use tollway_program_tool::own_tolls;
use tollway_program_tool::price_file::{NotUsed, Turn, believed_by_root, file_in, writable_folders};
use tollway_program_tool::price_list::{Entry, PriceList, Source, text_with};
use tollway_store::{PointState, RunId, RunSpec, RunState, Store, StoreError};

use crate::args::Arguments;
use crate::progress_bar::Told;
use crate::{interrupt, laboratory, output};

/// Seconds that one bill measures prices for: with what is measured besides, it comes not much later than after 20.
pub const BUDGET: f64 = 13.0;
/// Seconds below which nothing of use is measured.
const LEAST: f64 = 1.0;
/// How long another bill that measures prices is waited for: on a machine that leaves it a tenth of a processor it takes minutes, and measuring beside it makes
/// both slower.
const OF_ANOTHER: Duration = Duration::from_secs(600);
/// How old a price of a store may be.
const AGE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Measures all prices at once.
pub const ALL: &str = "`tollway measure crossings --preset calls`";

/// The prices of this machine, and how they are completed.
pub struct Pricing<'a> {
    arguments: &'a Arguments,
    lab: &'a Lab<'a>,
    /// What is known.
    pub list: PriceList,
    /// Lists that are not used, until it is said why.
    not_used: Vec<NotUsed>,
    /// Whether what is measured is kept for later bills.
    keeps: bool,
    /// Whether the store was asked, too.
    has_asked_store: bool,
    /// Whether the machine has nothing else to do, once that was asked.
    is_quiet: OnceCell<bool>,
    /// Seconds that are left for measuring.
    left: f64,
}

/// What was measured, and how many prices there was no time for.
#[derive(Default)]
struct Measured {
    entries: Vec<Entry>,
    left_out: usize,
}

impl<'a> Pricing<'a> {
    /// By this machine's lists.
    pub fn of_this_machine(arguments: &'a Arguments, lab: &'a Lab<'a>, keeps: bool) -> Pricing<'a> {
        let (list, not_used) = PriceList::of_machine(&lab.machine);
        Pricing {
            arguments,
            lab,
            list,
            not_used,
            keeps,
            has_asked_store: false,
            is_quiet: OnceCell::new(),
            left: BUDGET,
        }
    }

    /// Adds what is missing of these prices: of the store, and else by measuring it, the first first.
    ///
    /// # Errors
    /// What was measured cannot be read.
    pub fn complete(&mut self, keys: &[TollKey]) -> Result<()> {
        let points = self.points()?;
        let mut wanted = self.wanted(keys, &points);
        if !wanted.is_empty() && !self.has_asked_store {
            self.ask_store();
            wanted = self.wanted(keys, &points);
        }
        if wanted.is_empty() || self.left < LEAST {
            return Ok(());
        }
        for why in self.not_used.drain(..) {
            output::tell(&format!("price list {why}"));
        }
        let turn = if self.keeps { turn() } else { Err(String::new()) };
        if turn.is_ok() {
            // Another one may have measured them meanwhile.
            self.list.look_again(&self.lab.machine);
            wanted = self.wanted(keys, &points);
        }
        let is_interrupted = self.lab.interrupted.load(Ordering::Relaxed);
        if wanted.is_empty() {
            return Ok(());
        }
        let prices = number(wanted.len(), "price");
        if is_interrupted && !interrupt::is_typed() {
            output::tell(&format!("{prices} that this bill needs were not measured, as it was interrupted"));
            return Ok(());
        }
        if is_interrupted {
            interrupt::begin_anew(self.lab.interrupted);
        }
        let again = if is_interrupted { "; Ctrl-C again leaves them out" } else { "" };
        output::tell(&format!("{prices} that this bill needs and no list has: measured now{again}"));
        let measured = self.measure(&wanted, &points);
        if is_interrupted {
            self.lab.interrupted.store(true, Ordering::Relaxed);
        }
        self.keep(turn, measured?);
        Ok(())
    }

    /// How many of these no list has, of those that can be measured here.
    ///
    /// # Errors
    /// The preset that measures prices cannot be read.
    pub fn missing(&self, keys: &[TollKey]) -> Result<usize> {
        Ok(self.wanted(keys, &self.points()?).len())
    }

    /// The file that what is measured is kept in; `None` where no folder for it can be written.
    pub fn file(&self) -> Option<PathBuf> {
        file(self.lab)
    }

    /// Which of these can be measured here and are not known, or not as well as they could be.
    fn wanted(&self, keys: &[TollKey], points: &BTreeMap<TollKey, Point>) -> Vec<TollKey> {
        let (now, own) = (Timestamp::now(), own_tolls::keys());
        let can_be = |key: &&TollKey| points.contains_key(*key) || own.contains(*key);
        let keys: Vec<TollKey> = keys.iter().filter(can_be).cloned().collect();
        let missing = |key: &&TollKey| !self.list.settles(key, now);
        let mut wanted: Vec<TollKey> = keys.iter().filter(missing).cloned().collect();
        let is_quiet = || !matches!(steadiness::examine().quiet.verdict, Verdict::Noisy(_));
        let noisy = self.list.to_be_better(&keys, now);
        if !noisy.is_empty() && *self.is_quiet.get_or_init(is_quiet) {
            wanted.extend(noisy);
        }
        wanted
    }

    /// The points of the preset that measures prices, by what they measure.
    fn points(&self) -> Result<BTreeMap<TollKey, Point>> {
        let presets = vec![self.preset()?];
        let points = named(self.lab.registry, &Selection { presets, only: Vec::new() })?;
        Ok(points.into_iter().filter_map(|point| Some((point.plan.provides.clone()?, point))).collect())
    }

    fn preset(&self) -> Result<Preset> {
        laboratory::preset(self.lab.registry, "crossings", "calls")
    }

    /// The prices of the store that the command line names; root believes none that others could have written.
    fn ask_store(&mut self) {
        self.has_asked_store = true;
        let file = &self.arguments.store;
        if !file.is_file() {
            return;
        }
        if let Err(why) = believed_by_root(file) {
            return output::tell(&format!("prices of the store {why}"));
        }
        // One that cannot be read is refused where a bill is to be kept in it.
        let found =
            Store::open_read_only(file).and_then(|store| entries_since(&store, &self.lab.machine, AGE));
        self.list.add(found.unwrap_or_default(), &Source::File(file.clone()));
    }

    /// Keeps what was measured for later bills, and says so where that cannot be.
    fn keep(&mut self, turn: Result<Turn, String>, measured: Measured) {
        let kept = turn.and_then(|turn| kept_in(&turn, self.lab, &measured.entries));
        let source = match kept {
            Ok(file) => Source::File(file),
            Err(why) => {
                if self.keeps && !measured.entries.is_empty() {
                    output::tell(&format!(
                        "what was measured is used for this bill and not kept ({why}), so the next one measures it again; \
                         TOLLWAY_PRICES=FOLDER names another folder for the price list"
                    ));
                }
                Source::Now
            }
        };
        if measured.left_out > 0 {
            let prices = number(measured.left_out, "price");
            output::tell(&format!(
                "{prices} had no time: later bills measure them, or {ALL} all of them at once"
            ));
        }
        self.list.add(measured.entries, &source);
    }

    /// Measures these prices as far as there is time; why one cannot be is told by then.
    fn measure(&mut self, wanted: &[TollKey], points: &BTreeMap<TollKey, Point>) -> Result<Measured> {
        let begun = Instant::now();
        let mut store = Store::in_memory()?;
        own_tolls::measure(&mut store, wanted, |title| run_of(self.lab, title, 1))?;
        let mut chosen: Vec<&Point> = wanted.iter().filter_map(|key| points.get(key)).collect();
        let all = chosen.len();
        let mut left_out = 0;
        if all > 0 {
            // What was measured before takes longer where others have the processors: half of the time is for these all the same.
            let left = (self.left - begun.elapsed().as_secs_f64()).max(self.left / 2.0);
            let request = self.request(&mut chosen, left)?;
            left_out = all - chosen.len();
            let mut told = Told::new();
            let ended = self.lab.run(&mut store, &request, &mut told);
            told.finish();
            match ended {
                Ok(Ended { state: RunState::Interrupted, .. }) => left_out = 0,
                Ok(_) => {}
                Err(error) => output::tell(&format!("prices could not be measured: {error}")),
            }
        }
        self.left -= begun.elapsed().as_secs_f64();
        let mut entries = entries_since(&store, &self.lab.machine, AGE)?;
        let reason = |(key, reason)| Entry {
            key,
            toll: None,
            failed: Some(reason),
            measured: Timestamp::now(),
            noisy: None,
        };
        entries.extend(failed_of(&store)?.into_iter().map(reason));
        Ok(Measured { entries, left_out })
    }

    /// What measures the first of these points for which there is time, in seconds; the others are taken away.
    fn request(&self, points: &mut Vec<&Point>, within: f64) -> Result<Request> {
        loop {
            let case = |point: &&Point| {
                let axes = point
                    .params
                    .iter()
                    .map(|(axis, value)| (axis.to_string(), OneOrMany::One(value.clone())));
                let variant = ("variant".to_string(), OneOrMany::One(point.variant.as_str().into()));
                Case(axes.chain([variant]).collect())
            };
            let preset = Preset { case: points.iter().map(case).collect(), ..self.preset()? };
            let preset = Preset { axes: Case::default(), headline: Vec::new(), ..preset };
            let mut request = Request {
                title: "price list of system calls".into(),
                selection: Selection { presets: vec![preset], only: Vec::new() },
                sides: Vec::new(),
                seed: 1,
                together: false,
                without_tolls: true,
                foretold: Vec::new(),
                narrow: None,
                within: None,
            };
            request.fit_to(within, self.lab)?;
            let least = self.lab.estimate(&request)?.seconds;
            let fit = (points.len() as f64 * within / least) as usize;
            if least <= within || points.len() == 1 {
                return Ok(request);
            }
            points.truncate(fit.clamp(1, points.len() - 1));
        }
    }
}

fn number(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The newest prices of a store, with what its runs say of the machine.
fn entries_since(store: &Store, machine: &str, age: SignedDuration) -> Result<Vec<Entry>, StoreError> {
    let tolls = store.tolls(machine, Timestamp::now() - age)?;
    let mut runs: BTreeMap<i64, (Timestamp, Option<String>)> = BTreeMap::new();
    let mut entries = Vec::new();
    for toll in tolls.iter() {
        let (measured, noisy) = match runs.get(&toll.run) {
            Some(run) => run.clone(),
            None => {
                let spec = store.run(RunId(toll.run))?.spec;
                let run = (spec.started, noise_of(&spec.fingerprint));
                runs.insert(toll.run, run.clone());
                run
            }
        };
        entries.push(Entry {
            key: toll.key.clone(),
            toll: Some(toll.clone()),
            failed: None,
            measured,
            noisy,
        });
    }
    Ok(entries)
}

/// What could not be measured of all that a store was to have, and why.
fn failed_of(store: &Store) -> Result<Vec<(TollKey, String)>> {
    let mut failed = Vec::new();
    for run in store.runs()? {
        for point in store.points(run.id)? {
            let reason = match point.state {
                PointState::Failed(reason) => reason,
                PointState::Skipped(missing) => missing.to_string(),
                _ => continue,
            };
            failed.extend(point.spec.toll.map(|key| (key, reason)));
        }
    }
    Ok(failed)
}

/// What else a machine had to do, of the fingerprint of a run that was begun then.
fn noise_of(fingerprint: &Value) -> Option<String> {
    let verdict = fingerprint.get("steadiness")?.get("quiet")?.get("verdict")?;
    match serde_json::from_value(verdict.clone()).ok()? {
        Verdict::Noisy(what) => Some(what),
        Verdict::Quiet | Verdict::Unknown(_) => None,
    }
}

/// What is known of a run that begins now.
pub fn run_of(lab: &Lab<'_>, title: String, seed: u64) -> RunSpec {
    RunSpec {
        started: Timestamp::now(),
        title,
        argv: lab.argv.clone(),
        version: lab.version.clone(),
        seed,
        machine: lab.machine.clone(),
        hz: lab.hz,
        sides: Vec::new(),
        fingerprint: lab.fingerprint.clone(),
        plan: json!({}),
    }
}

/// Adds the prices that a run of the store has measured to this machine's list, and those that no crossing of a path is.
///
/// # Errors
/// The store's.
pub fn learn(lab: &Lab<'_>, store: &Store, run: RunId) -> Result<()> {
    let mut entries = entries_since(store, &lab.machine, AGE)?;
    entries.retain(|entry| entry.toll.as_ref().is_some_and(|toll| toll.run == run.0));
    if entries.is_empty() {
        return Ok(());
    }
    let mut own = Store::in_memory()?;
    own_tolls::measure(&mut own, &own_tolls::keys(), |title| run_of(lab, title, 1))?;
    entries.extend(entries_since(&own, &lab.machine, AGE)?);
    let kept = turn().and_then(|turn| kept_in(&turn, lab, &entries));
    output::tell(&match kept {
        Ok(file) => format!("{}: bills are priced by what was measured", file.display()),
        Err(why) => format!("the price list of bills stays as it was ({why})"),
    });
    Ok(())
}

/// The file that what is learned of this machine goes to; `None` where no folder for it can be written.
pub fn file(lab: &Lab<'_>) -> Option<PathBuf> {
    writable_folders().first().map(|folder| file_in(folder, &lab.machine))
}

/// The turn to write to the first folder that can be written to; else why there is none, in words.
fn turn() -> Result<Turn, String> {
    let mut reasons = Vec::new();
    for folder in writable_folders() {
        let waits = || output::tell("another tollway measures prices; this one waits for them");
        match Turn::take(&folder, OF_ANOTHER, waits) {
            Ok(Some(turn)) => return Ok(turn),
            Ok(None) => reasons.push(format!("{}: another tollway has it", folder.display())),
            Err(error) => reasons.push(format!("{}: {error}", folder.display())),
        }
    }
    if reasons.is_empty() {
        reasons.push("there is neither HOME nor XDG_DATA_HOME".into());
    }
    Err(reasons.join("; "))
}

/// The file of the list that has these prices now; else why it has not.
fn kept_in(turn: &Turn, lab: &Lab<'_>, entries: &[Entry]) -> Result<PathBuf, String> {
    let text = text_with(turn.folder(), &lab.machine, &lab.version, entries).map_err(|e| e.to_string())?;
    let kept = turn.replace(&lab.machine, &text);
    kept.map_err(|error| format!("{}: {error}", turn.folder().display()))
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
