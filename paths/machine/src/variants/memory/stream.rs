//! STREAM: by our own kernels, and by the program itself.

use std::time::{Duration, Instant};

use tollway_core::{
    Actor, Address, Axis, Clock, Domain, Error, Missing, Params, Place, Plan, Recorder, Result, SUB_TICKS,
    Tally, Value, Variant, Window, Yield,
};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::{allowed_cpus, cpus_of_process, last_level_caches};
use tollway_host::memory;
use tollway_load::{Work, repeat};

use super::{backing, backing_told, fits, pages_of, plan, refused};
use crate::engine::memory::Pages;
use crate::engine::memory::program::{self, Printed};
use crate::engine::memory::stream::{Arrays, Kernel, PER_MIB, Stores};
use crate::{params, surroundings};

/// STREAM's rule: each array is so many times the caches of the last level.
const TIMES_THE_CACHE: u64 = 4;

const MIB: u64 = 1 << 20;

/// The variant.
pub(super) struct Stream;

impl Variant for Stream {
    fn name(&self) -> &str {
        "stream"
    }

    fn about(&self) -> &str {
        "STREAM's kernels: arrays beyond the caches are read, computed with and written, pass after pass"
    }

    fn caveats(&self) -> &str {
        "Bytes are counted as STREAM does: what the processor reads in order to store is not among them. A plain copy is the C library's, which goes \
         past the caches for large arrays, as in STREAM compiled by gcc -O3. Unlike STREAM one kernel is repeated, and several threads do not wait \
         for each other after a pass. Arrays of less than four last-level caches (set by `mib`, or for want of memory) are a cache's figure in part."
    }

    fn axes(&self) -> Vec<Axis> {
        let own = [
            Axis {
                name: "kernel",
                about: "copy c = a, scale b = 3c, add c = a + b, triad a = b + 3c",
                domain: Domain::Words(&["copy", "scale", "add", "triad"]),
                default: Value::Text("triad".into()),
            },
            Axis {
                name: "stores",
                about: "as the compiler makes them, or past the caches",
                domain: Domain::Words(&["plain", "non-temporal"]),
                default: Value::Text("plain".into()),
            },
            Axis {
                name: "mib",
                about: "each of the three arrays, in MiB, over all threads; 0: four times the last-level caches, or what memory allows",
                domain: Domain::Whole(0, 1 << 22),
                default: Value::Int(0),
            },
            params::threads(),
            backing(),
            params::by(&["tollway", "stream"]),
        ];
        own.into_iter().chain(surroundings::axes()).collect()
    }

    fn pinned(&self, params: Params) -> Result<Params> {
        params::threads_named(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let threads = params::threads_of(params)?;
        if !surroundings::by_a_tool(params)? {
            let mib = params.int("mib")?;
            if (1..u64::from(threads)).contains(&mib) {
                return Err(refused(
                    "mib",
                    &mib.to_string(),
                    "each thread needs a MiB of its own",
                    "no less than `threads`",
                ));
            }
            return plan("MiB of each array", threads, params);
        }
        let usual = [("mib", "0"), ("stores", "plain"), ("backing", "own")];
        let unusual =
            usual.into_iter().find(|(axis, usual)| params.get(axis).is_some_and(|v| v.to_string() != *usual));
        if let Some((axis, usual)) = unusual {
            let value = params.get(axis).map(Value::to_string).unwrap_or_default();
            return Err(refused(axis, &value, "the program `stream` was compiled as it is", usual));
        }
        let mut plan = plan("MiB of each array", 1, params)?;
        plan.requires = vec![tollway_core::Requirement::Cores(threads)];
        Ok(plan)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let mib = match params.int("mib").ok()? {
            0 => String::new(),
            mib => format!(", arrays of {}", surroundings::size(mib * MIB)),
        };
        let stores = match params.word("stores").ok()? {
            "plain" => "",
            _ => ", past the caches",
        };
        let rest = [stores, &params::threads_told(params), &backing_told(params), &mib].concat();
        surroundings::titled(format!("STREAM {}{rest}", params.word("kernel").ok()?), params)
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        let kernel = params.word("kernel").ok().and_then(Kernel::named);
        kernel.map(|kernel| Yield::bytes(kernel.bytes() * PER_MIB as u64)).into_iter().collect()
    }

    fn patience(&self, params: &Params) -> Duration {
        match (params.word("by"), params.int("mib")) {
            (Ok("stream"), _) => program::LONGEST,
            // A guest without hardware's help writes some 50 MiB a second for the first time.
            (_, Ok(mib)) if mib > 0 => Duration::from_secs(4 + mib * 3 / 50),
            _ => Duration::from_secs(60),
        }
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let kernel = params.word("kernel")?;
        let kernel = Kernel::named(kernel)
            .ok_or_else(|| refused("kernel", kernel, "there is none of that name", "one of STREAM's four"))?;
        let threads = params::threads_of(params)?;
        if surroundings::by_a_tool(params)? {
            return Ok(Box::new(Tool { kernel, threads, printed: None }));
        }
        let stores = if params.word("stores")? == "plain" { Stores::Plain } else { Stores::NonTemporal };
        let (mib, pages) = (params.int("mib")?, pages_of(params)?);
        Ok(Box::new(Ours { kernel, stores, pages, mib, threads, passing: None, counted: Tally::default() }))
    }
}

/// What of all memory the three arrays take at most: what is in use is not known to be the same for all threads, which must agree.
const SHARE_OF_ALL: f64 = 0.3;

/// MiB of each array by STREAM's rule, and of the caches that it is about.
fn by_the_rule() -> Result<(u64, u64)> {
    let caches = last_level_caches().map_err(|missing| {
        Error::Missing(Missing { remedy: format!("{}; or set `mib`", missing.remedy), ..missing })
    })?;
    let wanted = (TIMES_THE_CACHE * caches).div_ceil(MIB);
    let room = (memory::total().map_err(Error::Missing)? as f64 * SHARE_OF_ALL) as u64;
    Ok((wanted.min(room / 3 / MIB).max(1), caches / MIB))
}

/// One of the threads, with its part of the arrays.
struct Ours {
    kernel: Kernel,
    stores: Stores,
    pages: Pages,
    mib: u64,
    threads: u32,
    passing: Option<Passing>,
    counted: Tally,
}

/// Passes over a part of the arrays, each of as many operations as it has MiB.
struct Passing {
    kernel: Kernel,
    arrays: Arrays,
    mib: u32,
    done: u64,
}

impl Work for Passing {
    #[inline(always)]
    fn once(&mut self) {
        self.arrays.pass(self.kernel);
    }

    fn operations(&self) -> u32 {
        self.mib
    }
}

impl Actor for Ours {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let (whole, caches) = match self.mib {
            0 => by_the_rule().map(|(whole, caches)| (whole, Some(caches)))?,
            said => (said, None),
        };
        let part = whole.div_ceil(self.threads.into());
        fits(3 * whole * MIB, 3 * (whole - part) * MIB)?;
        let arrays = Arrays::new(part as usize * PER_MIB, self.stores, self.pages)?;
        self.passing = Some(Passing { kernel: self.kernel, arrays, mib: part as u32, done: 0 });
        // Parts add up to the whole; the caches are everybody's.
        self.counted = Tally::default().gauge("array_MiB", part);
        if let (Some(caches), 0) = (caches, place.lot.number) {
            self.counted = self.counted.clone().gauge("last_level_cache_MiB", caches);
        }
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(passing) = &mut self.passing else { return Ok(()) };
        let clock = RunClock::chosen();
        let (begun, began) = (Instant::now(), clock.now());
        passing.done = repeat(clock, window, recorder, passing);
        // Few passes fit into a window, so that how many did says less of the rate than how long these took.
        recorder.took(recorder.total().1);
        let hz = clock.now().saturating_sub(began) as f64 / begun.elapsed().as_secs_f64();
        if let Some((shortest, _)) = recorder.spread().counts.first() {
            let seconds = *shortest as f64 / SUB_TICKS as f64 / hz;
            self.counted = self.counted.clone().gauge(BEST, megabytes(self.kernel, 1.0, seconds));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match &mut self.passing {
            Some(passing) if passing.done > 0 => passing.arrays.check(),
            _ => Err(Error::Wrong("no pass was made".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        self.counted.clone()
    }
}

/// The gauge of the best pass of a trial: of several threads the sum of each one's best.
const BEST: &str = "best_MB/s";

/// Megabytes a second of a kernel that takes so long for so many MiB of each array.
fn megabytes(kernel: Kernel, mib: f64, seconds: f64) -> u64 {
    (mib * PER_MIB as f64 * kernel.bytes() as f64 / seconds / 1e6).round() as u64
}

/// STREAM itself, run once in a trial.
struct Tool {
    kernel: Kernel,
    threads: u32,
    printed: Option<Printed>,
}

impl Tool {
    /// Where it may run: one thread where this one may, several wherever this process may.
    fn processors(&self) -> Result<Vec<u32>> {
        if self.threads == 1 { allowed_cpus() } else { cpus_of_process() }
    }
}

impl Actor for Tool {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        program::find().map_err(Error::Missing)?;
        // Found out now, since it takes a while the first time.
        clock::hz()?;
        Ok(Address::none())
    }

    fn run(&mut self, _: &Window, recorder: &mut Recorder) -> Result<()> {
        let printed = program::run(self.threads, &self.processors()?)?;
        let passes = f64::from(printed.times - 1);
        let mib = printed.numbers as f64 / PER_MIB as f64;
        // Whole MiB, and the time that these took.
        let whole = (passes * mib).round().max(1.0);
        let [mean, ..] = printed.rate(self.kernel).seconds;
        let ticks = (mean / mib * whole * clock::hz()?) as u64;
        recorder.set_batch(whole as u32);
        recorder.sample(ticks);
        recorder.took(ticks);
        self.printed = Some(printed);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        // That its results validate is a part of what it must print.
        self.printed.as_ref().map(drop).ok_or_else(|| Error::Wrong("STREAM did not run".into()))
    }

    fn tally(&mut self) -> Tally {
        let Some(printed) = &self.printed else { return Tally::default() };
        let mib = printed.numbers as f64 / PER_MIB as f64;
        let [_, least, _] = printed.rate(self.kernel).seconds;
        Tally::default().gauge("array_MiB", mib as u64).gauge(BEST, megabytes(self.kernel, mib, least))
    }
}
