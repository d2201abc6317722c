//! Requests as futures: a task for each that is on its way, all in one thread; and a server whose requests a task answers.

use std::cell::RefCell;

use tollway_channel::coroutine::{Calls, Driver, Executor, Incoming, Rouser, Stopped};
use tollway_channel::linux::{Client, Counts, Server, Shared};
use tollway_core::Ticks;

use super::{Course, Demand, Loss, Outcome};
use crate::engine::message;
use crate::engine::service::Service;

/// Keeps requests on their way by that client's end, until the course says that it is enough and all replies are there; what came of it, and how
/// it waited.
pub fn ask(client: Client, demand: &Demand, course: &mut impl Course) -> (Outcome, Counts) {
    let (calls, mut dispatcher) = client.into_calls();
    let state = RefCell::new(State::new(course));
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
    course: &'c mut C,
    pub(in crate::engine) outcome: Outcome,
    goes_on: bool,
}

impl<'c, C: Course> State<'c, C> {
    pub(in crate::engine) fn new(course: &'c mut C) -> State<'c, C> {
        State { course, outcome: Outcome::default(), goes_on: true }
    }

    /// A task begins a request: its number, and when that is, if it is one of those that are timed.
    pub(in crate::engine) fn begins(&mut self) -> (u64, Option<Ticks>) {
        self.outcome.asked += 1;
        (self.outcome.asked, self.course.begins())
    }

    /// What a task asked for then has come. Whether it is to ask again.
    pub(in crate::engine) fn came(&mut self, began: Option<Ticks>, is_right: bool) -> bool {
        self.outcome.done += 1;
        self.outcome.wrong += u64::from(!is_right);
        let done = self.outcome.done;
        self.goes_on &= self.course.came(began, || done);
        self.goes_on
    }

    /// There will be no more, for that reason.
    pub(in crate::engine) fn loses(&mut self, lost: Loss) {
        self.outcome.lost = Some(lost);
        self.goes_on = false;
    }

    /// Whether no task asks again, and all that was asked for has come.
    pub(super) fn is_over(&self) -> bool {
        !self.goes_on && self.outcome.done == self.outcome.asked
    }
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
        let (number, began) = state.borrow_mut().begins();
        message::ask(number, &mut request);
        // Why there is no reply the executor's end tells.
        let Ok((_, bytes)) = calls.call(0, &request, &mut reply).await else { return };
        let is_right = demand.is_right(number, &reply[..bytes]);
        if !state.borrow_mut().came(began, is_right) {
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
