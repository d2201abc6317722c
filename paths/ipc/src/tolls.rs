//! The tolls that a request is made of: their keys, and how those that are measured with few at a time or many make up for any number.
//!
//! What messages cost is a toll at few [depths]; with another number on their way they cost in part what they do at the depth below and in part
//! what they do at the one above, by the reciprocals: what is done once for all that are on their way has a share of 1 / n. So it is with what many threads
//! add to a datagram, by the logarithm of how many there are.

use tollway_channel::linux::Notice;
use tollway_core::{Crossing, Placement, TollKey};

use crate::engine::service::Load;
use crate::engine::tcp::Itself;
use crate::setting::{Setting, Way};

/// The depths at which messages are tolls. Of few all entries of a ring are in one cache line, which both ends write, so between cores there is one more.
pub(crate) fn depths(placement: Placement) -> &'static [u32] {
    match placement {
        Placement::Same => &[1, 64],
        Placement::Across => &[1, 8, 64],
    }
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

/// The toll of a message of that size with so many on their way.
pub(crate) fn message(way: Way, placement: Placement, size: usize, requests: u32) -> TollKey {
    TollKey::of(Crossing::Message).kind(kind(way)).placement(placement).size(size as u64).depth(requests)
}

fn kind(way: Way) -> &'static str {
    match way {
        Way::Tasks => "futures",
        _ => "ring",
    }
}

/// Those of a point, at each depth.
pub(crate) fn messages(setting: &Setting, placement: Placement) -> impl Iterator<Item = TollKey> {
    depths(placement).iter().map(move |depth| message(setting.way, placement, setting.size, *depth))
}

/// The toll of a cache line there and back.
pub(crate) fn line() -> TollKey {
    TollKey::of(Crossing::CacheLine).placement(Placement::Across)
}

/// The toll of writing, answering and reading messages whose lines are in the caches.
pub(crate) fn copying(setting: &Setting) -> TollKey {
    message(Way::Ring, Placement::Same, setting.size, 64)
}

/// The toll of two switches by giving way.
pub(crate) fn switching() -> TollKey {
    TollKey::of(Crossing::SchedYield).placement(Placement::Same)
}

/// The toll of two sleeps and wake-ups, as that point's ends wake each other.
pub(crate) fn noticing(setting: &Setting, placement: Placement) -> TollKey {
    notice(setting.notice, placement)
}

/// Datagrams are tolls up to so many bytes: a copy of 4096 bytes is less than a twentieth of what the system calls are.
const LONGEST: usize = 64;

/// The toll of datagrams there and back.
pub(crate) fn datagrams(setting: &Setting, placement: Placement) -> TollKey {
    TollKey::of(Crossing::UnixSeqpacket).placement(placement).size(setting.size.min(LONGEST) as u64)
}

/// The same where many threads share a core.
pub(crate) fn crowding(setting: &Setting) -> TollKey {
    crowded_call(Placement::Same, setting.size.min(LONGEST), CROWD)
}

/// The toll of a turn handed over.
pub(crate) fn futex(placement: Placement) -> TollKey {
    TollKey::of(Crossing::Futex).placement(placement)
}

/// The toll of a wake-up by that notice.
pub(crate) fn notice(by: Notice, placement: Placement) -> TollKey {
    let kind = match by {
        Notice::Futex => "futex",
        Notice::Eventfd => "eventfd",
    };
    TollKey::of(Crossing::Notice).kind(kind).placement(placement)
}

/// The depth whose toll predictions are made from.
pub(crate) const CROWD: u32 = 48;

/// The toll of a datagram there and back, of so many that are on their way.
pub(crate) fn crowded_call(placement: Placement, size: usize, calls: u32) -> TollKey {
    TollKey::of(Crossing::CrowdedCall).placement(placement).size(size as u64).depth(calls)
}

/// What so many threads add to one's call, in parts of what [`CROWD`] add: it grows with the logarithm, as the caches do of which each is the next larger.
/// Of 2 to 256 threads measured on a processor of AMD's (EPYC, in a virtual machine), 23.7, 24.8, 25.8, 26.7, 28, 30.1, 31.4 and 35 thousand
/// ticks, this is off by 13 % at most.
pub(crate) fn crowd_share(threads: usize) -> f64 {
    f64::log2(threads.max(1) as f64) / f64::log2(CROWD.into())
}

/// The toll of so many cycles of work.
fn work(cycles: u64) -> TollKey {
    TollKey::of(Crossing::RequestWork).size(cycles)
}

/// The toll of a product of matrices of so many rows.
fn matrix(rows: usize) -> TollKey {
    TollKey::of(Crossing::MatrixProduct).size(rows as u64)
}

/// The toll of a call that takes so many bytes of memory or gives them back.
pub(crate) fn pages(bytes: usize) -> TollKey {
    TollKey::of(Crossing::PageCall).size(bytes as u64)
}

/// The tolls of what a server does for a request, with their names in a bill.
pub(crate) fn labour(load: Load) -> impl Iterator<Item = (&'static str, TollKey)> {
    let work = (load.cycles > 0).then(|| ("work", work(load.cycles)));
    let product = (load.rows > 0).then(|| ("matrix product", matrix(load.rows)));
    let pages = (load.bytes > 0).then(|| ("memory taken or given back", pages(load.bytes)));
    work.into_iter().chain(product).chain(pages)
}

/// The numbers of connections at which a network stack by itself is a toll. With one both ends sleep for each message; with four they hardly do, which is
/// far more than a quarter of what there is to be saved.
pub(crate) const STACK_DEPTHS: [u32; 3] = [1, 4, 64];

/// The toll of a message that a network stack answers by itself, over so many connections.
pub(crate) fn stack(itself: Itself, placement: Placement, connections: u32) -> TollKey {
    let kind = match itself {
        Itself::Tasks => "tasks",
        Itself::Threads => "threads",
    };
    TollKey::of(Crossing::StackRequest).kind(kind).placement(placement).depth(connections)
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
