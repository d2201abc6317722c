//! Stamps of a clock too coarse for the services between them, as web servers log them: what a fit may not say.

use std::fmt::Write;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollway_model::fit::{Fit, Options, Trace, fit};

/// What a trace of M/M/1 is written as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Columns {
    ArrivalEnd,
    ArrivalStartEnd,
    /// With responses in milliseconds, whatever the unit of ends.
    EndResponse,
    /// With services by a clock of their own.
    ArrivalService,
    /// Only arrivals are read by the coarse clock.
    ArrivalCoarseEndFine,
}

/// Customers of M/M/1, `rates` a second, whose stamps a clock of `unit` reads.
fn queue(columns: Columns, rates: (f64, f64), unit: f64, customers: usize, seed: u64) -> String {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut exponential = |rate: f64| -generator.random::<f64>().ln() / rate;
    let read = |time: f64| (time / unit).floor() * unit;
    let decimals = (-unit.log10()).ceil() as usize;
    let mut text = String::from(match columns {
        Columns::ArrivalEnd | Columns::ArrivalCoarseEndFine => "arrival,end",
        Columns::ArrivalStartEnd => "arrival,start,end",
        Columns::EndResponse => "end,response",
        Columns::ArrivalService => "arrival,service",
    });
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    for _ in 0..customers {
        arrival += exponential(rates.0);
        let start = free.max(arrival);
        let service = exponential(rates.1);
        free = start + service;
        let [a, s, e] = [arrival, start, free].map(read);
        let response = free - arrival;
        match columns {
            Columns::ArrivalEnd => write!(text, "\n{a:.3},{e:.3}"),
            Columns::ArrivalStartEnd => write!(text, "\n{a:.3},{s:.3},{e:.3}"),
            Columns::EndResponse => write!(text, "\n{e:.3},{response:.3}"),
            Columns::ArrivalService => write!(text, "\n{a:.3},{service:.4}"),
            Columns::ArrivalCoarseEndFine => write!(text, "\n{a:.decimals$},{free:.4}"),
        }
        .unwrap();
    }
    text
}

fn fitted(text: &str) -> Fit {
    fit(&Trace::read(text.as_bytes(), None).unwrap(), Options::default()).unwrap()
}

fn notes(found: &Fit) -> String {
    found.notes.join("\n")
}

#[track_caller]
fn near(found: &Fit, name: &str, wanted: f64, share: f64) {
    let value = found.get(name).unwrap_or_else(|| panic!("no {name}: {found:#?}")).value;
    assert!((value / wanted - 1.0).abs() <= share, "{name} {value} is not {wanted}");
}

/// Rates whose services are shorter than a second, arrivals and services a second.
const RATES: [(f64, f64); 2] = [(2.0, 5.0), (100.0, 400.0)];

#[test]
fn whole_second_stamps_give_no_services_and_name_the_clock() {
    for columns in [Columns::EndResponse, Columns::ArrivalEnd, Columns::ArrivalStartEnd] {
        for rates in RATES {
            for seed in 0..5 {
                let found = fitted(&queue(columns, rates, 1.0, 2000, seed));
                let of_services =
                    |name: &str| name == "mu" || name == "utilization" || name.starts_with("service");
                let named = format!("{columns:?} {rates:?} seed {seed}: {found:#?}");
                assert!(!found.estimates.iter().any(|e| of_services(&e.name)), "{named}");
                assert!(!found.families.iter().any(|verdict| verdict.of == "service"), "{named}");
                assert!(!found.tests.iter().any(|test| test.name.starts_with("service")), "{named}");
                assert!(found.models.is_empty() && found.command.is_none(), "{named}");
                assert!(
                    notes(&found).contains("differences of stamps of a clock of 1 s, too coarse"),
                    "{named}"
                );
                assert!(
                    notes(&found).contains("stamps of a finer unit, or services in a column `service`"),
                    "{named}"
                );
                // 20 s of arrivals are known to a second at either end.
                near(&found, "lambda", rates.0, 0.15);
                let mean = found.get("response.mean").unwrap();
                let wanted = 1.0 / (rates.1 - rates.0);
                assert!(mean.lo.unwrap() <= 1.2 * wanted && mean.hi.unwrap() >= 0.8 * wanted, "{named}");
            }
        }
    }
}

/// Three traces of a true model in each of six forms: 99.9 % of the binomial at 5 % lie up to 2 of 3, and up to 5 of all 18.
#[test]
fn stamps_finer_than_services_keep_rates_and_reject_no_true_model() {
    let mut of_all = 0;
    for columns in [Columns::ArrivalEnd, Columns::ArrivalStartEnd, Columns::EndResponse] {
        // Of an end less a response a unit of half the service is too coarse already.
        let first = if columns == Columns::EndResponse { 0.05 } else { 0.1 };
        for (rates, unit) in [(RATES[0], first), (RATES[1], 0.001)] {
            let fits: Vec<Fit> =
                (0..3).map(|seed| fitted(&queue(columns, rates, unit, 2000, seed))).collect();
            let rejected =
                fits.iter().filter(|found| found.model("mm1").is_some_and(|mm1| mm1.rejected)).count();
            assert!(rejected <= 2, "{columns:?} {rates:?}: rejected {rejected} of 3");
            of_all += rejected;
            for found in &fits {
                near(found, "lambda", rates.0, 0.1);
                near(found, "mu", rates.1, 0.1);
                near(found, "utilization", rates.0 / rates.1, 0.1);
            }
        }
    }
    assert!(of_all <= 5, "rejected {of_all} of 18");
}

#[test]
fn ends_and_responses_of_different_units_leave_services_in_turn() {
    let found = fitted(&queue(Columns::EndResponse, RATES[0], 0.01, 2000, 1));
    near(&found, "mu", 5.0, 0.1);
    assert!(!found.model("mm1").unwrap().rejected && found.model("md1").unwrap().rejected);
}

/// Arrivals on whole seconds keep services that have a column: they share no reading with the gaps.
#[test]
fn services_of_their_own_column_are_known_beside_coarse_arrivals() {
    for rates in RATES {
        let found = fitted(&queue(Columns::ArrivalService, rates, 1.0, 2000, 1));
        near(&found, "mu", rates.1, 0.1);
        assert!(!found.model("mm1").unwrap().rejected && found.model("md1").unwrap().rejected, "{found:#?}");
        assert!(found.tests.iter().any(|test| test.name == "service.gap-before"), "{found:#?}");
    }
}

/// An end read in fractions of a second less an arrival in whole ones is half a second too long.
#[test]
fn unlike_clocks_give_no_responses_and_no_services() {
    let found = fitted(&queue(Columns::ArrivalCoarseEndFine, RATES[0], 1.0, 2000, 1));
    for name in ["mu", "service.mean", "utilization", "response.mean"] {
        assert!(found.get(name).is_none(), "{name}: {found:#?}");
    }
    assert!(
        notes(&found).contains("no responses: they are differences of stamps of unlike clocks"),
        "{found:#?}"
    );
    assert!(found.models.is_empty() && found.command.is_none(), "{found:#?}");
    near(&found, "lambda", 2.0, 0.1);
}

/// A clock of a second reads the wait for another customer's end as one of somebody who found the server idle.
#[test]
fn nobody_who_came_at_the_reading_of_an_end_wakes_the_server() {
    for unit in [1.0, 0.1] {
        let found = fitted(&queue(Columns::ArrivalStartEnd, RATES[0], unit, 2000, 2));
        assert!(found.get("setup.mean").is_none() && found.model("mg1-setup").is_none(), "{found:#?}");
    }
}

/// Starts and ends alone leave nothing to say: then the clock is the error.
#[test]
fn a_trace_of_nothing_but_hidden_services_is_refused_with_the_clock() {
    let text = queue(Columns::ArrivalStartEnd, RATES[1], 1.0, 2000, 3);
    let rows = text.lines().map(|line| line.split_once(',').unwrap().1);
    let text = rows.collect::<Vec<_>>().join("\n");
    let error =
        fit(&Trace::read(text.as_bytes(), None).unwrap(), Options::default()).unwrap_err().to_string();
    assert!(error.contains("a clock of 1 s, too coarse") && error.contains("column `service`"), "{error}");
}

/// Stamps without ends: responses are waits and services.
#[test]
fn starts_with_a_column_of_services_need_no_ends() {
    let found = fitted("arrival,start,service\n0,0,5\n2,5,3\n10,10,2\n");
    near(&found, "response.mean", 13.0 / 3.0, 1e-9);
}
