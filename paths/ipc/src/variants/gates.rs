//! The bill of a round trip: messages, what the server works, and each switch, sleep and wake-up.
//!
//! On one core everything is in the figure that either end does. On two the slower end is: messages are billed as they cost there with as many on their
//! way and both ends awake, and what either end does besides is unexplained, less than nothing where it is done while the other works.

use tollway_core::{Crossing, Gate, Placement, TollKey, Visits};

use super::counted::{CALLING, SLEEPING, YIELDING};
use super::{CLIENT, SERVER};
use crate::setting::{Setting, Way};
use crate::tolls;

/// The gates of a round trip.
pub(super) fn of(setting: &Setting, placement: Placement) -> Vec<Gate> {
    // Who has a core to itself stays on it: it costs a call that does nothing.
    let switches = match placement {
        Placement::Same => Gate::counted(YIELDING, CLIENT).toll(tolls::switching()),
        Placement::Across => Gate::counted(CALLING, CLIENT).toll(TollKey::of(Crossing::Getppid)),
    };
    let sleeps = |toll| Gate::counted(SLEEPING, CLIENT).toll(toll);
    let mut gates = match setting.way {
        Way::Slow => calls(setting, placement),
        Way::Fast => {
            let futex = sleeps(tolls::futex(placement));
            let lines = (placement == Placement::Across).then(|| handing_over(setting));
            lines.into_iter().flatten().chain([switches, futex]).collect()
        }
        Way::Ring | Way::Tasks => {
            let shares = tolls::shares(tolls::depths(placement), setting.requests as u32);
            let messages = shares.map(|(depth, share)| {
                let toll = tolls::message(setting.way, placement, setting.size, depth);
                Gate::new(format!("request and reply, as with {depth} at once"), CLIENT, toll)
                    .visits(Visits::Fixed(share))
            });
            let toll = tolls::noticing(setting, placement);
            let sleeps = match placement {
                Placement::Same if setting.sleeps_at_once() => sleeps(toll).visits(taking_turns(setting)),
                _ => sleeps(toll),
            };
            messages.chain([switches, sleeps]).collect()
        }
    };
    gates.extend(tolls::labour(setting.load).map(|(name, key)| Gate::new(name, SERVER, key)));
    gates
}

/// Two ends that sleep at once take turns on their core: each does all there is for it, then the other. Sleeps are fewer, as who wakes the other may have to
/// give way to it at once, and finds something to do when it comes back; so it is with the toll, too.
fn taking_turns(setting: &Setting) -> Visits {
    Visits::Fixed(1.0 / setting.requests as f64)
}

/// Datagrams there and back, and what is added by many threads. Several on two cores are billed to an end's core, which does half of all.
fn calls(setting: &Setting, placement: Placement) -> Vec<Gate> {
    if setting.requests == 1 {
        return vec![Gate::new("datagrams there and back", CLIENT, tolls::datagrams(setting, placement))];
    }
    let (name, half) = match placement {
        Placement::Same => ("datagrams there and back", 1.0),
        Placement::Across => ("an end's half of datagrams there and back", 0.5),
    };
    let alone = tolls::datagrams(setting, Placement::Same);
    let more = half * tolls::crowd_share(setting.requests);
    vec![
        Gate::new(name, CLIENT, alone.clone()).visits(Visits::Fixed(half)),
        Gate::new("what many threads add", CLIENT, tolls::crowding(setting))
            .less(alone)
            .visits(Visits::Fixed(more)),
    ]
}

/// The turn and the message, which lies in a line of its own; and what both ends do with it.
fn handing_over(setting: &Setting) -> [Gate; 2] {
    [
        Gate::new("turn and message there and back", CLIENT, tolls::line()).visits(Visits::Fixed(2.0)),
        Gate::new("request and reply", CLIENT, tolls::copying(setting)),
    ]
}
