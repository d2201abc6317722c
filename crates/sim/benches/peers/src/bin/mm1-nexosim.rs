//! M/M/1 by nexosim: one model that schedules its own two kinds of events, on one thread (more are slower on one model).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use tollway_sim_peers::{Exponential, LAMBDA, MU, tell};

#[derive(Serialize, Deserialize)]
struct Queue {
    #[serde(skip, default = "gaps")]
    gaps: Exponential,
    #[serde(skip, default = "services")]
    services: Exponential,
    to_come: u64,
    busy: bool,
    /// Arrivals of those in the system, the one in service first.
    inside: VecDeque<MonotonicTime>,
    sum: Duration,
    #[serde(skip)]
    told: Arc<Mutex<Duration>>,
}

fn gaps() -> Exponential {
    Exponential::new(1)
}

fn services() -> Exponential {
    Exponential::new(2)
}

#[Model]
impl Queue {
    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        context.schedule_event(Duration::from_nanos(1), schedulable!(Self::arrive), ()).unwrap();
    }

    #[nexosim(schedulable)]
    fn arrive(&mut self, _: (), context: &Context<Self>) {
        self.inside.push_back(context.time());
        self.to_come -= 1;
        if self.to_come > 0 {
            let gap = Duration::from_secs_f64(self.gaps.draw(LAMBDA)).max(Duration::from_nanos(1));
            context.schedule_event(gap, schedulable!(Self::arrive), ()).unwrap();
        }
        if !self.busy {
            self.busy = true;
            self.serve(context);
        }
    }

    #[nexosim(schedulable)]
    fn depart(&mut self, _: (), context: &Context<Self>) {
        let arrived = self.inside.pop_front().unwrap();
        self.sum += context.time().duration_since(arrived);
        if self.inside.is_empty() {
            self.busy = false;
        } else {
            self.serve(context);
        }
        if self.to_come == 0 {
            *self.told.lock().unwrap() = self.sum;
        }
    }

    fn serve(&mut self, context: &Context<Self>) {
        let time = Duration::from_secs_f64(self.services.draw(MU)).max(Duration::from_nanos(1));
        context.schedule_event(time, schedulable!(Self::depart), ()).unwrap();
    }
}

fn main() {
    tell(|customers| {
        let told = Arc::new(Mutex::new(Duration::ZERO));
        let queue = Queue {
            gaps: gaps(),
            services: services(),
            to_come: customers,
            busy: false,
            inside: VecDeque::new(),
            sum: Duration::ZERO,
            told: Arc::clone(&told),
        };
        let mut simulation = SimInit::with_num_threads(1)
            .add_model(queue, Mailbox::new(), "queue")
            .init(MonotonicTime::EPOCH)
            .unwrap();
        simulation.run().unwrap();
        told.lock().unwrap().as_secs_f64()
    });
}
