//! The front: where tenants enter, whichever card serves them. A function is put on a card when its tenant connects, on that of which
//! the least is entitled to; and when a card fails, those on it go on elsewhere.
//!
//! What is shared out are functions and not requests: requests of a queue are done in their order and under its sessions, which a
//! front that deals out requests would have to repeat on each card and to sort again behind them. Intel's driver does the same, whose
//! instances belong to one endpoint each (QuickAssist Technology Programmer's Guide, "Configuring Multiple Intel QuickAssist Technology
//! Endpoints in a System"); DPDK's scheduler of crypto devices deals out bursts, in turns or by size, and sorts answers if told to
//! (Cryptodev Scheduler Poll Mode Driver Library, "Modes Overview").
//!
//! Queues, sessions and counts are the function's, not the card's: it goes on where it was, and its tenant need not know.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollway_virtio::backend::{Answer, Device, Event, Kicks, Refused};
use tollway_virtio::order::Share;

use super::function::Function;
use super::options::Options;
use super::pool::{Pool, QUEUE, Tell};
use super::told::Told;
use crate::engine::protocol::{
    CLOSE_SESSION, CONFIG_FEATURE, CREATE_SESSION, CRYPTO_SESSION_FEATURE, GET_CONFIG, Offer,
    session_of_message,
};

/// Functions and cards.
pub(super) struct Front {
    pub(super) functions: Arc<[Function]>,
    pub(super) cards: Vec<Arc<Pool>>,
    queues: usize,
    /// Bytes of a request at most.
    longest: u64,
    book: Mutex<Vec<Entry>>,
    tell: Tell,
}

/// What the front knows of a function.
#[derive(Clone, Copy, Debug)]
struct Entry {
    share: Share,
    connected: bool,
    /// The card that it is on, or was the last time.
    card: usize,
}

impl Front {
    pub(super) fn new(
        functions: Arc<[Function]>,
        cards: Vec<Arc<Pool>>,
        options: &Options,
        shares: &[Share],
        tell: Tell,
    ) -> Front {
        let entry = |share: &Share| Entry { share: *share, connected: false, card: 0 };
        let book = Mutex::new(shares.iter().map(entry).collect());
        Front { functions, cards, queues: options.queues, longest: options.longest, book, tell }
    }

    pub(super) fn tell(&self, told: Told) {
        (self.tell)(told);
    }

    fn book(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The card that a function is on, or was the last time.
    fn card(&self, function: usize) -> &Arc<Pool> {
        &self.cards[self.functions[function].card()]
    }

    /// What a function is entitled to, and its card, while its tenant is connected.
    pub(super) fn entry(&self, function: usize) -> (Share, Option<usize>) {
        let entry = self.book()[function];
        (entry.share, entry.connected.then_some(entry.card))
    }

    /// Another share from now on.
    pub(super) fn change(&self, function: usize, share: Share) {
        self.book()[function].share = share;
        self.cards.iter().for_each(|card| card.desk.change(function, share));
    }

    /// Puts a function on the card that runs of whose engines those on it are entitled to least, by their weights; among equals on that
    /// which it was on. None: no card runs.
    fn place(&self, book: &mut [Entry], function: usize) -> Option<usize> {
        let last = book[function].card;
        let others = |card: usize| {
            let on = book.iter().enumerate().filter(|(other, _)| *other != function);
            let on = on.filter(|(_, entry)| entry.connected && entry.card == card);
            on.map(|(_, entry)| u64::from(entry.share.weight.max(1))).sum::<u64>()
        };
        let runs = |card: &usize| !self.cards[*card].desk.is_over();
        let cards = (0..self.cards.len()).filter(runs);
        let card = cards.min_by_key(|card| (others(*card), *card != last, *card))?;
        if card != last {
            self.cards[card].takes_over(&self.cards[last], function);
        }
        book[function].card = card;
        self.functions[function].goes_to(card);
        Some(card)
    }

    fn placed(&self, function: usize, card: Option<usize>) {
        if let Some(card) = card.filter(|_| self.cards.len() > 1) {
            self.tell(Told::Placed(function, card));
        }
    }

    /// An engine of a card has failed, and with it the card. Whom it served is given up, as what its tenant asked for may have been
    /// why, and would be again; all others go on elsewhere.
    pub(super) fn fails(&self, card: usize, engine: usize) {
        let failed = &self.cards[card];
        if failed.desk.end() {
            return;
        }
        self.tell(Told::Failed(card));
        if let Some(function) = failed.served_by(engine) {
            self.functions[function].give_up();
            self.tell(Told::Refused(function, None, Refused::Failed));
        }
        let mut moved = Vec::new();
        let mut book = self.book();
        for function in 0..book.len() {
            if book[function].connected && book[function].card == card {
                moved.push((function, self.place(&mut book, function)));
            }
        }
        drop(book);
        for (function, card) in moved {
            self.placed(function, card);
            self.starts(function);
        }
        if self.cards.iter().all(|card| card.desk.is_over()) {
            self.tell(Told::Over);
        }
    }

    /// A function may have asked for something before its card waited for its kicks.
    fn starts(&self, function: usize) {
        let card = self.card(function);
        if self.cards.len() > 1 {
            self.functions[function].is_watched_by(card.desk.kicks(), function);
        }
        card.starts(function);
    }
}

/// Its own feature bits (VIRTIO 1.2, 5.9.3) would be about requests without sessions, which it does not do.
impl Device for Front {
    fn queues(&self) -> usize {
        self.queues + 1
    }

    fn queue_size(&self) -> u16 {
        QUEUE
    }

    fn starts_enabled(&self) -> bool {
        true
    }

    fn holds_anyway(&self) -> u64 {
        // Linux's driver uses indirect tables, and its QEMU does not say so.
        1 << 28
    }

    fn protocol_features(&self) -> u64 {
        CRYPTO_SESSION_FEATURE | CONFIG_FEATURE
    }

    fn answer(&self, tenant: usize, request: u32, body: &[u8]) -> Option<Answer> {
        let function = self.functions.get(tenant)?;
        match request {
            CREATE_SESSION => {
                let opened = session_of_message(body)
                    .and_then(|(session, key)| function.open(session.algorithm, &key));
                // The body goes back, but for the key, with the session's number at its end: negative if there is none.
                let number = opened.map_or_else(|status| -i64::from(status as u8), |id| id as i64);
                let mut answer = vec![0; body.len().max(8)];
                let end = answer.len() - 8;
                answer[end..].copy_from_slice(&number.to_ne_bytes());
                Some(Answer::Body(answer))
            }
            CLOSE_SESSION => {
                let id = u64::from_ne_bytes(*body.first_chunk()?);
                // It may have closed it by the control queue.
                let _ = function.close(id);
                Some(Answer::Done)
            }
            GET_CONFIG => {
                let offer = Offer::of(self.queues as u32, self.longest);
                Some(Answer::Body(offer.answer(body).unwrap_or_default()))
            }
            _ => None,
        }
    }

    fn kicks(&self, tenant: usize) -> Option<&Kicks> {
        Some(self.card(tenant).desk.kicks())
    }

    fn event(&self, tenant: usize, event: Event<'_>) {
        let function = &self.functions[tenant];
        match event {
            Event::Connected => {
                function.connected(true);
                let mut book = self.book();
                let card = self.place(&mut book, tenant);
                book[tenant].connected = true;
                drop(book);
                self.tell(Told::Connected(tenant));
                self.placed(tenant, card);
            }
            Event::Started(queue) => {
                self.tell(Told::Started(tenant, queue));
                self.starts(tenant);
            }
            Event::Stopped(queue) => {
                // What stands in others is seen when they are looked at.
                self.card(tenant).left(tenant);
                self.tell(Told::Stopped(tenant, queue));
            }
            Event::Anew => function.begins_anew(),
            Event::Refused(refused) => {
                function.refused_message();
                self.tell(Told::Refused(tenant, None, refused.clone()));
            }
            Event::Gone => {
                function.connected(false);
                self.book()[tenant].connected = false;
                self.tell(Told::Gone(tenant));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tollway_virtio::socket::Meeting;

    use super::super::{Card, NewFunction, Options};
    use crate::engine::driver::{Driver, Options as DriverOptions, Through};

    /// What an engine was at when it failed is not done again by the next card.
    #[test]
    fn whom_an_engine_served_when_it_failed_is_given_up() {
        let function = |number: usize| NewFunction::new(format!("f{number}"), Meeting::Inside);
        let options = Options { cards: 2, engines: 0, lent: 1, ..Options::default() };
        let card = Card::start((0..4).map(function).collect(), &options, |_| ()).unwrap();
        // Nobody serves control queues here.
        let driver = DriverOptions { sessions: Through::Messages, ..DriverOptions::default() };
        let inside = |number| Driver::inside(card.inside(number).unwrap(), &driver).unwrap();
        let _tenants: Vec<Driver> = (0..4).map(inside).collect();
        card.front.cards[0].serves(0, Some(2));
        card.front.fails(0, 0);
        card.front.fails(0, 0);
        let functions = card.status().functions;
        let found = functions.iter().map(|f| (f.card, f.served, f.counts.refused_chains));
        let one = Some(1);
        assert_eq!(
            found.collect::<Vec<_>>(),
            [(one, true, 0), (one, true, 0), (one, false, 1), (one, true, 0)]
        );
    }
}
