//! Rules about what crossings cost.

use tollway_core::{Boundary, Crossing, Placement, TenantKind, Warmth};

use super::{Facts, Said, sure, times};
use crate::number::{percent, time};

/// How well the law of those who share something holds.
pub(super) fn sharing(facts: &Facts<'_>) -> Option<Said> {
    let curve = facts.document.sharing.iter().find(|curve| curve.points.len() > 2)?;
    let (first, last) = (curve.points.first()?, curve.points.last()?);
    let errors = curve.error.as_ref().unwrap_or(&curve.unscaled_error);
    let starved = match curve.starved_trials {
        0 => "nobody got nothing".into(),
        n => format!("in {n} trials somebody got nothing"),
    };
    let text = format!(
        "What each of {} to {} tenants gets was predicted from two caps, min(c₁, C/n): it is off by {} in the median, by {} at most (with {}); {starved}.",
        first.tenants,
        last.tenants,
        percent(errors.median),
        percent(errors.greatest),
        errors.greatest_at
    );
    Some(Said::new(text, last.tenants as f64 / first.tenants.max(1) as f64))
}

/// The dearest crossing, in system calls; two whose intervals overlap share the place.
pub(super) fn dearest(facts: &Facts<'_>) -> Option<Said> {
    let mut tolls: Vec<_> =
        facts.tolls().filter(|(key, ..)| key.crossing.boundary() != Boundary::Floor).collect();
    tolls.sort_by(|(_, a, _), (_, b, _)| b.estimate.total_cmp(&a.estimate));
    let [(first, ns, point), (_, next, other), ..] = tolls.as_slice() else { return None };
    if first.crossing == Crossing::Getppid {
        return None;
    }
    let (calls, effect) = facts.in_calls(*ns)?;
    let text = if ns.lo > next.hi {
        format!("The dearest crossing is {}: {}, which is {calls}.", point.title, time(ns.estimate))
    } else {
        format!(
            "The dearest crossings are {} and {}, not separable: {}, which is {calls}.",
            point.title,
            other.title,
            time(ns.estimate)
        )
    };
    Some(Said::new(text, effect))
}

/// A wake-up across cores against one on the same core, of the first way to wake that has both.
pub(super) fn wake_across_cores(facts: &Facts<'_>) -> Option<Said> {
    let ways =
        [Crossing::Futex, Crossing::Eventfd, Crossing::Pipe, Crossing::UnixStream, Crossing::UnixSeqpacket];
    let (way, same, across) = ways.into_iter().find_map(|way| {
        let at = |placement| facts.toll(way, |key| key.placement == Some(placement)).map(|(_, ns)| ns);
        Some((way, at(Placement::Same)?, at(Placement::Across)?))
    })?;
    let calls = facts.in_calls(across).map(|(calls, _)| format!(", {calls}")).unwrap_or_default();
    let dearer = sure(across.over(same)?)?;
    let cheaper = same.over(across)?;
    let (text, effect) = if dearer.lo > 1.0 {
        let text = format!(
            "Waking another core costs {} as much as switching on the same one ({}: {} against {}){calls}.",
            times(&dearer),
            way.title(),
            time(across.estimate),
            time(same.estimate)
        );
        (text, dearer.lo)
    } else if cheaper.lo > 1.0 {
        let text = format!(
            "Waking another core is cheaper here than switching on the same one, {} ({}: {} against {}){calls}.",
            times(&cheaper),
            way.title(),
            time(across.estimate),
            time(same.estimate)
        );
        (text, cheaper.lo)
    } else {
        return None;
    };
    Some(Said::new(text, effect))
}

/// An exit of a virtual machine in system calls, and what polling memory saves.
pub(super) fn vm_exit(facts: &Facts<'_>) -> Option<Said> {
    let (exit, ns) = [Crossing::ExitInside, Crossing::ExitMmio, Crossing::ExitPort, Crossing::ExitCpuid]
        .into_iter()
        .find_map(|exit| Some((exit, facts.price(exit)?)))?;
    let (calls, effect) = facts.in_calls(ns)?;
    let mut text = format!("A VM exit costs {calls}: {} for “{}”", time(ns.estimate), exit.title());
    let polled =
        facts.tolls_in(Some(TenantKind::MicroGuest)).find(|(key, ..)| key.crossing == Crossing::CacheLine);
    let polled = polled.and_then(|(_, polled, _)| Some((polled, sure(ns.over(polled)?)?)));
    if let Some((polled, less)) = polled
        && less.lo > 1.0
    {
        text += &format!(
            "; a guest that polls memory answers in {}, {} less",
            time(polled.estimate),
            times(&less)
        );
    }
    Some(Said::new(text + ".", effect))
}

/// From how many at once io_uring beats a system call.
pub(super) fn io_uring_break_even(facts: &Facts<'_>) -> Option<Said> {
    let call = facts.price(Crossing::Getppid)?;
    let mut by_depth: Vec<_> = facts
        .tolls()
        .filter(|(key, ..)| key.crossing == Crossing::IoUringNop && key.kind.is_none())
        .filter_map(|(key, ns, _)| Some((key.depth?, ns)))
        .collect();
    by_depth.sort_by_key(|(depth, _)| *depth);
    let (deepest, at_deepest) = by_depth.last()?;
    // From there on at every depth that was measured: a single lucky one is no break-even.
    let wins = by_depth.iter().rev().take_while(|(_, ns)| ns.hi < call.lo).last();
    match wins {
        Some((depth, ns)) => {
            let rest = match depth == deepest {
                true => String::new(),
                false => format!(", {} with {deepest}", time(at_deepest.estimate)),
            };
            let text = format!(
                "An io_uring operation is cheaper than a system call ({}) from {depth} at once on, of the depths tried: {}{rest}.",
                time(call.estimate),
                time(ns.estimate)
            );
            Some(Said::new(text, call.over(*at_deepest)?.lo))
        }
        None if at_deepest.lo > call.hi => {
            let text = format!(
                "An io_uring operation never gets cheaper than a system call here: {} with {deepest} at once against {}.",
                time(at_deepest.estimate),
                time(call.estimate)
            );
            Some(Said::new(text, at_deepest.over(call)?.lo))
        }
        None => None,
    }
}

/// What reading the clock without the kernel saves.
pub(super) fn clock_without_kernel(facts: &Facts<'_>) -> Option<Said> {
    let monotonic = |crossing| {
        let kind = facts.toll(crossing, |key| key.kind.as_deref() == Some("monotonic"));
        kind.map(|(_, ns)| ns).or_else(|| facts.price(crossing))
    };
    let (vdso, raw) = (monotonic(Crossing::ClockVdso)?, monotonic(Crossing::ClockRaw)?);
    let saved = sure(raw.over(vdso)?)?;
    if saved.lo > 1.0 {
        let text = format!(
            "Asking the kernel for the time costs {} as much as reading it through the vDSO: {} against {}.",
            times(&saved),
            time(raw.estimate),
            time(vdso.estimate)
        );
        Some(Said::new(text, saved.lo))
    } else if saved.hi < 1.25 {
        let text = format!(
            "The vDSO saves nothing here ({} against {} by a system call): it falls back to the kernel → look at the \
             clock source, `tsc` is the one that needs no kernel.",
            time(vdso.estimate),
            time(raw.estimate)
        );
        Some(Said::new(text, 1.0))
    } else {
        None
    }
}

/// What memory out of cache costs a copy, at the size where it costs most.
pub(super) fn cold_copy(facts: &Facts<'_>) -> Option<Said> {
    let copies = || facts.tolls().filter(|(key, ..)| key.crossing == Crossing::Copy);
    let hot_of =
        |size| copies().find(|(k, ..)| k.size == size && k.warmth == Some(Warmth::Hot)).map(|(_, ns, _)| ns);
    let (dearer, cold, hot, key) = copies()
        .filter(|(key, ..)| key.warmth == Some(Warmth::Cold))
        .filter_map(|(key, cold, _)| {
            let hot = hot_of(key.size)?;
            Some((sure(cold.over(hot)?)?, cold, hot, key))
        })
        .filter(|(dearer, ..)| dearer.lo > 1.0)
        .max_by(|(a, ..), (b, ..)| a.estimate.total_cmp(&b.estimate))?;
    let size = key.size.map(|n| format!(" of {}", iec(n))).unwrap_or_default();
    let text = format!(
        "A copy{size} out of cold memory costs {} as much as one out of cache: {} against {}.",
        times(&dearer),
        time(cold.estimate),
        time(hot.estimate)
    );
    Some(Said::new(text, dearer.lo))
}

/// A size in IEC units where it is whole, else in bytes.
fn iec(bytes: u64) -> String {
    match bytes {
        n if n > 0 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n > 0 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// What the two generators of the processor yield to one core.
pub(super) fn shared_entropy(facts: &Facts<'_>) -> Option<Said> {
    let (rdrand, rdseed) = (facts.price(Crossing::Rdrand)?, facts.price(Crossing::Rdseed)?);
    let dearer = sure(rdseed.over(rdrand)?)?;
    // Both yield 8 bytes an operation; 8 bytes in a nanosecond are 8000 MB/s.
    let rate = |ns: f64| format!("{} MB/s", crate::number::plain(8000.0 / ns));
    (dearer.lo > 1.0).then(|| {
        let text = format!(
            "RDSEED costs {} as much as RDRAND: one core draws {} of seed against {} of random numbers.",
            times(&dearer),
            rate(rdseed.estimate),
            rate(rdrand.estimate)
        );
        Said::new(text, dearer.lo)
    })
}
