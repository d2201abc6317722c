//! Requests in rings, and no futures: one thread sends, waits, and takes what has come.

use tollway_channel::linux::{Client, Failed, Server};
use tollway_channel::ring::Violation;
use tollway_core::Ticks;

use super::{Course, Demand, Loss, Outcome};
use crate::engine::message;
use crate::engine::service::Service;

/// Keeps requests on their way by that client's end, until the course says that it is enough and all replies are there.
pub fn ask(client: &mut Client, demand: &Demand, course: &mut impl Course) -> Outcome {
    let mut asking = Asking::new(demand);
    let lost = asking.all(client, course).err().map(Loss::Failed);
    Outcome { lost, ..asking.outcome }
}

/// Answers until the client is gone.
///
/// # Errors
/// [`Violation`] if the client breaks the rules.
pub fn serve(server: &mut Server, service: &mut Service) -> Result<(), Violation> {
    server.serve(|_, request, reply| (0, service.answers(request, reply)))
}

/// What a client remembers of its requests.
pub(super) struct Asking<'d> {
    demand: &'d Demand,
    /// The number of the request in each slot, and when it began.
    away: Vec<(u64, Option<Ticks>)>,
    request: Vec<u8>,
    reply: Vec<u8>,
    pub(super) outcome: Outcome,
}

impl<'d> Asking<'d> {
    pub(super) fn new(demand: &'d Demand) -> Asking<'d> {
        Asking {
            demand,
            away: vec![(0, None); demand.requests.next_power_of_two()],
            request: vec![0; demand.size],
            reply: vec![0; demand.size],
            outcome: Outcome::default(),
        }
    }

    fn all(&mut self, client: &mut Client, course: &mut impl Course) -> Result<(), Failed> {
        for _ in 0..self.demand.requests {
            self.send(client, course)?;
        }
        let mut goes_on = true;
        while self.outcome.done < self.outcome.asked {
            client.wait().map_err(|_| Failed::Gone)?;
            self.take(client, course, &mut goes_on)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn send(&mut self, client: &mut Client, course: &mut impl Course) -> Result<(), Failed> {
        let (number, began) = (self.outcome.asked, course.begins());
        message::ask(number, &mut self.request);
        let slot = client.send(0, &self.request).map_err(Failed::Refused)?;
        self.away[usize::from(slot)] = (number, began);
        self.outcome.asked += 1;
        Ok(())
    }

    /// Takes what has come, and sends as many requests as replies came, as long as it goes on.
    #[inline]
    pub(super) fn take(
        &mut self,
        client: &mut Client,
        course: &mut impl Course,
        goes_on: &mut bool,
    ) -> Result<(), Failed> {
        while let Some(came) = client.take().map_err(Failed::Broken)? {
            let (number, began) = self.away[usize::from(came.slot())];
            let bytes = client.read(&came, &mut self.reply);
            let is_right = came.bytes() == bytes && self.demand.is_right(number, &self.reply[..bytes]);
            client.release(came);
            self.outcome.done += 1;
            self.outcome.wrong += u64::from(!is_right);
            let done = self.outcome.done;
            *goes_on &= course.came(began, || done);
            if *goes_on {
                self.send(client, course)?;
            }
        }
        Ok(())
    }
}
