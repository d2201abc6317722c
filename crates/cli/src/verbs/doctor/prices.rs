//! Price list of this machine: where it lies, how old it is, whether it is this machine's and is believed.

use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;
use tollway_program_tool::price_file::{NotUsed, file_in, folders, read};

use crate::verbs::price_list::ALL;

/// What is known of price lists.
#[derive(Serialize)]
pub struct Prices {
    /// The machine's number, which a new kernel or microcode changes.
    machine: String,
    /// Lists of this machine that are used, in the order in which they are read.
    lists: Vec<List>,
    /// Lists of this machine that are not used, and why.
    not_used: Vec<String>,
    /// Lists in the same folders that are of another machine, kernel or microcode.
    of_others: Vec<String>,
}

/// A list of this machine.
#[derive(Serialize)]
struct List {
    file: String,
    prices: usize,
    oldest: Option<Timestamp>,
    newest: Option<Timestamp>,
}

/// Reads the lists of the machine of this number, and looks for others.
pub fn examine(machine: &str) -> Prices {
    let mut found =
        Prices { machine: machine.into(), lists: Vec::new(), not_used: Vec::new(), of_others: Vec::new() };
    for folder in folders() {
        let own = file_in(&folder, machine);
        match read(&own) {
            Ok(text) => match listed(&own, machine, &text) {
                Some(list) => found.lists.push(list),
                None => {
                    found.not_used.push(format!("{}: it is no price list of this machine", own.display()))
                }
            },
            Err(NotUsed::NotThere) => {}
            Err(error) => found.not_used.push(error.to_string()),
        }
        found.of_others.extend(others(&folder, &own));
    }
    found
}

fn listed(file: &Path, machine: &str, text: &str) -> Option<List> {
    let written: Value = serde_json::from_str(text).ok()?;
    let prices = written["prices"].as_array().filter(|_| written["machine"] == machine)?;
    let measured = || prices.iter().filter_map(|price| price["measured"].as_str()?.parse::<Timestamp>().ok());
    Some(List {
        file: file.display().to_string(),
        prices: prices.len(),
        oldest: measured().min(),
        newest: measured().max(),
    })
}

/// The files in a folder that are lists by their name, but for this machine's.
fn others(folder: &Path, own: &Path) -> Vec<String> {
    let is_list = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path != own && name.starts_with("prices-") && name.ends_with(".json")
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<String> =
        entries.filter(|path| is_list(path)).map(|path| path.display().to_string()).collect();
    files.sort();
    files
}

impl Prices {
    /// What is used in the first line; in the second, where there is any, what is not and why.
    pub fn lines(&self) -> impl Iterator<Item = String> + use<> {
        let now = Timestamp::now();
        let used: Vec<String> = self.lists.iter().map(|list| list.told(now)).collect();
        let used = match used.is_empty() {
            true => format!(
                "no list of this machine ({}): {ALL} makes it, or each bill what it needs",
                self.machine
            ),
            false => format!("{}, of this machine ({})", used.join(" · "), self.machine),
        };
        let others = match &self.of_others[..] {
            [] => None,
            [one] => Some(format!("not used: {one}: of another machine, kernel or microcode")),
            [one, rest @ ..] => Some(format!(
                "not used: {one} and {} more: of other machines, kernels or microcode",
                rest.len()
            )),
        };
        let not_used: Vec<String> = self.not_used.iter().cloned().chain(others).collect();
        let not_used = (!not_used.is_empty()).then(|| not_used.join(" · "));
        [Some(used), not_used].into_iter().flatten()
    }
}

impl List {
    fn told(&self, now: Timestamp) -> String {
        let age = match self.oldest.zip(self.newest) {
            None => "empty".into(),
            Some((oldest, newest)) => {
                let (oldest, newest) = (age(now.duration_since(oldest)), age(now.duration_since(newest)));
                if oldest == newest {
                    format!("measured {newest} ago")
                } else {
                    format!("measured {newest} to {oldest} ago")
                }
            }
        };
        format!("{}: {} prices, {age}", self.file, self.prices)
    }
}

/// How long something lasted, to the unit that fits.
fn age(age: SignedDuration) -> String {
    match age.as_secs().max(0) {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 2 * 3600 => format!("{} min", seconds / 60),
        seconds if seconds < 2 * 86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
