//! Tenants of every bad kind at once, and neighbours that are served beside them.
//!
//! What the neighbours wait is held against what they wait beside the same crowd while it keeps to the rules: as many threads that
//! ask for as much, as processors are had in turns in either case.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_cipher::engine::device::{Card, NewFunction, Options as CardOptions};
use tollway_virtio::socket::{Listener, Meeting};

use super::attacker::{Attacker, Tally};
use super::large::{kills, punches_holes};
use super::quiet::is_quiet;
use super::resources::Resources;
use super::tables::{Swapped, swap};
use super::tenancy::PATIENCE;
use super::victim::{Habit, KEY, TEXT, Victim, Waits};
use super::{alone, chains_wanted};

/// Functions by number: the neighbours, then the crowd.
const NEIGHBOURS: [Habit; 2] = [Habit::Now, Habit::Always(8)];
const AT_A_SOCKET: usize = 2;
const STORM: usize = 3;
const HOLES: usize = 4;
const KILLED: usize = 5;
const TABLES: usize = 6;
const INSIDE: [usize; 2] = [7, 8];

/// How many times as long the neighbours' slowest answers may take as beside a crowd that keeps to the rules.
const SLOWER: u32 = 2;

/// And how much longer besides: the crowd's threads have the processors in turns, and whether one answer in a hundred meets a turn
/// or two (of 3 ms) more is chance.
const BESIDES: Duration = Duration::from_millis(5);

#[test]
fn a_crowd_of_hostile_tenants_harms_nobody() {
    harms_nobody(&CardOptions::default());
}

/// Engines that have turns at the same tenants, cards to which these come and go, and queues of one tenant.
#[test]
fn a_crowd_at_two_cards_with_two_engines_and_queues_harms_nobody() {
    harms_nobody(&CardOptions { cards: 2, engines: 2, queues: 2, ..CardOptions::default() });
}

/// Each has half of the chains.
fn harms_nobody(options: &CardOptions) {
    let (_alone, wanted) = (alone(), chains_wanted() / 2);
    let crowd = Crowd::new(options);
    let mut neighbours: Vec<Victim> = NEIGHBOURS
        .iter()
        .enumerate()
        .map(|(number, habit)| Victim::connect(&crowd.socket(number), *habit, options.queues))
        .collect();

    let without = Resources::now(&crowd.card, NEIGHBOURS.len());
    // What the first tenth leaves behind is what is there in any case.
    let polite = crowd.round(&mut neighbours, true, wanted / 4, 1);
    let first = crowd.round(&mut neighbours, false, wanted / 10, 2);
    let before = Resources::once_left(&crowd.card, NEIGHBOURS.len(), &without);
    let begun = Instant::now();
    let mut round = crowd.round(&mut neighbours, false, wanted - first.tally.chains(), 3);
    let (took, after) = (begun.elapsed(), Resources::now(&crowd.card, NEIGHBOURS.len()));
    round.tally.add(first.tally);
    println!("{} chains in {took:?} (but for the first tenth): {:?}", round.tally.chains(), round.tally);
    println!("before {before:?}, after {after:?}");
    for ((habit, beside), polite) in NEIGHBOURS.iter().zip(&round.waits).zip(&polite.waits) {
        println!("a neighbour that asks {habit:?} beside a crowd that keeps to the rules: {polite}");
        println!("and beside one that does not: {beside}");
    }
    round.tally.has_met_everything();
    assert!(round.tally.chains() >= wanted);
    assert!(round.swapped.in_flight > 0, "no table came while anything was on its way");
    Resources::have_not_grown(&crowd.card, NEIGHBOURS.len(), &before);
    for (number, (beside, polite)) in round.waits.iter().zip(&polite.waits).enumerate() {
        let most = if is_quiet() { polite.p99 * SLOWER + BESIDES } else { PATIENCE };
        assert!(beside.p99 <= most, "it waits too long: {beside}, not {polite}");
        let counts = &crowd.card.status().functions[number].counts;
        assert_eq!((counts.failed, counts.refused_chains, counts.connections), (0, 0, 1));
    }
}

/// A card, at whose functions they are.
struct Crowd {
    card: Arc<Card>,
    folder: tempfile::TempDir,
    /// Data queues of each function.
    queues: usize,
}

/// What a round has brought.
struct Round {
    tally: Tally,
    swapped: Swapped,
    /// Of each neighbour.
    waits: Vec<Waits>,
}

impl Crowd {
    fn new(options: &CardOptions) -> Crowd {
        let folder = tempfile::tempdir().unwrap();
        let function = |number: usize| {
            let meeting = if INSIDE.contains(&number) {
                Meeting::Inside
            } else {
                Meeting::Listen(Listener::bind(&folder.path().join(format!("{number}.sock")), 0o600).unwrap())
            };
            NewFunction::new(format!("f{number}"), meeting)
        };
        let options = CardOptions { spin: Duration::from_micros(20), ..options.clone() };
        let functions = (0..=INSIDE[1]).map(function).collect();
        Crowd {
            card: Arc::new(Card::start(functions, &options, |_| ()).unwrap()),
            folder,
            queues: options.queues,
        }
    }

    fn socket(&self, function: usize) -> PathBuf {
        self.folder.path().join(format!("{function}.sock"))
    }

    /// All of them, until so many chains were tried; what was met, and how the neighbours fared.
    fn round(&self, neighbours: &mut [Victim], keeps_rules: bool, wanted: u64, seed: u64) -> Round {
        let queues = self.queues;
        let (card, chains, stop) = (&self.card, &AtomicU64::new(0), &AtomicBool::new(false));
        let is_over = || stop.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let attackers = [
                Attacker::connect(card, AT_A_SOCKET, self.queues, &self.socket(AT_A_SOCKET)),
                Attacker::inside(card, INSIDE[0], self.queues),
                Attacker::inside(card, INSIDE[1], self.queues),
            ];
            let attackers: Vec<_> = (seed << 8..)
                .zip(attackers)
                .map(|(seed, mut attacker)| {
                    attacker.keeps_rules = keeps_rules;
                    scope.spawn(move || {
                        let _stops = Stops(stop);
                        attack(
                            &mut attacker,
                            seed,
                            || is_over() || chains.load(Ordering::Relaxed) >= wanted,
                            chains,
                        )
                    })
                })
                .collect();
            let mut storm = Attacker::connect(card, STORM, self.queues, &self.socket(STORM));
            storm.keeps_rules = keeps_rules;
            let storm = scope.spawn(move || storm.storm(is_over));
            let at = |function: usize| (self.socket(function), (&**card, function));
            let [holes, killed, tables] = [HOLES, KILLED, TABLES].map(at);
            let holes = scope.spawn(move || {
                let _stops = Stops(stop);
                punches_holes((&holes.0, queues), holes.1, keeps_rules, is_over)
            });
            let killed = scope.spawn(move || {
                let _stops = Stops(stop);
                kills((&killed.0, queues), killed.1, keeps_rules, is_over)
            });
            let tables = scope.spawn(move || {
                let _stops = Stops(stop);
                swap(&tables.0, tables.1, keeps_rules, is_over)
            });
            let neighbours: Vec<_> = neighbours
                .iter_mut()
                .map(|neighbour| {
                    scope.spawn(move || {
                        let _stops = Stops(stop);
                        neighbour.ask(is_over)
                    })
                })
                .collect();
            let mut tally = Tally::default();
            attackers.into_iter().for_each(|attacker| tally.add(attacker.join().unwrap()));
            stop.store(true, Ordering::Relaxed);
            let (kicks, holes, killed) =
                (storm.join().unwrap(), holes.join().unwrap(), killed.join().unwrap());
            let swapped = tables.join().unwrap();
            if !keeps_rules {
                println!("{kicks} kicks for nothing, {holes} holes, {killed} processes killed, {swapped:?}");
                assert!(kicks > 0 && holes > 0 && killed > 0 && swapped.tables > 0);
            }
            let waits = neighbours.into_iter().map(|neighbour| neighbour.join().unwrap()).collect();
            Round { tally, swapped, waits }
        })
    }
}

/// Ends the others if this thread ends by a panic.
struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Plays until `stop` says so, and counts the chains that all together have played.
fn attack(attacker: &mut Attacker, seed: u64, stop: impl Fn() -> bool, chains: &AtomicU64) -> Tally {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut all, mut data) = (Tally::default(), vec![0; 16 << 10]);
    while !stop() {
        let len = 512 + (random.next_u32() as usize) % (data.len() - 512);
        random.fill_bytes(&mut data[..len]);
        let mut tally = Tally::default();
        attacker.play(&data[..len], &mut tally, thread::yield_now);
        chains.fetch_add(tally.chains(), Ordering::Relaxed);
        all.add(tally);
        if random.next_u32() % 256 == 0 {
            has_nothing_of_the_neighbours(attacker);
        }
    }
    has_nothing_of_the_neighbours(attacker);
    all
}

fn has_nothing_of_the_neighbours(attacker: &Attacker) {
    assert!(!attacker.has(KEY) && !attacker.has(TEXT), "it has what is another's");
}
