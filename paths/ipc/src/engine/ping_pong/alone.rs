//! Both ends in one thread, which never waits: what messages cost by themselves, as they cost two processes that share a core.

use std::cell::RefCell;

use tollway_channel::coroutine::{Calls, Driver, Executor, Incoming};
use tollway_channel::linux::{Client, Dispatcher, Failed, Server, Shared};
use tollway_channel::ring::Violation;
use tollway_channel::wait::Gone;

use super::ring::Asking;
use super::tasks::{State, answers, task};
use super::{Course, Demand, Loss, Outcome};
use crate::engine::service::Service;

/// By rings: as many requests as there are to be are sent, then all are answered, then all replies taken, and so on.
pub fn ring(
    client: &mut Client,
    server: &mut Server,
    demand: &Demand,
    service: &mut Service,
    course: &mut impl Course,
) -> Outcome {
    let mut asking = Asking::new(demand);
    let lost = rounds(&mut asking, client, server, demand, service, course).err().map(Loss::Failed);
    Outcome { lost, ..asking.outcome }
}

fn rounds(
    asking: &mut Asking<'_>,
    client: &mut Client,
    server: &mut Server,
    demand: &Demand,
    service: &mut Service,
    course: &mut impl Course,
) -> Result<(), Failed> {
    let (mut request, mut reply) = (vec![0; demand.size], vec![0; demand.size]);
    for _ in 0..demand.requests {
        asking.send(client, course)?;
    }
    let mut goes_on = true;
    while asking.outcome.done < asking.outcome.asked {
        client.flush();
        while let Some(came) = server.take().map_err(Failed::Broken)? {
            let bytes = server.read(&came, &mut request);
            let bytes = service.answers(&request[..bytes], &mut reply);
            server.answer(came, 0, &reply[..bytes]);
        }
        server.flush();
        asking.take(client, course, &mut goes_on)?;
    }
    Ok(())
}

/// By futures: the client's tasks and the server's are one executor's.
pub fn tasks(
    client: Client,
    server: Server,
    demand: &Demand,
    service: &mut Service,
    course: &mut impl Course,
) -> Outcome {
    let (calls, asking) = client.into_calls();
    let (incoming, answering) = server.into_incoming();
    let state = RefCell::new(State::new(course));
    let service = RefCell::new(service);
    let mut executor = Executor::new(demand.requests + 1, asking.rouser());
    executor.spawn(0, answers(&incoming, demand.size, &service));
    for _ in 0..demand.requests {
        executor.spawn(0, task(&calls, demand, &state));
    }
    let mut both = Both { asking, answering, is_over: || state.borrow().is_over() };
    // Where all requests are done nothing comes any more, which ends the server's task.
    let ended = executor.run(&mut both);
    drop(executor);
    drop(both);
    let mut outcome = state.into_inner().outcome;
    if outcome.done < outcome.asked {
        outcome.lost = ended.err().map(Loss::Stopped);
    }
    outcome
}

/// What brings both their messages.
struct Both<O> {
    asking: Dispatcher<Calls<Shared>>,
    answering: Dispatcher<Incoming<Shared>>,
    is_over: O,
}

impl<O: Fn() -> bool> Driver for Both<O> {
    fn turn(&mut self) -> Result<bool, Violation> {
        let requests = self.answering.turn()?;
        Ok(self.asking.turn()? || requests)
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        // There is always something on its way, until all is done.
        if !is_ready() && (self.is_over)() { Err(Gone) } else { Ok(()) }
    }
}
