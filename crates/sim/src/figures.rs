//! Which figures a system has, under the names that formulas use, and which totals each is the ratio of.

use std::borrow::Cow;

use tollway_model::Unit;
use tollway_model::spec::Order;

use crate::system::{StationPlan, System};
use crate::totals::{Column, Layout, coalescer, kind, station, whole};

/// One figure: the sum of some totals over the sum of others.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: Cow<'static, str>,
    pub(crate) unit: Unit,
    pub(crate) top: Vec<Column>,
    pub(crate) bottom: Vec<Column>,
    /// Multiplies the ratio.
    pub(crate) scale: f64,
    /// Who it is seen on: of a wait, those who waited.
    pub(crate) count: Column,
}

impl Figure {
    fn on(self, count: Column) -> Self {
        Figure { count, ..self }
    }
}

fn figure(name: impl Into<Cow<'static, str>>, unit: Unit, top: Vec<Column>, bottom: Vec<Column>) -> Figure {
    Figure { name: name.into(), unit, top, bottom, scale: 1.0, count: whole::LEFT }
}

/// All figures but quantiles, in the order a person reads them.
pub(crate) fn figures(system: &System) -> Vec<Figure> {
    let layout = Layout::new(system);
    let mut figures = of_the_whole(system, layout);
    if system.stations.len() + system.coalescers.len() > 1 {
        for (i, plan) in system.stations.iter().enumerate() {
            figures.extend(of_station(&format!("station.{}.", plan.name), plan, &|column| {
                layout.station(i, column)
            }));
        }
        for (i, plan) in system.coalescers.iter().enumerate() {
            figures.extend(of_coalescer(&format!("coalescer.{}.", plan.name), &|c| layout.coalescer(i, c)));
        }
    }
    for (i, class) in system.classes.iter().enumerate() {
        figures.extend(of_kind(system, &format!("class.{class}."), &|column| layout.class(i, column)));
    }
    if system.sources.len() > 1 {
        for (i, plan) in system.sources.iter().enumerate() {
            figures.extend(of_kind(system, &format!("source.{}.", plan.name), &|column| {
                layout.source(i, column)
            }));
        }
    }
    figures
}

/// Whether customers of the station wait: where all are served at once, nobody does.
fn has_queue(plan: &StationPlan) -> bool {
    plan.order != Order::ProcessorSharing
}

fn of_the_whole(system: &System, layout: Layout) -> Vec<Figure> {
    let stations = |column: Column| (0..system.stations.len()).map(move |i| layout.station(i, column));
    let coalescers = |column: Column| (0..system.coalescers.len()).map(move |i| layout.coalescer(i, column));
    let time = || vec![whole::TIME];
    let left = || vec![whole::LEFT];
    let mut figures = Vec::new();
    if let [only] = &*system.stations {
        let busy = figure("utilization", Unit::Share, vec![layout.station(0, station::BUSY)], time());
        figures.push(Figure { scale: 1.0 / f64::from(only.servers), ..busy });
    }
    figures.push(figure("idle", Unit::Share, vec![whole::IDLE], time()));
    figures.push(figure("throughput", Unit::PerSecond, vec![whole::LEFT], time()));
    if system.stations.iter().any(|s| s.capacity.is_some()) {
        figures.push(figure("loss", Unit::Share, vec![whole::LOST], vec![whole::ENTERED]));
    }
    let number = stations(station::NUMBER).chain(coalescers(coalescer::NUMBER)).collect();
    figures.push(figure("number.mean", Unit::Count, number, time()));
    if system.stations.iter().any(has_queue) {
        figures.push(
            figure("queue.mean", Unit::Count, stations(station::QUEUE).collect(), time()).on(whole::WAITED),
        );
        figures.push(figure("wait.mean", Unit::Seconds, vec![whole::WAIT], left()).on(whole::WAITED));
        figures.push(figure("wait.probability", Unit::Share, vec![whole::WAITED], left()));
    }
    figures.push(figure("response.mean", Unit::Seconds, vec![whole::RESPONSE], left()));
    if let [only] = &*system.stations {
        figures.extend(of_service("", only, &|column| layout.station(0, column)));
    }
    if !system.coalescers.is_empty() {
        figures.push(figure("delay.mean", Unit::Seconds, vec![whole::DELAY], left()));
        let releases: Vec<Column> = coalescers(coalescer::RELEASES).collect();
        // What a sleeping server of the same name counts is then told for its station only.
        figures.retain(|f| f.name != "interrupts.rate" && f.name != "batch.mean");
        figures.push(figure("interrupts.rate", Unit::PerSecond, releases.clone(), time()));
        figures.push(figure("batch.mean", Unit::Count, coalescers(coalescer::RELEASED).collect(), releases));
    }
    figures
}

fn of_station(prefix: &str, plan: &StationPlan, column: &dyn Fn(Column) -> Column) -> Vec<Figure> {
    let name = |what: &str| format!("{prefix}{what}");
    let ratio = |what: &str, unit, top: Column, bottom: Column| {
        figure(name(what), unit, vec![top], vec![bottom]).on(column(station::BEGUN))
    };
    let waited = column(station::WAITED);
    let time = whole::TIME;
    let mut figures = vec![Figure {
        scale: 1.0 / f64::from(plan.servers),
        ..ratio("utilization", Unit::Share, column(station::BUSY), time)
    }];
    figures.push(ratio("throughput", Unit::PerSecond, column(station::LEFT), time));
    if plan.capacity.is_some() {
        let offered = vec![column(station::ARRIVED), column(station::LOST)];
        figures.push(
            figure(name("loss"), Unit::Share, vec![column(station::LOST)], offered)
                .on(column(station::BEGUN)),
        );
    }
    figures.push(ratio("number.mean", Unit::Count, column(station::NUMBER), time));
    if has_queue(plan) {
        figures.push(ratio("queue.mean", Unit::Count, column(station::QUEUE), time).on(waited));
        let begun = column(station::BEGUN);
        figures.push(ratio("wait.mean", Unit::Seconds, column(station::WAIT), begun).on(waited));
        figures.push(ratio("wait.probability", Unit::Share, waited, begun));
    }
    figures.push(ratio("response.mean", Unit::Seconds, column(station::RESPONSE), column(station::LEFT)));
    figures.extend(of_service(prefix, plan, column));
    figures
}

/// What only some stations have: bulks, sleep, sharing.
fn of_service(prefix: &str, plan: &StationPlan, column: &dyn Fn(Column) -> Column) -> Vec<Figure> {
    let ratio = |what: &str, unit, top, bottom| {
        figure(format!("{prefix}{what}"), unit, vec![column(top)], vec![bottom])
    };
    let rate = |what: &str, top| ratio(what, Unit::PerSecond, top, whole::TIME);
    let mut figures = Vec::new();
    if !has_queue(plan) {
        figures.push(ratio("slowdown.mean", Unit::Ratio, station::RESPONSE, column(station::WORK)));
    }
    if plan.bulk.is_some() {
        figures.push(ratio("batch.mean", Unit::Count, station::BEGUN, column(station::SERVICES)));
    }
    let Some(wake) = &plan.wake else { return figures };
    figures.push(rate("interrupts.rate", station::WAKES));
    if wake.poll.is_some() {
        figures.push(rate("polls.rate", station::POLLS));
        figures.push(rate("vacations.rate", station::POLLS));
    }
    if wake.setup.is_some() {
        figures.push(rate("setups.rate", station::SETUPS));
    }
    if wake.spin.is_some() {
        figures.push(rate("sleeps.rate", station::WAKES));
        figures.push(ratio("spinning", Unit::Share, station::SPINNING, whole::TIME));
    }
    figures
}

fn of_coalescer(prefix: &str, column: &dyn Fn(Column) -> Column) -> Vec<Figure> {
    let ratio = |what: &str, unit, top: Column, bottom: Column| {
        figure(format!("{prefix}{what}"), unit, vec![top], vec![bottom])
    };
    let (time, releases) = (whole::TIME, column(coalescer::RELEASES));
    vec![
        ratio("throughput", Unit::PerSecond, column(coalescer::RELEASED), time),
        ratio("number.mean", Unit::Count, column(coalescer::NUMBER), time),
        ratio("delay.mean", Unit::Seconds, column(coalescer::DELAY), column(coalescer::RELEASED)),
        ratio("interrupts.rate", Unit::PerSecond, releases, time),
        ratio("batch.mean", Unit::Count, column(coalescer::RELEASED), releases),
    ]
}

/// Of a class or a source.
fn of_kind(system: &System, prefix: &str, column: &dyn Fn(Column) -> Column) -> Vec<Figure> {
    let ratio = |what: &str, unit, top, bottom: Column| {
        figure(format!("{prefix}{what}"), unit, vec![column(top)], vec![bottom]).on(column(kind::LEFT))
    };
    let (time, left) = (whole::TIME, column(kind::LEFT));
    let mut figures = Vec::new();
    figures.push(ratio("throughput", Unit::PerSecond, kind::LEFT, time));
    if system.stations.iter().any(|s| s.capacity.is_some()) {
        figures.push(ratio("loss", Unit::Share, kind::LOST, column(kind::ENTERED)));
    }
    let is_class = prefix.starts_with("class.");
    if is_class {
        figures.push(ratio("number.mean", Unit::Count, kind::NUMBER, time));
    }
    if system.stations.iter().any(has_queue) {
        figures.push(ratio("wait.mean", Unit::Seconds, kind::WAIT, left).on(column(kind::WAITED)));
        figures.push(ratio("wait.probability", Unit::Share, kind::WAITED, left));
    }
    figures.push(ratio("response.mean", Unit::Seconds, kind::RESPONSE, left));
    if !system.coalescers.is_empty() {
        figures.push(ratio("delay.mean", Unit::Seconds, kind::DELAY, left));
    }
    if let [only] = &*system.stations
        && only.bulk.is_none()
        && is_class
    {
        let share = ratio("utilization", Unit::Share, kind::WORK, time);
        figures.push(Figure { scale: 1.0 / f64::from(only.servers), ..share });
    }
    figures
}
