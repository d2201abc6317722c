//! Sleeps, wake-ups, switches, faults and signals of programs of which it is known how many they have.

use std::process::Command;

use crate::alone;
use crate::common::{Killed, same};
use crate::eventually::eventually;
use crate::kernel::{counted, sum};
use procfs::FromRead;
use procfs::process::Status;
use tollway_host::requirement::skip_test;
use tollway_watch::{Calls, Counts, FileKind, Moments};

const ROUNDS: u64 = 4000;

fn of_calls(counts: &Counts, of: fn(&Calls) -> Option<u64>) -> u64 {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls.filter(|calls| calls.file.kind == FileKind::Pipe).filter_map(of).sum()
}

/// Of two numbers that differ by chance now and then.
fn near(what: &str, found: u64, expected: u64, slack: u64) {
    assert!(found.abs_diff(expected) <= slack, "{what}: {found}, and not {expected} ± {slack}");
}

#[test]
fn a_ping_pong_on_one_processor() {
    let _alone = alone();
    let Some(counts) = same().and_then(|same| counted(same, &["ping-here", &ROUNDS.to_string()])) else {
        return;
    };
    // Who is displaced just where it would have waited need not wait any more.
    let displaced = sum(&counts, |moments| moments.involuntary);
    let slack = displaced + ROUNDS / 50;
    near("switches", sum(&counts, |moments| moments.voluntary), 2 * ROUNDS, slack);
    near("sleeps", of_calls(&counts, |calls| calls.slept), 2 * ROUNDS, slack);
    near("wake-ups made", of_calls(&counts, |calls| calls.woke_here), 2 * ROUNDS, slack);
    near("wake-ups had", sum(&counts, |moments| moments.woken_here), 2 * ROUNDS, slack);
    near("across", sum(&counts, |moments| moments.woken_across), 0, 20);
    near("across, made", of_calls(&counts, across), 0, 20);
    assert!(displaced < ROUNDS / 10, "{displaced}");
}

#[test]
fn a_ping_pong_across_two_processors() {
    let _alone = alone();
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        skip_test(&["cores"], &"two processors");
        return;
    }
    let Some(counts) = same().and_then(|same| counted(same, &["ping-across", &ROUNDS.to_string()])) else {
        return;
    };
    let voluntary = sum(&counts, |moments| moments.voluntary);
    let (made, had) = (of_calls(&counts, across), sum(&counts, |moments| moments.woken_across));
    println!("{voluntary} switches, {made} wake-ups made, {had} had");
    // Who finds the byte there already does not wait: as often as the other was not displaced.
    assert!(voluntary <= 2 * ROUNDS + 50 && voluntary > ROUNDS / 2, "{voluntary}");
    near("sleeps", of_calls(&counts, |calls| calls.slept), voluntary, voluntary / 50 + 50);
    near("wake-ups made and had", made, had, had / 50 + 50);
    near("wake-ups and sleeps", had, voluntary, voluntary / 20 + 50);
    // An interrupt that comes in a call wakes as if the call did, more often where others are busy.
    let here = of_calls(&counts, |calls| calls.woke_here);
    assert!(here < made / 4, "{here} here, {made} across");
}

/// Wake-ups of those who had slept on another processor, idle or not.
fn across(calls: &Calls) -> Option<u64> {
    Some(calls.woke_across? + calls.woke_busy?)
}

/// Who is woken on a processor that has something else to do is told from who is woken on an idle one.
#[test]
fn a_ping_pong_across_two_processors_that_are_busy() {
    let _alone = alone();
    let Some(same) = same() else { return };
    let spinner = |core: usize| {
        let mut command = Command::new("taskset");
        command.args(["-c", &core.to_string(), "chrt", "--idle", "0", "sh", "-c", "while :; do :; done"]);
        Killed(command.spawn().unwrap())
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if cores < 2 {
        skip_test(&["cores"], &"two processors");
        return;
    }
    let spinners: Vec<Killed> = (0..cores).map(spinner).collect();
    let spins = |one: &Killed| {
        let status = Status::from_file(format!("/proc/{}/status", one.0.id())).unwrap();
        status.name == "sh" && status.state.starts_with('R')
    };
    eventually("each has something to do", || spinners.iter().all(spins));
    let Some(counts) = counted(same, &["ping-across", &ROUNDS.to_string()]) else { return };
    let [idle, busy] =
        [of_calls(&counts, |calls| calls.woke_across), of_calls(&counts, |calls| calls.woke_busy)];
    println!("{idle} of idle ones, {busy} of busy ones");
    assert!(busy > 10 * idle && busy > ROUNDS / 10, "{busy} and {idle}");
}

#[test]
fn faults_on_fresh_pages() {
    let _alone = alone();
    for what in ["faults", "faults-in-a-child"] {
        let minor = |pages: &str| {
            let counts = same().and_then(|same| counted(same, &[what, pages]))?;
            Some(sum(&counts, |moments| moments.minor))
        };
        let (Some(few), Some(many)) = (minor("100"), minor("20100")) else { return };
        near(what, many - few, 20_000, 20);
    }
}

/// What a fault is on decides of its price, and stamps of calls have those that came within them.
#[test]
fn faults_by_what_they_are_on() {
    const PAGES: u64 = 5_000;
    let _alone = alone();
    let all = |pages: u64| {
        let counts = same().and_then(|same| counted(same, &["faults-of-kinds", &pages.to_string()]))?;
        let of = |moment: fn(&Moments) -> Option<u64>| sum(&counts, moment);
        Some([of(|all| all.minor), of(|all| all.in_user), of(|all| all.reading), of(|all| all.copying)])
    };
    let (Some(few), Some(many)) = (all(100), all(100 + PAGES)) else { return };
    for (at, (what, times)) in
        [("all", 3), ("in user mode", 2), ("reading", 1), ("copying", 1)].iter().enumerate()
    {
        near(what, many[at] - few[at], times * PAGES, 20);
    }
}
