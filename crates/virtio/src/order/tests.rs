//! The bound in the module's text, held on a simulated clock: any weights, any requests, any rate of the source.

use proptest::prelude::*;

use super::*;

const Q: usize = 4096;

/// A tenant of the simulation.
#[derive(Clone, Debug)]
struct Guest {
    share: Share,
    /// Bytes of each of its requests.
    request: u64,
    /// Whether it goes away at times; else it wants something from beginning to end.
    comes_and_goes: bool,
    got: u64,
    /// Bytes left of what it asked for.
    asked: u64,
}

/// A small generator, so that a failure can be played again from its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        // Constants of Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A worker of the simulation: it draws, which takes long, and then hands out what it drew, which does not.
#[derive(Clone, Copy)]
struct Worker {
    ready: u64,
    /// The tenant and the bytes that it is handing out.
    turn: Option<(usize, usize)>,
}

/// Plays `turns` turns with `workers` workers; `look` sees the guests after each.
fn play(
    guests: &mut [Guest],
    workers: usize,
    turns: usize,
    seed: u64,
    mut look: impl FnMut(&[Guest], u64),
) -> u64 {
    let mut dice = Dice(seed);
    let shares: Vec<Share> = guests.iter().map(|guest| guest.share).collect();
    let mut order = Order::new(Discipline::Fair, Q, Q, &shares, 0);
    for (tenant, guest) in guests.iter_mut().enumerate() {
        guest.asked = guest.request;
        order.want(tenant, 0);
    }
    let mut workers = vec![Worker { ready: 0, turn: None }; workers];
    let (mut done, mut now) = (0, 0);
    while done < turns {
        let first = workers.iter_mut().min_by_key(|worker| worker.ready).expect("a worker");
        now = first.ready.max(now);
        if let Some((tenant, bytes)) = first.turn.take() {
            let guest = &mut guests[tenant];
            guest.got += bytes as u64;
            guest.asked -= bytes as u64;
            if guest.asked == 0 && !(guest.comes_and_goes && dice.below(3) == 0) {
                guest.asked = guest.request;
            }
            let more = (guest.asked > 0).then_some(guest.asked);
            order.done(tenant, bytes, bytes, more, now);
            first.ready = now + 1 + dice.below(20_000);
            done += 1;
            look(guests, now);
        } else {
            // Full blocks mostly, and the rest of one at times.
            let most = if dice.below(4) > 0 { Q } else { 1 + dice.below(Q as u64) as usize };
            match order.next(most, now) {
                Some(grant) => {
                    let bytes = grant.most.min(guests[grant.tenant].asked as usize);
                    first.turn = Some((grant.tenant, bytes));
                    first.ready = now + 1 + dice.below(500);
                }
                None => {
                    first.ready = order.due(now).unwrap_or(now + 1000).max(now + 1);
                    let may_have = |guest: &&Guest| guest.asked > 0 && guest.share.limit.is_none();
                    let waiting = guests.iter().filter(may_have).count();
                    let served = workers.iter().filter(|worker| worker.turn.is_some()).count();
                    assert!(waiting <= served, "it rests although somebody may have something");
                }
            }
        }
        for (tenant, guest) in guests.iter_mut().enumerate() {
            if guest.asked == 0 && dice.below(10) == 0 {
                guest.asked = guest.request;
                order.want(tenant, now);
            }
        }
    }
    now
}

fn guest(comes_and_goes: bool) -> impl Strategy<Value = Guest> {
    (1u32..20, prop_oneof![Just(64u64), 1u64..5000, Just(1 << 20)]).prop_map(move |(weight, request)| Guest {
        share: Share { weight, limit: None, ..Share::default() },
        request,
        comes_and_goes,
        got: 0,
        asked: 0,
    })
}

/// How far two guests' service ever came apart, over any stretch, and the bound; in bytes of weight 1.
fn apart(guests: &mut [Guest], workers: usize, seed: u64) -> (f64, f64) {
    let of = |guest: &Guest| guest.got as f64 / f64::from(guest.share.weight);
    let (mut least, mut most) = (0.0f64, 0.0f64);
    play(guests, workers, 2000, seed, |guests, _| {
        let difference = of(&guests[0]) - of(&guests[1]);
        (least, most) = (least.min(difference), most.max(difference));
    });
    let quanta = if workers == 1 { 1 } else { workers + 1 };
    let quantum = (Q * quanta) as f64;
    let bound = guests[..2].iter().map(|guest| quantum / f64::from(guest.share.weight)).sum();
    (most - least, bound)
}

proptest! {
    #[test]
    fn two_that_always_want_differ_by_a_quantum_each(
        mut guests in prop::collection::vec(guest(false), 2),
        others in prop::collection::vec(guest(true), 0..5),
        seed: u64,
    ) {
        guests.extend(others);
        let (apart, bound) = apart(&mut guests, 1, seed);
        prop_assert!(apart <= bound + 1e-6, "{apart} > {bound}");
    }

    #[test]
    fn and_by_one_more_for_each_worker_where_there_are_several(
        mut guests in prop::collection::vec(guest(false), 2),
        others in prop::collection::vec(guest(true), 0..5),
        workers in 2usize..5,
        seed: u64,
    ) {
        for guest in &mut guests {
            guest.request = 1 << 20;
            guest.share.weight = 1;
        }
        guests.extend(others);
        let (apart, bound) = apart(&mut guests, workers, seed);
        prop_assert!(apart <= bound + 1e-6, "{apart} > {bound}");
    }

    #[test]
    fn what_turns_cost_differs_by_the_dearest_of_each(
        weights in prop::collection::vec(1u32..20, 2..6),
        dearest in prop::collection::vec(1u64..16 * Q as u64, 6),
        seed: u64,
    ) {
        let shares: Vec<Share> = weights.iter().map(|weight| Share { weight: *weight, limit: None, ..Share::default() }).collect();
        let mut order = Order::new(Discipline::Fair, Q, Q, &shares, 0);
        (0..shares.len()).for_each(|tenant| order.want(tenant, 0));
        let (mut dice, mut spent) = (Dice(seed), vec![0u64; shares.len()]);
        let (mut least, mut most) = (0.0f64, 0.0f64);
        let each = |spent: u64, tenant: usize| spent as f64 / f64::from(weights[tenant]);
        for now in 0..2000 {
            let tenant = order.next(Q, now).unwrap().tenant;
            let cost = 1 + dice.below(dearest[tenant]);
            spent[tenant] += cost;
            // All of them give one byte.
            order.done(tenant, 1, cost as usize, Some(Q as u64), now);
            let apart = each(spent[0], 0) - each(spent[1], 1);
            (least, most) = (least.min(apart), most.max(apart));
        }
        let bound = each(dearest[0], 0) + each(dearest[1], 1);
        prop_assert!(most - least <= bound + 1e-6, "{} > {bound}", most - least);
    }

    #[test]
    fn limits_hold_over_any_stretch_from_the_start(
        rate in 10_000u64..1_000_000_000, burst in 1u64..100_000,
        others in prop::collection::vec(guest(true), 0..4), seed: u64,
    ) {
        let limited = Guest {
            share: Share { weight: 3, limit: Some((rate, burst)), ..Share::default() },
            request: 10_000, comes_and_goes: false, got: 0, asked: 0,
        };
        let mut guests = vec![limited];
        guests.extend(others);
        let end = play(&mut guests, 1, 2000, seed, |guests, now| {
            let most = burst + (u128::from(now) * u128::from(rate) / 1_000_000_000) as u64;
            assert!(guests[0].got <= most, "{} > {most}", guests[0].got);
        });
        let _ = end;
    }
}

#[test]
fn a_limited_tenant_gets_its_limit_and_the_rest_goes_to_others() {
    let guest = |limit| Guest {
        share: Share { limit, ..Share::default() },
        request: 1 << 20,
        comes_and_goes: false,
        got: 0,
        asked: 0,
    };
    let mut guests = [guest(Some((1_000_000, 10_000))), guest(None), guest(None)];
    let end = play(&mut guests, 1, 100_000, 1, |_, _| ());
    let due = 10_000.0 + end as f64 / 1e9 * 1e6;
    assert!((guests[0].got as f64 / due - 1.0).abs() < 0.01, "{} of {due}", guests[0].got);
    assert!((guests[1].got as f64 / guests[2].got as f64 - 1.0).abs() < 0.001);
}

#[test]
fn weights_divide_what_there_is() {
    let mut guests: Vec<Guest> = [1, 2, 5]
        .map(|weight| Guest {
            share: Share { weight, limit: None, ..Share::default() },
            request: 1 << 20,
            comes_and_goes: false,
            got: 0,
            asked: 0,
        })
        .into();
    play(&mut guests, 1, 80_000, 7, |_, _| ());
    let each: Vec<f64> =
        guests.iter().map(|guest| guest.got as f64 / f64::from(guest.share.weight)).collect();
    assert!(each.iter().all(|got| (got / each[0] - 1.0).abs() < 0.001), "{each:?}");
}

#[test]
fn who_was_idle_has_saved_nothing_up() {
    let mut order = Order::new(Discipline::Fair, Q, Q, &[Share::default(), Share::default()], 0);
    order.want(0, 0);
    for _ in 0..1000 {
        let grant = order.next(Q, 0).unwrap();
        assert_eq!(grant, Grant { tenant: 0, most: Q });
        order.done(0, Q, Q, Some(Q as u64), 0);
    }
    order.want(1, 0);
    let mut turns = [0; 2];
    for _ in 0..10 {
        let grant = order.next(Q, 0).unwrap();
        turns[grant.tenant] += 1;
        order.done(grant.tenant, Q, Q, Some(Q as u64), 0);
    }
    assert_eq!(turns, [5, 5]);
}

#[test]
fn a_kick_during_a_turn_is_not_lost() {
    let mut order = Order::new(Discipline::Fair, Q, Q, &[Share::default()], 0);
    order.want(0, 0);
    order.next(Q, 0).unwrap();
    assert_eq!((order.next(Q, 0), order.due(0)), (None, None));
    order.want(0, 0);
    order.done(0, 0, 0, None, 5);
    assert_eq!(order.due(5), Some(5));
    order.next(Q, 7).unwrap();
    order.done(0, 0, 0, None, 7);
    assert_eq!(order.due(7), None);
    assert_eq!(order.waits(0, 7), Waits { turns: 2, total: 2, longest: 2, limited: 0 });
}

#[test]
fn who_goes_takes_its_tokens_along_and_waits_no_longer_where_it_was() {
    let limited = Share { weight: 1, limit: Some((1000, 100)), ..Share::default() };
    let mut order = Order::new(Discipline::Fair, Q, Q, &[limited], 0);
    order.want(0, 0);
    order.next(Q, 0).unwrap();
    order.done(0, 100, 100, Some(500), 0);
    assert_eq!(order.next(Q, 0), None);
    let tokens = order.leaves(0, 40);
    assert_eq!((order.due(50), order.waits(0, 1_000).limited), (None, 40));
    let mut other = Order::new(Discipline::Fair, Q, Q, &[limited], 0);
    other.comes_with(0, tokens);
    other.want(0, 50);
    // Its bucket is empty there, too.
    assert_eq!(other.next(Q, 50), None);
}

#[test]
fn a_new_limit_counts_from_now_on() {
    let mut order = Order::new(Discipline::Fair, Q, Q, &[Share::default()], 0);
    order.change(0, Share { weight: 1, limit: Some((1000, 100)), ..Share::default() }, 0);
    order.want(0, 0);
    assert_eq!(order.next(Q, 0).unwrap().most, 100);
    order.done(0, 100, 100, Some(500), 0);
    // Wants 500, but a full bucket has 100, which take a tenth of a second.
    assert_eq!(order.next(Q, 0), None);
    assert_eq!(order.due(0), Some(100_000_000));
    assert_eq!(order.waits(0, 40).limited, 40);
    order.change(0, Share::default(), 50);
    assert_eq!(order.next(Q, 50).unwrap().most, Q);
    assert_eq!(order.waits(0, 50).limited, 50);
}
