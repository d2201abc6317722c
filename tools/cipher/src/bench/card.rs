//! Cards, each with one tenant that is this process: in this process too, in a neighbour, or served already by somebody.

use std::path::Path;
use std::thread;
use std::time::Duration;

use tollway_cipher::engine::device::{Card, Delivery, NewFunction, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Handle, Options, Waiting};
use tollway_cipher::engine::suite::Named;
use tollway_core::{Error, Missing, Result};
use tollway_host::cpu::pin_current_thread;
use tollway_virtio::order::Share;
use tollway_virtio::socket::Meeting;

use super::neighbour::Neighbour;
use super::plan::{Plan, Point};
use super::round::{self, Round};
use super::tenant::{Tenant, slot};
use super::texts::{self, Texts};
use crate::args::bench::Word;

/// A connection to a card, and the card, if it is ours. The connection ends first.
pub(super) struct Connected {
    driver: Driver,
    sessions: Vec<(&'static str, Handle)>,
    _here: Option<Card>,
    _neighbour: Option<Neighbour>,
}

/// What cards are made by.
pub(super) struct Workshop<'a> {
    pub(super) plan: &'a Plan,
    pub(super) program: &'a Path,
    pub(super) socket: Option<&'a Path>,
    pub(super) spin: Duration,
}

impl Workshop<'_> {
    /// A card as that point wants it, or a connection to the one that is there.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub(super) fn start(&self, point: &Point) -> Result<Connected> {
        let waiting = point.waiting.unwrap_or(Waiting::Busy);
        let Plan { room, depth, .. } = *self.plan;
        let options = Options { queues: point.tasks, depth, bytes: room, waiting, ..Options::default() };
        let (driver, here, neighbour) = match point.by {
            Word::Inside => {
                let card = self.card(point.tasks)?;
                let inside = card.inside(0).ok_or_else(|| Error::Wrong("a card without a door".into()))?;
                (Driver::inside(inside, &options)?, Some(card), None)
            }
            Word::Neighbour => {
                let one = Neighbour::start(self.program, self.plan.card, point.tasks, self.spin)?;
                (Driver::connect(one.socket(), &options)?, None, Some(one))
            }
            _ => {
                let socket = self.socket.ok_or_else(|| Error::Wrong("no socket is named".into()))?;
                (Driver::connect(socket, &options)?, None, None)
            }
        };
        Ok(Connected { driver, sessions: Vec::new(), _here: here, _neighbour: neighbour })
    }

    /// One whose threads are on the card's processor, as the thread is that starts them.
    fn card(&self, queues: usize) -> Result<Card> {
        let function = NewFunction {
            name: "bench".into(),
            meeting: Meeting::Inside,
            share: Share::default(),
            delivery: Delivery::Each,
        };
        let options = CardOptions { queues, spin: self.spin, ..CardOptions::default() };
        let start = || {
            pin_current_thread(self.plan.card)?;
            Card::start(vec![function], &options, |_| ())
        };
        thread::scope(|scope| {
            let started = scope.spawn(start).join();
            started.unwrap_or_else(|_| Err(Error::Wrong("a card died as it started".into())))
        })
    }
}

impl Connected {
    /// A session of that cipher, made when it is first asked for.
    fn session(&mut self, named: &'static Named, by: Word) -> Result<Handle> {
        if let Some((_, session)) = self.sessions.iter().find(|(name, _)| *name == named.name) {
            return Ok(*session);
        }
        match self.driver.open(named.algorithm, &texts::key(named))? {
            Ok(session) => {
                self.sessions.push((named.name, session));
                Ok(session)
            }
            Err(status) => Err(Error::Missing(Missing::new(
                format!("{} by {}", named.name, by.name()),
                format!("it makes no session for it: {status}"),
                "measure by it what it does (--cipher)",
            ))),
        }
    }

    /// Measures a point.
    ///
    /// # Errors
    /// A result is wrong, or the card does not answer.
    pub(super) fn measure(
        &mut self,
        point: &Point,
        texts: &Texts,
        cpus: &[u32],
        seconds: f64,
    ) -> Result<Round> {
        let session = self.session(point.cipher, point.by)?;
        let (free, flight) = (self.driver.free(), point.in_flight.unwrap_or(1));
        let each = slot(point.cipher, point.size) * flight;
        let queues = self.driver.queues.iter_mut().enumerate();
        let tenants = queues
            .map(|(number, queue)| {
                Tenant::new(queue, session, point.cipher, texts, free + number * each, flight)
            })
            .collect();
        round::all(tenants, cpus, seconds, Tenant::run)
    }
}
