//! The bill of a round trip: messages, what the server works, and each switch, sleep and wake-up.
//!
//! On one core everything is in the figure that either end does. On two the slower end is: messages are billed as they cost there with as many on their
//! way and both ends awake, and what either end does besides is unexplained, less than nothing where it is done while the other works.
//!
//! What messages cost is a toll at few [depths]; with another number on their way they are billed in part as they cost at the depth below and in part
//! as at the one above, by the reciprocals: what is done once for all that are on their way has a share of 1 / n. So it is with what many threads
//! add to a datagram, by the logarithm of how many there are.

use tollway_core::{Crossing, Gate, Placement, TollKey, Visits};

use super::counted::{CALLING, SLEEPING, YIELDING};
use super::setting::{Setting, Way};
use super::{CLIENT, SERVER, crowd, labour, message, notice};

/// The depths at which messages are tolls. Of few all entries of a ring are in one cache line, which both ends write, so between cores there is one more.
pub(crate) fn depths(placement: Placement) -> &'static [u32] {
    match placement {
        Placement::Same => &[1, 64],
        Placement::Across => &[1, 8, 64],
    }
}

/// The gates of a round trip.
pub(super) fn of(setting: &Setting, placement: Placement) -> Vec<Gate> {
    // Who has a core to itself stays on it: it costs a call that does nothing.
    let switches = match placement {
        Placement::Same => Gate::counted(YIELDING, CLIENT).toll(switching()),
        Placement::Across => Gate::counted(CALLING, CLIENT).toll(TollKey::of(Crossing::Getppid)),
    };
    let sleeps = |toll| Gate::counted(SLEEPING, CLIENT).toll(toll);
    let mut gates = match setting.way {
        Way::Slow => calls(setting, placement),
        Way::Fast => {
            let futex = sleeps(TollKey::of(Crossing::Futex).placement(placement));
            let lines = (placement == Placement::Across).then(|| handing_over(setting));
            lines.into_iter().flatten().chain([switches, futex]).collect()
        }
        Way::Ring | Way::Tasks => {
            let shares = shares(depths(placement), setting.requests as u32);
            let messages = shares.map(|(depth, share)| {
                let toll = message::key(setting.way, placement, setting.size, depth);
                Gate::new(format!("request and reply, as with {depth} at once"), CLIENT, toll)
                    .visits(Visits::Fixed(share))
            });
            let toll = noticing(setting, placement);
            let sleeps = match placement {
                Placement::Same if setting.sleeps_at_once() => sleeps(toll).visits(taking_turns(setting)),
                _ => sleeps(toll),
            };
            messages.chain([switches, sleeps]).collect()
        }
    };
    gates.extend(labour::gates(setting.load).map(|(name, key)| Gate::new(name, SERVER, key)));
    gates
}

/// Two ends that sleep at once take turns on their core: each does all there is for it, then the other. Sleeps are fewer, as who wakes the other may have to
/// give way to it at once, and finds something to do when it comes back; so it is with the toll, too.
fn taking_turns(setting: &Setting) -> Visits {
    Visits::Fixed(1.0 / setting.requests as f64)
}

/// Of the depths below and above a number the share of each, where a cost is `each + once / n` between them. More than the last are as the last.
pub(crate) fn shares(depths: &[u32], requests: u32) -> impl Iterator<Item = (u32, f64)> {
    let after = depths.partition_point(|depth| *depth < requests).min(depths.len() - 1);
    let (above, below) = (depths[after], depths[after.saturating_sub(1)]);
    let part = |n: u32| 1.0 / f64::from(n);
    let share = match above == below {
        true => 0.0,
        false => ((part(requests) - part(above)) / (part(below) - part(above))).max(0.0),
    };
    [(below, share), (above, 1.0 - share)].into_iter().filter(|(_, share)| *share > 0.0)
}

/// Datagrams there and back, and what is added by many threads. Several on two cores are billed to an end's core, which does half of all.
fn calls(setting: &Setting, placement: Placement) -> Vec<Gate> {
    if setting.requests == 1 {
        return vec![Gate::new("datagrams there and back", CLIENT, datagrams(setting, placement))];
    }
    let (name, half) = match placement {
        Placement::Same => ("datagrams there and back", 1.0),
        Placement::Across => ("an end's half of datagrams there and back", 0.5),
    };
    let alone = datagrams(setting, Placement::Same);
    let more = half * crowd::share(setting.requests);
    vec![
        Gate::new(name, CLIENT, alone.clone()).visits(Visits::Fixed(half)),
        Gate::new("what many threads add", CLIENT, crowding(setting)).less(alone).visits(Visits::Fixed(more)),
    ]
}

/// The turn and the message, which lies in a line of its own; and what both ends do with it.
fn handing_over(setting: &Setting) -> [Gate; 2] {
    [
        Gate::new("turn and message there and back", CLIENT, line()).visits(Visits::Fixed(2.0)),
        Gate::new("request and reply", CLIENT, copying(setting)),
    ]
}

/// The toll of a cache line there and back.
pub(crate) fn line() -> TollKey {
    TollKey::of(Crossing::CacheLine).placement(Placement::Across)
}

/// The toll of writing, answering and reading messages whose lines are in the caches.
pub(crate) fn copying(setting: &Setting) -> TollKey {
    message::key(Way::Ring, Placement::Same, setting.size, 64)
}

/// The toll of two switches by giving way.
pub(crate) fn switching() -> TollKey {
    TollKey::of(Crossing::SchedYield).placement(Placement::Same)
}

/// The toll of two sleeps and wake-ups, as that point's ends wake each other.
pub(crate) fn noticing(setting: &Setting, placement: Placement) -> TollKey {
    notice::key(setting.notice, placement)
}

/// Datagrams are tolls up to so many bytes: a copy of 4096 bytes is less than a twentieth of what the system calls are.
const LONGEST: usize = 64;

/// The toll of datagrams there and back.
pub(crate) fn datagrams(setting: &Setting, placement: Placement) -> TollKey {
    TollKey::of(Crossing::UnixSeqpacket).placement(placement).size(setting.size.min(LONGEST) as u64)
}

/// The same where many threads share a core.
pub(crate) fn crowding(setting: &Setting) -> TollKey {
    crowd::key(Placement::Same, setting.size.min(LONGEST), crowd::CROWD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cost of `each + once / n` is found again at every number, and a toll is taken as it is where it is measured.
    #[test]
    fn shares_find_what_lies_between_two_depths() {
        let cost = |n: u32| 210.0 + 190.0 / f64::from(n);
        for placement in [Placement::Same, Placement::Across] {
            let depths = depths(placement);
            for requests in 1..=64 {
                let all: Vec<_> = shares(depths, requests).collect();
                let reckoned: f64 = all.iter().map(|(depth, share)| share * cost(*depth)).sum();
                assert!((reckoned - cost(requests)).abs() < 1e-9, "{requests}: {all:?}");
                assert_eq!(all.len() == 1, depths.contains(&requests), "{all:?}");
            }
            let many: Vec<_> = shares(depths, 256).collect();
            assert_eq!(many, [(64, 1.0)]);
        }
    }
}
