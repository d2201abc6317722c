//! What the machine takes of its cores, watched by threads that do nothing else, in turns with what the model is fitted to or graded by:
//! a machine that others use takes more in one minute than in the next.

use tollway_cipher::twin::{Interruptions, Law, Watched};
use tollway_core::{Params, Result, Taken, TrialSpec};

use super::asked::{Asked, At};
use super::observed::Observed;

/// Where it is watched.
///
/// # Errors
/// If this version has no such crossing.
pub fn watch(asked: &Asked<'_>) -> Result<At> {
    asked.at("crossings", "interruption", Params::default())
}

/// What is shorter comes at random.
const SHORT_NS: f64 = 100e3;

/// How: in so many blocks, for as long as what it is watched for. What takes long comes now and then, and together, on some machines
/// a few times a minute.
pub fn trial(runs: u32, window_ms: f64) -> TrialSpec {
    TrialSpec { window_ms: window_ms.clamp(500.0, 15_000.0), warmup_ms: 5.0, runs, repeats: 1 }
}

/// What was seen in trials of that kind.
pub fn seen(watched: &Observed, trial: &TrialSpec) -> Interruptions {
    let short = || watched.seen().take_while(|(long, _)| *long < SHORT_NS);
    let often: u64 = short().map(|(_, often)| often).sum();
    let seconds = watched.count("watched_nanoseconds") / 1e9;
    Interruptions {
        rate: often as f64 / seconds.max(1e-9),
        lengths: Law::seen(short()),
        windows: watched.taken.iter().map(|cores| window(cores, trial.window_ms * 1e6)).collect(),
    }
}

fn window(taken: &[Vec<Taken>], long: f64) -> Watched {
    let core = |which: usize| {
        let pieces = taken.get(which).into_iter().flatten();
        pieces
            .map(|piece| (piece.at as f64, piece.long as f64))
            .filter(|(_, long)| *long >= SHORT_NS)
            .collect()
    };
    Watched { long, cores: [core(0), core(1)] }
}
