//! The tests as the standard writes them down, a sample at a time, against those that pass over blocks.

use proptest::prelude::*;

use super::super::{Alarms, Continuous, Limits, Test};
use crate::engine::source::{Seeded, Source};

const TESTS: [Test; 6] =
    [Test::Repetition, Test::Proportion, Test::Ones, Test::Words, Test::Constant, Test::Recurrence];

/// Runs of equal samples that reach the cut-off.
fn runs<T: PartialEq>(samples: &[T], cutoff: u64) -> u64 {
    samples.chunk_by(|a, b| a == b).filter(|run| run.len() as u64 >= cutoff).count() as u64
}

fn plainly(limits: &Limits, stream: &[u8]) -> [u64; 6] {
    let mut proportion = 0;
    for window in stream.chunks(512) {
        let (a, mut b) = (window[0], 1);
        for x in &window[1..] {
            if *x == a {
                b += 1;
                proportion += u64::from(b == limits.proportion);
            }
        }
    }
    let ones = stream.chunks_exact(4096).filter(|window| {
        let ones = window.iter().map(|byte| (0..8).filter(|bit| byte >> bit & 1 == 1).count()).sum::<usize>();
        !limits.ones.contains(&(ones as u32))
    });
    let words: Vec<u64> =
        stream.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
    let constant: Vec<bool> = words.iter().map(|word| *word == 0 || *word == !0).collect();
    let constant = constant.chunk_by(|a, b| a == b);
    let length = limits.recurrence;
    let comes_again = |window: &&[u8]| {
        (1..=4096).any(|from| window.get(from..from + length).is_some_and(|bytes| *bytes == window[..length]))
    };
    [
        runs(stream, limits.repetition),
        proportion,
        ones.count() as u64,
        runs(&words, limits.words),
        constant.filter(|run| run[0] && run.len() as u64 >= limits.constant).count() as u64,
        stream.chunks(length + 4096).filter(comes_again).count() as u64,
    ]
}

/// A part of a stream: good bytes, or what some test is about.
#[derive(Clone, Debug)]
enum Part {
    Good(Vec<u8>),
    Run(u8, usize),
    Pattern(Vec<u8>, usize),
    /// So many bytes that are so far back.
    Again(usize, usize),
    /// Good bytes, but these bits are set.
    Set(u8, Vec<u8>),
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let good = || prop::collection::vec(any::<u8>(), 0..600);
    let byte = || prop_oneof![Just(0), Just(255), any::<u8>()];
    let part = prop_oneof![
        3 => good().prop_map(Part::Good),
        2 => (byte(), 1..100_usize).prop_map(|(byte, length)| Part::Run(byte, length)),
        1 => (prop::collection::vec(any::<u8>(), 1..40), 1..900_usize).prop_map(|(p, n)| Part::Pattern(p, n)),
        2 => (1..5000_usize, 1..200_usize).prop_map(|(back, length)| Part::Again(back, length)),
        1 => (any::<u8>(), good()).prop_map(|(bits, bytes)| Part::Set(bits, bytes)),
    ];
    prop::collection::vec(part, 0..40)
}

fn stream(parts: &[Part]) -> Vec<u8> {
    let mut stream = Vec::new();
    for part in parts {
        match part {
            Part::Good(bytes) => stream.extend(bytes),
            Part::Run(byte, length) => stream.extend(std::iter::repeat_n(*byte, *length)),
            Part::Pattern(bytes, length) => stream.extend(bytes.iter().cycle().take(*length)),
            Part::Again(back, length) => {
                for _ in 0..*length {
                    stream.push(stream.len().checked_sub(*back).map_or(0, |from| stream[from]));
                }
            }
            Part::Set(bits, bytes) => stream.extend(bytes.iter().map(|byte| byte | bits)),
        }
    }
    stream
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_the_portions(
        parts in parts(),
        portions in prop::collection::vec(prop_oneof![1..20_usize, 1..700_usize, 1..20_000_usize], 1..30),
        evenness in prop_oneof![Just(8.0), Just(1.0), 0.5..8.0],
        bits in prop_oneof![Just(20.0), Just(64.0), 20.0..80.0],
        wide in any::<bool>(),
    ) {
        let limits = Limits::new(evenness, bits).unwrap();
        let stream = stream(&parts);
        let expected = plainly(&limits, &stream);
        let mut tests = Continuous::new(&limits);
        if !wide {
            tests = tests.narrow();
        }
        let (mut alarms, mut rest) = (Alarms::default(), &stream[..]);
        for portion in portions.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*portion));
            alarms += tests.feed(now);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(TESTS.map(|test| alarms.of(test)), expected);
        // And from the beginning again.
        tests.reset();
        prop_assert_eq!(TESTS.map(|test| tests.feed_again(&stream).of(test)), expected);
    }
}

impl Continuous {
    fn feed_again(&mut self, stream: &[u8]) -> Alarms {
        self.reset();
        self.feed(stream)
    }
}

/// The streams above raise every kind of alarm: else they would prove nothing.
#[test]
fn each_test_has_something_to_find() {
    let limits = Limits::new(8.0, 64.0).unwrap();
    let mut good = vec![0; 5000];
    Seeded::new(1).fill(&mut good).unwrap();
    let raised = |parts: &[Part]| {
        let stream = stream(parts);
        let alarms = Continuous::new(&limits).feed(&stream);
        assert_eq!(TESTS.map(|test| alarms.of(test)), plainly(&limits, &stream));
        TESTS.map(|test| alarms.of(test) > 0)
    };
    assert_eq!(raised(&[Part::Good(good[..4000].to_vec())]), [false; 6]);
    assert!(raised(&[Part::Run(9, 9)])[0]);
    assert!(raised(&[Part::Pattern((0..20).collect(), 512)])[1]);
    assert!(!raised(&[Part::Pattern((0..21).collect(), 512)])[1]);
    assert!(raised(&[Part::Set(8, good.clone())])[2]);
    assert!(raised(&[Part::Pattern((0..8).collect(), 16)])[3]);
    assert!(raised(&[Part::Run(255, 8)])[4]);
    assert!(raised(&[Part::Good(good[..4080].to_vec()), Part::Again(4080, 16)])[5]);
}
