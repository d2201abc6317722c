//! What calls, wake-ups and sleeps are priced as, by tolls that are made up.

use std::time::Duration;

use tollway_core::{Crossing, Placement, Toll, TollKey, TollSource};
use tollway_program_tool::document::ApartDocument;
use tollway_program_tool::prices::Prices;
use tollway_watch::FileKind;

/// Nanoseconds of a few tolls, by their keys.
struct Tolls(Vec<(TollKey, f64)>);

impl TollSource for Tolls {
    fn toll(&self, key: &TollKey) -> Option<Toll> {
        let (key, ns) = self.0.iter().find(|(known, _)| known == key)?;
        let [median, lo, hi] = [*ns, 0.99 * ns, 1.01 * ns];
        Some(Toll {
            key: key.clone(),
            median,
            lo,
            hi,
            work: median,
            work_lo: lo,
            work_hi: hi,
            hz: 1e9,
            run: 1,
        })
    }
}

#[test]
fn prices_are_of_a_distance() {
    let near = Tolls(vec![(TollKey::of(Crossing::CacheLine).placement(Placement::Across), 50.0)]);
    let of = |ns| ApartDocument::of(Duration::from_nanos(ns), &Prices(&near));
    // The same distance, also where the shortest way has two readings of the clock in it.
    assert_eq!((of(40), of(80), of(140)), (None, None, None));
    assert_eq!(of(390), Some(ApartDocument { found: 390.0, priced: 50.0 }));
    assert_eq!(of(15), Some(ApartDocument { found: 15.0, priced: 50.0 }));
    // A price list that was measured without it does not say.
    assert_eq!(ApartDocument::of(Duration::from_nanos(390), &Prices(&Tolls(Vec::new()))), None);
}

fn call(kind: &str) -> TollKey {
    TollKey::of(Crossing::SystemCall).kind(kind)
}

/// A wake-up is 6 µs by itself and a sleep 3 µs; an end that does both in turns by an eventfd pays 18 µs.
fn tolls() -> Tolls {
    let across = Placement::Across;
    Tolls(vec![
        (call("futex-wake-none-shared"), 200.0),
        (call("futex-wait-changed-shared"), 300.0),
        (TollKey::of(Crossing::WakeUp).placement(across), 6_200.0),
        (TollKey::of(Crossing::Sleep).placement(across), 3_300.0),
        (TollKey::of(Crossing::HandOver).kind("eventfd").placement(across), 18_500.0),
        (call("write-eventfd"), 300.0),
        (call("read-eventfd"), 200.0),
        (call("stat"), 700.0),
        (call("fstat"), 250.0),
        (TollKey::of(Crossing::HandOver).kind("sched-yield").placement(Placement::Same), 1_200.0),
        (TollKey::of(Crossing::Getppid), 100.0),
        (TollKey::of(Crossing::ExitCpuid), 1_500.0),
    ])
}

#[test]
fn only_who_takes_turns_pays_for_hand_overs() {
    let tolls = tolls();
    let prices = Prices(&tolls);
    let both = |turns| {
        let of = (FileKind::Anonymous, Placement::Across);
        [prices.wake(of.0, of.1, turns).unwrap(), prices.sleep(of.0, of.1, turns).unwrap()]
    };
    assert_eq!(both(0.0).map(|price| price.ns.round()), [6_000.0, 3_000.0]);
    assert_eq!(both(1.0).map(|price| price.ns.round()), [12_000.0, 6_000.0]);
    let [wake, _] = both(0.5);
    assert_eq!(wake.ns.round(), 9_000.0);
    assert!(wake.lo < 6_000.0 && wake.hi > 12_000.0, "it may be either: {wake:?}");
    // Nothing is known of two that talk by a folder; a futex stands for it, and there is none here.
    let other = prices.wake(FileKind::Folder, Placement::Across, 1.0).unwrap();
    assert_eq!(other.ns.round(), 6_000.0);
    assert_eq!(prices.switch().unwrap().ns.round(), 1_100.0);
    let exit = prices.exit().unwrap();
    assert!(exit.ns == 1_500.0 && exit.at_least, "others go on to who runs the guest: {exit:?}");
}

#[test]
fn what_is_larger_than_all_that_was_measured_is_less_sure() {
    let sized = |size: u64, ns: f64| (call("write-null").size(size), ns);
    let tolls = Tolls(vec![sized(1, 100.0), sized(512, 100.0), sized(4096, 110.0), sized(65_536, 120.0)]);
    let of = |bytes| Prices(&tolls).call("write", FileKind::Null, bytes, true).unwrap();
    let share = |bytes| (of(bytes).hi - of(bytes).lo) / of(bytes).ns;
    assert_eq!(of(65_536.0).ns, 120.0);
    assert!(of(4e6).lo < of(4e6).ns && of(4e6).ns < of(4e6).hi, "{:?}", of(4e6));
    assert!(share(4e6) > 4.0 * share(65_536.0), "{} {}", share(4e6), share(65_536.0));
}

#[test]
fn what_is_asked_of_a_descriptor_is_no_search_for_a_name() {
    let tolls = tolls();
    let each = |call, file| Prices(&tolls).call(call, file, 0.0, false).unwrap().ns;
    assert_eq!(each("newfstatat", FileKind::Regular), 250.0);
    assert_eq!(each("newfstatat", FileKind::Folder), 700.0);
    assert_eq!(each("newfstatat", FileKind::None), 700.0);
}
