//! What calls, wake-ups and sleeps are priced as, by tolls that are made up.

use std::time::Duration;

use tollway_core::{Crossing, Placement, Toll, TollKey, TollSource, Warmth};
use tollway_program_tool::document::ApartDocument;
use tollway_program_tool::prices::{Asked, Faults, Price, Prices, pipe_stream};
use tollway_program_tool::walks::{Names, Walks};
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
        (call("stat-in-folder"), 450.0),
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
    assert_eq!(each("newfstatat", FileKind::Folder), 450.0);
    assert_eq!(each("newfstatat", FileKind::FolderItself), 250.0);
    assert_eq!(each("statx", FileKind::FolderItself), 250.0);
    assert_eq!(each("newfstatat", FileKind::None), 700.0);
}

fn asked<'a>(call: &'a str, file: FileKind) -> Asked<'a> {
    Asked {
        call,
        file,
        result: 0.0,
        gives: true,
        failed: 0.0,
        sleeps: false,
        copies: None,
        new_files: 0.0,
        begun_files: 0.0,
        far: [0.0; 2],
        period: Some(0.0),
        has_others: false,
        walks: None,
    }
}

/// Tolls of calls that look for files, of which each name of a path takes 60 ns and, where other things were done before, 80.
fn tolls_by_path() -> Tolls {
    let cold = |kind: &str, ns: f64| (call(kind).warmth(Warmth::Cold), ns);
    Tolls(vec![
        (call("open"), 1_000.0),
        (call("open-missing"), 800.0),
        (call("open-in-folder"), 900.0),
        (call("create"), 5_000.0),
        (call("stat"), 700.0),
        (call("stat-missing"), 400.0),
        (call("stat-in-folder"), 600.0),
        (call("stat-deep"), 1_500.0),
        cold("open", 2_000.0),
        cold("stat-in-folder", 1_000.0),
        cold("stat-deep", 2_200.0),
        (TollKey::of(Crossing::Getppid), 100.0),
    ])
}

#[test]
fn a_call_costs_more_the_more_names_its_path_has() {
    let tolls = tolls_by_path();
    let exact = |mean| Some(Names { mean, off_by: 0.0 });
    let of = |call, file, names: Option<f64>| {
        let walks = Walks { done: names.and_then(exact), failed: None };
        Prices(&tolls).asked(&Asked { walks: Some(walks), ..asked(call, file) }).unwrap()
    };
    let opened = [1.0, 3.0, 4.5, 16.0].map(|names| of("openat", FileKind::None, Some(names)).ns.round());
    assert_eq!(opened, [880.0, 1_000.0, 1_090.0, 1_780.0]);
    assert_eq!(of("openat", FileKind::Created, Some(5.0)).ns.round(), 5_120.0);
    // Names from an open folder on are priced from one on.
    let in_folder = [1.0, 2.0, 16.0].map(|names| of("newfstatat", FileKind::Folder, Some(names)).ns.round());
    assert_eq!(in_folder, [600.0, 660.0, 1_500.0]);
    // The tolls' own 1 % of the call, and of either end of the way.
    let deep = of("openat", FileKind::None, Some(16.0));
    assert!((deep.hi - 1_780.0 - 10.0 - 15_f64.hypot(6.0) * 13.0 / 15.0).abs() < 0.1, "{deep:?}");
    // Where it is not known it is anything from one name to sixteen.
    let unknown = of("openat", FileKind::None, None);
    assert_eq!(unknown.ns, 1_000.0);
    assert!(unknown.lo < 880.0 && unknown.hi > 1_780.0, "{unknown:?}");
    // Of what is opened cold each name is as well.
    let names = Walks { done: exact(13.0), failed: None };
    let late = Asked { walks: Some(names), period: Some(1e9), ..asked("openat", FileKind::None) };
    assert_eq!(Prices(&tolls).asked(&late).unwrap().ns.round(), 2_800.0);
    // A list that was measured before there was the toll.
    let before = Tolls(vec![(call("open"), 1_000.0)]);
    let same = Asked { walks: Some(names), ..asked("openat", FileKind::None) };
    assert_eq!(Prices(&before).asked(&same).unwrap().ns, 1_000.0);
}

#[test]
fn a_path_that_leads_nowhere_may_end_at_any_of_its_names() {
    let tolls = tolls_by_path();
    let names = |mean| Some(Names { mean, off_by: 0.0 });
    let of = |failed: f64| {
        let walks = Some(Walks { done: names(3.0), failed: names(8.0) });
        Prices(&tolls).asked(&Asked { walks, failed, ..asked("openat", FileKind::None) }).unwrap()
    };
    assert_eq!([of(0.0), of(0.5), of(1.0)].map(|price| price.ns.round()), [1_000.0, 1_050.0, 1_100.0]);
    let missing = of(1.0);
    // The first is not there: 800 less two names.
    assert!(missing.lo < 680.0 && missing.lo > 600.0 && missing.hi < 1_150.0, "{missing:?}");
}

#[test]
fn paths_that_are_seldom_looked_at_are_less_sure() {
    let tolls = tolls_by_path();
    let of = |off_by| {
        let walks = Some(Walks { done: Some(Names { mean: 4.0, off_by }), failed: None });
        Prices(&tolls).asked(&Asked { walks, ..asked("newfstatat", FileKind::None) }).unwrap()
    };
    let (sure, unsure) = (of(0.0), of(2.0));
    assert_eq!(sure.ns, unsure.ns);
    assert!(
        (sure.lo - unsure.lo - 120.0).abs() < 4.0 && (unsure.hi - sure.hi - 120.0).abs() < 4.0,
        "{unsure:?}"
    );
}

/// tar writes 10 KiB at a time behind its archive's end, who keeps a log a line.
#[test]
fn writes_behind_the_end_are_of_whole_pages_or_of_several_pieces() {
    let sized = |kind: &str, size: u64| call(kind).size(size);
    let tolls = Tolls(vec![
        (sized("write-new", 1), 3_000.0),
        (sized("write-new", 4096), 2_500.0),
        (sized("write-new", 65_536), 11_500.0),
        (sized("write-packed", 6000), 3_800.0),
        (sized("write-packed", 20_000), 8_700.0),
        (sized("write-file", 1), 500.0),
        (sized("write-file", 4096), 520.0),
        (sized("write-file", 65_536), 1_500.0),
        (TollKey::of(Crossing::Getppid), 100.0),
    ]);
    let of = |result: f64, begun_files: f64| {
        Prices(&tolls).asked(&Asked { result, begun_files, ..asked("write", FileKind::Regular) }).unwrap()
    };
    assert_eq!(of(4096.0, 0.0).ns, 2_500.0);
    assert_eq!(of(32_768.0, 0.0).ns.round(), 6_700.0);
    // Between 6,000 and 20,000 bytes, and not between one page and sixteen.
    assert_eq!(of(10_240.0, 0.0).ns.round(), 5_284.0);
    // A line of 41 bytes is on a new page one time in a hundred, the first of a file always.
    assert!((of(40.96, 0.0).ns - 525.0).abs() < 1.0, "{:?}", of(40.96, 0.0));
    assert!((of(40.96, 1.0).ns - 2_995.0).abs() < 2.0, "{:?}", of(40.96, 1.0));
    assert!((of(40.96, 0.1).ns - 750.0).abs() < 2.0, "{:?}", of(40.96, 0.1));
    // It may be over what is there all the same.
    assert!(of(10_240.0, 0.0).lo < 700.0 && of(40.96, 0.1).lo < 505.0);
}

#[test]
fn names_that_are_missing_or_near_have_tolls_of_their_own() {
    let tolls = Tolls(vec![
        (call("open"), 2_000.0),
        (call("open-in-folder"), 1_200.0),
        (call("open-missing"), 1_000.0),
        (call("stat-in-folder"), 400.0),
        (TollKey::of(Crossing::Getppid), 100.0),
    ]);
    let of = |asked: Asked<'_>| Prices(&tolls).asked(&asked).unwrap().ns.round();
    let path = asked("openat", FileKind::None);
    assert_eq!(of(path), 2_000.0);
    assert_eq!(of(asked("openat", FileKind::Folder)), 1_200.0);
    assert_eq!(of(Asked { failed: 0.75, ..path }), 1_250.0);
    assert_eq!(of(asked("statx", FileKind::Folder)), 400.0);
    // git removes names that were never there.
    let tolls = Tolls(vec![(call("unlink"), 90_000.0), (call("stat-missing"), 1_000.0)]);
    let removed = Asked { failed: 1.0, ..asked("unlink", FileKind::None) };
    assert_eq!(Prices(&tolls).asked(&removed).unwrap().ns.round(), 1_000.0);
}

#[test]
fn who_sleeps_until_its_child_executes_has_lent_its_memory() {
    let process = |kind: &str| TollKey::of(Crossing::ProcessStart).kind(kind);
    let tolls = Tolls(vec![
        (call("fork"), 90_000.0),
        (call("vfork"), 20_000.0),
        (call("clone-thread"), 9_000.0),
        (call("wait4"), 5_100.0),
        (process("exec"), 80_000.0),
        (process("exec-forked"), 120_000.0),
        (process("exit"), 30_000.0),
        (process("exit-thread"), 5_600.0),
        (TollKey::of(Crossing::Getppid), 100.0),
    ]);
    let price = |asked: Asked<'_>| -> Price { Prices(&tolls).asked(&asked).unwrap() };
    let of = |asked: Asked<'_>| price(asked).ns.round();
    let clone = asked("clone", FileKind::None);
    assert_eq!(of(clone), 90_000.0);
    assert_eq!(of(Asked { sleeps: true, ..clone }), 20_000.0);
    assert_eq!(of(Asked { has_others: true, ..clone }), 9_000.0);
    assert_eq!(of(asked("vfork", FileKind::None)), 20_000.0);
    let exec = asked("execve", FileKind::None);
    assert_eq!([0.0, 1.0].map(|copies| of(Asked { copies: Some(copies), ..exec })), [80_000.0, 120_000.0]);
    let either = price(exec);
    assert!(either.lo <= 80_000.0 && either.hi >= 120_000.0 && either.ns == 100_000.0, "{either:?}");
    assert_eq!(of(asked("exit_group", FileKind::None)), 30_000.0);
    assert_eq!(of(asked("exit", FileKind::None)), 5_600.0);
    // Half of them find no child.
    assert_eq!(of(Asked { failed: 0.5, ..asked("wait4", FileKind::None) }), 2_600.0);
}

#[test]
fn what_is_read_once_comes_from_memory() {
    let sized = |kind: &str, size: u64, ns: f64| (call(kind).size(size), ns);
    let cold = |size: u64, ns: f64| (call("read-file").size(size).warmth(Warmth::Cold), ns);
    let tolls = Tolls(vec![
        sized("read-file", 1, 300.0),
        sized("read-file", 65_536, 1_300.0),
        cold(1, 500.0),
        cold(65_536, 1_900.0),
        sized("read-file-far", 1, 400.0),
        sized("read-file-far", 65_536, 9_000.0),
    ]);
    let between = |call, far, period| {
        let asked = Asked { result: 65_536.0, far, period: Some(period), ..asked(call, FileKind::Regular) };
        Prices(&tolls).asked(&asked).unwrap()
    };
    let of = |call, far, period| between(call, [far; 2], period);
    assert_eq!(of("read", 0.0, 0.0).ns.round(), 1_300.0);
    assert_eq!(of("read", 1.0, 0.0).ns.round(), 9_000.0);
    // Its way through the kernel is as cold as that of others that come as seldom.
    assert_eq!(of("read", 1.0, 1e9).ns.round(), 9_200.0);
    // Where half of it may be in a cache it may as well be all of it, or nothing.
    let half = of("read", 0.5, 0.0);
    assert!(half.ns.round() == 5_150.0 && half.lo < 1_310.0 && half.hi > 8_990.0, "{half:?}");
    // Who moves in a file may read all of it, or some of it again and again.
    let moves = between("read", [0.0, 1.0], 0.0);
    assert!(moves.ns.round() == 5_150.0 && moves.lo < 1_310.0 && moves.hi > 8_990.0, "{moves:?}");
    // Another place of the file, or the same again.
    assert_eq!(of("pread64", 1.0, 0.0).ns.round(), 1_300.0);
}

#[test]
fn a_listing_is_priced_by_its_bytes() {
    let sized = |size: u64, ns: f64| (call("getdents").size(size), ns);
    let tolls =
        Tolls(vec![sized(48, 300.0), sized(1072, 2_348.0), sized(8240, 16_000.0), sized(32_752, 65_000.0)]);
    let of = |bytes| Prices(&tolls).call("getdents64", FileKind::Folder, bytes, true).unwrap();
    assert_eq!([48.0, 560.0, 32_752.0].map(|bytes| of(bytes).ns.round()), [300.0, 1_324.0, 65_000.0]);
    assert!(!of(560.0).at_least);
}

#[test]
fn pages_of_files_come_and_go_at_prices_of_their_own() {
    let fault = |kind: &str| TollKey::of(Crossing::MinorFault).kind(kind);
    let tolls = Tolls(vec![
        (TollKey::of(Crossing::MinorFault), 600.0),
        (fault("file"), 1_000.0),
        (fault("copy"), 1_400.0),
        (call("munmap-touched"), 5_000.0),
        (call("munmap"), 1_800.0),
    ]);
    let prices = Prices(&tolls);
    let of_files = |share| prices.fault(Faults::OfFiles(share)).unwrap().ns.round();
    assert_eq!([0.0, 0.5, 1.0].map(of_files), [600.0, 900.0, 1_200.0]);
    let seen = |reading, copying| prices.fault(Faults::Seen { reading, copying }).unwrap().ns.round();
    assert_eq!([seen(0.0, 0.0), seen(1.0, 0.0), seen(0.0, 1.0)], [600.0, 1_000.0, 1_400.0]);
    assert_eq!(seen(0.5, 0.25), 0.25 * 600.0 + 0.5 * 1_000.0 + 0.25 * 1_400.0);
    assert_eq!(prices.page_back().unwrap().ns.round(), 200.0);
}

#[test]
fn a_stream_is_priced_by_its_writes_and_by_where_its_ends_are() {
    let tolls = Tolls(vec![
        (pipe_stream(512, Placement::Same), 500.0),
        (pipe_stream(4096, Placement::Same), 1_000.0),
        (pipe_stream(65_536, Placement::Same), 10_000.0),
        (pipe_stream(512, Placement::Across), 900.0),
        (pipe_stream(4096, Placement::Across), 2_000.0),
        (pipe_stream(65_536, Placement::Across), 40_000.0),
    ]);
    let of = |bytes, across| Prices(&tolls).stream(bytes, across).map(|price| price.ns.round());
    assert_eq!([of(4096.0, 0.0), of(65_536.0, 0.0)], [Some(1_000.0), Some(10_000.0)]);
    assert_eq!([of(4096.0, 1.0), of(65_536.0, 1.0)], [Some(2_000.0), Some(40_000.0)]);
    assert_eq!(of(100.0, 0.0), None);
}
