//! Requests as futures: a task for each that is on its way, all in one thread; and a server whose requests a task answers.

use std::cell::RefCell;

use tollway_channel::coroutine::{Calls, Driver, Executor, Incoming, Rouser, Stopped};
use tollway_channel::linux::{Client, Counts, Server, Shared};

use super::{Course, Demand, Loss, Outcome};
use crate::engine::message;
use crate::engine::service::Service;

/// Keeps requests on their way by that client's end, until the course says that it is enough and all replies are there; what came of it, and how
/// it waited.
pub fn ask(client: Client, demand: &Demand, course: &mut impl Course) -> (Outcome, Counts) {
    let (calls, mut dispatcher) = client.into_calls();
    let state = RefCell::new(State { course, outcome: Outcome::default(), goes_on: true });
    let rouser = dispatcher.rouser();
    let ended = run(demand.requests, rouser, &mut dispatcher, |_| task(&calls, demand, &state));
    let counts = dispatcher.counts();
    drop(dispatcher);
    let mut outcome = state.into_inner().outcome;
    outcome.lost = outcome.lost.or(ended.err().map(Loss::Stopped));
    (outcome, counts)
}

/// Answers until the client is gone; how it waited.
pub fn serve(server: Server, size: usize, service: &mut Service) -> Counts {
    let (incoming, mut dispatcher) = server.into_incoming();
    let rouser = dispatcher.rouser();
    let service = RefCell::new(service);
    // That the client is gone ends the task.
    let _ = run(1, rouser, &mut dispatcher, |_| answers(&incoming, size, &service));
    dispatcher.counts()
}

/// What the tasks of a client share.
pub(in crate::engine) struct State<'c, C> {
    pub(in crate::engine) course: &'c mut C,
    pub(in crate::engine) outcome: Outcome,
    pub(in crate::engine) goes_on: bool,
}

fn run<F: Future<Output = ()>>(
    tasks: usize,
    rouser: Rouser,
    driver: &mut impl Driver,
    task: impl Fn(usize) -> F,
) -> Result<(), Stopped> {
    let mut executor = Executor::new(tasks, rouser);
    for number in 0..tasks {
        executor.spawn(0, task(number));
    }
    executor.run(driver)
}

/// One request after the other.
pub(super) async fn task<C: Course>(calls: &Calls<Shared>, demand: &Demand, state: &RefCell<State<'_, C>>) {
    let (mut request, mut reply) = (vec![0; demand.size], vec![0; demand.size]);
    loop {
        let (number, began) = {
            let state = &mut *state.borrow_mut();
            state.outcome.asked += 1;
            (state.outcome.asked, state.course.begins())
        };
        message::ask(number, &mut request);
        // Why there is no reply the executor's end tells.
        let Ok((_, bytes)) = calls.call(0, &request, &mut reply).await else { return };
        let is_right = demand.is_right(number, &reply[..bytes]);
        let state = &mut *state.borrow_mut();
        state.outcome.done += 1;
        state.outcome.wrong += u64::from(!is_right);
        let done = state.outcome.done;
        state.goes_on &= state.course.came(began, || done);
        if !state.goes_on {
            return;
        }
    }
}

/// Answers one request after the other.
pub(super) async fn answers(incoming: &Incoming<Shared>, size: usize, service: &RefCell<&mut Service>) {
    let (mut request, mut reply) = (vec![0; size], vec![0; size]);
    while let Some(came) = incoming.next().await {
        let bytes = incoming.read(&came, &mut request);
        let bytes = service.borrow_mut().answers(&request[..bytes], &mut reply);
        incoming.answer(came, 0, &reply[..bytes]);
    }
}
