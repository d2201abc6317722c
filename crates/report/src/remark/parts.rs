//! Rules about the parts of a machine: its disk, memory, network and processors, and a service that uses them.

use super::{Facts, Said, sure, times};
use crate::document::{PointDocument, Span};
use crate::number::{count, rate, time};

const PATH: &str = "machine";

/// The rate of a point in that unit; `None` where it is of no use.
fn rate_of(point: &PointDocument, unit: &str) -> Option<Span> {
    sure(point.rates.iter().find(|rate| rate.unit == unit)?.per_second)
}

fn disk(facts: &Facts<'_>, pattern: &str, size: &str, unit: &str) -> Option<Span> {
    rate_of(facts.point(PATH, "disk", &[("pattern", pattern), ("size", size)])?, unit)
}

/// What it costs to know that a block is there to stay, in blocks that the disk takes in that time where nobody waits for that.
pub(super) fn durable(facts: &Facts<'_>) -> Option<Said> {
    let durable = facts.takes(PATH, "fsync", &[])?;
    let writes = disk(facts, "write", "4096", "IO/s")?;
    let seconds = durable.times(1e-9);
    let meanwhile = Span {
        estimate: writes.estimate * seconds.estimate,
        lo: writes.lo * seconds.lo,
        hi: writes.hi * seconds.hi,
    };
    // Each of the two may be off by less than twice, and so their product by less than four times.
    (meanwhile.lo > 1.0).then(|| {
        let text = format!(
            "To know that a block is there to stay takes {}; in that time the disk takes {} writes of 4 KiB [{}, {}] that nobody waits for.",
            time(durable.estimate),
            count(meanwhile.estimate),
            count(meanwhile.lo),
            count(meanwhile.hi)
        );
        Said::new(text, meanwhile.lo)
    })
}

/// What large blocks bring more than small ones.
pub(super) fn block_size(facts: &Facts<'_>) -> Option<Said> {
    let of = |pattern| {
        let small = facts.point(PATH, "disk", &[("pattern", pattern), ("size", "4096")])?;
        let large = facts.beside(small, "size").find(|p| p.params["size"].to_string() == "1048576")?;
        let (small, large) = (rate_of(small, "B/s")?, rate_of(large, "B/s")?);
        Some((pattern, small, large, sure(large.over(small)?)?))
    };
    let both = ["read", "write"].into_iter().filter_map(of).filter(|(.., more)| more.lo > 1.0);
    let (pattern, small, large, more) = both.max_by(|(.., a), (.., b)| a.lo.total_cmp(&b.lo))?;
    let text = format!(
        "In blocks of 1 MiB the disk {} {} as much as in blocks of 4 KiB: {} against {}.",
        if pattern == "read" { "reads" } else { "writes" },
        times(&more),
        rate(large.estimate, "B/s"),
        rate(small.estimate, "B/s")
    );
    Some(Said::new(text, more.lo))
}

/// What the network within the machine carries, against a copy in memory.
pub(super) fn network_and_memory(facts: &Facts<'_>) -> Option<Said> {
    let network = facts.point(PATH, "tcp-streams", &[("between", "loopback")])?;
    let network = rate_of(network, "bit/s")?.times(1.0 / 8.0);
    // STREAM counts what is read and what is written.
    let copied = rate_of(facts.point(PATH, "stream", &[("kernel", "copy")])?, "B/s")?.times(0.5);
    let more = sure(copied.over(network)?)?;
    (more.lo > 1.0).then(|| {
        let text = format!(
            "TCP within the machine carries {}; a thread copies memory at {} as much, {}.",
            rate(network.estimate, "B/s"),
            times(&more),
            rate(copied.estimate, "B/s")
        );
        Said::new(text, more.lo)
    })
}

/// What a small service answers, and how much longer the last of a hundred waits than most.
pub(super) fn service(facts: &Facts<'_>) -> Option<Said> {
    let point =
        facts.point(PATH, "service", &[("of", "all")]).or_else(|| facts.point(PATH, "service", &[]))?;
    let answered = rate_of(point, "requests/s")?;
    let (median, p99) = (sure(point.median?.ns)?, sure(point.p99?.ns)?);
    let longer = sure(p99.over(median)?)?;
    let clients = point.params.get("clients").map(|n| format!(" of {n} clients")).unwrap_or_default();
    let text = format!(
        "A small web service with its database answers {} requests/s{clients}: half of them within {}, 99 of 100 within {}, {} as long.",
        count(answered.estimate),
        time(median.estimate),
        time(p99.estimate),
        times(&longer)
    );
    Some(Said::new(text, longer.lo))
}

/// What all processors compute more than one: as many threads as there is any use in.
pub(super) fn threads(facts: &Facts<'_>) -> Option<Said> {
    let one = facts.point(PATH, "events", &[("threads", "1")])?;
    let number = |p: &PointDocument| p.params.get("threads")?.to_string().parse::<u64>().ok();
    let others = facts.beside(one, "threads").filter_map(|p| Some((number(p)?, rate_of(p, "events/s")?)));
    let (one, mut others) = (rate_of(one, "events/s")?, others.collect::<Vec<_>>());
    // Threads beyond the processors share them, and do no more than fewer did.
    let (_, most) = *others.iter().max_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate))?;
    others.sort_by_key(|(threads, _)| *threads);
    let (threads, all) = others.into_iter().find(|(_, rate)| rate.hi >= most.lo)?;
    let more = sure(all.over(one)?)?;
    let even = threads as f64;
    (more.hi < 0.9 * even).then(|| {
        let text = format!(
            "{threads} threads compute {} as much as one, not {threads} ×: {} events/s against {}.",
            times(&more),
            count(all.estimate),
            count(one.estimate)
        );
        Said::new(text, even / more.hi)
    })
}
