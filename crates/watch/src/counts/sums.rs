//! Sums and differences of what was counted.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Calls, Counted, Counts, Moments, Paths, Thread};

impl Counts {
    /// What was counted since an earlier moment of the same watching.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let extra = since(&self.extra, &earlier.extra);
        Counts {
            threads: since(&self.threads, &earlier.threads),
            uncertainty: self.uncertainty_since(earlier, &extra),
            extra,
            watched: self.watched.saturating_sub(earlier.watched),
            counted: self.counted.saturating_sub(earlier.counted),
            numbered: self.numbered.saturating_sub(earlier.numbered),
            cost: self.cost.saturating_sub(earlier.cost),
            lost: self.lost.saturating_sub(earlier.lost),
        }
    }

    /// By how much what was estimated since an earlier moment may be off. The gaps between slices are apart from each other, so their squares add up;
    /// and each has its share at least of what they have in common.
    fn uncertainty_since(&self, earlier: &Counts, extra: &[Thread]) -> BTreeMap<Counted, f64> {
        let (all, since) = (in_sum(&self.extra), in_sum(extra));
        let of = |key: &Counted, half: &f64| {
            let estimated = since.get(key).copied().filter(|count| *count > 0.0)?;
            let before = earlier.uncertainty.get(key).copied().unwrap_or(0.0);
            let apart = (half * half - before * before).max(0.0).sqrt();
            let share = estimated / all.get(key).copied().unwrap_or(estimated);
            Some((*key, apart.max(half * share.min(1.0))))
        };
        self.uncertainty.iter().filter_map(|(key, half)| of(key, half)).collect()
    }

    /// The same, where whoever was watched ended so long ago.
    pub fn ended(self, ago: Duration) -> Counts {
        let watched = self.watched.saturating_sub(ago);
        Counts { watched, counted: self.counted.min(watched), ..self }
    }

    /// What the threads did in all, also while it was not counted.
    pub fn in_all(&self) -> Vec<Thread> {
        let mut all = self.threads.clone();
        for (thread, extra) in all.iter_mut().zip(&self.extra) {
            thread.add(extra);
        }
        all
    }
}

/// What threads did of what is counted in slices.
fn in_sum(threads: &[Thread]) -> BTreeMap<Counted, f64> {
    let mut sums = BTreeMap::new();
    let mut add = |what, count: Option<u64>| *sums.entry(what).or_default() += count.unwrap_or(0) as f64;
    for thread in threads {
        for calls in &thread.calls {
            add(Counted::Call(calls.number, calls.file.kind), Some(calls.count));
            add(Counted::WakesHere, calls.woke_here);
            add(Counted::WakesAcross, calls.woke_across);
            add(Counted::WakesBusy, calls.woke_busy);
        }
        let moments = &thread.moments;
        add(Counted::WokenHere, moments.woken_here);
        add(Counted::WokenAcross, moments.woken_across);
        add(Counted::FaultsInUser, moments.in_user);
        add(Counted::Signals, moments.signals);
        add(Counted::Interrupts, moments.interrupts);
        add(Counted::Ticks, moments.ticks);
        add(Counted::Operations, moments.operations);
        add(Counted::Exits, moments.exits);
    }
    sums
}

/// What threads did since an earlier moment, in their order. One that has ended since is among those of its name then.
fn since(threads: &[Thread], earlier: &[Thread]) -> Vec<Thread> {
    let mut left = threads.to_vec();
    for before in earlier {
        let same = |one: &Thread| before.number != 0 && one.number == before.number;
        let alike = |one: &Thread| one.number == 0 && one.name == before.name;
        let tests: [&dyn Fn(&Thread) -> bool; 3] = [&same, &alike, &|one| one.number == 0];
        let at = tests
            .iter()
            .find_map(|test| left.iter().position(|one| one.process == before.process && test(one)));
        if let Some(at) = at {
            left[at] = left[at].since(before);
        }
    }
    left
}

impl Thread {
    /// Adds what another thread did.
    pub fn add(&mut self, other: &Thread) {
        // Of a first one nothing has to be looked for: it may have calls on files by the ten thousand.
        let others: &[Calls] = match self.calls.is_empty() {
            true => {
                self.calls.clone_from(&other.calls);
                &[]
            }
            false => &other.calls,
        };
        for calls in others {
            match self.calls.iter_mut().find(|same| (same.number, same.file) == (calls.number, calls.file)) {
                Some(same) => same.add(calls),
                None => self.calls.push(calls.clone()),
            }
        }
        self.moments.add(&other.moments);
        self.user = sum(self.user, other.user);
        self.system = sum(self.system, other.system);
        self.ran = sum(self.ran, other.ran);
    }

    fn since(&self, earlier: &Thread) -> Thread {
        let before = |calls: &Calls| {
            let same = |one: &&Calls| (one.number, one.file) == (calls.number, calls.file);
            earlier.calls.iter().find(same).cloned().unwrap_or_default()
        };
        let calls =
            self.calls.iter().map(|calls| calls.since(&before(calls))).filter(|calls| calls.count > 0);
        let time = |now, then| less(now, then, Duration::saturating_sub);
        Thread {
            number: self.number,
            process: self.process,
            name: self.name.clone(),
            is_kernel_worker: self.is_kernel_worker,
            calls: calls.collect(),
            moments: self.moments.since(&earlier.moments),
            user: time(self.user, earlier.user),
            system: time(self.system, earlier.system),
            ran: time(self.ran, earlier.ran),
        }
    }
}

impl Calls {
    fn since(&self, earlier: &Calls) -> Calls {
        let count = |now, then| less(now, then, u64::saturating_sub);
        let time = |now, then| less(now, then, Duration::saturating_sub);
        Calls {
            number: self.number,
            file: self.file,
            count: self.count.saturating_sub(earlier.count),
            failed: count(self.failed, earlier.failed),
            results: count(self.results, earlier.results),
            inside: time(self.inside, earlier.inside),
            away: time(self.away, earlier.away),
            slept: count(self.slept, earlier.slept),
            woke_here: count(self.woke_here, earlier.woke_here),
            woke_across: count(self.woke_across, earlier.woke_across),
            woke_busy: count(self.woke_busy, earlier.woke_busy),
            paths: less(self.paths, earlier.paths, Paths::less),
            paths_failed: less(self.paths_failed, earlier.paths_failed, Paths::less),
        }
        .with_failures_among_them()
    }

    /// No more failures than calls. The kernel's programs count on while they are read: a call that came between the
    /// two words is in the second alone. And what was estimated is rounded by each word.
    pub(crate) fn with_failures_among_them(self) -> Calls {
        Calls { failed: self.failed.map(|failed| failed.min(self.count)), ..self }
    }

    /// Those that did not fail, or of which it is not known.
    pub fn done(&self) -> u64 {
        self.count.saturating_sub(self.failed.unwrap_or(0))
    }

    /// Adds other calls of that number on that file.
    pub fn add(&mut self, other: &Calls) {
        self.count += other.count;
        self.failed = sum(self.failed, other.failed);
        self.results = sum(self.results, other.results);
        self.inside = sum(self.inside, other.inside);
        self.away = sum(self.away, other.away);
        self.slept = sum(self.slept, other.slept);
        self.woke_here = sum(self.woke_here, other.woke_here);
        self.woke_across = sum(self.woke_across, other.woke_across);
        self.woke_busy = sum(self.woke_busy, other.woke_busy);
        self.paths = sum(self.paths, other.paths);
        self.paths_failed = sum(self.paths_failed, other.paths_failed);
    }
}

impl Moments {
    fn since(&self, earlier: &Moments) -> Moments {
        let count = |now, then| less(now, then, u64::saturating_sub);
        Moments {
            voluntary: count(self.voluntary, earlier.voluntary),
            involuntary: count(self.involuntary, earlier.involuntary),
            woken_here: count(self.woken_here, earlier.woken_here),
            woken_across: count(self.woken_across, earlier.woken_across),
            minor: count(self.minor, earlier.minor),
            major: count(self.major, earlier.major),
            in_user: count(self.in_user, earlier.in_user),
            reading: count(self.reading, earlier.reading),
            copying: count(self.copying, earlier.copying),
            signals: count(self.signals, earlier.signals),
            interrupts: count(self.interrupts, earlier.interrupts),
            ticks: count(self.ticks, earlier.ticks),
            operations: count(self.operations, earlier.operations),
            exits: count(self.exits, earlier.exits),
            migrations: count(self.migrations, earlier.migrations),
        }
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Moments) {
        self.voluntary = sum(self.voluntary, other.voluntary);
        self.involuntary = sum(self.involuntary, other.involuntary);
        self.woken_here = sum(self.woken_here, other.woken_here);
        self.woken_across = sum(self.woken_across, other.woken_across);
        self.minor = sum(self.minor, other.minor);
        self.major = sum(self.major, other.major);
        self.in_user = sum(self.in_user, other.in_user);
        self.reading = sum(self.reading, other.reading);
        self.copying = sum(self.copying, other.copying);
        self.signals = sum(self.signals, other.signals);
        self.interrupts = sum(self.interrupts, other.interrupts);
        self.ticks = sum(self.ticks, other.ticks);
        self.operations = sum(self.operations, other.operations);
        self.exits = sum(self.exits, other.exits);
        self.migrations = sum(self.migrations, other.migrations);
    }
}

/// What grew since; what was not known earlier was nothing then.
fn less<T>(now: Option<T>, then: Option<T>, of: fn(T, T) -> T) -> Option<T> {
    match (now, then) {
        (Some(now), Some(then)) => Some(of(now, then)),
        (now, _) => now,
    }
}

/// Of two sums of which one may be unknown what is known.
fn sum<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::FileKind;

    /// Each second of `--live` had the interval of all the time before.
    #[test]
    fn what_was_estimated_since_is_uncertain_by_that_alone() {
        let key = Counted::Call(0, FileKind::None);
        let counts = |count: u64, half: f64| Counts {
            threads: vec![thread(8, "a", 10, 0)],
            extra: vec![thread(8, "a", count, 0)],
            uncertainty: BTreeMap::from([(key, half)]),
            ..Counts::default()
        };
        let half = |now: &Counts, then: &Counts| now.since(then).uncertainty.get(&key).copied();
        assert_eq!(half(&counts(2000, 50.0), &counts(1900, 30.0)), Some(40.0));
        // What all gaps have in common has its part in each.
        assert_eq!(half(&counts(2000, 50.0), &counts(1000, 50.0)), Some(25.0));
        // Nothing was estimated since.
        assert_eq!(half(&counts(2000, 50.0), &counts(2000, 50.0)), None);
        assert_eq!(half(&counts(2000, 50.0), &Counts::default()), Some(50.0));
    }

    fn thread(number: u32, name: &str, count: u64, voluntary: u64) -> Thread {
        Thread {
            number,
            process: 7,
            name: name.into(),
            calls: vec![Calls { count, ..Calls::default() }],
            moments: Moments { voluntary: Some(voluntary), signals: Some(count), ..Moments::default() },
            ran: Some(Duration::from_millis(count)),
            ..Thread::default()
        }
    }

    #[test]
    fn what_was_estimated_comes_on_top_of_what_was_counted() {
        let estimated = Thread { moments: Moments::default(), ran: None, ..thread(8, "a", 20, 0) };
        let counts = Counts {
            threads: vec![thread(8, "a", 110, 5), thread(9, "b", 20, 1)],
            extra: vec![estimated, Thread::default()],
            ..Counts::default()
        };
        let all = counts.in_all();
        assert_eq!(all.iter().map(|thread| thread.calls[0].count).collect::<Vec<_>>(), [130, 20]);
        // What the kernel counts at all times.
        assert_eq!((all[0].moments.voluntary, all[0].ran), (Some(5), Some(Duration::from_millis(110))));
    }

    #[test]
    fn one_that_has_ended_since_did_no_more_than_it_did() {
        let earlier =
            Counts { threads: vec![thread(8, "a", 100, 2), thread(9, "a", 10, 0)], ..Counts::default() };
        let now = Counts { threads: vec![thread(0, "a", 130, 3)], ..Counts::default() };
        let since = now.since(&earlier);
        assert_eq!((since.threads[0].calls[0].count, since.threads[0].moments.voluntary), (20, Some(1)));
    }
}
