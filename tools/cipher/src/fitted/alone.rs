//! The steps of a request, each measured by itself.

use tollway_cipher::twin::{Interruptions, Law, Parts, Wakes};
use tollway_core::{Params, Result, TrialSpec};
use tollway_store::{RunId, Store};

use super::asked::{Asked, At, PATH};
use super::observed::Observed;
use super::way::Way;

/// How each is measured.
pub const TRIAL: TrialSpec = TrialSpec { window_ms: 60.0, warmup_ms: 5.0, runs: 6, repeats: 1 };

/// How long sleeps are of which it is known what their end takes, in nanoseconds: the actors' own way there is in them.
const LONG: [(&str, f64); 5] = [("0us", 5e3), ("5us", 1e4), ("20us", 2.5e4), ("100us", 1.05e5), ("1ms", 1e6)];

/// Whoever has slept as long itself, and then wakes the other.
const AFTER_SLEEP: [(&str, f64); 3] = [("20us", 2.5e4), ("100us", 1.05e5), ("1ms", 1e6)];

/// And naps: whoever sleeps for less hardly does.
const NAPS: [(&str, f64); 2] = [("100us", 1e5), ("1ms", 1e6)];

/// What steps take alone.
#[derive(Clone, Debug)]
pub struct Alone {
    submit: Law,
    take: Law,
    /// To write the eventfd of one that sleeps in poll(2), and in epoll(7).
    poll_call: Wakes,
    epoll_call: Wakes,
    /// The same of tenants whose core is another's meanwhile.
    poll_call_shared: Wakes,
    epoll_call_shared: Wakes,
    /// What a sleep takes of such a core.
    poll_switch: Law,
    epoll_switch: Law,
    /// A tenant that sleeps in poll(2), called by a card that is at work; the same in epoll(7).
    poll: Wakes,
    epoll: Wakes,
    /// The card, kicked by a tenant that is at work, or has just woken up itself.
    kicked: Wakes,
    kicked_by_sleeper: Wakes,
    nap: Wakes,
    nap_idle: Wakes,
    /// Nanoseconds of the card a request, if it never sleeps.
    pub serve: f64,
}

/// The points to be measured for it.
///
/// # Errors
/// If a variant does not have what is asked of it.
pub fn points(asked: &Asked<'_>) -> Result<Vec<At>> {
    let mut steps = vec![asked.card(&Way::busy(), 0, 1, true)?];
    for variant in ["request-submit", "request-take"] {
        steps.push(laid(asked, variant)?);
    }
    for (long, _) in LONG {
        for sleep in ["poll-LONG-awake", "epoll-LONG-awake"] {
            steps.push(kind(asked, "kick-asleep", &sleep.replace("LONG", long))?);
        }
        for sleep in ["poll-LONG-awake", "epoll-LONG-awake"] {
            steps.push(kind(asked, "wake-late", &sleep.replace("LONG", long))?);
        }
    }
    for (long, _) in AFTER_SLEEP {
        steps.push(kind(asked, "wake-late", &format!("epoll-{long}-woken"))?);
    }
    for sleep in ["poll-20us-shared", "epoll-20us-shared"] {
        steps.push(kind(asked, "kick-asleep", sleep)?);
        steps.push(kind(asked, "sleep-wake", sleep)?);
    }
    for (long, _) in NAPS {
        for nap in ["nap-LONG", "nap-LONG-idle"] {
            steps.push(kind(asked, "wake-late", &nap.replace("LONG", long))?);
        }
    }
    Ok(steps)
}

fn laid(asked: &Asked<'_>, variant: &str) -> Result<At> {
    let params = Params::default().with("kind", asked.cipher).with("size", asked.size as u64);
    asked.at(PATH, variant, params)
}

fn kind(asked: &Asked<'_>, variant: &str, kind: &str) -> Result<At> {
    asked.at(PATH, variant, Params::default().with("kind", kind))
}

impl Alone {
    /// Reads what was measured.
    ///
    /// # Errors
    /// If a step could not be measured.
    pub fn read(asked: &Asked<'_>, store: &Store, run: RunId, hz: f64) -> anyhow::Result<Alone> {
        let observed = |at: At| Observed::read(store, run, &at, hz);
        let law = |at: At| Ok::<_, anyhow::Error>(undisturbed(&observed(at)?));
        // Of some machines a sleep so short is none: the others will do.
        let wakes = |variant: &str, how: &str| -> anyhow::Result<Wakes> {
            let long: &[(&str, f64)] = match how {
                "nap-LONG" | "nap-LONG-idle" => &NAPS,
                "epoll-LONG-woken" => &AFTER_SLEEP,
                _ => &LONG,
            };
            let wake =
                |(long, ns): &(&str, f64)| Ok((*ns, law(kind(asked, variant, &how.replace("LONG", long))?)?));
            let mut all: Vec<anyhow::Result<(f64, Law)>> = long.iter().map(wake).collect();
            if all.iter().all(Result::is_err) {
                return Err(all.remove(0).expect_err("all of them are"));
            }
            Ok(all.into_iter().flatten().collect())
        };
        let card = observed(asked.card(&Way::busy(), 0, 1, true)?)?;
        Ok(Alone {
            submit: law(laid(asked, "request-submit")?)?,
            take: law(laid(asked, "request-take")?)?,
            poll_call: wakes("kick-asleep", "poll-LONG-awake")?,
            epoll_call: wakes("kick-asleep", "epoll-LONG-awake")?,
            poll_call_shared: vec![(2.5e4, law(kind(asked, "kick-asleep", "poll-20us-shared")?)?)],
            epoll_call_shared: vec![(2.5e4, law(kind(asked, "kick-asleep", "epoll-20us-shared")?)?)],
            poll_switch: law(kind(asked, "sleep-wake", "poll-20us-shared")?)?,
            epoll_switch: law(kind(asked, "sleep-wake", "epoll-20us-shared")?)?,
            poll: wakes("wake-late", "poll-LONG-awake")?,
            epoll: wakes("wake-late", "epoll-LONG-awake")?,
            kicked: wakes("wake-late", "epoll-LONG-awake")?,
            kicked_by_sleeper: wakes("wake-late", "epoll-LONG-woken")?,
            nap: wakes("wake-late", "nap-LONG")?,
            nap_idle: wakes("wake-late", "nap-LONG-idle")?,
            serve: serve(&card),
        })
    }

    /// The parts of a request by that way, with a service of so many nanoseconds, on cores of which that is taken.
    pub fn parts(&self, way: &Way, serve: f64, cold: f64, taken: &Interruptions) -> Parts {
        let in_epoll = matches!(way.variant, "epoll" | "hybrid");
        let sleeps = way.variant != "busy" && way.variant != "hybrid";
        Parts {
            submit: self.submit.clone(),
            take: self.take.clone(),
            serve: Law::constant(serve),
            cold,
            kick: self.epoll_call.clone(),
            card: if sleeps { self.kicked_by_sleeper.clone() } else { self.kicked.clone() },
            call: if in_epoll { self.epoll_call.clone() } else { self.poll_call.clone() },
            call_shared: if in_epoll { &self.epoll_call_shared } else { &self.poll_call_shared }.clone(),
            switch: if in_epoll { &self.epoll_switch } else { &self.poll_switch }.clone(),
            tenant: if in_epoll { self.epoll.clone() } else { self.poll.clone() },
            nap: self.nap.clone(),
            nap_idle: self.nap_idle.clone(),
            rest: 0.0,
            interruptions: taken.clone(),
        }
    }
}

/// Nanoseconds that the card was at work for a request.
pub fn serve(card: &Observed) -> f64 {
    card.count("card_busy_nanoseconds") / card.count("card_requests").max(1.0)
}

/// What of a step's times is its own: in the others the machine took something, which is counted by itself.
const OWN: f64 = 0.98;

/// A step's times without those in which it was interrupted.
fn undisturbed(observed: &Observed) -> Law {
    let mut left = (OWN * observed.spread.samples() as f64).ceil() as u64;
    Law::seen(observed.seen().map_while(|(time, often)| {
        let often = often.min(left);
        left -= often;
        (often > 0).then_some((time, often))
    }))
}
