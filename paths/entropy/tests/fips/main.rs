//! The FIPS 140-2 tests against rngtest of rng-tools (recorded), against themselves bit by bit, and all implementations
//! against each other.

mod harness;
mod plain;
mod recipe;

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, iter};

use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;
use tollway_entropy::engine::fips::{
    BLOCK_BYTES, Block, Bootstrap, Duplicates, Finding, Implementation, Stream, Tally, Test, Tester, Verdict,
};

/// What rngtest says: exit code, blocks that passed and failed, blocks that failed each test.
#[derive(Deserialize)]
struct Recorded {
    recorded_with: String,
    plain: BTreeMap<String, Vec<u64>>,
    pipe: BTreeMap<String, Vec<u64>>,
}

fn recorded() -> Recorded {
    toml::from_str(include_str!("vectors.toml")).expect("oracle/fips.py wrote it")
}

/// The same of ours.
fn said(implementation: Implementation, stream: &[u8], bootstrap: Bootstrap, chunk: usize) -> Vec<u64> {
    let (mut tested, mut tally) = (Stream::with(implementation, bootstrap), Tally::default());
    stream.chunks(chunk).for_each(|chunk| tested.push(chunk, |_, failed| tally.add(failed)));
    let exit = u64::from(tally.failed > 0 || tally.passed == 0);
    if !tested.has_begun() {
        return vec![exit];
    }
    [exit, tally.passed, tally.failed].into_iter().chain(Test::ALL.map(|test| tally.of(test))).collect()
}

#[test]
fn every_count_is_that_of_rngtest() {
    let recorded = recorded();
    // Since 6.10 the runs of zeros at a block's beginning are counted right.
    assert_eq!(recorded.recorded_with, "rngtest 6.17");
    let (mut at_a_limit, mut by_test) = (0, [0; 5]);
    for (vectors, bootstrap) in
        [(&recorded.plain, Bootstrap::Compared), (&recorded.pipe, Bootstrap::ThrownAway)]
    {
        for (recipe, expected) in vectors {
            let stream = recipe::stream(recipe);
            for implementation in Implementation::all() {
                for chunk in [usize::MAX, 4096, 1009] {
                    let said = said(implementation, &stream, bootstrap, chunk);
                    assert_eq!(said, *expected, "{implementation}: {recipe}, {bootstrap:?}");
                }
            }
            if expected.len() == 8 {
                at_a_limit += usize::from(expected[1] + expected[2] == 1);
                by_test.iter_mut().zip(&expected[3..]).for_each(|(sum, failed)| *sum += failed);
            }
        }
    }
    assert!(at_a_limit > 150 && by_test.iter().all(|failed| *failed > 50), "{at_a_limit}, {by_test:?}");
}

#[test]
fn every_count_of_the_recorded_streams_is_that_of_the_plain_tests() {
    for (recipe, expected) in &recorded().plain {
        let stream = recipe::stream(recipe);
        if stream.len() > 60_000 {
            continue;
        }
        let verdicts = harness::check_stream(&stream, Bootstrap::Compared, iter::repeat(usize::MAX));
        let failed = verdicts.iter().filter(|failed| **failed != 0).count() as u64;
        assert_eq!(failed, expected.get(2).copied().unwrap_or(0), "{recipe}");
    }
}

/// A block that is neither random nor flat: stretches of either, of any length.
fn stretches() -> impl Strategy<Value = Vec<u8>> {
    let stretch = prop_oneof![
        vec(any::<u8>(), 1..200),
        (any::<u8>(), 1..40usize).prop_map(|(byte, length)| vec![byte; length]),
        (prop_oneof![Just(0u8), Just(0xff)], 1..8usize).prop_map(|(byte, length)| vec![byte; length]),
        (vec(any::<u8>(), 1..9), 1..100usize).prop_map(|(pattern, times)| pattern.repeat(times)),
    ];
    vec(stretch, 0..120).prop_map(|stretches| stretches.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_stretches_in_any_chunks(stream in stretches(), pipe in any::<bool>(), sizes in vec(0..6000usize, 1..9)) {
        prop_assume!(sizes.iter().any(|size| *size > 0));
        let bootstrap = if pipe { Bootstrap::ThrownAway } else { Bootstrap::Compared };
        harness::check_stream(&stream, bootstrap, sizes.into_iter().cycle());
    }

    #[test]
    fn one_bit_more_or_less(seed in any::<u32>(), flips in vec(0..8 * BLOCK_BYTES, 0..40)) {
        let mut stream = recipe::stream(&format!("random {seed} {}", 4 + BLOCK_BYTES));
        for bit in flips {
            stream[4 + bit / 8] ^= 0x80 >> (bit % 8);
        }
        harness::check_stream(&stream, Bootstrap::Compared, iter::once(usize::MAX));
    }

    #[test]
    fn runs_of_any_length_anywhere(at in 0..19_990usize, length in 1..60usize, polarity in 0..2u8, seed in 0..100u32) {
        let length = length.min(20_000 - at);
        let stream = recipe::stream(&format!("run {seed} {polarity} {at} {length}"));
        harness::check_stream(&stream, Bootstrap::Compared, iter::once(usize::MAX));
    }

    #[test]
    fn any_input_of_the_fuzzer(input in vec(any::<u8>(), 0..600)) {
        harness::check(&input);
    }
}

#[test]
fn seeds_of_the_fuzzer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/fips");
    let seeds: Vec<_> = fs::read_dir(&folder).expect("the seeds are in the repository").collect();
    assert!(!seeds.is_empty());
    for seed in seeds {
        harness::check(&fs::read(seed.expect("a file").path()).expect("readable"));
    }
}

#[test]
fn blocks_are_remembered_until_there_is_no_room() {
    let block = |number: u32| -> Block {
        let mut block = [0; BLOCK_BYTES];
        block[..4].copy_from_slice(&number.to_ne_bytes());
        block
    };
    let mut duplicates = Duplicates::keyed(1);
    assert!((0..100_000).all(|i| !duplicates.seen(&block(i))));
    let remembered = (0..100_000).filter(|i| duplicates.seen(&block(*i))).count();
    assert_eq!(remembered, 100_000);
    assert_eq!(duplicates.found(), 100_000);
    // As the documentation says: 262,144 blocks later, about one of 900 is forgotten.
    let mut duplicates = Duplicates::keyed(2);
    (0..262_144 + 50_000).for_each(|i| assert!(!duplicates.seen(&block(i))));
    let forgotten = (0..50_000).rev().filter(|i| !duplicates.seen(&block(*i))).count();
    assert!((10..400).contains(&forgotten), "{forgotten}");
}

#[test]
fn verdicts() {
    let of = |passed, failed| {
        let mut tally = Tally::default();
        let mut tester = Tester::new([1; 4]);
        let (bad, good) = (tester.test(&[0; BLOCK_BYTES]), tollway_entropy::engine::fips::Failed::NONE);
        (0..passed).for_each(|_| tally.add(good));
        (0..failed).for_each(|_| tally.add(bad));
        Verdict::of(&tally)
    };
    assert_eq!(of(0, 0).rate, None);
    for (passed, failed, finding) in [
        (0, 0, Finding::TooFewBlocks),
        (1, 0, Finding::TooFewBlocks),
        (600, 0, Finding::TooFewBlocks),
        (1000, 0, Finding::Compatible),
        (1000, 1, Finding::Compatible),
        (996, 4, Finding::TooFewBlocks),
        (993, 7, Finding::TooManyFailures),
        (0, 2, Finding::TooManyFailures),
        (39_970, 30, Finding::Compatible),
        (100_000, 0, Finding::TooFewFailures),
        (99_880, 120, Finding::TooManyFailures),
    ] {
        assert_eq!(of(passed, failed).finding, finding, "{passed} and {failed}");
    }
}
