//! The bill of a round trip: messages, what the server works, and each switch, sleep and wake-up.
//!
//! On one core everything is in the figure that either end does. On two the slower end is: messages are billed as they cost there with as many on their
//! way and both ends awake, and what either end does besides is unexplained, less than nothing where it is done while the other works.

use tollway_core::{Crossing, Gate, Placement, TollKey};

use super::counted::{CALLING, SLEEPING, YIELDING};
use super::setting::{Setting, Way};
use super::{CLIENT, SERVER, labour, message};

/// The gates of a round trip.
pub(super) fn of(setting: &Setting, placement: Placement) -> Vec<Gate> {
    // Who has a core to itself stays on it: it costs a call that does nothing.
    let switches = match placement {
        Placement::Same => Gate::counted(YIELDING, CLIENT).toll(switching()),
        Placement::Across => Gate::counted(CALLING, CLIENT).toll(TollKey::of(Crossing::Getppid)),
    };
    let sleeps = Gate::counted(SLEEPING, CLIENT).toll(TollKey::of(Crossing::Futex).placement(placement));
    let mut gates = match setting.way {
        Way::Slow => {
            vec![Gate::new("datagrams there and back", CLIENT, datagrams(setting, placement))]
        }
        Way::Fast if placement == Placement::Same => vec![switches, sleeps],
        Way::Fast => {
            let lines = TollKey::of(Crossing::CacheLine).placement(placement);
            vec![Gate::new("turn there and back", CLIENT, lines), switches, sleeps]
        }
        Way::Ring | Way::Tasks => {
            let requests = setting.requests as u32;
            let toll = message::key(setting.way, placement, setting.size, requests);
            vec![Gate::new("request and reply", CLIENT, toll), switches, sleeps]
        }
    };
    gates.extend(labour::gates(setting.load).map(|(name, key)| Gate::new(name, SERVER, key)));
    gates
}

/// The toll of two switches by giving way.
pub(super) fn switching() -> TollKey {
    TollKey::of(Crossing::SchedYield).placement(Placement::Same)
}

/// The toll of datagrams there and back, which is known up to 64 bytes: a copy of 4096 bytes is less than a twentieth of what the system calls are.
pub(super) fn datagrams(setting: &Setting, placement: Placement) -> TollKey {
    TollKey::of(Crossing::UnixSeqpacket).placement(placement).size(setting.size.min(64) as u64)
}
