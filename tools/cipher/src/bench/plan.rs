//! What is measured: every combination of what was asked for that this machine has.

use std::path::Path;

use anyhow::Result;
use tollway_cipher::engine::driver::Waiting;
use tollway_cipher::engine::kernel::DevCrypto;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Named};
use tollway_core::{Error, Missing};
use tollway_host::af_alg::AfAlg;
use tollway_host::cpu;

use super::drivers::Drivers;
use super::kernel;
use super::tenant::slot;
use crate::args::bench::{Bench, Word, each, word};

/// One thing that is measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// By what.
    pub(super) by: Word,
    /// Which of the kernel's drivers AF_ALG asks, where one is named.
    pub(super) driver: Option<String>,
    /// How its tasks learn of completions, where they can choose.
    pub(super) waiting: Option<Waiting>,
    /// What is done.
    pub(super) cipher: &'static Named,
    /// To how many bytes.
    pub(super) size: usize,
    /// How many requests a task has on their way, where there is a way.
    pub(super) in_flight: Option<usize>,
    /// Threads that ask.
    pub(super) tasks: usize,
}

/// Everything that is measured, and what is not.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) points: Vec<Point>,
    pub(super) skipped: Vec<Missing>,
    /// The processors of tasks.
    pub(super) askers: Vec<u32>,
    /// The processor of cards.
    pub(super) card: u32,
    /// Bytes that the tasks of a card need at most for their buffers.
    pub(super) room: usize,
    /// The most requests on their way in a queue.
    pub(super) depth: u16,
}

/// Memory that is shared with a card at most.
const MOST_ROOM: usize = 1 << 30;

impl Word {
    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Word::Library => "library",
            Word::Copies => "copies",
            Word::Inside => "inside",
            Word::Neighbour => "neighbour",
            Word::Socket => "socket",
            Word::AfAlg => "af-alg",
            Word::DevCrypto => "dev-crypto",
        }
    }

    /// Whether it is the kernel, which takes one request of a task at a time.
    fn is_kernel(self) -> bool {
        matches!(self, Word::AfAlg | Word::DevCrypto)
    }

    /// Whether it is a card, with queues.
    fn is_card(self) -> bool {
        matches!(self, Word::Inside | Word::Neighbour | Word::Socket)
    }
}

impl Point {
    /// What it is, in words.
    pub(super) fn title(&self) -> String {
        let waiting = self.waiting.map_or(String::new(), |way| format!(", {}", word(way)));
        let flight = self.in_flight.map_or(String::new(), |n| format!(", {n} in flight"));
        let tasks = if self.tasks == 1 { String::new() } else { format!(", {} tasks", self.tasks) };
        let driver = self.driver.as_ref().map_or(String::new(), |driver| format!(" with {driver}"));
        format!("{} {} B by {}{driver}{waiting}{flight}{tasks}", self.cipher.name, self.size, self.by.name())
    }
}

fn input(place: &str, reason: String, remedy: &str) -> Error {
    Error::Input { place: place.into(), reason, remedy: remedy.into() }
}

impl Plan {
    /// Of what was asked for.
    ///
    /// # Errors
    /// It cannot be, or something is not there that was named.
    pub(super) fn of(options: &Bench) -> Result<Plan> {
        let (ciphers, mut sizes) = (each(&options.cipher), each(&options.sizes));
        sizes.sort_unstable();
        for cipher in &ciphers {
            own(cipher, &sizes).iter().try_for_each(|size| fits(cipher, *size))?;
        }
        let (flights, tasks) = (each(&options.in_flight), each(&options.tasks));
        let most = |all: &[usize]| all.iter().copied().max().unwrap_or(1);
        let slots =
            ciphers.iter().flat_map(|cipher| own(cipher, &sizes).into_iter().map(|size| slot(cipher, size)));
        let room = slots.max().unwrap_or_default() * most(&flights) * most(&tasks);
        if room > MOST_ROOM {
            let place = format!("--sizes {} with --in-flight {}", most(&sizes), most(&flights));
            let reason = format!("buffers of all tasks would take {} MiB", room >> 20);
            return Err(input(&place, reason, "let the largest, or the most of them, be less").into());
        }
        let (by, mut skipped) = back_ends(options)?;
        let drivers = Drivers::named(&options.driver, &ciphers)?;
        skipped.extend(drivers.lacking.iter().cloned());
        let (mut points, longest) = (Vec::new(), kernel::longest());
        for cipher in &ciphers {
            for by in &by {
                if let Some(missing) = by.is_kernel().then(|| kernel::mode(cipher, *by).err()).flatten() {
                    skipped.push(missing);
                    continue;
                }
                let (sizes, longer): (Vec<usize>, Vec<usize>) =
                    own(cipher, &sizes).iter().partition(|size| *by != Word::AfAlg || **size <= longest);
                if !longer.is_empty() {
                    skipped.push(kernel::too_long(cipher, &longer, longest));
                }
                let ways: Vec<_> = if by.is_card() {
                    options.waiting.iter().copied().map(Some).collect()
                } else {
                    vec![None]
                };
                let flights: Vec<_> = match by {
                    _ if by.is_card() => flights.iter().copied().map(Some).collect(),
                    _ if by.is_kernel() => vec![Some(1)],
                    _ => vec![None],
                };
                let asked = match by {
                    Word::AfAlg => drivers.of(cipher),
                    _ => vec![None],
                };
                for (driver, tasks) in asked.iter().flat_map(|driver| tasks.iter().map(move |n| (driver, n)))
                {
                    for waiting in &ways {
                        for in_flight in &flights {
                            points.extend(sizes.iter().map(|size| Point {
                                by: *by,
                                driver: driver.clone(),
                                waiting: *waiting,
                                cipher,
                                size: *size,
                                in_flight: *in_flight,
                                tasks: *tasks,
                            }));
                        }
                    }
                }
            }
        }
        let cpus = cpu::slots()?;
        let card = cpus.get(1).or(cpus.first()).copied().unwrap_or(0);
        let askers = cpus.iter().copied().filter(|cpu| *cpu != card || cpus.len() == 1).collect();
        let depth = most(&flights).next_power_of_two() as u16;
        Ok(Plan { points, skipped, askers, card, room, depth })
    }
}

/// Of the sizes those that there are of a cipher: an operation with a key has its own.
fn own(cipher: &Named, sizes: &[usize]) -> Vec<usize> {
    cipher.keyed.map_or_else(|| sizes.to_vec(), |keyed| vec![keyed.source])
}

/// Whether a cipher can be had of so many bytes.
fn fits(cipher: &Named, size: usize) -> Result<(), Error> {
    let place = format!("--sizes {size}");
    let (name, block) = (cipher.name, cipher.block());
    if !size.is_multiple_of(block) {
        let reason = format!("{name} works on whole blocks of {block} bytes");
        return Err(input(&place, reason, "let it be a multiple of that, or leave the cipher out"));
    }
    if matches!(cipher.algorithm, Algorithm::Cipher(CipherMode::Xts, _)) && size < 16 {
        return Err(input(
            &place,
            format!("{name} takes 16 bytes at least"),
            "let it be more, or leave the cipher out",
        ));
    }
    Ok(())
}

/// By what, and what of it is not there. What was named must be.
fn back_ends(options: &Bench) -> Result<(Vec<Word>, Vec<Missing>)> {
    let named = &options.by;
    if named.contains(&Word::Socket) && options.socket.is_none() {
        let reason = "no socket is named".into();
        return Err(input("--by socket", reason, "name one by --socket").into());
    }
    if let Some(socket) = options.socket.as_ref().filter(|socket| !socket.exists()) {
        let (place, remedy) = (format!("--socket {}", socket.display()), "start what serves there first");
        return Err(input(&place, "there is no such socket".into(), remedy).into());
    }
    let all = [
        Word::Library,
        Word::Copies,
        Word::Inside,
        Word::Neighbour,
        Word::Socket,
        Word::AfAlg,
        Word::DevCrypto,
    ];
    let (mut there, mut skipped) = (Vec::new(), Vec::new());
    for word in all {
        let wanted = named.contains(&word)
            || word == Word::Socket && options.socket.is_some()
            || word == Word::AfAlg && !options.driver.is_empty();
        if !wanted && (!named.is_empty() || word == Word::Socket) {
            continue;
        }
        let checked = match word {
            Word::AfAlg => AfAlg::check(),
            Word::DevCrypto => DevCrypto::check(Path::new("/")),
            _ => Ok(()),
        };
        match checked {
            Ok(()) => there.push(word),
            Err(missing) if wanted => return Err(Error::Missing(missing).into()),
            Err(missing) => skipped.push(missing),
        }
    }
    Ok((there, skipped))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Bench,
    }

    fn plan(words: &str) -> Result<Plan> {
        Plan::of(&Line::parse_from(["bench"].into_iter().chain(words.split_whitespace())).options)
    }

    fn titles(words: &str) -> Vec<String> {
        plan(words).unwrap().points.iter().map(Point::title).collect()
    }

    #[test]
    fn every_combination_is_a_point_and_no_other() {
        let titles = titles(
            "--cipher aes-128-cbc --sizes 1024,64 --in-flight 1,8 --by library,inside --waiting busy,interrupt",
        );
        assert_eq!(
            titles,
            [
                "aes-128-cbc 64 B by library",
                "aes-128-cbc 1024 B by library",
                "aes-128-cbc 64 B by inside, busy, 1 in flight",
                "aes-128-cbc 1024 B by inside, busy, 1 in flight",
                "aes-128-cbc 64 B by inside, busy, 8 in flight",
                "aes-128-cbc 1024 B by inside, busy, 8 in flight",
                "aes-128-cbc 64 B by inside, interrupt, 1 in flight",
                "aes-128-cbc 1024 B by inside, interrupt, 1 in flight",
                "aes-128-cbc 64 B by inside, interrupt, 8 in flight",
                "aes-128-cbc 1024 B by inside, interrupt, 8 in flight",
            ]
        );
    }

    #[test]
    fn what_this_machine_lacks_is_named_with_a_remedy_and_an_error_if_it_was_asked_for() {
        let plan = plan("").unwrap();
        let lacks = |what: &str| {
            plan.skipped.iter().any(|missing| missing.what == what && !missing.remedy.is_empty())
        };
        assert_eq!(lacks("/dev/crypto"), DevCrypto::check(Path::new("/")).is_err());
        assert_eq!(lacks("AF_ALG"), AfAlg::check().is_err());
        for words in ["--by dev-crypto", "--cipher aes-128-cbc --driver cbc-aes-of-nobody"] {
            if let Err(error) = super::tests::plan(words) {
                assert!(matches!(error.downcast_ref(), Some(Error::Missing(_))), "{error}");
            } else {
                assert_eq!(words, "--by dev-crypto");
            }
        }
    }

    #[test]
    fn what_a_socket_does_not_take_is_named_as_skipped() {
        let Ok(longest) = AfAlg::longest() else { return println!("skipped: no AF_ALG") };
        let sizes = [longest, longest + 4096, longest + 8192];
        let words = sizes.map(|size| size.to_string()).join(",");
        let plan = match plan(&format!("--cipher aes-128-cbc --sizes {words} --by library,af-alg")) {
            Ok(plan) => plan,
            Err(error) => return println!("skipped: {error}"),
        };
        assert_eq!(plan.points.len(), 3 + 1);
        let [missing] = &plan.skipped[..] else { panic!("{:?}", plan.skipped) };
        assert_eq!(missing.what, format!("aes-128-cbc of {} and {} B by af-alg", sizes[1], sizes[2]));
    }

    #[test]
    fn what_cannot_be_is_refused_with_place_and_remedy() {
        for (words, told) in [
            ("--sizes 100 --cipher aes-128-cbc", "--sizes 100: aes-128-cbc works on whole blocks"),
            ("--sizes 8 --cipher aes-128-xts", "16 bytes at least"),
            ("--sizes 1048576 --in-flight 1024", "MiB; let the largest"),
            ("--by socket", "name one by --socket"),
        ] {
            let error = plan(words).unwrap_err();
            assert!(
                matches!(error.downcast_ref(), Some(Error::Input { .. })) && error.to_string().contains(told),
                "{error}"
            );
        }
    }
}
