//! What waits teach: a phase that is of no use is left out, tried again ever more seldom, and back as soon as it helps.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;

use tollway_channel::ring::bell::Bell;
use tollway_channel::wait::{Gone, Patience, Platform, Waiter, Waits};

/// Where time goes by as it is asked for, and every sleep is over at once.
#[derive(Default)]
struct Scene {
    now: Cell<u64>,
    looks: Cell<u32>,
    turns: Cell<u32>,
    is_woken: Cell<bool>,
}

impl Platform for Scene {
    fn now(&self) -> u64 {
        self.now.replace(self.now.get() + 1)
    }

    fn relax(&self) {
        self.looks.update(|looks| looks + 1);
    }

    fn give_way(&self) {
        self.turns.update(|turns| turns + 1);
    }

    fn sleep(&self, _: &AtomicU64) -> Result<(), Gone> {
        self.is_woken.set(true);
        Ok(())
    }

    fn wake(&self, _: &AtomicU64) {}
}

/// In which of so many waits it looked for longer than a moment, and in which it gave its core away: what it waits for comes while it sleeps, but in one
/// wait while it looks.
fn tried(waits: u32, but: Option<u32>) -> ([Vec<u32>; 2], Waits) {
    let (scene, bell) = (Scene::default(), AtomicU64::new(0));
    let mut waiter = Waiter::new(&scene, Patience { spin: 1, yields: 3 });
    let mut tried = [Vec::new(), Vec::new()];
    for wait in 1..=waits {
        let before = [scene.looks.get(), scene.turns.get()];
        scene.is_woken.set(false);
        let is_there = || scene.is_woken.get() || but == Some(wait) && scene.looks.get() != before[0];
        waiter.wait(Bell(&bell), is_there).unwrap();
        for (tried, (now, before)) in
            tried.iter_mut().zip([scene.looks.get(), scene.turns.get()].iter().zip(before))
        {
            if *now != before {
                tried.push(wait);
            }
        }
    }
    (tried, waiter.waits())
}

/// By a clock that goes on with each look: how long it looks is bounded by its patience, and then it sleeps.
#[test]
fn no_wait_looks_for_longer_than_its_patience() {
    for (spin, yields) in [(0, 0), (1, 3), (1000, 0), (1000, 4), (100_000, 4)] {
        let (scene, bell) = (Scene::default(), AtomicU64::new(0));
        let mut waiter = Waiter::new(&scene, Patience { spin, yields });
        let mut longest = 0;
        for _ in 0..100 {
            let (begun, turns) = (scene.now.get(), scene.turns.get());
            scene.is_woken.set(false);
            waiter.wait(Bell(&bell), || scene.is_woken.get()).unwrap();
            longest = longest.max(scene.now.get() - begun);
            assert!(scene.turns.get() - turns <= yields, "{spin}, {yields}");
        }
        // The look at the clock that ends each phase comes in addition.
        assert!(longest <= spin + u64::from(yields) + 4, "{spin}, {yields}: {longest}");
        assert_eq!(waiter.waits(), Waits { asleep: 100, ..Waits::default() });
    }
}

#[test]
fn what_never_helps_is_tried_ever_more_seldom() {
    let (tried, waits) = tried(10_000, None);
    let seldom = [33, 65, 129, 257, 513, 1025, 2049, 4097, 6145, 8193];
    let expected: Vec<u32> = (1..=17).chain(seldom).collect();
    assert_eq!(tried, [expected.clone(), expected]);
    assert_eq!(waits, Waits { asleep: 10_000, ..Waits::default() });
}

#[test]
fn what_has_helped_is_tried_as_at_first() {
    let ([looked, _], waits) = tried(100, Some(33));
    let expected: Vec<u32> = (1..=17).chain(33..=50).chain([66, 98]).collect();
    assert_eq!(looked, expected);
    assert_eq!(waits, Waits { looking: 1, asleep: 99, ..Waits::default() });
}
