//! Coalescers: customers are held back and let go together.
//!
//! `count` and `timer` say when it is time to let go: as soon as either applies, or at once where neither is given.
//! `cap` and `poll` say when that is allowed: not before 1/cap after the last release, and only at multiples of the
//! period; a multiple that falls on the very moment of an arrival is over. An adaptive cap is a cap that changes at the
//! end of a window, and holds for those who are held then as well.

use super::flow::Exits;
use super::{Cause, Engine};
use crate::customers::{Chain, NOBODY};
use crate::error::Flow;
use crate::stream::Stream;
use crate::system::{AdaptivePlan, CoalescerPlan};

/// A coalescer while it is simulated.
pub(super) struct Coalescer<'s> {
    plan: &'s CoalescerPlan,
    to: Exits<'s>,
    stream: Stream,
    pub(super) held: Chain,
    pub(super) inside: u32,
    /// Whether it is time to let go.
    due: bool,
    /// The least time between two releases, seconds.
    gap: f64,
    released_last: f64,
    /// Slots of the timer, of the permission, of the end of a window.
    timer: usize,
    permit: usize,
    window: usize,
    /// The number of the present window, and who came in it.
    nth_window: f64,
    came: u64,
    last: f64,
    number: f64,
    arrived: u64,
    released: u64,
    releases: u64,
    delay: f64,
}

impl<'s> Coalescer<'s> {
    pub(super) fn new(
        engine: &mut Engine<'s>,
        i: usize,
        plan: &'s CoalescerPlan,
        stream: Stream,
    ) -> Flow<Self> {
        Ok(Coalescer {
            plan,
            to: Exits::of(&plan.to),
            stream,
            held: Chain::EMPTY,
            inside: 0,
            due: false,
            gap: plan.adaptive.as_ref().map_or(plan.gap.unwrap_or(0.0), |table| table.steps[0].1),
            released_last: f64::NEG_INFINITY,
            timer: engine.slot(Cause::Timer, i)?,
            permit: engine.slot(Cause::Permit, i)?,
            window: engine.slot(Cause::Window, i)?,
            nth_window: 0.0,
            came: 0,
            last: 0.0,
            number: 0.0,
            arrived: 0,
            released: 0,
            releases: 0,
            delay: 0.0,
        })
    }

    /// Brings the area up to now.
    pub(super) fn pass(&mut self, now: f64) {
        self.number += f64::from(self.inside) * (now - self.last);
        self.last = now;
    }

    /// Writes the columns.
    pub(super) fn write(&self, row: &mut Vec<f64>) {
        row.extend([
            self.arrived as f64,
            self.released as f64,
            self.releases as f64,
            self.delay,
            self.number,
        ]);
    }

    /// Goes on to the window of that number, and takes its cap.
    fn roll(&mut self, nth: f64, table: &AdaptivePlan) {
        if nth <= self.nth_window {
            return;
        }
        // Who came in the window before this one counts; if that was not the present one, nobody did.
        let came = if nth == self.nth_window + 1.0 { self.came } else { 0 };
        let step = table.steps.partition_point(|(from, _)| *from <= came as f64);
        self.gap = table.steps[step.max(1) - 1].1;
        self.nth_window = nth;
        self.came = 0;
    }

    /// When it may let go, if it is time now.
    fn permission(&self, now: f64) -> f64 {
        let free = self.released_last + self.gap;
        match self.plan.poll {
            None => free.max(now),
            Some(period) => {
                let multiple = ((now / period).floor() + 1.0) * period;
                let multiple = if multiple > now { multiple } else { multiple + period };
                if free <= multiple { multiple } else { (free / period).ceil() * period }
            }
        }
    }
}

impl Engine<'_> {
    /// The customer is held.
    pub(super) fn hold(&mut self, i: usize, customer: u32) -> Flow {
        let now = self.now;
        let coalescer = &mut self.coalescers[i];
        coalescer.pass(now);
        if let Some(table) = &coalescer.plan.adaptive {
            coalescer.roll((now / table.window).floor(), table);
            coalescer.came += 1;
        }
        self.customers[customer].arrived = now;
        coalescer.held.push(&mut self.customers, customer);
        coalescer.inside += 1;
        coalescer.arrived += 1;
        let plan = coalescer.plan;
        let full = plan.count.is_some_and(|count| coalescer.inside >= count);
        if full || plan.count.is_none() && plan.timer.is_none() {
            coalescer.due = true;
        } else if let (Some(timer), 1) = (plan.timer, coalescer.inside) {
            self.calendar.set(coalescer.timer, now + timer);
        }
        if let Some(table) = &plan.adaptive
            && self.calendar.time(coalescer.window) == f64::INFINITY
        {
            self.calendar.set(coalescer.window, (coalescer.nth_window + 1.0) * table.window);
        }
        self.let_go_if_due(i)
    }

    /// Lets go, if it is time and allowed; else waits for the permission.
    fn let_go_if_due(&mut self, i: usize) -> Flow {
        let coalescer = &self.coalescers[i];
        if !coalescer.due {
            return Ok(());
        }
        let permission = coalescer.permission(self.now);
        if permission <= self.now {
            return self.release(i);
        }
        if self.calendar.time(coalescer.permit) != permission {
            self.calendar.set(coalescer.permit, permission);
        }
        Ok(())
    }

    /// Lets everybody go.
    fn release(&mut self, i: usize) -> Flow {
        let coalescer = &mut self.coalescers[i];
        self.calendar.cancel(coalescer.timer);
        self.calendar.cancel(coalescer.permit);
        coalescer.due = false;
        coalescer.released_last = self.now;
        coalescer.releases += 1;
        coalescer.released += u64::from(coalescer.inside);
        coalescer.inside = 0;
        let mut customer = coalescer.held.take().first();
        while customer != NOBODY {
            let next = self.customers[customer].next;
            let leaving = &mut self.customers[customer];
            let delay = self.now - leaving.arrived;
            leaving.delayed += delay;
            let coalescer = &mut self.coalescers[i];
            coalescer.delay += delay;
            let node = coalescer.to.draw(&mut coalescer.stream);
            self.forward(customer, node)?;
            customer = next;
        }
        Ok(())
    }

    /// The first customer was held long enough.
    pub(super) fn timer(&mut self, i: usize) -> Flow {
        let coalescer = &mut self.coalescers[i];
        coalescer.pass(self.now);
        self.calendar.cancel(coalescer.timer);
        coalescer.due = true;
        self.let_go_if_due(i)
    }

    /// The permission that was waited for is there.
    pub(super) fn permit(&mut self, i: usize) -> Flow {
        self.coalescers[i].pass(self.now);
        self.release(i)
    }

    /// A window ends in which customers came, or at whose beginning some were held.
    pub(super) fn window(&mut self, i: usize) -> Flow {
        let coalescer = &mut self.coalescers[i];
        coalescer.pass(self.now);
        self.calendar.cancel(coalescer.window);
        let Some(table) = &coalescer.plan.adaptive else { return Ok(()) };
        let came = coalescer.came;
        // At its end by the calendar a window is over, whatever rounding says.
        let next = coalescer.nth_window + 1.0;
        coalescer.roll(next.max((self.now / table.window).floor()), table);
        // The next window's end matters only if its cap may change then: because somebody came.
        if came > 0 {
            self.calendar.set(coalescer.window, (coalescer.nth_window + 1.0) * table.window);
        }
        self.let_go_if_due(i)
    }
}
