//! Their steps in order of time.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::card::Card;
use super::core::Core;
use super::tenant::{State, Tenant};
use super::{Answer, Law, Parts, Question, Wakes};

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A tenant's step is done.
    Stepped(usize),
    /// A tenant that looks has looked for long enough, or something is due; of the look of that number.
    Looked(usize, u64),
    /// A tenant's sleep of that number is to end.
    Due(usize, u64),
    /// A tenant runs again; of the sleep of that number.
    Woke(usize, u64),
    /// The card's request is done, or it has told, and goes on.
    Served,
    /// The card looks again.
    CardLooks,
    /// The card's sleep of that number is to end.
    CardDue(u64),
    /// The card runs again; of the sleep of that number.
    CardWoke(u64),
}

/// Events of the same moment come in the order in which they were planned.
struct Planned(f64, u64, Event);

impl PartialEq for Planned {
    fn eq(&self, other: &Planned) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Planned) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Planned) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// Everything there is.
pub(super) struct World<'p> {
    pub(super) parts: &'p Parts,
    pub(super) question: &'p Question,
    pub(super) now: f64,
    pub(super) random: StdRng,
    pub(super) card: Card<'p>,
    pub(super) tenants: Vec<Tenant>,
    /// The core that tenants share, whose it is, and who wants it.
    pub(super) core: Core<'p>,
    pub(super) owner: Option<usize>,
    pub(super) ready: VecDeque<usize>,
    pub(super) answer: Answer,
    events: BinaryHeap<Planned>,
    planned: u64,
    /// Requests that are still not counted.
    warming: u64,
    opened: f64,
}

/// Simulates.
pub fn run(parts: &Parts, question: &Question) -> Answer {
    let seed = question.seed;
    let tenants = question.tenants.max(1);
    let mut world = World {
        parts,
        question,
        now: 0.0,
        random: StdRng::seed_from_u64(seed),
        card: Card::new(Core::new(&parts.interruptions, 0, seed)),
        tenants: (0..tenants).map(|i| Tenant::new(question, seed.wrapping_add(i as u64 + 1) << 8)).collect(),
        core: Core::new(&parts.interruptions, 1, seed),
        owner: None,
        ready: (0..tenants).collect(),
        answer: Answer::default(),
        events: BinaryHeap::new(),
        planned: 0,
        warming: question.requests / 10,
        opened: 0.0,
    };
    world.card_steps();
    world.next_tenant();
    while (world.answer.responses.len() as u64) < question.requests {
        let Some(Planned(at, _, event)) = world.events.pop() else { break };
        world.now = at;
        world.happens(event);
    }
    world.ended()
}

impl World<'_> {
    pub(super) fn plan(&mut self, at: f64, event: Event) {
        self.planned += 1;
        self.events.push(Planned(at, self.planned, event));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Stepped(tenant) => self.stepped(tenant),
            Event::Looked(tenant, number) => self.looked(tenant, number),
            Event::Due(tenant, number) => self.due(tenant, number),
            Event::Woke(tenant, number) => self.woke(tenant, number),
            Event::Served => self.served(),
            Event::CardLooks => self.card_looks(),
            Event::CardDue(number) => self.card_due(number),
            Event::CardWoke(number) => self.card_woke(number),
        }
    }

    pub(super) fn draw(&mut self, law: &Law) -> f64 {
        law.draw(&mut self.random)
    }

    /// What is known of the sleep that is most like one that lasted so long.
    pub(super) fn late(&mut self, wakes: &Wakes, slept: f64) -> f64 {
        let far = |(other, _): &&(f64, Law)| (other / slept.max(1.0)).ln().abs();
        let nearest = wakes.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        nearest.map_or(0.0, |(_, law)| law.draw(&mut self.random))
    }

    /// A request that was to begin at `start` has its result read.
    pub(super) fn count(&mut self, start: f64) {
        if self.warming > 0 {
            self.warming -= 1;
            if self.warming == 0 {
                self.opened = self.now;
                (self.card.core.busy, self.core.busy) = (0.0, 0.0);
                self.card.stood(self.now, 1.0);
                self.answer = Answer::default();
            }
            return;
        }
        self.answer.responses.push(self.now - start + self.parts.rest);
    }

    fn ended(mut self) -> Answer {
        self.answer.seconds = (self.now - self.opened) * 1e-9;
        self.answer.queue = self.card.stood(self.now, self.now - self.opened);
        self.answer.card_busy =
            if self.question.awake { self.answer.seconds } else { self.card.core.busy * 1e-9 };
        let looking = self.tenants.iter().filter(|tenant| tenant.state == State::Looks).count();
        self.answer.tenant_busy = (self.core.busy + looking as f64 * self.now) * 1e-9;
        self.answer
    }
}
