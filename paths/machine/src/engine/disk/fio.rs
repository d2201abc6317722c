//! fio on a file of ours, with the settings that [`Accesses`](super::Accesses) has: io_uring, one access a call, no registered
//! buffers; its own random bytes. Of fio 3 (tried: 3.33).
//!
//! The file has no name: fio inherits it as its standard input. fio dies with the thread that asked for it.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use tollway_core::{Error, Result};
use tollway_host::program::{Given, output};
use tollway_host::requirement::program;

use super::{Load, TestFile};

/// What fio is to do.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// To the file.
    pub load: Load,
    /// For how long before it counts.
    pub ramp: Duration,
    /// For how long, or for [`LEAST`].
    pub runtime: Duration,
    /// Of what it draws its order.
    pub seed: u64,
}

/// What it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Blocks read.
    pub read: u64,
    /// Blocks written.
    pub written: u64,
    /// In what time.
    pub took: Duration,
    /// How long accesses took, from when fio began one to when it saw its end: nanoseconds, and how many took about as long.
    pub latencies: BTreeMap<u64, u64>,
}

impl Told {
    /// Accesses a second.
    pub fn rate(&self) -> f64 {
        (self.read + self.written) as f64 / self.took.as_secs_f64()
    }
}

/// The shortest time that fio is to be asked for: it counts milliseconds, and takes a few to begin.
pub const LEAST: Duration = Duration::from_millis(50);

/// What fio may take beside what it was asked for.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Runs fio. What it writes is none of the file's content any more.
///
/// # Errors
/// [`Error::Missing`] where it is not installed, [`Error::System`] with what it said where it failed or did not end in time,
/// [`Error::Wrong`] where it did nothing, or not all of something.
pub fn run(file: &TestFile, asked: Asked) -> Result<Told> {
    let program = program("fio", "fio").map_err(Error::Missing)?;
    asked.load.check(file.bytes())?;
    let input =
        file.descriptor().try_clone_to_owned().map_err(|e| Error::system("handing fio its file", e))?;
    let mut command = Command::new(program);
    command.args(arguments(file.bytes(), asked));
    let given = Given { input: Some(input), ..Given::default() };
    told(&output(&mut command, given, asked.ramp + asked.runtime + PATIENCE)?, asked.load.size)
}

fn arguments(bytes: u64, Asked { load, ramp, runtime, seed }: Asked) -> Vec<String> {
    vec![
        "--name=disk".into(),
        "--filename=/proc/self/fd/0".into(),
        "--allow_file_create=0".into(),
        "--fallocate=none".into(),
        format!("--filesize={bytes}"),
        format!("--rw={}", load.pattern.word()),
        format!("--bs={}", load.size),
        format!("--iodepth={}", load.depth),
        format!("--direct={}", u8::from(load.direct)),
        "--ioengine=io_uring".into(),
        format!("--randseed={seed}"),
        // One process: nothing is left when it is killed.
        "--thread".into(),
        "--time_based".into(),
        format!("--ramp_time={}ms", ramp.as_millis()),
        format!("--runtime={}ms", runtime.max(LEAST).as_millis()),
        // From its beginning, not from when the kernel took it; with what percentiles are made of.
        "--lat_percentiles=1".into(),
        "--output-format=json+".into(),
        "--eta=never".into(),
    ]
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    read: Side,
    write: Side,
}

#[derive(Deserialize)]
struct Side {
    short_ios: u64,
    drop_ios: u64,
    io_bytes: u64,
    /// Milliseconds.
    runtime: u64,
    lat_ns: Latencies,
}

#[derive(Deserialize)]
struct Latencies {
    /// Absent where there was nothing.
    #[serde(default)]
    bins: BTreeMap<u64, u64>,
}

/// What fio's answer says of accesses to blocks of `size` bytes.
///
/// How many there were is taken of the bytes. fio's own count, and so its IOPS, leaves out those that were under way when it began to
/// count, which of large blocks in a short time is a fifth of all; bytes and latencies have them.
///
/// # Errors
/// As [`run`].
pub fn told(answer: &str, size: usize) -> Result<Told> {
    let place = "reading fio's answer";
    let document = document(answer).map_err(|e| Error::system(place, e))?;
    let [job] = &document.jobs[..] else {
        return Err(Error::system(place, format!("it has {} jobs, not one", document.jobs.len())));
    };
    if job.error != 0 {
        return Err(Error::system("running fio", std::io::Error::from_raw_os_error(job.error as i32)));
    }
    let sides = [&job.read, &job.write];
    let sum = |of: fn(&Side) -> u64| sides.into_iter().map(of).sum::<u64>();
    let (bytes, incomplete) = (sum(|s| s.io_bytes), sum(|s| s.short_ios + s.drop_ios));
    let took = Duration::from_millis(job.read.runtime.max(job.write.runtime));
    let blocks = size.max(1) as u64;
    let mut latencies = job.read.lat_ns.bins.clone();
    for (ns, n) in &job.write.lat_ns.bins {
        *latencies.entry(*ns).or_default() += n;
    }
    let odd = latencies.is_empty() || sides.into_iter().any(|side| !side.io_bytes.is_multiple_of(blocks));
    if bytes == 0 || took.is_zero() || incomplete > 0 || odd {
        return Err(Error::Wrong(format!(
            "fio says {bytes} bytes in blocks of {size} in {took:?}, {incomplete} accesses incomplete"
        )));
    }
    Ok(Told { read: job.read.io_bytes / blocks, written: job.write.io_bytes / blocks, took, latencies })
}

/// The document in an answer. Notes stand before it and behind it, and may have braces themselves.
fn document(answer: &str) -> serde_json::Result<Document> {
    let mut first_error = None;
    for (from, _) in answer.match_indices('{') {
        match serde_json::Deserializer::from_str(&answer[from..]).into_iter().next() {
            Some(Ok(document)) => return Ok(document),
            Some(Err(error)) => _ = first_error.get_or_insert(error),
            None => {}
        }
    }
    // Without a brace there is nothing but notes.
    first_error.map_or_else(|| serde_json::from_str(""), Err)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tollway_core::Requirement;
    use tollway_host::requirement::test_has;
    use tollway_host::scratch::folder;

    use super::super::Pattern;
    use super::*;

    /// What fio 3.33 said of 20 ms of random reads and writes at depth 4.
    const RECORDED: &str = include_str!("fio/recorded.json");

    #[test]
    fn an_answer_is_read_as_a_person_reads_it() {
        let told = told(RECORDED, 4096).unwrap();
        assert_eq!((told.read, told.written, told.took), (486, 477, Duration::from_millis(21)));
        assert_eq!(told.latencies.values().sum::<u64>(), 963);
        // fio prints a median of each side: that of both together is between them.
        let median = told.latencies.iter().scan(0, |seen, (ns, n)| {
            *seen += n;
            Some((*seen, *ns))
        });
        let median = { median }.find(|(seen, _)| *seen >= 963 / 2).unwrap().1;
        assert!((6304..=154_624).contains(&median), "{median}");
    }

    #[test]
    fn an_answer_of_something_else_is_refused() {
        let wrong = told(RECORDED, 8192).unwrap_err();
        assert!(matches!(&wrong, Error::Wrong(what) if what.contains("8192")), "{wrong}");
        let short = RECORDED.replacen("\"short_ios\" : 0", "\"short_ios\" : 3", 1);
        assert!(matches!(told(&short, 4096), Err(Error::Wrong(_))));
        let failed = RECORDED.replacen("\"error\" : 0", "\"error\" : 28", 1);
        assert!(told(&failed, 4096).unwrap_err().to_string().contains("No space left"));
        for nothing in ["", "fio: what?", "{}", "{\"jobs\":[]}"] {
            assert!(matches!(told(nothing, 4096), Err(Error::System { .. })), "{nothing}");
        }
        for (before, behind) in
            [("fio: a note\n", ""), ("", "\nfio: a note {of} its end\n"), ("{odd} {}\n", "}\n")]
        {
            let noted = told(&format!("{before}{RECORDED}{behind}"), 4096);
            assert_eq!(noted.unwrap().read, 486, "{before:?} {behind:?}");
        }
    }

    #[test]
    fn a_live_run_reads_and_writes_the_file_it_was_given() {
        if !test_has(&[
            (Requirement::Program("fio".into(), "fio".into()), "fio"),
            (Requirement::IoUring, "io-uring"),
        ]) {
            return;
        }
        let mut asked = Asked {
            load: Load { pattern: Pattern::RandRead, size: 4096, depth: 4, direct: false },
            ramp: Duration::from_millis(5),
            runtime: Duration::from_millis(50),
            seed: 7,
        };
        let file = TestFile::make(&folder(), 8 << 20, 1).unwrap();
        let told = run(&file, asked).unwrap();
        assert!(told.read > 0 && told.written == 0 && told.rate() > 0.0, "{told:?}");
        let samples = told.latencies.values().sum::<u64>();
        assert!(samples.abs_diff(told.read) <= 8, "{samples} of {}", told.read);
        // It was read only.
        file.check(4096, 0..2048).unwrap();
        asked.load.pattern = Pattern::RandWrite;
        let told = run(&file, asked).unwrap();
        assert!(told.written > 0 && told.read == 0, "{told:?}");
        assert!(file.check(4096, 0..2048).is_err(), "it wrote to something else");
    }

    #[test]
    fn what_fio_says_of_its_failure_is_told() {
        if !test_has(&[(Requirement::Program("fio".into(), "fio".into()), "fio")]) {
            return;
        }
        let load = Load { pattern: Pattern::Read, size: 4096, depth: 1, direct: false };
        let runtime = Duration::from_millis(1);
        // A descriptor of what is no file.
        let null = File::open("/proc/self/ns/user").unwrap();
        let file = TestFile::on(null.into(), 1 << 20);
        let error = run(&file, Asked { load, ramp: runtime, runtime, seed: 0 }).unwrap_err();
        assert!(matches!(&error, Error::System { reason, .. } if reason.contains("fio")), "{error}");
    }
}
