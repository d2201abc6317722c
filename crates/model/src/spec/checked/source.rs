//! Checks of one source.

use super::{LARGEST_SIZE, add_up};
use crate::spec::{Arrivals, Class, Source, Switching};
use crate::{ModelError, Result, check};

/// The most gaps of a trace.
const GAPS: u64 = 10_000_000;

/// The most states of a switched Poisson stream, and the most sizes of a batch.
const STATES: u64 = 1000;

pub(super) fn check(source: &Source, classes: &[Class]) -> Result<()> {
    let name = |what: &str| format!("source {}: {what}", source.name);
    class(source, classes)?;
    match &source.arrivals {
        Arrivals::Interarrival(gaps) => {
            gaps.clone().checked(&name("interarrival"))?;
        }
        Arrivals::Mmpp(switching) => states(switching, &name("mmpp"))?,
        Arrivals::Trace(gaps) => {
            check::count(&name("trace: gaps"), gaps.len() as u64, 1, GAPS)?;
            for (i, gap) in gaps.iter().enumerate() {
                check::non_negative(&name(&format!("trace: gap {}", i + 1)), *gap)?;
            }
            check::positive(&name("trace: mean gap"), gaps.iter().sum::<f64>() / gaps.len() as f64)?;
        }
        Arrivals::Closed(population) => {
            check::count(&name("closed: customers"), population.customers.into(), 1, LARGEST_SIZE)?;
            if let Some(think) = &population.think {
                think.clone().checked(&name("closed: think"))?;
            }
            if !source.batch.is_empty() {
                return Err(ModelError::parameter(
                    name("batch"),
                    "customers of a closed population come back one by one",
                    "leave batch out",
                ));
            }
        }
    }
    check::count(&name("batch: sizes"), source.batch.len() as u64, 0, STATES)?;
    if !source.batch.is_empty() {
        for (size, _) in &source.batch {
            check::count(&name("batch: size"), u64::from(*size), 1, LARGEST_SIZE)?;
        }
        add_up(&name("batch: probabilities"), source.batch.iter().map(|(_, p)| *p))?;
    }
    Ok(())
}

fn class(source: &Source, classes: &[Class]) -> Result<()> {
    let wrong = |reason: String, remedy: &str| {
        Err(ModelError::parameter(format!("source {}: class", source.name), reason, remedy))
    };
    match &source.class {
        None if classes.is_empty() => Ok(()),
        None => wrong("it is missing".into(), "where there are classes, give every source one"),
        Some(class) if classes.iter().any(|known| known.name == *class) => Ok(()),
        Some(class) => wrong(format!("there is none named `{class}`"), "declare it: [[class]]"),
    }
}

fn states(switching: &Switching, name: &str) -> Result<()> {
    let states = switching.rates.len();
    check::count(&format!("{name}: rates"), states as u64, 1, STATES)?;
    if switching.stays.len() != states {
        return Err(ModelError::parameter(
            format!("{name}: stays"),
            format!("there are {} for {states} rates", switching.stays.len()),
            "give one stay for each rate",
        ));
    }
    for rate in &switching.rates {
        check::non_negative(&format!("{name}: rates"), *rate)?;
    }
    for stay in &switching.stays {
        check::positive(&format!("{name}: stays"), *stay)?;
    }
    if switching.rates.iter().all(|rate| *rate == 0.0) {
        return Err(ModelError::parameter(
            format!("{name}: rates"),
            "nobody ever comes",
            "let one be above 0",
        ));
    }
    Ok(())
}
