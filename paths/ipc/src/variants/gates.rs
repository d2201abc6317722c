//! The bill of a round trip: messages, what the server works, and each switch, sleep and wake-up.
//!
//! On one core everything is in the figure that either end does. On two the slower end is: messages are billed as they cost there with as many on their
//! way and both ends awake, and what either end does besides is unexplained, less than nothing where it is done while the other works.

use tollway_core::{Crossing, Gate, Placement, TollKey};

use super::counted::{SLEEPING, YIELDING};
use super::setting::{Setting, Way};
use super::{CLIENT, SERVER, labour, message};

/// The gates of a round trip.
pub(super) fn of(setting: &Setting, placement: Placement) -> Vec<Gate> {
    let mut gates = match setting.way {
        Way::Ring | Way::Tasks => {
            let requests = setting.requests as u32;
            let toll = message::key(setting.way, placement, setting.size, requests);
            vec![
                Gate::new("request and reply", CLIENT, toll),
                Gate::counted(YIELDING, CLIENT)
                    .toll(TollKey::of(Crossing::SchedYield).placement(Placement::Same)),
                Gate::counted(SLEEPING, CLIENT).toll(TollKey::of(Crossing::Futex).placement(placement)),
            ]
        }
    };
    if setting.load.cycles > 0 {
        gates.push(Gate::new("work", SERVER, labour::work_key(setting.load.cycles)));
    }
    if setting.load.rows > 0 {
        gates.push(Gate::new("matrix product", SERVER, labour::matrix_key(setting.load.rows)));
    }
    gates
}
