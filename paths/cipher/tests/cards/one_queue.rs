//! Why engines are one card's where they can be: c engines of a card have one queue, c cards with an engine each have c queues, between
//! which nobody changes. The card's own order of service in simulated time is held against Erlang's formula for the one and against
//! M/M/1 for the other.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_model::markovian::{Mm1, Mmc};
use tollway_virtio::order::{Discipline, Order, Share};

/// Requests of a function are done one after the other; of so many, two are at it at once as good as never.
const FUNCTIONS: usize = 64;
const REQUESTS: usize = 200_000;
/// A request's nanoseconds in the mean, and how busy each engine is.
const SERVICE: f64 = 10_000.0;
const LOAD: f64 = 0.8;

/// A card: its order, its engines that have nothing to do, and until when each function of it is at one.
struct Card {
    order: Order,
    free: usize,
    served: Vec<(u64, usize)>,
}

/// The mean response over the mean service, where so many cards have so many engines each. A function is on one card for good.
fn response(cards: usize, engines: usize) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut exponential = |mean: f64| {
        let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (-mean * uniform.ln()) as u64
    };
    let card = |_| Card {
        order: Order::new(Discipline::Arrival, 1, 1, &[Share::default(); FUNCTIONS], 0),
        free: engines,
        served: Vec::new(),
    };
    let mut front: Vec<Card> = (0..cards).map(card).collect();
    let mut asked = vec![VecDeque::new(); FUNCTIONS];
    let gap = SERVICE / (LOAD * (cards * engines) as f64);
    let (mut next, mut came, mut done, mut waited) = (exponential(gap), 0, 0, 0);
    while done < REQUESTS {
        let first = front.iter().flat_map(|card| &card.served).map(|(ends, _)| *ends).min();
        let now = first.map_or(next, |ends| ends.min(next));
        if now == next {
            // Whose it is, is drawn: Poisson arrivals of each.
            let function = (exponential(1e6) % FUNCTIONS as u64) as usize;
            asked[function].push_back(now);
            front[function % cards].order.want(function, now);
            (next, came) = (now + exponential(gap).max(1), came + 1);
        }
        for card in &mut front {
            while let Some(at) = card.served.iter().position(|(ends, _)| *ends <= now) {
                let (_, function) = card.served.swap_remove(at);
                waited += now - asked[function].pop_front().expect("it was asked for");
                done += 1;
                card.free += 1;
                card.order.done(function, 1, 1, (!asked[function].is_empty()).then_some(1), now);
            }
            while card.free > 0 {
                let Some(grant) = card.order.next(1, now) else { break };
                card.free -= 1;
                card.served.push((now + exponential(SERVICE).max(1), grant.tenant));
            }
        }
    }
    assert!(came >= done);
    waited as f64 / done as f64 / SERVICE
}

#[test]
fn one_queue_of_several_engines_is_shorter_than_as_many_of_one() {
    for engines in [2, 4] {
        let (one, many) = (response(1, engines), response(engines, 1));
        let erlang = Mmc::new(LOAD * engines as f64, 1.0, engines as u64).unwrap().mean_response();
        let alone = Mm1::new(LOAD, 1.0).unwrap().mean_response();
        println!(
            "{engines} engines: {one:.2} (Erlang {erlang:.2}); {engines} cards: {many:.2} (M/M/1 {alone:.2})"
        );
        assert!((one / erlang - 1.0).abs() < 0.05, "{engines} engines of a card: {one}, not {erlang}");
        assert!((many / alone - 1.0).abs() < 0.05, "{engines} cards of an engine: {many}, not {alone}");
    }
}
