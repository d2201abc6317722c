//! A tenant that has its card sleep where it calls: it fills its call eventfd and clears O_NONBLOCK, which both sides share, again
//! and again, so that it is quicker than the card sooner or later. The engine then has the tenant's queues and sessions.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};
use tollway_cipher::engine::device::{Card, NewFunction, Options as CardOptions, Told};
use tollway_cipher::engine::protocol::FIXED;
use tollway_virtio::Span;
use tollway_virtio::backend::Refused;
use tollway_virtio::frontend::{Link, LinkOptions};
use tollway_virtio::socket::{Listener, Meeting};

use super::alone;
use super::victim::{Habit, Victim};

/// How long it is tried to be quicker than the card.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a neighbour may have to wait, and the end of the card: the sleep of an engine would never end by itself, so that only a hang takes
/// as long.
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn who_has_the_card_sleep_where_it_calls_is_parted_from_and_its_neighbours_go_on() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let socket = |number: usize| folder.path().join(format!("{number}.sock"));
    let function = |number: usize| {
        let listener = Listener::bind(&socket(number), 0o600).unwrap();
        NewFunction::new(format!("f{number}"), Meeting::Listen(listener))
    };
    let (tells, told) = channel();
    let tell = move |news| _ = tells.send(news);
    let card = Card::start((0..2).map(function).collect(), &CardOptions::default(), tell).unwrap();
    let mut neighbour = Victim::connect(&socket(0), Habit::Now, 1);
    let mut hostile = Hostile::connect(&socket(1));
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = stop.clone();
    // No thread of a scope, which would wait for one that waits for ever.
    let asks = thread::spawn(move || neighbour.ask(|| is_over.load(Ordering::Relaxed)));
    let begun = Instant::now();
    hostile.asks_to_be_called(|| begun.elapsed() > PATIENCE || asks.is_finished());
    let took = begun.elapsed();
    stop.store(true, Ordering::Relaxed);
    let waits = asks.join().unwrap();
    let is_held = |news: &Told| matches!(news, Told::Refused(1, None, Refused::Held));
    assert!(told.try_iter().any(|news| is_held(&news)), "it was never quicker than the card");
    println!("parted from after {took:?}; its neighbour: {waits}");
    assert!(waits.longest < LONGEST, "{waits}");
    let counts = card.status().functions[0].counts;
    assert_eq!((counts.failed, counts.refused_chains, counts.connections), (0, 0, 1));
    let begun = Instant::now();
    card.stop();
    assert!(begun.elapsed() < LONGEST, "the card does not end: {:?}", begun.elapsed());
}

/// A tenant whose call eventfd is full, and blocks its writers whenever it can have it so.
struct Hostile {
    link: Link,
    stop: Arc<AtomicBool>,
}

impl Hostile {
    fn connect(socket: &std::path::Path) -> Hostile {
        // Without an event index the card calls for each request as long as it is not asked not to.
        let options = LinkOptions { queues: 2, bytes: 4096, event_index: false, ..LinkOptions::default() };
        let mut link = Link::connect(socket, &options).unwrap();
        let call = link.lane(0).as_fd().try_clone_to_owned().unwrap();
        let _ = rustix::io::read(&call, &mut [0; 8]);
        rustix::io::write(&call, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..2 {
            let (call, stop) = (call.try_clone().unwrap(), stop.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    fcntl_setfl(&call, OFlags::RDWR).unwrap();
                }
            });
        }
        Hostile { link, stop }
    }

    /// Asks for nothing in particular, so that it is answered and called, until its connection ends.
    fn asks_to_be_called(&mut self, stop: impl Fn() -> bool) {
        let at = self.link.free();
        let (asked, answer) = ([Span { at, bytes: FIXED as u32 }], [Span { at: at + FIXED, bytes: 1 }]);
        while self.link.is_connected() && !stop() {
            let lane = self.link.lane(0);
            assert!(lane.submit(1, &asked, &answer).unwrap());
            lane.kick();
            while lane.take().unwrap().is_none() && lane.is_connected() && !stop() {
                thread::yield_now();
            }
        }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
