//! Price list of a machine: tolls by key, each with when it was measured and what else the machine had to do then.
//!
//! Its [file](crate::price_file) is JSON. What a bill asks of it is found by [`Asking`], so that only what is missing of that is measured.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tollway_core::{Crossing, Toll, TollKey, TollSource, Warmth};

use crate::document::BillDocument;
use crate::price_file::{self, NotUsed};

/// The version of the file's form.
const VERSION: u32 = 1;
/// How old a price may be.
const AGE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How old one may be that was measured while the machine had something else to do, once it has not.
const AGE_OF_NOISY: SignedDuration = SignedDuration::from_hours(1);
/// How long one is not tried again that could not be measured, as for lack of room on a disk.
const AGE_OF_FAILED: SignedDuration = SignedDuration::from_hours(1);

/// A price, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is of.
    pub key: TollKey,
    /// The toll, in ticks of its own clock; `None` where it could not be measured.
    pub toll: Option<Toll>,
    /// Why it could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// When the run began that measured it.
    pub measured: Timestamp,
    /// What else the machine had to do just before; `None` where it was quiet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noisy: Option<String>,
}

impl Entry {
    /// Whether a file may say so: what another program has written there is no price.
    fn is_sound(&self, now: Timestamp) -> bool {
        let is_time = |ticks: f64| ticks.is_finite() && ticks >= 0.0;
        let toll = self.toll.as_ref().is_none_or(|toll| {
            let all = [toll.median, toll.lo, toll.hi, toll.work, toll.work_lo, toll.work_hi];
            toll.key == self.key && all.into_iter().all(is_time) && toll.hz.is_finite() && toll.hz > 0.0
        });
        // A clock that was set back may make one of this very hour lie ahead.
        toll && self.measured > now - AGE && self.measured < now + AGE_OF_NOISY
    }
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Written {
    schema_version: u32,
    /// The machine, by the id of its fingerprint.
    machine: String,
    /// Tollway's version that wrote it.
    version: String,
    prices: Vec<Entry>,
}

/// Where prices are from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A list or a store.
    File(PathBuf),
    /// Measured for this bill, and not kept.
    Now,
}

/// What crossings cost on a machine.
#[derive(Clone, Debug, Default)]
pub struct PriceList {
    entries: BTreeMap<TollKey, (Entry, Option<Source>)>,
}

impl PriceList {
    /// The newest price of each key, of all lists of that machine that are believed; and of those that are not, why.
    pub fn of_machine(machine: &str) -> (PriceList, Vec<NotUsed>) {
        let mut list = PriceList::default();
        let not_used = list.look_again(machine);
        (list, not_used)
    }

    /// Adds what is newer in the lists of that machine by now.
    pub fn look_again(&mut self, machine: &str) -> Vec<NotUsed> {
        let mut not_used = Vec::new();
        for folder in price_file::folders() {
            let file = price_file::file_in(&folder, machine);
            match entries_of(&file, machine) {
                Ok(entries) => self.add(entries, &Source::File(file)),
                Err(NotUsed::NotThere) => {}
                Err(error) => not_used.push(error),
            }
        }
        not_used
    }

    /// Adds prices where they are newer than those here. Why one could not be measured replaces none that was.
    pub fn add(&mut self, entries: impl IntoIterator<Item = Entry>, source: &Source) {
        for entry in entries {
            let is_better = self.entries.get(&entry.key).is_none_or(|(known, _)| {
                let is_newer = known.measured < entry.measured;
                entry.toll.is_some() && (is_newer || known.toll.is_none())
                    || entry.toll.is_none() && known.toll.is_none() && is_newer
            });
            if is_better {
                self.entries.insert(entry.key.clone(), (entry, Some(source.clone())));
            }
        }
    }

    /// Whether it has this price, or that was tried a short while ago and could not be measured here.
    pub fn settles(&self, key: &TollKey, now: Timestamp) -> bool {
        let is_settled = |entry: &Entry| entry.toll.is_some() || entry.measured > now - AGE_OF_FAILED;
        self.entries.get(key).is_some_and(|(entry, _)| is_settled(entry))
    }

    /// Those of these prices that were measured some time ago while the machine had something else to do.
    pub fn to_be_better(&self, keys: &[TollKey], now: Timestamp) -> Vec<TollKey> {
        let is_old = |entry: &Entry| entry.noisy.is_some() && entry.measured < now - AGE_OF_NOISY;
        let known = |key: &&TollKey| self.entries.get(*key).is_some_and(|(entry, _)| is_old(entry));
        keys.iter().filter(known).cloned().collect()
    }

    /// What else the machine had to do when the newest of these prices was measured for which it had.
    pub fn noise(&self, keys: &[TollKey]) -> Option<String> {
        let known = keys.iter().filter_map(|key| self.entries.get(key)).map(|(entry, _)| entry);
        known.filter(|entry| entry.noisy.is_some()).max_by_key(|entry| entry.measured)?.noisy.clone()
    }

    /// Where these prices are from.
    pub fn sources(&self, keys: &[TollKey]) -> Vec<String> {
        let known = keys.iter().filter_map(|key| self.entries.get(key));
        let sources: BTreeSet<&Source> = known
            .filter(|(entry, _)| entry.toll.is_some())
            .filter_map(|(_, source)| source.as_ref())
            .collect();
        let word = |source: &Source| match source {
            Source::File(file) => file.display().to_string(),
            Source::Now => "measured for this bill alone".into(),
        };
        sources.into_iter().map(word).collect()
    }
}

impl TollSource for PriceList {
    fn toll(&self, key: &TollKey) -> Option<Toll> {
        self.entries.get(key)?.0.toll.clone()
    }
}

/// The prices of a file that hold now; what else is in it is left out.
fn entries_of(file: &Path, machine: &str) -> Result<Vec<Entry>, NotUsed> {
    let text = price_file::read(file)?;
    let unusable = |reason: String| NotUsed::Unusable { file: file.into(), reason };
    let written: Written = serde_json::from_str(&text).map_err(|e| unusable(e.to_string()))?;
    if written.schema_version != VERSION {
        return Err(unusable(format!(
            "it has form {}, of another Tollway ({})",
            written.schema_version, written.version
        )));
    }
    if written.machine != machine {
        return Err(unusable(format!("it is of another machine, {}", written.machine)));
    }
    let now = Timestamp::now();
    Ok(written.prices.into_iter().filter(|entry| entry.is_sound(now)).collect())
}

/// The text of a machine's file that has its old prices and these: for each key the newer.
pub fn text_with(
    folder: &Path,
    machine: &str,
    version: &str,
    entries: &[Entry],
) -> serde_json::Result<String> {
    let mut list = PriceList::default();
    let file = Source::File(price_file::file_in(folder, machine));
    // One that cannot be used is replaced.
    list.add(entries_of(&price_file::file_in(folder, machine), machine).unwrap_or_default(), &file);
    list.add(entries.iter().cloned(), &file);
    let written = Written {
        schema_version: VERSION,
        machine: machine.into(),
        version: version.into(),
        prices: list.entries.into_values().map(|(entry, _)| entry).collect(),
    };
    serde_json::to_string_pretty(&written).map(|text| text + "\n")
}

/// Prices that note what is asked of them. Where one is missing they answer with a figure that stands for it, so that all is asked that would be if it
/// were there: nothing that is made of such figures is shown.
pub struct Asking<'a> {
    known: &'a PriceList,
    asked: RefCell<BTreeSet<TollKey>>,
}

impl<'a> Asking<'a> {
    /// Of this list.
    pub fn of(known: &'a PriceList) -> Self {
        Asking { known, asked: RefCell::default() }
    }

    /// What was asked for the bill that was made of these prices: what most crossings are priced by first. Of a call that moves bytes, cold prices at other
    /// sizes than the program's are left out.
    pub fn keys(self, bill: &BillDocument) -> Vec<TollKey> {
        let mut crossings: BTreeMap<&str, f64> = BTreeMap::new();
        for line in &bill.lines {
            for toll in &line.tolls {
                *crossings.entry(toll.trim_start_matches("less ")).or_default() += line.count;
            }
        }
        let of = |key: &TollKey| crossings.get(key.to_string().as_str()).copied().unwrap_or_default();
        let is_wanted = |key: &TollKey| {
            let is_sized = key.crossing == Crossing::SystemCall && key.size.is_some();
            !is_sized || key.warmth != Some(Warmth::Cold) || of(key) > 0.0
        };
        let mut keys: Vec<TollKey> = self.asked.into_inner().into_iter().filter(is_wanted).collect();
        keys.sort_by(|a, b| of(b).total_cmp(&of(a)));
        keys
    }
}

impl TollSource for Asking<'_> {
    fn toll(&self, key: &TollKey) -> Option<Toll> {
        self.asked.borrow_mut().insert(key.clone());
        // Nanoseconds, of the order of a system call.
        let stand_in = || Toll {
            key: key.clone(),
            median: 300.0,
            lo: 300.0,
            hi: 300.0,
            work: 300.0,
            work_lo: 300.0,
            work_hi: 300.0,
            hz: 1e9,
            run: 0,
        };
        Some(self.known.toll(key).unwrap_or_else(stand_in))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str) -> TollKey {
        TollKey::of(Crossing::SystemCall).kind(kind)
    }

    fn entry(kind: &str, ns: f64, hours_ago: i64) -> Entry {
        let toll = Asking::of(&PriceList::default()).toll(&key(kind)).unwrap();
        Entry {
            key: key(kind),
            toll: Some(Toll { median: ns, ..toll }),
            failed: None,
            measured: Timestamp::now() - SignedDuration::from_hours(hours_ago),
            noisy: None,
        }
    }

    fn ns(list: &PriceList, kind: &str) -> Option<f64> {
        list.toll(&key(kind)).map(|toll| toll.median)
    }

    #[test]
    fn the_newer_price_holds_wherever_it_is_from() {
        let mut list = PriceList::default();
        let (machines, own) = (Source::File("/a".into()), Source::File("/b".into()));
        list.add([entry("open", 1.0, 2), entry("close", 2.0, 2)], &machines);
        list.add([entry("open", 3.0, 1), entry("close", 4.0, 3)], &own);
        assert_eq!((ns(&list, "open"), ns(&list, "close")), (Some(3.0), Some(2.0)));
        assert_eq!(list.sources(&[key("open"), key("close"), key("stat")]), ["/a", "/b"]);
        // A later failure takes no price away.
        let failed = Entry { toll: None, failed: Some("no".into()), ..entry("open", 0.0, 0) };
        list.add([failed.clone(), Entry { key: key("stat"), ..failed }], &own);
        assert!(
            ns(&list, "open") == Some(3.0)
                && list.settles(&key("stat"), Timestamp::now())
                && ns(&list, "stat").is_none()
        );
        let later = Timestamp::now() + SignedDuration::from_hours(2);
        assert!(!list.settles(&key("stat"), later) && list.settles(&key("open"), later));
        list.add([entry("stat", 5.0, 3)], &own);
        assert_eq!(ns(&list, "stat"), Some(5.0));
    }

    #[test]
    fn a_file_keeps_what_it_had_and_leaves_out_what_is_old_or_no_price() {
        let folder = tempfile::tempdir().unwrap();
        let turn = price_file::Turn::take(folder.path(), std::time::Duration::ZERO, || {}).unwrap().unwrap();
        let put = |entries: &[Entry]| {
            let text = text_with(folder.path(), "m", "0", entries).unwrap();
            turn.replace("m", &text).unwrap();
            let mut list = PriceList::default();
            list.add(entries_of(&price_file::file_in(folder.path(), "m"), "m").unwrap(), &Source::Now);
            list
        };
        put(&[entry("open", 1.0, 2)]);
        let list = put(&[entry("close", 2.0, 1), entry("stat", 9.0, 24 * 8), entry("read", -1.0, 1)]);
        assert_eq!((ns(&list, "open"), ns(&list, "close")), (Some(1.0), Some(2.0)));
        let now = Timestamp::now();
        assert!(!list.settles(&key("stat"), now) && !list.settles(&key("read"), now));
        for (machine, text) in [("m", "{}"), ("m", "\0\0"), ("m", ""), ("other", "")] {
            if machine == "m" {
                turn.replace("m", text).unwrap();
            } else {
                turn.replace("m", &text_with(folder.path(), machine, "0", &[]).unwrap()).unwrap();
            }
            let error = entries_of(&price_file::file_in(folder.path(), "m"), "m").unwrap_err().to_string();
            assert!(error.contains("prices-m.json") && error.contains("remove it"), "{text}: {error}");
        }
        // And what cannot be used is replaced.
        assert_eq!(ns(&put(&[entry("open", 7.0, 0)]), "open"), Some(7.0));
    }

    #[test]
    fn noisy_prices_are_to_be_better_after_an_hour() {
        let mut list = PriceList::default();
        let noisy = |entry: Entry| Entry { noisy: Some("30 % foreign".into()), ..entry };
        let all = [noisy(entry("open", 1.0, 2)), noisy(entry("close", 1.0, 0)), entry("stat", 1.0, 2)];
        list.add(all, &Source::Now);
        let keys = ["open", "close", "stat"].map(key);
        assert_eq!(list.to_be_better(&keys, Timestamp::now()), [key("open")]);
        assert_eq!(list.noise(&keys).as_deref(), Some("30 % foreign"));
        assert_eq!(list.noise(&keys[2..]), None);
    }
}
