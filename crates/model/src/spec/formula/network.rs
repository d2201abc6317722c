//! Networks whose stationary law is a product over stations: Jackson's open ones, and closed ones by mean-value analysis.

use super::{Recognised, exponential, list, per_second, single_poisson};
use crate::spec::checked::{Wiring, flows};
use crate::spec::{Arrivals, Order, Spec, Station};

/// Networks of more stations are left to simulation: their routes would not fit into a parameter.
const STATIONS: usize = 100;

pub(super) fn recognise(spec: &Spec) -> Option<Recognised<'_>> {
    // Classes that are served alike and take the same routes are one.
    if !spec.coalescers.is_empty() || spec.stations.len() > STATIONS {
        return None;
    }
    let services: Vec<f64> = spec.stations.iter().map(mean_service).collect::<Option<_>>()?;
    let wiring = Wiring::of(spec).ok()?;
    let (model, parameters) = match &spec.sources[..] {
        [source] if matches!(source.arrivals, Arrivals::Closed(_)) => closed(spec, &wiring, services)?,
        _ => open(spec, &wiring, services)?,
    };
    let names = spec.stations.iter().map(|station| station.name.as_str()).collect();
    Some(Recognised { model, parameters, kind: "station", names })
}

/// The mean of an exponential service at a station that is as Jackson has it.
fn mean_service(station: &Station) -> Option<f64> {
    let service = station.service.same()?;
    let plain = station.order == Order::Fcfs
        && station.capacity.is_none()
        && station.bulk.is_none()
        && station.wake.is_at_once();
    exponential(service).filter(|_| plain)
}

type Asked = (&'static str, Vec<(&'static str, String)>);

fn open(spec: &Spec, wiring: &Wiring, services: Vec<f64>) -> Option<Asked> {
    let mut arrivals = vec![0.0; wiring.parts()];
    for (source, edges) in spec.sources.iter().zip(&wiring.first) {
        let rate = single_poisson(source)?;
        edges.iter().for_each(|(part, share)| arrivals[*part] += rate * share);
    }
    let rows = wiring.next.iter().map(|edges| {
        let mut row = vec![0.0; wiring.parts() + 1];
        edges.iter().for_each(|(to, share)| row[*to] += share);
        list(&row[..wiring.parts()], ",")
    });
    let parameters = vec![
        ("arrivals", list(arrivals, ",")),
        ("mus", list(services.iter().map(|mean| per_second(*mean)), ",")),
        ("servers", list(spec.stations.iter().map(|s| s.servers), ",")),
        ("routing", list(rows, ";")),
    ];
    Some(("jackson", parameters))
}

fn closed(spec: &Spec, wiring: &Wiring, services: Vec<f64>) -> Option<Asked> {
    let Arrivals::Closed(population) = &spec.sources[0].arrivals else { return None };
    let mut outside = vec![0.0; wiring.parts() + 1];
    wiring.first[0].iter().for_each(|(part, share)| outside[*part] += share);
    let visits = flows(spec, wiring, outside);
    // Everybody who came must have left, or the flows have not settled.
    let leaving: f64 = wiring
        .next
        .iter()
        .zip(&visits)
        .flat_map(|(edges, visits)| edges.iter().map(move |(to, share)| (*to, visits * share)))
        .filter(|(to, _)| *to == wiring.parts())
        .map(|(_, flow)| flow)
        .sum();
    if (leaving - 1.0).abs() > 1e-10 {
        return None;
    }
    let visits = &visits[..wiring.parts()];
    let customers = ("customers", population.customers.to_string());
    let think = ("think", population.think.as_ref().map_or(0.0, |think| think.mean()).to_string());
    if spec.stations.iter().all(|station| station.servers == 1) {
        let demands = services.iter().zip(visits).map(|(service, visits)| service * visits);
        return Some(("mva", vec![("demands", list(demands, ",")), customers, think]));
    }
    let services = ("services", list(services, ","));
    let visits = ("visits", list(visits, ","));
    let servers = ("servers", list(spec.stations.iter().map(|s| s.servers), ","));
    Some(("mva-multiserver", vec![services, visits, servers, customers, think]))
}
