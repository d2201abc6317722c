//! A source that breaks while guests are served: they get none of it, and wait.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use rustix::pipe::pipe;
use tollway_entropy::engine::health::{Monitored, Settings};
use tollway_entropy::engine::serve::{Server, Told};
use tollway_entropy::engine::source::{Claim, Device, Fault, Planted, Seeded, Source};
use tollway_virtio::frontend::{Frontend, Options};

use super::eventually::eventually;
use super::player::{PATIENCE, tenants};

/// Bytes that are good.
const GOOD: u64 = 100_000;
/// Bytes drawn, by start-up tests mostly, before it is good again.
const BROKEN: u64 = 10_000;

/// Draws a buffer of 4096 bytes, or None if nothing comes for so long.
fn draw(frontend: &mut Frontend, most: Duration) -> Option<Vec<u8>> {
    if frontend.in_flight() == 0 {
        frontend.offer(0, 4096).unwrap();
        frontend.kick();
    }
    let used = frontend.wait(most).unwrap()?;
    assert_eq!(used.bytes, 4096);
    let mut content = vec![0; 4096];
    frontend.copy(0, &mut content);
    Some(content)
}

/// Has a source with a fault serve; `is_broken` says whether a buffer shows that it was drawn from the fault.
fn serve_through(fault: Fault, is_broken: impl Fn(&[u8]) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let hold_off = Duration::from_millis(300);
    let settings = Settings { hold_off, longest_hold_off: hold_off, ..Settings::default() };
    let planted = Planted::new(Seeded::new(3), fault, GOOD, GOOD + BROKEN);
    let source = Monitored::new(planted, settings).unwrap();
    let tell = move |told| {
        let _ = sender.send(told);
    };
    let tenants = tenants(folder.path(), &["a"]);
    let server = Server::start(tenants, vec![Box::new(source)], Default::default(), tell).unwrap();
    let mut frontend = Frontend::connect(&folder.path().join("a.sock"), &Options::default()).unwrap();
    // The start-up test takes its time.
    draw(&mut frontend, PATIENCE).expect("nothing came");
    let (mut before, mut after) = (1, 0);
    let deadline = Instant::now() + PATIENCE;
    let mut failed = None;
    while after < 10 {
        assert!(
            Instant::now() < deadline,
            "{fault:?}: {before} buffers before, {after} after, {:?}",
            server.status()
        );
        match draw(&mut frontend, Duration::from_millis(100)) {
            // One that is well may be displaced for as long.
            None => {
                let status = server.status();
                if !status.workers[0].healthy {
                    failed.get_or_insert(status);
                }
            }
            Some(content) => {
                assert!(!is_broken(&content), "{fault:?}: a guest was given it");
                *(if failed.is_none() { &mut before } else { &mut after }) += 1;
            }
        }
    }
    let failed = failed.unwrap();
    assert!(before > 10, "{before} before it failed");
    assert_eq!(failed.workers[0].failures, 1);
    let status = server.status();
    assert!(status.workers[0].healthy && status.workers[0].reason.is_some());
    assert_eq!(status.tenants[0].counts.bytes, 4096 * (before + after));
    server.stop();
    let told: Vec<Told> = told.try_iter().collect();
    let at = |wanted: fn(&Told) -> bool| told.iter().position(wanted).unwrap_or_else(|| panic!("{told:?}"));
    let failing = at(|told| matches!(told, Told::Failing { worker: 0, .. }));
    let recovered = at(|told| matches!(told, Told::Recovered(0)));
    assert!(failing < recovered, "{told:?}");
    assert_eq!(
        told.iter().filter(|told| matches!(told, Told::Failing { .. })).count(),
        1,
        "told again and again"
    );
}

#[test]
fn a_stuck_source_serves_nobody_until_it_has_passed_its_test() {
    serve_through(Fault::Stuck(0x55), |content| content.windows(16).any(|bytes| bytes == [0x55; 16]));
}

#[test]
fn a_dry_one_neither() {
    serve_through(Fault::Dry, |content| content.windows(16).any(|bytes| bytes == [0; 16]));
}

#[test]
fn a_biased_one_neither() {
    // Every fourth byte is a zero; of those before the alarm, within a block, none is given.
    serve_through(Fault::Biased { of: 4 }, |content| {
        content.chunks(4).filter(|bytes| bytes.contains(&0)).count() > 512
    });
}

#[test]
fn one_that_keeps_its_worker_waiting_is_told_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let (reader, writer) = pipe().unwrap();
    let (source, mut writer) = (Device::of(File::from(reader), "pipe"), File::from(writer));
    let settings =
        Settings { least_rate: Some(64.0), rate_over: Duration::from_millis(200), ..Settings::default() };
    let source = source.claiming(Claim { evenness: 8.0, entropy: 8.0 });
    let source = Monitored::new(source, settings).unwrap();
    let start_up = source.limits().start_up();
    let good = |bytes: usize| {
        let mut good = vec![0; bytes];
        Seeded::new(bytes as u64).fill(&mut good).unwrap();
        good
    };
    let tell = move |told| {
        let _ = sender.send(told);
    };
    // A first block of 4096 bytes, and a part of the next.
    writer.write_all(&good(start_up + 4096 + 50)).unwrap();
    let server =
        Server::start(tenants(folder.path(), &["a"]), vec![Box::new(source)], Default::default(), tell);
    let server = server.unwrap();
    let mut frontend = Frontend::connect(&folder.path().join("a.sock"), &Options::default()).unwrap();
    draw(&mut frontend, PATIENCE).expect("nothing came");
    let mut reason = String::new();
    eventually("it is seen", || {
        server.look();
        told.try_iter().any(|told| match told {
            Told::Failing { worker: 0, reason: told } => {
                reason = told;
                true
            }
            _ => false,
        })
    });
    assert!(reason.contains("have not come in"), "{reason}");
    assert!(!server.status().workers[0].healthy);
    server.look();
    // What comes too late is not given out.
    let late = thread::spawn(move || writer.write_all(&good(2 * start_up + 10 * 4096)).map(|()| writer));
    draw(&mut frontend, PATIENCE).expect("nothing came again");
    server.look();
    let writer = late.join().unwrap().unwrap();
    let told: Vec<Told> = told.try_iter().collect();
    assert_eq!(told, [Told::Recovered(0)]);
    assert_eq!(server.status().workers[0].failures, 1);
    drop(writer);
}
