//! A card, or several behind one front: how the whole is started, asked, changed and stopped.

use std::sync::Arc;
use std::time::Instant;

use tollway_core::{Error, Result};
use tollway_virtio::backend::{Inside, Reception, Stopper};
use tollway_virtio::order::{Share, Waits};
use tollway_virtio::threads::Threads;

use super::delivery::Delivery;
use super::engine::{self, Engine};
use super::front::Front;
use super::function::Function;
use super::line::Standing;
use super::options::{NewFunction, Options};
use super::pool::{Pool, Tell};
use super::status::{CardStatus, FunctionStatus, Status};
use super::told::Told;

/// A card that runs, or several behind one front ([`Options::cards`]). Dropping it stops it, too.
pub struct Card {
    pub(super) front: Arc<Front>,
    begun: Instant,
    names: Vec<String>,
    /// Where tenants of this process enter.
    insides: Vec<Option<Inside>>,
    /// Engines that nobody has yet: of which card, and which of it.
    lent: Vec<(usize, usize)>,
    stopper: Stopper,
    threads: Threads,
}

impl Card {
    /// Starts: one thread for messages, and the engines of each card. `tell` is called by all of them, and must not wait long.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if the kernel refuses.
    pub fn start(
        functions: Vec<NewFunction>,
        options: &Options,
        tell: impl Fn(Told) + Send + Sync + 'static,
    ) -> Result<Card> {
        let wrong = |reason: &str, remedy: &str| Error::Input {
            place: "crypto card".into(),
            reason: reason.into(),
            remedy: remedy.into(),
        };
        let engines = options.engines + options.lent;
        let numbers = [options.cards, engines, options.quantum, options.sessions, options.longest as usize];
        if functions.is_empty() || numbers.contains(&0) {
            let remedy =
                "name a function, a card, an engine, a request a turn of a byte, and a session at least";
            return Err(wrong("there is nobody to serve, or nothing", remedy));
        }
        if !(1..=64).contains(&options.queues) {
            return Err(wrong("too many queues, or none", "let each function have 1 to 64"));
        }
        let shares: Vec<Share> = functions.iter().map(|function| function.share).collect();
        let new = |function: &NewFunction| Function::new(options, function.delivery.clone());
        let all: Arc<[Function]> = functions.iter().map(new).collect();
        let (tell, begun): (Tell, _) = (Arc::new(tell), Instant::now());
        let pool = |number| {
            let pool = Pool::new(number, all.clone(), &shares, options, begun, tell.clone())?;
            Ok(Arc::new(pool))
        };
        let cards = (0..options.cards).map(pool).collect::<Result<Vec<_>>>()?;
        let kicks = cards[0].desk.kicks().clone();
        let front = Arc::new(Front::new(all, cards, options, &shares, tell));
        let (names, meetings) = functions.into_iter().map(|f| (f.name, f.meeting)).unzip();
        let reception = Reception::new(front.clone(), kicks, meetings)?;
        for (function, port) in front.functions.iter().zip(reception.ports()) {
            function.is_at(port);
        }
        let insides = (0..front.functions.len()).map(|function| reception.inside(function)).collect();
        let (lent, tells) = (options.engines..engines, front.clone());
        let mut card = Card {
            lent: (0..options.cards).rev().flat_map(|card| lent.clone().map(move |e| (card, e))).collect(),
            front,
            begun,
            insides,
            names,
            stopper: reception.stopper(),
            threads: Threads::new(move |error| tells.tell(Told::Ended(error.to_string()))),
        };
        for number in 0..options.cards {
            for engine in 0..options.engines {
                let runs = Runs { front: card.front.clone(), card: number, engine };
                let name = format!("engine-{}", number * options.engines + engine);
                card.threads.start(name, move || runs.work())?;
            }
        }
        let answers = Answers { front: card.front.clone(), ended: false };
        card.threads.start("reception".into(), move || answers.work(reception))?;
        Ok(card)
    }

    /// Where the tenant of a function enters that is met in this process ([`Meeting::Inside`](tollway_virtio::socket::Meeting::Inside)).
    pub fn inside(&self, function: usize) -> Option<&Inside> {
        self.insides.get(function)?.as_ref()
    }

    /// One of the engines that are for its user's own threads, of the first card first; none if all are taken.
    pub fn engine(&mut self) -> Option<Engine> {
        let (card, number) = self.lent.pop()?;
        Some(Engine { pool: self.front.cards[card].clone(), number })
    }

    /// How it is going.
    pub fn status(&self) -> Status {
        let seconds = self.begun.elapsed().as_secs_f64();
        let all: Vec<_> = self.front.cards.iter().map(|card| card.status()).collect();
        let function = |(number, function): (usize, &Function)| {
            let (counts, sessions, connected) = function.counts();
            let (share, card) = self.front.entry(number);
            let waits = all.iter().map(|(waits, ..)| waits[number]).reduce(Waits::and);
            let standing = all.iter().map(|(_, each, _)| each[number]).reduce(Standing::and);
            FunctionStatus {
                name: self.names[number].clone(),
                share,
                card,
                connected,
                served: function.is_served(),
                sessions,
                counts,
                waits: waits.unwrap_or_default(),
                standing: standing.unwrap_or_default(),
            }
        };
        let functions = self.front.functions.iter().enumerate().map(function).collect();
        let cards: Vec<CardStatus> = all.iter().map(|(.., card)| card.clone()).collect();
        let standing = cards.iter().map(|card| card.standing).reduce(Standing::and).unwrap_or_default();
        Status { seconds, functions, cards, standing }
    }

    /// Changes what a function is entitled to, and when its tenant is told, from now on.
    pub fn change(&self, function: usize, share: Share, delivery: Delivery) {
        let Some(of) = self.front.functions.get(function) else { return };
        of.change(delivery);
        self.front.change(function, share);
    }

    /// Stops, and removes its sockets. Requests that are not done are not answered.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.threads.end(|| {
            for card in &self.front.cards {
                card.desk.end();
            }
            self.stopper.stop();
        });
        self.front.functions.iter().for_each(Function::end);
    }
}

/// The thread that answers messages. Without it nobody can connect or open a session: the front is told when it ends without having
/// been told to, however it does.
struct Answers {
    front: Arc<Front>,
    ended: bool,
}

impl Answers {
    fn work(mut self, reception: Reception<Front>) -> Result<()> {
        reception.run()?;
        self.ended = true;
        Ok(())
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if !self.ended {
            self.front.tell(Told::Over);
        }
    }
}

/// An engine's thread. The front is told when it ends, however it does.
struct Runs {
    front: Arc<Front>,
    card: usize,
    engine: usize,
}

impl Runs {
    fn work(self) -> Result<()> {
        engine::work(&self.front.cards[self.card], self.engine, None, || true).map(|_| ())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let card = &self.front.cards[self.card];
        if !card.desk.is_over() {
            self.front.fails(self.card, self.engine);
        }
        // Each ring wakes one engine of it.
        card.desk.ring();
    }
}

#[cfg(test)]
mod tests;
