//! Tolls of a bill that no crossing of a path is: measured here, each into a run of its own.

mod pipe_stream;
mod shared_descriptors;
mod timer;
mod user_side;

use std::time::Duration;

use jiff::Timestamp;
use tollway_core::{Boundary, Params, Recorder, Result, Tally, TollKey};
use tollway_store::{NewTrial, PointSpec, PointState, Result as StoreResult, RunSpec, RunState, Store};

use crate::kept::PATH;

/// Samples of each.
const BLOCKS: u32 = 10;

/// A toll, and how it is measured.
struct Own {
    toll: TollKey,
    title: &'static str,
    caveats: &'static str,
    /// So many calls, and what they took of it.
    sample: Sample,
}

/// Calls, and what they took.
type Sample = fn() -> Result<(u32, Duration)>;

fn all() -> Vec<Own> {
    let timers = [timer::own(), timer::own_of_ticks()];
    let own = [user_side::own(), shared_descriptors::own()].into_iter().chain(timers);
    own.chain(pipe_stream::own()).collect()
}

/// What can be measured so.
pub fn keys() -> Vec<TollKey> {
    all().into_iter().map(|own| own.toll).collect()
}

/// Measures those of these tolls that are of this kind, in a second or two; the point of one that cannot be is failed. `spec` makes a run's description of its
/// title.
///
/// # Errors
/// The store's.
pub fn measure(store: &mut Store, wanted: &[TollKey], spec: impl Fn(String) -> RunSpec) -> StoreResult<()> {
    for own in all().iter().filter(|own| wanted.contains(&own.toll)) {
        measure_one(store, own, &spec(format!("price list: {}", own.title)))?;
    }
    Ok(())
}

fn measure_one(store: &mut Store, own: &Own, spec: &RunSpec) -> StoreResult<()> {
    let run = store.begin_run(spec)?;
    let point = PointSpec {
        side: None,
        path: PATH.into(),
        variant: own.toll.kind.clone().unwrap_or_default(),
        params: Params::new(),
        operation: "call".into(),
        toll: Some(own.toll.clone()),
        boundary: Some(Boundary::UserKernel),
        gates: Vec::new(),
        changes: None,
        yields: Vec::new(),
        headline: false,
        title: own.title.into(),
        caveats: own.caveats.into(),
    };
    let [point] = store.add_points(run, &[point])?[..] else { return Ok(()) };
    for block in 0..BLOCKS {
        let (calls, took) = match (own.sample)() {
            Ok(sample) => sample,
            Err(error) => {
                store.set_point_state(point, &PointState::Failed(error.to_string()))?;
                return store.end_run(run, RunState::Complete, Timestamp::now());
            }
        };
        let mut recorder = Recorder::new();
        recorder.set_batch(calls);
        recorder.sample((took.as_secs_f64() * spec.hz) as u64);
        let trial = NewTrial {
            block,
            ordinal: 0,
            started: Timestamp::now(),
            spread: recorder.spread(),
            noise: None,
            tally: Tally::default(),
            meters: serde_json::Value::Null,
            lost_ticks: 0.0,
            actors: Vec::new(),
        };
        store.record_trial(point, &trial)?;
    }
    store.set_point_state(point, &PointState::Done)?;
    store.end_run(run, RunState::Complete, Timestamp::now())
}

/// What the kernel's account has of this thread.
fn usage() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one such value.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: it is all numbers, and was zeroed.
    unsafe { usage.assume_init() }
}
