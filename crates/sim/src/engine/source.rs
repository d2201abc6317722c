//! Sources: when customers come.

use super::flow::Exits;
use super::{Cause, Engine};
use crate::customers::{BACK_AT_ONCE, Customer};
use crate::error::Flow;
use crate::sampler::Ahead;
use crate::stream::Stream;
use crate::system::{Gaps, SourcePlan};

/// When the next customers of a source come, drawn one after the other.
#[derive(Clone)]
pub(crate) struct Clockwork<'s> {
    /// Independent gaps, where they are.
    renewal: Option<Ahead>,
    gaps: &'s Gaps,
    /// The state of the hidden chain, or the next gap of a trace.
    at: usize,
}

impl<'s> Clockwork<'s> {
    pub(crate) fn new(gaps: &'s Gaps) -> Self {
        let renewal = match gaps {
            Gaps::Renewal(sampler) => Some(Ahead::new(sampler.clone())),
            _ => None,
        };
        Clockwork { renewal, gaps, at: 0 }
    }

    /// Seconds to the next tick, and whether somebody comes then; if not, the source has changed its state.
    #[inline(always)]
    pub(crate) fn tick(&mut self, stream: &mut Stream) -> (f64, bool) {
        match &mut self.renewal {
            Some(sampler) => (sampler.draw(stream), true),
            None => self.other_tick(stream),
        }
    }

    #[inline(never)]
    fn other_tick(&mut self, stream: &mut Stream) -> (f64, bool) {
        match self.gaps {
            Gaps::Renewal(sampler) => (sampler.draw(stream), true),
            Gaps::Switching(states) => {
                // The next arrival and the change of state are both memoryless: the first of both is, too.
                let (rate, stay) = states[self.at];
                let change = stay.recip();
                let gap = stream.exponential() / (rate + change);
                let comes = stream.uniform() * (rate + change) <= rate;
                if !comes {
                    self.at = (self.at + 1) % states.len();
                }
                (gap, comes)
            }
            Gaps::Trace(gaps) => {
                let gap = gaps[self.at];
                self.at = (self.at + 1) % gaps.len();
                (gap, true)
            }
            Gaps::Closed { .. } => (f64::INFINITY, false),
        }
    }
}

/// A source while it is simulated.
pub(super) struct Source<'s> {
    pub(super) gaps: &'s Gaps,
    clockwork: Clockwork<'s>,
    pub(super) stream: Stream,
    batch: &'s [(f64, u32)],
    pub(super) to: Exits<'s>,
    pub(super) class: u16,
    /// Whether somebody comes at the pending time.
    pub(super) comes: bool,
    slot: usize,
}

impl<'s> Source<'s> {
    pub(super) fn new(plan: &'s SourcePlan, stream: Stream, slot: usize) -> Self {
        Source {
            gaps: &plan.gaps,
            clockwork: Clockwork::new(&plan.gaps),
            stream,
            batch: &plan.batch,
            to: Exits::of(&plan.to),
            class: plan.class,
            comes: false,
            slot,
        }
    }

    /// As its clockwork's.
    #[inline(always)]
    pub(super) fn tick(&mut self) -> (f64, bool) {
        self.clockwork.tick(&mut self.stream)
    }
}

impl Engine<'_> {
    /// The first arrival, or the first thoughts of a population.
    pub(super) fn start_source(&mut self, i: usize) -> Flow {
        let Gaps::Closed { customers, think } = self.sources[i].gaps else {
            self.schedule_arrival(i);
            return Ok(());
        };
        for _ in 0..*customers {
            let customer = Customer::new(0.0, i as u32, self.sources[i].class, BACK_AT_ONCE);
            let Some(customer) = self.customers.insert(customer) else { return Err(self.overflow()) };
            match think {
                None => self.returning.push_back(customer),
                Some(think) => {
                    let slot = self.slot(Cause::Thought, i)?;
                    self.slots[slot].customer = customer;
                    self.customers[customer].slot = slot as u32;
                    let time = think.draw(&mut self.sources[i].stream);
                    self.calendar.set(slot, time);
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn schedule_arrival(&mut self, i: usize) {
        let source = &mut self.sources[i];
        let (gap, comes) = source.tick();
        source.comes = comes;
        self.calendar.set(source.slot, self.now + gap);
    }

    /// Somebody comes, or the source changes its state.
    #[inline(always)]
    pub(super) fn source_event(&mut self, i: usize) -> Flow {
        let source = &mut self.sources[i];
        let size = match (source.comes, source.batch) {
            (false, _) => 0,
            (true, []) => 1,
            (true, sizes) => {
                let chosen = source.stream.uniform();
                let nth = sizes.partition_point(|(cumulative, _)| *cumulative < chosen);
                sizes.get(nth).map_or(1, |(_, size)| *size)
            }
        };
        // The next arrival is set before these customers move on: at equal times it was there first.
        self.schedule_arrival(i);
        for _ in 0..size {
            self.enter(i)?;
        }
        Ok(())
    }
}
