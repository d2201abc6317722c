//! Checks of one station.

use super::{LARGEST_SIZE, not_both};
use crate::spec::{Bulk, ByClass, Class, Order, Station, Wake};
use crate::{ModelError, Result, check};

pub(super) fn check(station: &Station, classes: &[Class]) -> Result<()> {
    let part = format!("station {}", station.name);
    let name = |what: &str| format!("{part}: {what}");
    let refuse = |what: &str, reason: &str, remedy: &str| {
        Err(ModelError::parameter(format!("{part}: {what}"), reason, remedy))
    };
    check::count(&name("servers"), station.servers.into(), 1, LARGEST_SIZE)?;
    service(station, classes, &part)?;
    if let Some(capacity) = station.capacity {
        check::count(&name("capacity"), capacity.into(), 1, LARGEST_SIZE)?;
        if capacity < station.servers {
            let reason = format!("{capacity} is less than its {} servers", station.servers);
            return refuse("capacity", &reason, "it counts those in service too: give at least so many");
        }
    }
    let by_priority = matches!(station.order, Order::Priority | Order::PreemptiveResume);
    if by_priority && classes.is_empty() {
        return refuse("order", "there are no classes", "declare them: [[class]] with a priority");
    }
    if let Some(bulk) = &station.bulk {
        if station.servers > 1 {
            return refuse("bulk", "it has several servers", "give it one server");
        }
        if !matches!(station.order, Order::Fcfs | Order::Priority) {
            return refuse(
                "bulk",
                "a bulk is neither shared nor interrupted",
                "let order be fcfs or priority",
            );
        }
        if matches!(station.service, ByClass::Each(_)) {
            return refuse("service", "a bulk is served as one", "give one service for all classes");
        }
        check_bulk(bulk, station.capacity, &part)?;
    }
    if !station.wake.is_at_once() {
        if station.servers > 1 {
            return refuse("wake", "it has several servers", "give it one server");
        }
        if station.order == Order::ProcessorSharing {
            return refuse("wake", "its server is shared", "let order be another one");
        }
        not_both(&part, ("wake", true), ("bulk", station.bulk.is_some()))?;
        check_wake(&station.wake, station.capacity, &part)?;
    }
    Ok(())
}

/// The services are usable and of classes that there are; that none is missing depends on who comes.
fn service(station: &Station, classes: &[Class], part: &str) -> Result<()> {
    match &station.service {
        ByClass::All(service) => {
            service.clone().checked(&format!("{part}: service"))?;
        }
        ByClass::Each(_) if classes.is_empty() => {
            return Err(ModelError::parameter(
                format!("{part}: service"),
                "it is by class, and there are none",
                "give one for all, or declare classes: [[class]]",
            ));
        }
        ByClass::Each(services) => {
            for (class, service) in services {
                let name = format!("{part}: service of {class}");
                if !classes.iter().any(|known| known.name == *class) {
                    return Err(ModelError::parameter(
                        name,
                        "there is no such class",
                        "declare it: [[class]]",
                    ));
                }
                service.clone().checked(&name)?;
            }
        }
    }
    Ok(())
}

fn check_bulk(bulk: &Bulk, capacity: Option<u32>, part: &str) -> Result<()> {
    let most = format!("{part}: bulk: most");
    check::count(&most, bulk.most.into(), 1, LARGEST_SIZE)?;
    check::count(&format!("{part}: bulk: least"), bulk.least.into(), 1, bulk.most.into())?;
    if let Some(each) = &bulk.each {
        each.clone().checked(&format!("{part}: bulk: each"))?;
    }
    match capacity {
        Some(capacity) if capacity < bulk.most => Err(ModelError::parameter(
            most,
            format!("it is above the capacity of {capacity}"),
            "give a larger capacity or a smaller bulk",
        )),
        _ => Ok(()),
    }
}

fn check_wake(wake: &Wake, capacity: Option<u32>, part: &str) -> Result<()> {
    let name = |what: &str| format!("{part}: wake: {what}");
    let part = format!("{part}: wake");
    not_both(&part, ("poll", wake.poll.is_some()), ("count", wake.count.is_some()))?;
    not_both(&part, ("poll", wake.poll.is_some()), ("timer", wake.timer.is_some()))?;
    if let Some(count) = wake.count {
        check::count(&name("count"), count.into(), 1, LARGEST_SIZE)?;
        if capacity.is_some_and(|capacity| capacity < count) {
            return Err(ModelError::parameter(
                name("count"),
                "it is above the capacity: the server would sleep for ever",
                "give a larger capacity or a smaller count",
            ));
        }
    }
    for (what, value) in [("timer", wake.timer), ("spin", wake.spin)] {
        if let Some(value) = value {
            check::positive(&name(what), value)?;
        }
    }
    for (what, distribution) in [("poll", &wake.poll), ("setup", &wake.setup)] {
        if let Some(distribution) = distribution {
            distribution.clone().checked(&name(what))?;
        }
    }
    Ok(())
}
