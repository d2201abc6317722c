//! `tollway entropy test` in the place of rngtest: its lines, its exit codes, what it reads and what it copies; signals and
//! closed pipes; the verdict and duplicate blocks.

#[path = "../../../../paths/entropy/tests/fips/recipe.rs"]
mod recipe;

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::asleep::process_falls_asleep;
use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::{Bench, SHORT, checked};
use serde_json::Value;

const BLOCK: usize = 2500;

/// Runs the test on these bytes as standard input; returns what was copied, and what was said.
fn test(bench: &Bench, options: &[&str], input: &[u8], code: i32) -> (Vec<u8>, String) {
    let file = bench.file("input");
    fs::write(&file, input).unwrap();
    let mut command = bench.tollway(&[&["entropy", "test"], options].concat());
    let mut output = command.stdin(File::open(file).unwrap()).output().unwrap();
    let copied = std::mem::take(&mut output.stdout);
    (copied, checked(&output, code).1)
}

fn number(said: &str, label: &str) -> Option<u64> {
    let line = format!("rngtest: {label}: ");
    said.lines().rev().find_map(|l| l.strip_prefix(&line)).map(|n| n.parse().unwrap())
}

#[test]
fn lines_and_exit_codes_are_those_of_rngtest() {
    let bench = Bench::with(SHORT);
    let recorded: toml::Table =
        toml::from_str(include_str!("../../../../paths/entropy/tests/fips/vectors.toml")).unwrap();
    let mut tried = 0;
    for (vectors, options) in [("plain", &[][..]), ("pipe", &["--pipe"])] {
        for (recipe, expected) in recorded[vectors].as_table().unwrap() {
            // The engine's own tests have all of them.
            let kind = recipe.split(' ').next().unwrap();
            if ["run", "runs", "biased", "nibbles"].contains(&kind) || recipe.ends_with(" 1000000") {
                continue;
            }
            let expected: Vec<u64> =
                expected.as_array().unwrap().iter().map(|n| n.as_integer().unwrap() as u64).collect();
            let stream = recipe::stream(recipe);
            let (copied, said) = test(&bench, options, &stream, expected[0] as i32);
            let count = |label: &str| number(&said, label);
            assert_eq!(said.contains("entropy source drained"), options.is_empty(), "{said}");
            let [_, passed, failed, by_test @ ..] = &expected[..] else {
                assert!(count("FIPS 140-2 successes").is_none() && copied.is_empty(), "{recipe}: {said}");
                continue;
            };
            assert_eq!(count("bits received from input"), Some(8 * stream.len() as u64), "{recipe}");
            assert_eq!(count("FIPS 140-2 successes"), Some(*passed), "{recipe}: {said}");
            assert_eq!(count("FIPS 140-2 failures"), Some(*failed), "{recipe}: {said}");
            for (test, expected) in
                ["Monobit", "Poker", "Runs", "Long run", "Continuous run"].iter().zip(by_test)
            {
                let label = format!("FIPS 140-2(2001-10-10) {test}");
                assert_eq!(count(&label), Some(*expected), "{recipe}: {said}");
            }
            let sent = if options.is_empty() { None } else { Some(8 * BLOCK as u64 * passed) };
            assert_eq!(count("bits sent to output"), sent);
            assert_eq!(copied.len() as u64, sent.unwrap_or(0) / 8);
            if *failed == 0 {
                assert!(stream[stream.len().min(8)..].starts_with(&copied), "{recipe}");
            }
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn the_lines_are_all_there() {
    let bench = Bench::with(SHORT);
    let (_, said) = test(&bench, &["--pipe"], &recipe::stream("random 1 25008"), 0);
    let labels: Vec<&str> = said.lines().map(|line| &line[..line.rfind(": ").unwrap()]).collect();
    assert_eq!(
        labels,
        [
            "rngtest: bits received from input",
            "rngtest: bits sent to output",
            "rngtest: FIPS 140-2 successes",
            "rngtest: FIPS 140-2 failures",
            "rngtest: FIPS 140-2(2001-10-10) Monobit",
            "rngtest: FIPS 140-2(2001-10-10) Poker",
            "rngtest: FIPS 140-2(2001-10-10) Runs",
            "rngtest: FIPS 140-2(2001-10-10) Long run",
            "rngtest: FIPS 140-2(2001-10-10) Continuous run",
            "rngtest: input channel speed",
            "rngtest: FIPS tests speed",
            "rngtest: output channel speed",
            "rngtest: Program run time",
            "tollway: failed blocks",
            "tollway: verdict",
            "tollway: duplicate blocks",
            "tollway: min-entropy by the most common byte",
        ],
        "{said}"
    );
    assert!(said.contains("FIPS tests speed: (min=") && said.contains("bits/s"), "{said}");
    assert!(
        said.contains("blocks: none of 10; up to 41 % could (99 % interval); of an ideal source 0.080 %\n"),
        "{said}"
    );
}

#[test]
fn blocks_are_counted_and_no_more_are_read() {
    let bench = Bench::with(SHORT);
    let stream = recipe::stream("random 1 1000000");
    for (count, blocks) in [("1", 1), ("7", 7), ("0x10", 16), ("300", 300)] {
        let path = bench.file("shared");
        fs::write(&path, &stream).unwrap();
        let mut file = File::open(&path).unwrap();
        let mut command = bench.tollway(&["entropy", "test", "-c", count, "-b", "5"]);
        let output = command.stdin(file.try_clone().unwrap()).output().unwrap();
        let (_, said) = checked(&output, 0);
        assert_eq!(file.stream_position().unwrap(), 4 + BLOCK as u64 * blocks);
        // Every five blocks, but not again where the last block is one of these; and at the end.
        let printed: Vec<u64> = said
            .lines()
            .filter_map(|line| line.strip_prefix("rngtest: bits received from input: "))
            .map(|bits| (bits.parse::<u64>().unwrap() / 8 - 4) / BLOCK as u64)
            .collect();
        let expected: Vec<u64> = (1..).map(|i| 5 * i).take_while(|n| *n < blocks).chain([blocks]).collect();
        assert_eq!(printed, expected, "-c {count}");
    }
    let named = bench.ends(&["entropy", "test", "shared", "--blockcount=2"], 0).1;
    assert_eq!(number(&named, "FIPS 140-2 successes"), Some(2));
}

#[test]
fn verdict_and_duplicates_are_told() {
    let bench = Bench::with(SHORT);
    let stream = recipe::stream("random 1 1000000");
    fs::write(bench.file("random"), [&stream[..], &stream[4..][..BLOCK], &stream[4..]].concat()).unwrap();
    let (out, err) = bench.ends(&["entropy", "test", "random", "--json"], 1);
    assert!(err.is_empty(), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    // What is behind the first copy is not in step with blocks, as the stream does not end with one.
    assert_eq!(document["input"], "random");
    assert_eq!(document["ended"], "end-of-input");
    assert_eq!(document["duplicate_blocks"], 0);
    let whole = &stream[..4 + 399 * BLOCK];
    fs::write(bench.file("random"), [whole, &whole[4..][..BLOCK], &whole[4..]].concat()).unwrap();
    let document: Value =
        serde_json::from_str(&bench.ends(&["entropy", "test", "random", "--json"], 1).0).unwrap();
    assert_eq!(document["duplicate_blocks"], 400);
    assert_eq!(document["blocks"]["tested"], 799);
    assert_eq!(document["verdict"]["finding"], "too-few-blocks");
    let most_common = &document["most_common_byte"];
    assert_eq!(most_common["bytes"], 1_000_000);
    assert!((7.7..8.0).contains(&most_common["min_entropy"].as_f64().unwrap()), "{most_common}");
    let (_, said) = test(&bench, &[], &vec![0x55; 100_000], 1);
    assert!(said.contains("tollway: verdict: too many failures\n"), "{said}");
    assert!(said.contains("tollway: duplicate blocks: 38\n"), "{said}");
    assert!(said.contains("most common byte: 0.00 bits a byte (bound at 99 %, 97500 bytes)\n"), "{said}");
    let (_, said) = test(&bench, &[], &recipe::stream("random 3 4000000"), 1);
    assert!(said.contains("tollway: verdict: compatible\n"), "{said}");
}

/// A test whose standard input stays open, with its standard error in a file.
struct Waiting {
    child: Child,
    input: ChildStdin,
    said: std::path::PathBuf,
}

impl Waiting {
    fn start(bench: &Bench, options: &[&str], input: &[u8]) -> Waiting {
        let said = bench.file("said");
        let mut command = bench.tollway(&[&["entropy", "test"], options].concat());
        command.stdin(Stdio::piped()).stderr(File::create(&said).unwrap());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        Waiting { child, input: stdin, said }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: it is our own child, and not waited for yet.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    fn says(&self, what: &str) {
        eventually(what, || self.said().contains(what));
    }
}

#[test]
fn signals_ask_and_end() {
    let bench = Bench::with(SHORT);
    for (signal, input, code) in [
        (libc::SIGINT, recipe::stream("random 1 7504"), 0),
        (libc::SIGTERM, recipe::stream("constant 0 7504"), 1),
    ] {
        let mut waiting = Waiting::start(&bench, &[], &input);
        // It takes notice once it has begun.
        waiting.says("starting FIPS tests");
        // And has read all that there is once it waits for more.
        process_falls_asleep(waiting.child.id());
        waiting.signal(libc::SIGUSR1);
        waiting.says("bits received from input: 60032\n");
        waiting.signal(signal);
        assert_eq!(waiting.child.wait().unwrap().code(), Some(code));
        let said = waiting.said();
        assert_eq!(number(&said, "bits received from input"), Some(60032));
        assert!(!said.contains("drained") && said.contains("tollway: verdict: "), "{said}");
        drop(waiting.input);
    }
    // Before the first block there is nothing to say.
    let mut waiting = Waiting::start(&bench, &[], b"123");
    waiting.says("starting FIPS tests");
    waiting.signal(libc::SIGINT);
    assert_eq!(waiting.child.wait().unwrap().code(), Some(1));
    assert!(!waiting.said().contains("FIPS 140-2 successes"));
}

#[test]
fn statistics_come_by_time() {
    let bench = Bench::with(SHORT);
    let stream = recipe::stream("random 1 1000000");
    let begun = Instant::now();
    let mut waiting = Waiting::start(&bench, &["-t", "1"], &stream[..4]);
    let mut blocks = stream[4..].chunks_exact(BLOCK).cycle();
    eventually("statistics come", || {
        waiting.input.write_all(blocks.next().unwrap()).unwrap();
        pause(Duration::from_millis(100));
        waiting.said().contains("rngtest: FIPS 140-2 successes")
    });
    assert!(begun.elapsed() > Duration::from_millis(900));
    drop(waiting.input);
    assert_eq!(waiting.child.wait().unwrap().code(), Some(0));
}

#[test]
fn outputs_that_close_or_are_full() {
    let bench = Bench::with(SHORT);
    let mut command = bench.tollway(&["entropy", "test", "--pipe"]);
    let mut child = command.stdin(File::open("/dev/urandom").unwrap()).spawn().unwrap();
    let mut some = [0; 10_000];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // A failed block is a failed block whoever reads the others.
    assert!(matches!(output.status.code(), Some(0 | 1)) && !said.contains("error"), "{said}");
    assert!(number(&said, "FIPS 140-2 successes").unwrap() >= 4, "{said}");
    let mut full = bench.tollway(&["entropy", "test", "--pipe"]);
    full.stdin(File::open("/dev/urandom").unwrap()).stdout(File::create("/dev/full").unwrap());
    let (_, said) = checked(&full.output().unwrap(), 11);
    assert!(said.contains("rngtest: error writing to output: No space left"), "{said}");
    fs::write(bench.file("good"), recipe::stream("random 1 25008")).unwrap();
    for (options, into, why) in [
        ("-c 5 --json", "/dev/full", "No space left"),
        ("-c 5 --json", "&-", "Bad file descriptor"),
        ("-c 5 --pipe", "&-", "Bad file descriptor"),
    ] {
        let mut shell = Command::new("sh");
        bench.set_up(&mut shell);
        let line = format!("{} entropy test {options} < good >{into}", env!("CARGO_BIN_EXE_tollway"));
        let (_, said) = checked(&shell.args(["-c", &line]).output().unwrap(), 11);
        assert!(said.contains(&format!("rngtest: error writing to output: {why}")), "{line}: {said}");
    }
}

#[test]
fn options_are_taken_as_rngtest_takes_them() {
    let bench = Bench::with(SHORT);
    let stream = recipe::stream("random 1 25008");
    for options in
        [&["-c", "3", "-c", "5"][..], &["--blockc=5"], &["-c", "5x"], &["-c5", "-b", "0", "-b", "0"]]
    {
        let (_, said) = test(&bench, options, &stream, 0);
        assert_eq!(number(&said, "FIPS 140-2 successes"), Some(5), "{options:?}: {said}");
    }
    for option in ["-V", "--version", "--vers"] {
        let (out, _) = bench.ends(&["entropy", "test", option], 0);
        assert!(out.contains(env!("CARGO_PKG_VERSION")), "{out}");
    }
    // It may be either of two.
    bench.ends(&["entropy", "test", "--block=5"], 10);
}

#[test]
fn what_cannot_be_has_rngtests_exit_codes() {
    let bench = Bench::with(SHORT);
    for usage in
        [&["-c", "x"][..], &["-c", "-1"], &["--no-such-option"], &["one", "two"], &["--json", "--pipe"]]
    {
        bench.ends(&[&["entropy", "test"], usage].concat(), 10);
    }
    bench.ends(&["entropy", "speed", "--no-such-option"], 2);
    assert!(bench.ends(&["entropy", "test", "missing"], 11).1.contains("is it there"));
    // Of an input that fails before the first block rngtest makes no difference.
    assert!(
        bench.ends(&["entropy", "test", "."], 1).1.contains("rngtest: error reading input: Is a directory")
    );
    let mut read_only = Command::new("sh");
    bench.set_up(&mut read_only);
    let closed = format!("{} entropy test <&-", env!("CARGO_BIN_EXE_tollway"));
    checked(&read_only.args(["-c", &closed]).output().unwrap(), 1);
}
