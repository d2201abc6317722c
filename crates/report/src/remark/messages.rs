//! Rules about requests to another process: from how many at once on asynchronous ones pay, and what a network stack of one's own brings.

use tollway_core::Value;

use super::{Facts, Said, sure, times};
use crate::document::{PointDocument, Span};
use crate::number::time;

const PATH: &str = "ipc";

/// Where both ends share a processor: there a request's price is all that either does for it.
const ON_ONE: (&str, &str) = ("cores", "one");

/// From how many requests at once on asynchronous ones are cheaper than the best synchronous way, measured and foretold.
pub(super) fn async_pays(facts: &Facts<'_>) -> Option<Said> {
    let alone = [("concurrency", "1"), ON_ONE];
    let synchronous = ["slow-path", "fast-path"].map(|way| Some((way, facts.point(PATH, way, &alone)?)));
    let best = |figure: fn(&PointDocument) -> Option<Span>| {
        let known = synchronous.iter().flatten().filter_map(|(way, point)| Some((*way, figure(point)?)));
        known.min_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate))
    };
    let (way, call) = best(measured)?;
    let mut each: Vec<(u64, &PointDocument)> = facts
        .points()
        .filter(|p| p.path == PATH && p.variant == "async")
        .filter(|p| p.params.get(ON_ONE.0).is_some_and(|v| v.to_string() == ON_ONE.1))
        .filter_map(|p| match p.params.get("concurrency") {
            Some(Value::Int(n)) => Some((*n, p)),
            _ => None,
        })
        .collect();
    each.sort_by_key(|(n, _)| *n);
    let costs: Vec<(u64, Span)> =
        each.iter().map(|(n, p)| Some((*n, measured(p)?))).collect::<Option<_>>()?;
    let (most, at_most) = *costs.last()?;
    let tried = costs.iter().map(|(n, _)| n.to_string()).collect::<Vec<_>>().join(", ");
    // From there on at every number that was tried: a single lucky one is no crossing.
    let pays = |costs: &[(u64, Span)], call: Span| {
        costs.iter().rev().take_while(|(_, ns)| ns.hi < call.lo).last().map(|(n, _)| *n)
    };
    let Some(from) = pays(&costs, call) else {
        // Even the cheapest that was tried is certainly dearer.
        let dearer = sure(at_most.over(call)?)?;
        return (dearer.lo > 1.0).then(|| {
            let text = format!(
                "On one core asynchronous requests never pay here, of {tried} at once: with {most} each costs {} as much as by {way} ({}).",
                times(&dearer),
                time(call.estimate)
            );
            Said::new(text, dearer.lo)
        });
    };
    let cheaper = sure(call.over(at_most)?)?;
    let foretold: Option<Vec<(u64, Span)>> = each.iter().map(|(n, p)| Some((*n, foretold(p)?))).collect();
    let foretold = foretold.zip(best(self::foretold)).and_then(|(each, (_, call))| {
        let cheaper = each.iter().rev().take_while(|(_, ns)| ns.estimate < call.estimate);
        cheaper.last().map(|(n, _)| format!(", foretold {n}"))
    });
    Some(Said::new(
        format!(
            "On one core asynchronous requests pay from {from} at once on, of {tried}{}: with {most} each costs {}, by {way}, the best synchronous \
             way, {}: {}.",
            foretold.unwrap_or_default(),
            time(at_most.estimate),
            time(call.estimate),
            times(&cheaper)
        ),
        cheaper.lo,
    ))
}

fn measured(point: &PointDocument) -> Option<Span> {
    point.median.map(|median| median.ns)
}

fn foretold(point: &PointDocument) -> Option<Span> {
    point.prediction.as_ref().map(|prediction| prediction.ns)
}

/// What a message costs through a network stack in a program, by tasks and by threads.
pub(super) fn stack(facts: &Facts<'_>) -> Option<Said> {
    let by = |variant| facts.takes(PATH, variant, &[]);
    let (tasks, threads) = (by("tcp-async")?, by("tcp-sync")?);
    let slower = sure(threads.over(tasks)?)?;
    (slower.lo > 1.0).then(|| {
        let text = format!(
            "A message through a network stack in a process of its own takes {} by rings and tasks, {} by sockets and threads: {}.",
            time(tasks.estimate),
            time(threads.estimate),
            times(&slower)
        );
        Said::new(text, slower.lo)
    })
}
