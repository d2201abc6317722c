//! Each end on a processor of its own: their steps in order of time.

use super::end::End;
use super::{Answer, OF_A_LINE, Parts, Question};

/// Round trips before it is counted: what is learnt is learnt by then.
const SETTLED: u64 = 4096;

/// Round trips that are counted.
const COUNTED: u64 = 16_384;

/// Rounds of as many as are on their way, at least.
const ROUNDS: u64 = 128;

/// The client and the server.
const CLIENT: usize = 0;
const SERVER: usize = 1;

pub(super) fn run(parts: &Parts, question: &Question) -> Answer {
    let mut ends = [CLIENT, SERVER].map(|_| End::new(question.patience, parts.call));
    // What it would have sent by itself.
    for _ in 0..question.requests.max(1) {
        ends[CLIENT].gets(0.0);
    }
    let mut twin = Twin { parts, question, ends, done: 0 };
    // Where in a round it is begun and stopped matters less than 1 %.
    let rounds = ROUNDS * u64::from(question.requests.max(1));
    twin.until(SETTLED.max(rounds));
    let before = twin.counts();
    twin.until(SETTLED.max(rounds) + COUNTED.max(rounds));
    let after = twin.counts();
    let per = |of: fn(&Counts) -> f64| (of(&after) - of(&before)) / (after.done - before.done);
    Answer {
        cost: per(|c| c.time),
        request_notices: per(|c| c.notices[CLIENT]),
        reply_notices: per(|c| c.notices[SERVER]),
        yields: per(|c| c.yields),
        sleeps: per(|c| c.sleeps),
    }
}

struct Twin<'q> {
    parts: &'q Parts,
    question: &'q Question,
    ends: [End; 2],
    /// Replies that the client has taken.
    done: u64,
}

struct Counts {
    done: f64,
    time: f64,
    notices: [f64; 2],
    yields: f64,
    sleeps: f64,
}

impl Twin<'_> {
    fn counts(&self) -> Counts {
        let sum = |of: fn(&End) -> u64| self.ends.iter().map(of).sum::<u64>() as f64;
        Counts {
            done: self.done as f64,
            time: self.ends[CLIENT].now,
            notices: [CLIENT, SERVER].map(|end| self.ends[end].notices as f64),
            yields: sum(|end| end.yields),
            sleeps: sum(|end| end.sleeps),
        }
    }

    fn until(&mut self, done: u64) {
        while self.done < done {
            let [client, server] = &self.ends;
            // Of two that could do something the one that is behind: what it does may be what the other finds. One always can.
            let who = match (client.is_waiting(), server.is_waiting()) {
                (false, true) => CLIENT,
                (true, false) => SERVER,
                _ if client.now <= server.now => CLIENT,
                _ => SERVER,
            };
            self.step(who);
        }
    }

    /// One message, or the end of a round, or a look whether the other end sleeps, or a wait: each is at the time at which it is.
    fn step(&mut self, who: usize) {
        let Parts { ask, answer, beside, round, passage, wake, late, .. } = *self.parts;
        let Question { requests, service, hints, .. } = *self.question;
        let [one, other] = match &mut self.ends {
            [client, server] if who == CLIENT => [client, server],
            [client, server] => [server, client],
        };
        if one.owes && (one.is_hinting || one.is_idle()) {
            (one.owes, one.is_hinting) = (false, false);
            if other.sleeps_at(one.now) {
                other.is_woken(one.now + late);
                one.now += wake;
                one.notices += 1;
            } else {
                other.is_left_awake();
            }
        } else if one.takes() {
            let beside = if requests <= OF_A_LINE && other.is_busy_at(one.now) { beside } else { 0.0 };
            one.now += beside + if who == CLIENT { ask } else { answer + service };
            other.gets(one.now + passage);
            (one.owes, one.is_hinting, one.is_in_round) = (true, hints && who == SERVER, true);
            self.done += u64::from(who == CLIENT);
        } else if one.is_in_round {
            one.now += round;
            one.is_in_round = false;
        } else {
            one.waits(other.owes);
        }
    }
}
