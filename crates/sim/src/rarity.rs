//! Whether a simulation was long enough to see what makes its figures.
//!
//! Where a time is long once in a million draws, and then a million times longer, shorter simulations agree with each
//! other and all are wrong; their intervals do not tell. So it is asked of the distributions themselves how rare their
//! long times are.

use tollway_model::Distribution;
use tollway_model::spec::{Arrivals, ByClass, Source, Spec};

use crate::outcome::Scarce;
use crate::rare_kinds::Kind;
use crate::totals::{Column, Layout, kind, station, whole};

/// The probability with which exponential times must occur among times of no length, for the sum of both to have these
/// second and third moments: p = 4.5 m₂³/m₃², since they would be 2pm² and 6pm³.
fn probability(second: f64, third: f64) -> f64 {
    let probability = 4.5 * second * (second / third).powi(2);
    // Moments that leave floating point say nothing.
    if probability.is_finite() { probability.min(1.0) } else { 1.0 }
}

fn of_law(place: String, law: &Distribution, draws: f64) -> Scarce {
    Scarce { place, probability: probability(law.moment(2), law.moment(3)), draws, figures: Vec::new() }
}

/// The one whose long times are expected least often, of those that all figures hang on, and all that only some do; of
/// totals over all replications.
pub(crate) fn scarce(spec: &Spec, layout: Layout, totals: &[f64]) -> (Option<Scarce>, Vec<Scarce>) {
    let mut seen = Vec::new();
    for (i, s) in spec.stations.iter().enumerate() {
        let of = |column: Column| totals[layout.station(i, column)];
        let place = |what: &str| format!("station {}: {what}", s.name);
        match &s.service {
            ByClass::All(law) => seen.push(of_law(place("service"), law, of(station::SERVICES))),
            ByClass::Each(laws) => {
                for (nth, class) in spec.classes.iter().enumerate() {
                    let Some(law) = laws.get(&class.name) else { continue };
                    let left = totals[layout.class(nth, kind::LEFT)];
                    let draws = left.min(of(station::SERVICES));
                    let figures = Kind::class(spec, layout, totals, nth).figures(draws);
                    let place = place(&format!("service of {}", class.name));
                    seen.push(Scarce { figures, ..of_law(place, law, draws) });
                }
            }
        }
        let each = s.bulk.as_ref().and_then(|bulk| bulk.each.as_ref());
        let more = [
            ("bulk: each", each, station::LEFT),
            ("wake: poll", s.wake.poll.as_ref(), station::WAKES),
            ("wake: setup", s.wake.setup.as_ref(), station::SETUPS),
        ];
        for (what, law, column) in more {
            law.into_iter().for_each(|law| seen.push(of_law(place(what), law, of(column))));
        }
    }
    for (i, source) in spec.sources.iter().enumerate() {
        let alone = spec.sources.len() == 1;
        let entered = totals[if alone { whole::ENTERED } else { layout.source(i, kind::ENTERED) }];
        let place = |what: &str| format!("source {}: {what}", source.name);
        let arrivals = entered / batch_moment(source, 1);
        match &source.arrivals {
            Arrivals::Interarrival(law) => {
                let figures = Kind::source(spec, layout, totals, i).figures(entered * bunch(source));
                seen.push(Scarce { figures, ..of_law(place("interarrival"), law, arrivals) });
            }
            Arrivals::Closed(population) => {
                population.think.iter().for_each(|law| seen.push(of_law(place("think"), law, entered)));
            }
            _ => {}
        }
        if let Arrivals::Mmpp(switching) = &source.arrivals {
            let draws = totals[whole::TIME] / switching.stays.iter().sum::<f64>();
            seen.push(Scarce {
                place: place("a round of its states"),
                probability: 1.0,
                draws,
                figures: Vec::new(),
            });
        }
        if !source.batch.is_empty() {
            let probability = probability(batch_moment(source, 2), batch_moment(source, 3));
            let figures = Kind::source(spec, layout, totals, i).figures(entered * bunch(source));
            seen.push(Scarce { place: place("batch"), probability, draws: arrivals, figures });
        }
    }
    let (all, some): (Vec<_>, Vec<_>) = seen.into_iter().partition(|scarce| scarce.figures.is_empty());
    (all.into_iter().min_by(|one, other| one.expected().total_cmp(&other.expected())), some)
}

/// How many times the work of one customer counts, squared, where several come together.
fn bunch(source: &Source) -> f64 {
    batch_moment(source, 2) / batch_moment(source, 1)
}

/// A moment of the number of customers that come together.
fn batch_moment(source: &Source, order: i32) -> f64 {
    if source.batch.is_empty() {
        return 1.0;
    }
    source.batch.iter().map(|(size, probability)| probability * f64::from(*size).powi(order)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_branch_is_as_rare_as_it_is_and_one_that_adds_nothing_is_not() {
        let of = |text: &str| {
            let law: Distribution = text.parse().unwrap();
            probability(law.moment(2), law.moment(3))
        };
        for (text, expected) in [
            ("exponential(3us)", 1.0),
            ("constant(3us)", 1.0),
            ("hyperexponential(0.999999, 1us, 0.000001, 20s)", 1e-6),
            ("hyperexponential(0.999999, 1us, 0.000001, 2us)", 1.0),
            ("hyperexponential(0.9, 1us, 0.1, 100us)", 0.1),
        ] {
            assert!((of(text) / expected - 1.0).abs() < 0.01, "{text}: {}", of(text));
        }
        assert!(of("lognormal(1us, 1000)") < 1e-8);
    }

    #[test]
    fn the_scarcest_is_told_with_its_draws() {
        let text = "[[source]]\nname = 'a'\ninterarrival = 'exponential(50us)'\n[[station]]\nname = 's'\n\
                    service = 'hyperexponential(0.999999, 1us, 0.000001, 20s)'\n\
                    [stop]\ncustomers = 1000\nreplications = 2\n";
        let spec = Spec::from_toml(text).unwrap();
        let scarce = crate::simulate(&spec, &crate::Options::default()).unwrap().scarcest.unwrap();
        assert_eq!(scarce.place, "station s: service");
        assert!(scarce.draws >= 2000.0 && (scarce.probability / 1e-6 - 1.0).abs() < 0.01, "{scarce:?}");
    }
}
