//! Requests of which several are on their way: somebody else works on them, and they end when they are done.
//!
//! *Closed*: so many are always on their way; the next begins when one has ended. *Open*: each begins when a stream of starts
//! says, whether or not others have ended, and its latency counts from that moment, however late it was sent.

use tollway_core::{Clock, Recorder, Ticks, Window};

use crate::{plant, wait_until};

/// Something that takes requests and gives them back when they are done. Requests are told apart by the number of the place that
/// each takes up, from 0 on.
pub trait Service {
    /// Sends a request in a free place.
    fn send(&mut self, place: usize);

    /// Takes back one that is done: its place.
    fn take(&mut self) -> Option<usize>;

    /// There is nothing to take, and nothing to send before `until`: may sleep. What was sent is to be on its way by then, and
    /// an end of the wait without anything to take does no harm.
    fn rest(&mut self, until: Ticks);

    /// Whether it has failed for good, so that nothing more will come.
    fn is_over(&self) -> bool {
        false
    }
}

/// When requests begin.
pub enum Starts<'a> {
    /// When another has ended, so that all places are taken.
    Closed,
    /// At these ticks after the window's beginning (its warm-up), rising. Who comes when no place is free is sent when one is, and
    /// has waited since its start.
    Open(&'a mut dyn Iterator<Item = Ticks>),
}

impl std::fmt::Debug for Starts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Starts::Closed => "Closed",
            Starts::Open(_) => "Open(_)",
        })
    }
}

/// Room for requests on their way.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// When the request in each began.
    began: Vec<Ticks>,
    /// Those that are free; the last is taken first.
    free: Vec<usize>,
}

impl Places {
    /// So many; at least one.
    pub fn new(places: usize) -> Places {
        let places = places.max(1);
        Places { began: vec![0; places], free: (0..places).rev().collect() }
    }
}

/// What happened in a window, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flights {
    /// Requests that ended.
    pub done: u64,
    /// Of these, those that were sent after the window had opened and ended before it closed.
    pub within: u64,
    /// The most that were on their way at once.
    pub most: usize,
    /// How late requests were sent, in ticks, on average. Of a closed loop always 0.
    pub late: f64,
    /// And at worst.
    pub latest: Ticks,
    /// Sent and not ended when a long while after the window had closed nothing came any more.
    pub lost: usize,
}

/// How long after the window has closed those that are still on their way are waited for, in ticks.
const PATIENCE: Ticks = 1 << 32;

/// Keeps requests on their way from `window.warm` to `window.close`, and then waits for those that are left. Records the latency
/// of each that begins after `window.open`. Where none began in it,
/// one that begins after it is recorded: of somebody who got no processor, or has few to send.
///
/// Makes no system call and does not allocate, so it may run inside a micro-guest if `service` may.
pub fn fly<C: Clock>(
    clock: C,
    window: &Window,
    recorder: &mut Recorder,
    places: &mut Places,
    mut starts: Starts<'_>,
    service: &mut impl Service,
) -> Flights {
    let Places { began, free } = places;
    let mut flights = Flights::default();
    let (mut sent, mut behind_all, mut begun) = (0u64, 0.0, false);
    recorder.set_batch(1);
    wait_until(clock, window.warm);
    let mut due = next(&mut starts, window);
    loop {
        let mut idle = true;
        while let Some(place) = service.take() {
            idle = false;
            let now = clock.now();
            if window.planted > 0 {
                plant(clock, window.planted);
            }
            flights.done += 1;
            if began[place] >= window.open {
                recorder.sample(clock.now().saturating_sub(began[place]));
                flights.within += u64::from(now < window.close);
            }
            free.push(place);
        }
        let now = clock.now();
        let open = now < window.close || !begun && now < window.close.saturating_add(PATIENCE);
        while open && due <= clock.now() && (due < window.close || !begun) && !free.is_empty() {
            let Some(place) = free.pop() else { break };
            idle = false;
            let start = if let Starts::Open(..) = starts { due } else { clock.now() };
            began[place] = start;
            begun |= start >= window.open;
            let behind = clock.now().saturating_sub(start);
            if let Starts::Open(..) = starts {
                behind_all += behind as f64;
                flights.latest = flights.latest.max(behind);
            }
            service.send(place);
            sent += 1;
            flights.most = flights.most.max(began.len() - free.len());
            due = next(&mut starts, window);
        }
        let flying = began.len() - free.len();
        if !open && flying == 0 || service.is_over() || now > window.close.saturating_add(PATIENCE) {
            flights.lost = flying;
            break;
        }
        if idle {
            // Who has begun none in the window goes on after it.
            let end = if begun { window.close } else { window.close.saturating_add(PATIENCE) };
            let until = if open && !free.is_empty() { due.min(end) } else { end };
            service.rest(if open { until } else { now.saturating_add(PATIENCE) });
        }
    }
    flights.late = behind_all / sent.max(1) as f64;
    flights
}

/// When the next request begins: of a closed loop, now.
fn next(starts: &mut Starts<'_>, window: &Window) -> Ticks {
    match starts {
        Starts::Closed => 0,
        Starts::Open(stream) => stream.next().map_or(Ticks::MAX, |start| window.warm.saturating_add(start)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;

    use super::*;
    use crate::Regular;

    thread_local! {
        static TIME: Cell<Ticks> = const { Cell::new(0) };
    }

    /// A clock that a look moves on by one.
    #[derive(Clone, Copy)]
    struct Told;

    impl Clock for Told {
        fn now(&self) -> Ticks {
            TIME.set(TIME.get() + 1);
            TIME.get()
        }
        fn open(&self) -> Ticks {
            self.now()
        }
        fn close(&self) -> Ticks {
            self.now()
        }
    }

    /// One server, first come first served, that takes so many ticks each.
    struct Server {
        takes: Ticks,
        free_at: Ticks,
        queue: VecDeque<(Ticks, usize)>,
        rests: u64,
    }

    impl Server {
        fn that_takes(takes: Ticks) -> Server {
            TIME.set(0);
            Server { takes, free_at: 0, queue: VecDeque::new(), rests: 0 }
        }
    }

    impl Service for Server {
        fn send(&mut self, place: usize) {
            self.free_at = self.free_at.max(TIME.get()) + self.takes;
            self.queue.push_back((self.free_at, place));
        }

        fn take(&mut self) -> Option<usize> {
            let (_, place) = *self.queue.front().filter(|(at, _)| *at <= TIME.get())?;
            self.queue.pop_front();
            Some(place)
        }

        fn rest(&mut self, until: Ticks) {
            self.rests += 1;
            let next = self.queue.front().map_or(until, |(at, _)| until.min(*at));
            TIME.set(TIME.get().max(next));
        }
    }

    fn window(open: Ticks, close: Ticks) -> Window {
        Window { warm: 100, open, close, batch: 1, planted: 0 }
    }

    #[test]
    fn a_closed_loop_keeps_as_many_on_their_way() {
        let (mut server, mut recorder) = (Server::that_takes(1000), Recorder::new());
        let flights = fly(
            Told,
            &window(10_000, 1_000_000),
            &mut recorder,
            &mut Places::new(4),
            Starts::Closed,
            &mut server,
        );
        assert_eq!((flights.most, flights.lost, flights.late), (4, 0, 0.0));
        assert!((995..=1005).contains(&flights.done), "{flights:?}");
        // Each waits for three others and itself.
        let mean = recorder.spread().mean().unwrap();
        assert!((3950.0..4100.0).contains(&mean), "{mean}");
        assert!((985..995).contains(&flights.within), "{flights:?}");
        assert!(server.rests > 900);
    }

    #[test]
    fn an_open_one_counts_from_the_start_that_was_meant() {
        // Two a service: half of them cannot be served, and wait the longer the later they are.
        let (mut server, mut recorder) = (Server::that_takes(1000), Recorder::new());
        let mut starts = Regular::every(500.0);
        let window = window(100, 100_000);
        let flights =
            fly(Told, &window, &mut recorder, &mut Places::new(8), Starts::Open(&mut starts), &mut server);
        assert_eq!((flights.most, flights.lost), (8, 0));
        assert!((105..=110).contains(&flights.done), "{flights:?}");
        let longest = recorder.spread().quantile(1.0).unwrap();
        assert!((52_000.0..56_000.0).contains(&longest), "{longest}");
        assert!(flights.latest > 40_000, "{flights:?}");
        // At a third of what can be served nobody waits.
        let (mut server, mut recorder) = (Server::that_takes(1000), Recorder::new());
        let mut starts = Regular::every(3000.0);
        let flights =
            fly(Told, &window, &mut recorder, &mut Places::new(8), Starts::Open(&mut starts), &mut server);
        assert_eq!((flights.most, flights.done), (1, 34));
        assert!(recorder.spread().quantile(1.0).unwrap() < 1020.0 && flights.latest < 20, "{flights:?}");
    }

    #[test]
    fn who_got_no_processor_sends_one_all_the_same() {
        let (mut server, mut recorder) = (Server::that_takes(1000), Recorder::new());
        TIME.set(1_000_000);
        let window = window(200, 300);
        let flights = fly(Told, &window, &mut recorder, &mut Places::new(2), Starts::Closed, &mut server);
        assert_eq!((flights.lost, flights.within), (0, 0));
        assert!((1..=2).contains(&flights.done) && recorder.spread().ops == flights.done, "{flights:?}");
        // And one of a stream that has none in the window.
        let (mut server, mut recorder) = (Server::that_takes(1000), Recorder::new());
        let mut starts = Regular::every(1_000_000.0).skip(1);
        let starts = Starts::Open(&mut starts);
        let flights = fly(Told, &window, &mut recorder, &mut Places::new(2), starts, &mut server);
        assert_eq!((flights.done, flights.within, recorder.spread().ops), (1, 0, 1));
    }

    /// Takes requests and never gives one back.
    struct Deaf(u64);

    impl Service for Deaf {
        fn send(&mut self, _: usize) {}

        fn take(&mut self) -> Option<usize> {
            None
        }

        fn rest(&mut self, until: Ticks) {
            self.0 += 1;
            TIME.set(TIME.get().max(until));
        }
    }

    #[test]
    fn what_never_ends_is_told() {
        TIME.set(0);
        let mut recorder = Recorder::new();
        let flights =
            fly(Told, &window(200, 300), &mut recorder, &mut Places::new(3), Starts::Closed, &mut Deaf(0));
        assert_eq!((flights.done, flights.lost), (0, 3));
    }
}
