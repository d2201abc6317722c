//! One part by itself: a station or a coalescer that sources feed and customers leave.

use super::{Recognised, exponential, leaves, list, per_second};
use crate::Distribution;
use crate::spec::{Arrivals, ByClass, Coalescer, Order, Spec, Station, Wake};

pub(super) fn recognise(spec: &Spec) -> Option<Recognised<'_>> {
    match (&spec.stations[..], &spec.coalescers[..]) {
        ([station], []) if leaves(&station.to) => station_alone(spec, station),
        ([], [coalescer]) if leaves(&coalescer.to) => coalescer_alone(spec, coalescer),
        _ => None,
    }
}

fn station_alone<'a>(spec: &'a Spec, station: &'a Station) -> Option<Recognised<'a>> {
    match station.order {
        Order::Priority | Order::PreemptiveResume => return by_priority(spec, station),
        Order::ProcessorSharing => return shared(spec, station),
        Order::Fcfs => {}
    }
    let service = station.service.same()?;
    if station.bulk.is_some() {
        return bulk(spec, station, service);
    }
    if !station.wake.is_at_once() {
        return sleeping(spec, station, service);
    }
    if let Some(lambda) = spec.poisson(None) {
        return poisson(station, lambda, service);
    }
    let [source] = &spec.sources[..] else { return None };
    let unlimited = station.servers == 1 && station.capacity.is_none();
    let rate = |mean: f64| per_second(mean).to_string();
    match &source.arrivals {
        Arrivals::Interarrival(gaps) if unlimited && source.batch.is_empty() => {
            let mu = rate(exponential(service)?);
            Recognised::plain("gim1", vec![("interarrival", gaps.to_string()), ("mu", mu)])
        }
        Arrivals::Interarrival(gaps) if unlimited => {
            let lambda = ("lambda", rate(exponential(gaps)?));
            let sizes = source.batch.iter().map(|(size, probability)| format!("{size},{probability}"));
            let batch = ("batch", list(sizes, ";"));
            match exponential(service) {
                Some(mean) => Recognised::plain("mxm1", vec![lambda, ("mu", rate(mean)), batch]),
                None => Recognised::plain("mxg1", vec![lambda, ("service", service.to_string()), batch]),
            }
        }
        Arrivals::Mmpp(switching) if unlimited && source.batch.is_empty() => {
            let rates = ("rates", list(&switching.rates, ","));
            let stays = ("stays", list(&switching.stays, ","));
            Recognised::plain("mmpp-m1", vec![rates, stays, ("mu", rate(exponential(service)?))])
        }
        Arrivals::Closed(population) => {
            let lambda = ("lambda", rate(exponential(population.think.as_ref()?)?));
            let servers = ("servers", station.servers.to_string());
            let customers = ("population", population.customers.to_string());
            match station.capacity {
                None => {
                    let mu = ("mu", rate(exponential(service)?));
                    Recognised::plain("finite-source", vec![lambda, mu, servers, customers])
                }
                // Without a queue only the mean of the service counts.
                Some(capacity) if capacity == station.servers => {
                    let mu = ("mu", rate(service.mean()));
                    Recognised::plain("engset", vec![lambda, mu, servers, customers])
                }
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// Poisson arrivals, first come first served.
fn poisson<'a>(station: &Station, rate: f64, service: &Distribution) -> Option<Recognised<'a>> {
    let lambda = ("lambda", rate.to_string());
    let servers = ("servers", station.servers.to_string());
    let capacity = station.capacity.map(|capacity| ("capacity", capacity.to_string()));
    let mu = exponential(service).map(|mean| ("mu", per_second(mean).to_string()));
    match (mu, station.servers, capacity) {
        (Some(mu), 1, None) => Recognised::plain("mm1", vec![lambda, mu]),
        (Some(mu), 1, Some(capacity)) => Recognised::plain("mm1k", vec![lambda, mu, capacity]),
        (Some(mu), _, None) => Recognised::plain("mmc", vec![lambda, mu, servers]),
        (Some(mu), _, Some(capacity)) => Recognised::plain("mmck", vec![lambda, mu, servers, capacity]),
        // Without a queue only the mean of the service counts.
        (None, _, Some(_)) if station.capacity == Some(station.servers) => {
            let load = ("load", (rate * service.mean()).to_string());
            Recognised::plain("erlang-b", vec![load, servers])
        }
        (None, 1, None) => match service {
            Distribution::Constant { value } => {
                Recognised::plain("md1", vec![lambda, ("service", value.to_string())])
            }
            _ => Recognised::plain("mg1", vec![lambda, ("service", service.to_string())]),
        },
        _ => None,
    }
}

/// Poisson arrivals at one shared server.
fn shared<'a>(spec: &Spec, station: &Station) -> Option<Recognised<'a>> {
    let service = station.service.same()?;
    if station.servers > 1 || station.capacity.is_some() {
        return None;
    }
    let lambda = spec.poisson(None)?.to_string();
    Recognised::plain("mg1-ps", vec![("lambda", lambda), ("service", service.to_string())])
}

/// Poisson arrivals of classes, each with a priority of its own.
fn by_priority<'a>(spec: &'a Spec, station: &'a Station) -> Option<Recognised<'a>> {
    if station.capacity.is_some() || station.bulk.is_some() || !station.wake.is_at_once() {
        return None;
    }
    let mut classes: Vec<_> = spec.classes.iter().collect();
    classes.sort_by_key(|class| class.priority);
    if classes.windows(2).any(|pair| pair[0].priority == pair[1].priority) {
        return None;
    }
    let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    let rates: Vec<f64> = names.iter().map(|name| spec.poisson(Some(name))).collect::<Option<_>>()?;
    let services: Vec<&Distribution> = names
        .iter()
        .map(|name| match &station.service {
            ByClass::All(service) => Some(service),
            ByClass::Each(services) => services.get(*name),
        })
        .collect::<Option<_>>()?;
    let lambdas = ("lambdas", list(rates, ","));
    let (model, parameters) = match (station.servers, station.order) {
        (1, order) => {
            let model = if order == Order::Priority { "mg1-nonpreemptive" } else { "mg1-preemptive" };
            (model, vec![lambdas, ("services", list(services, ";"))])
        }
        (servers, Order::Priority) => {
            let mean = exponential(services[0])?;
            if services.iter().any(|service| exponential(service) != Some(mean)) {
                return None;
            }
            let mu = ("mu", per_second(mean).to_string());
            ("mmc-nonpreemptive", vec![lambdas, mu, ("servers", servers.to_string())])
        }
        _ => return None,
    };
    Some(Recognised { model, parameters, kind: "class", names })
}

/// Poisson arrivals at a server that takes several at once.
fn bulk<'a>(spec: &Spec, station: &Station, service: &Distribution) -> Option<Recognised<'a>> {
    let bulk = station.bulk.as_ref()?;
    if bulk.each.is_some() || station.capacity.is_some() {
        return None;
    }
    let lambda = ("lambda", spec.poisson(None)?.to_string());
    let mu = ("mu", per_second(exponential(service)?).to_string());
    let (least, most) = (("least", bulk.least.to_string()), ("most", bulk.most.to_string()));
    Recognised::plain("bulk-service", vec![lambda, mu, least, most])
}

/// Poisson arrivals at a server that sleeps.
fn sleeping<'a>(spec: &Spec, station: &Station, service: &Distribution) -> Option<Recognised<'a>> {
    if station.capacity.is_some() {
        return None;
    }
    let lambda = ("lambda", spec.poisson(None)?.to_string());
    let service = ("service", service.to_string());
    let with = |model: &'static str, more: Vec<(&'static str, String)>| {
        Recognised::plain(model, [vec![lambda.clone(), service.clone()], more].concat())
    };
    match &station.wake {
        Wake { count: Some(count), timer: None, poll: None, spin: None, setup: None } => {
            with("n-policy", vec![("count", count.to_string())])
        }
        Wake { count: None, timer: Some(timer), poll: None, spin: None, setup: None } => {
            with("t-policy", vec![("timer", timer.to_string())])
        }
        Wake { count: Some(count), timer: Some(timer), poll: None, spin: None, setup: None } => {
            with("nt-policy", vec![("count", count.to_string()), ("timer", timer.to_string())])
        }
        Wake { count: None, timer: None, poll: Some(poll), spin: None, setup: None } => {
            with("vacations", vec![("vacation", poll.to_string())])
        }
        Wake { count: None, timer: None, poll: None, spin: None, setup: Some(setup) } => {
            with("mg1-setup", vec![("setup", setup.to_string())])
        }
        Wake { count: None, timer: None, poll: None, spin: Some(spin), setup: Some(setup) } => {
            with("hybrid-polling", vec![("spin", spin.to_string()), ("setup", setup.to_string())])
        }
        _ => None,
    }
}

/// Poisson arrivals that are held back.
fn coalescer_alone<'a>(spec: &Spec, coalescer: &Coalescer) -> Option<Recognised<'a>> {
    let lambda = ("lambda", spec.poisson(None)?.to_string());
    match coalescer {
        Coalescer { cap: None, poll: None, adaptive: None, count, timer, .. }
            if count.is_some() || timer.is_some() =>
        {
            let count = ("count", count.unwrap_or(0).to_string());
            let timer = ("timer", timer.unwrap_or(0.0).to_string());
            Recognised::plain("coalesce", vec![lambda, count, timer])
        }
        Coalescer { count: None, timer: None, poll: None, adaptive: None, cap: Some(cap), .. } => {
            Recognised::plain("cap", vec![lambda, ("cap", cap.to_string())])
        }
        Coalescer { count: None, timer: None, poll: None, cap: None, adaptive: Some(adaptive), .. } => {
            let window = ("window", adaptive.window.to_string());
            let (from, caps) = (("from", list(&adaptive.from, ",")), ("caps", list(&adaptive.caps, ",")));
            Recognised::plain("adaptive", vec![lambda, window, from, caps])
        }
        _ => None,
    }
}
