//! M/M/1 by simrs: one component with two kinds of events, as lean as the library allows.

use std::time::Duration;

use simrs::{Component, ComponentId, Executor, Fifo, Key, QueueId, Scheduler, Simulation, State};
use tollway_sim_peers::{Exponential, LAMBDA, MU, tell};

#[derive(Debug)]
enum Event {
    Arrival,
    Departure,
}

struct Run {
    gaps: Exponential,
    services: Exponential,
    to_come: u64,
    busy: bool,
    sum: Duration,
}

struct Queue {
    waiting: QueueId<Fifo<Duration>>,
    serving: Key<Duration>,
    run: Key<Run>,
}

impl Component for Queue {
    type Event = Event;

    fn process_event(&self, id: ComponentId<Event>, event: &Event, scheduler: &mut Scheduler, state: &mut State) {
        let now = scheduler.time();
        match event {
            Event::Arrival => {
                let run = state.get_mut(self.run).unwrap();
                run.to_come -= 1;
                if run.to_come > 0 {
                    scheduler.schedule(Duration::from_secs_f64(run.gaps.draw(LAMBDA)), id, Event::Arrival);
                }
                if run.busy {
                    let _ = state.send(self.waiting, now);
                } else {
                    run.busy = true;
                    let time = Duration::from_secs_f64(run.services.draw(MU));
                    scheduler.schedule(time, id, Event::Departure);
                    *state.get_mut(self.serving).unwrap() = now;
                }
            }
            Event::Departure => {
                let arrived = *state.get(self.serving).unwrap();
                let next = state.recv(self.waiting);
                let run = state.get_mut(self.run).unwrap();
                run.sum += now - arrived;
                match next {
                    None => run.busy = false,
                    Some(arrived) => {
                        let time = Duration::from_secs_f64(run.services.draw(MU));
                        scheduler.schedule(time, id, Event::Departure);
                        *state.get_mut(self.serving).unwrap() = arrived;
                    }
                }
            }
        }
    }
}

fn main() {
    tell(|customers| {
        let mut simulation = Simulation::default();
        let waiting = simulation.add_queue(Fifo::default());
        let serving = simulation.state.insert(Duration::ZERO);
        let run = simulation.state.insert(Run {
            gaps: Exponential::new(1),
            services: Exponential::new(2),
            to_come: customers,
            busy: false,
            sum: Duration::ZERO,
        });
        let queue = simulation.add_component(Queue { waiting, serving, run });
        simulation.schedule(Duration::ZERO, queue, Event::Arrival);
        simulation.execute(Executor::unbound());
        simulation.state.get(run).unwrap().sum.as_secs_f64()
    });
}
