//! What a tenant's tasks ask for, and when: of which sizes, by which stream of starts. Each draws by the lot of its own, so that no
//! two ask at the same moments, and a trial can be had again.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tollway_core::{Error, Lot, Params, Result, Ticks};
use tollway_load::{Bursts, Poisson, Regular};

use super::load::Load;
use super::mix::{Mix, Sizes};
use super::texts::Texts;
use super::trace::Trace;

/// Requests of a burst.
const BURST: u64 = 8;

/// A stream of starts.
pub(super) type Stream = Box<dyn Iterator<Item = Ticks> + Send>;

/// What tasks ask for.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    /// Of a mix, with the largest of its sizes.
    pub(super) load: Load,
    mix: Mix,
    arrivals: Arrivals,
}

#[derive(Clone, Debug)]
enum Arrivals {
    Poisson,
    Regular,
    Bursts,
    Trace(Arc<Trace>),
}

impl Demand {
    /// Requests that are all alike, the next when one has ended.
    pub(super) fn plain(load: Load) -> Demand {
        Demand { mix: Mix::one(load.size), arrivals: Arrivals::Poisson, load }
    }

    /// # Errors
    /// Those of [`Load::of`], [`Mix::of`] and [`Trace::of`]; [`Error::Input`] for two that both say what sizes there are.
    pub(super) fn of(params: &Params) -> Result<Demand> {
        let load = Load::of(params)?;
        let (mix, trace) = (Mix::of(params)?, Trace::of(params)?);
        let recorded = trace.as_ref().and_then(|trace| trace.bytes.as_deref()).map(Mix::recorded);
        let mix = match (mix, recorded) {
            (Some(_), Some(_)) => {
                return Err(Error::Input {
                    place: "axes `mix` and `trace`".into(),
                    reason: "both say how many bytes requests have".into(),
                    remedy: "take no mix, or a trace without bytes".into(),
                });
            }
            (mix, recorded) => mix.or(recorded).unwrap_or_else(|| Mix::one(load.size)),
        };
        let mut load = load.of_size(mix.sizes.last().copied().unwrap_or(load.size));
        let arrivals = match (trace, params.word("arrivals")) {
            (Some(trace), _) => {
                if !load.is_open() {
                    load.rate = trace.rate();
                }
                Arrivals::Trace(Arc::new(trace))
            }
            (None, Ok("regular")) => Arrivals::Regular,
            (None, Ok("bursts")) => Arrivals::Bursts,
            _ => Arrivals::Poisson,
        };
        Ok(Demand { load, mix, arrivals })
    }

    /// The load of each of its sizes, the smallest first.
    pub(super) fn loads(&self) -> impl ExactSizeIterator<Item = Load> {
        self.mix.sizes.iter().map(|size| self.load.of_size(*size))
    }

    /// What is written and must come of it, of each size.
    ///
    /// # Errors
    /// As [`Texts::of`].
    pub(super) fn texts(&self) -> Result<Arc<[Texts]>> {
        self.loads().map(|load| Texts::of(&load)).collect()
    }

    /// When a task's requests come, in ticks, `hz` of them a second (none of a closed loop), and how large they are.
    pub(super) fn task(&self, hz: f64, lot: Lot, task: u32) -> (Option<Stream>, Sizes) {
        let number = u64::from(lot.number) << 32 | u64::from(task);
        let mut random = StdRng::seed_from_u64(lot.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let gap = hz / self.load.rate;
        let (seed, of_sizes, part) = (random.random(), random.random(), random.random::<f64>());
        let mut first = 0;
        let stream = self.load.is_open().then(|| match &self.arrivals {
            Arrivals::Poisson => Box::new(Poisson::with_mean(gap, seed)) as Stream,
            Arrivals::Regular => later(Regular::every(gap), part * gap),
            Arrivals::Bursts => {
                let period = gap * BURST as f64;
                later(Bursts::of(BURST, 0.0, period), part * period)
            }
            Arrivals::Trace(trace) => {
                first = (part * trace.requests() as f64) as usize;
                Box::new(trace.played(first, gap * trace.rate()))
            }
        });
        (stream, self.mix.sizes(of_sizes, first))
    }
}

/// The same stream, all so many ticks later: tasks are not to ask in step.
fn later(stream: impl Iterator<Item = Ticks> + Send + 'static, ticks: f64) -> Stream {
    Box::new(stream.map(move |start| start.saturating_add(ticks as Ticks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ: f64 = 1e9;

    fn demand(axes: &[(&str, &str)]) -> Result<Demand> {
        let params =
            Params::new().with("size", 64).with("cipher", "aes-128-cbc").with("depth", 1).with("rate", 1000);
        Demand::of(&axes.iter().fold(params, |params, (axis, value)| params.with(*axis, *value)))
    }

    fn starts(demand: &Demand, number: u32, task: u32, seed: u64) -> Vec<Ticks> {
        demand.task(HZ, Lot { number, seed }, task).0.unwrap().take(2000).collect()
    }

    #[test]
    fn no_two_ask_alike_and_each_asks_the_same_again() {
        for arrivals in ["poisson", "regular", "bursts", "trace"] {
            let demand = demand(&[("arrivals", arrivals)]).unwrap();
            let first = starts(&demand, 0, 0, 7);
            assert_eq!(first, starts(&demand, 0, 0, 7), "{arrivals}");
            let others = [starts(&demand, 1, 0, 7), starts(&demand, 0, 1, 7), starts(&demand, 0, 0, 8)];
            assert!(others.iter().all(|other| *other != first), "{arrivals}");
            assert!(first.is_sorted());
            // 1000 a second, whatever was recorded.
            let seconds = first[first.len() - 1] as f64 / HZ;
            assert!((1.7..2.3).contains(&seconds), "{arrivals}: {seconds}");
        }
    }

    #[test]
    fn a_trace_without_a_rate_is_played_as_it_was_recorded() {
        let params =
            Params::new().with("size", 64).with("cipher", "aes-128-cbc").with("depth", 1).with("rate", 0);
        let recorded = Demand::of(&params.with("arrivals", "trace").with("trace", "")).unwrap();
        let trace = Trace::of(&Params::new().with("arrivals", "trace")).unwrap().unwrap();
        assert_eq!(recorded.load.rate, trace.rate());
        let (stream, mut sizes) = recorded.task(HZ, Lot::default(), 0);
        let n = trace.requests();
        let starts: Vec<Ticks> = stream.unwrap().take(n + 1).collect();
        assert!((starts[n] as f64 / HZ * trace.rate() / n as f64 - 1.0).abs() < 1e-6);
        // Once round, each request has had its bytes.
        let loads: Vec<Load> = recorded.loads().collect();
        let bytes: usize = (0..n).map(|_| loads[sizes.draw()].size).sum();
        assert_eq!(bytes, trace.bytes.unwrap().iter().map(|bytes| *bytes as usize).sum::<usize>());
    }

    #[test]
    fn sizes_are_said_once() {
        let both = demand(&[("arrivals", "trace"), ("mix", "64:1,128:1")]).unwrap_err().to_string();
        assert!(both.contains("axes `mix` and `trace`"), "{both}");
        let mixed = demand(&[("mix", "64:1,1024:1")]).unwrap();
        assert_eq!((mixed.load.size, mixed.loads().len()), (1024, 2));
    }
}
