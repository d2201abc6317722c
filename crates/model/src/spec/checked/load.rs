//! Whether there is a steady state: the work that comes to each station against what its servers can do.
//!
//! The flow through each part solves λ = γ + λP (Jackson's traffic equations). Sweeping from zero, the flows rise to the
//! solution, so a load of one or more is seen as soon as it is certain; where routes are so circular that the flows have
//! not settled, the system is left to whoever solves it. What a station of limited capacity lets through is less than
//! what comes, so behind one nothing is claimed.

use super::wiring::Wiring;
use crate::spec::{Arrivals, ByClass, Source, Spec, Station};
use crate::{ModelError, Result};

/// A load above this is one or more, but for rounding.
const CERTAIN: f64 = 1.0 - 1e-12;

/// Sweeps over all parts at most.
const SWEEPS: usize = 1000;

pub(super) fn check(spec: &Spec, wiring: &Wiring) -> Result<()> {
    let mut loads = vec![0.0; spec.stations.len()];
    let classes = spec.classes.iter().map(|class| Some(class.name.as_str()));
    for class in classes.chain(spec.classes.is_empty().then_some(None)) {
        let outside = arrivals(spec, wiring, class);
        if outside.iter().all(|rate| *rate == 0.0) {
            continue;
        }
        let flows = flows(spec, wiring, outside);
        for ((station, load), flow) in spec.stations.iter().zip(&mut loads).zip(flows) {
            *load += if flow > 0.0 { flow * work(station, class) } else { 0.0 };
        }
    }
    for (station, load) in spec.stations.iter().zip(loads) {
        if load > CERTAIN && station.capacity.is_none() {
            return Err(ModelError::Unstable {
                name: format!("station {}", station.name),
                load,
                remedy: "let less come, serve faster, add servers, or give it a capacity".into(),
            });
        }
    }
    Ok(())
}

/// Customers of the class that come from outside to each part, per second. Closed populations bring no more than is
/// served.
fn arrivals(spec: &Spec, wiring: &Wiring, class: Option<&str>) -> Vec<f64> {
    let mut outside = vec![0.0; wiring.parts() + 1];
    for (source, edges) in spec.sources.iter().zip(&wiring.first) {
        if source.class.as_deref() == class
            && let Some(rate) = source.rate()
        {
            edges.iter().for_each(|(part, share)| outside[*part] += rate * share);
        }
    }
    outside
}

/// What passes each part, per second, as far as it is certain.
pub(in crate::spec) fn flows(spec: &Spec, wiring: &Wiring, outside: Vec<f64>) -> Vec<f64> {
    let mut flows = vec![0.0; wiring.parts() + 1];
    // What came to a part since it last handed on.
    let mut waiting = outside;
    for _ in 0..SWEEPS {
        let mut moved = false;
        for part in 0..wiring.parts() {
            let amount = std::mem::take(&mut waiting[part]);
            if amount <= flows[part] * 1e-12 {
                continue;
            }
            moved = true;
            flows[part] += amount;
            if spec.stations.get(part).is_some_and(|station| station.capacity.is_some()) {
                continue;
            }
            wiring.next[part].iter().for_each(|(to, share)| waiting[*to] += amount * share);
        }
        if !moved {
            break;
        }
    }
    flows
}

/// Share of all servers' time that one customer of the class takes per second of flow.
fn work(station: &Station, class: Option<&str>) -> f64 {
    let service = match (&station.service, class) {
        (ByClass::All(service), _) => service.mean(),
        (ByClass::Each(services), Some(class)) => services.get(class).map_or(0.0, |service| service.mean()),
        (ByClass::Each(_), None) => 0.0,
    };
    let service = match &station.bulk {
        None => service,
        Some(bulk) => service / f64::from(bulk.most) + bulk.each.as_ref().map_or(0.0, |each| each.mean()),
    };
    service / f64::from(station.servers)
}

impl Source {
    /// Customers per second on average; `None` of a closed population, whose rate is an answer.
    pub fn rate(&self) -> Option<f64> {
        let arrivals = match &self.arrivals {
            Arrivals::Interarrival(gaps) => 1.0 / gaps.mean(),
            Arrivals::Mmpp(switching) => {
                let rates = switching.rates.iter().zip(&switching.stays);
                rates.map(|(rate, stay)| rate * stay).sum::<f64>() / switching.stays.iter().sum::<f64>()
            }
            Arrivals::Trace(gaps) => gaps.len() as f64 / gaps.iter().sum::<f64>(),
            Arrivals::Closed(_) => return None,
        };
        Some(arrivals * self.batch_mean())
    }

    /// Customers that come at once, on average.
    pub fn batch_mean(&self) -> f64 {
        if self.batch.is_empty() {
            return 1.0;
        }
        self.batch.iter().map(|(size, probability)| f64::from(*size) * probability).sum()
    }
}
