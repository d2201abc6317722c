//! An attacker and a victim at a card that works when it is told to, all in one thread: what the fuzz target plays, and what its
//! seeds are played with.

use std::sync::Arc;

use tollway_cipher::engine::device::{Card, Delivery, Engine, NewFunction, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Handle, Operation, Options, Through};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction, Job, Session};
use tollway_virtio::Span;
use tollway_virtio::order::Share;
use tollway_virtio::socket::Meeting;
use vm_memory::VolatileSlice;

use super::attacker::{Attacker, Tally};

/// The victim's, which nobody else may ever see.
const KEY: &[u8; 16] = b"the victim's key";
const TEXT: &[u8; 64] = b"what the victim has encrypted and nobody else is ever to read ..";
const ALGORITHM: Algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);

/// Plays between two looks for what is the victim's in the attacker's memory.
const LOOK: u64 = 1024;

pub struct Pair {
    attacker: Attacker,
    victim: Driver,
    session: Handle,
    right: [u8; 64],
    engine: Engine,
    plays: u64,
}

impl Pair {
    pub fn new() -> Pair {
        let function = |name: &str| NewFunction {
            name: name.into(),
            meeting: Meeting::Inside,
            share: Share::default(),
            delivery: Delivery::Each,
        };
        let options = CardOptions { engines: 0, lent: 1, longest: 64 << 10, ..CardOptions::default() };
        let functions = vec![function("attacker"), function("victim")];
        let mut card = Card::start(functions, &options, |_| ()).expect("a card");
        let engine = card.engine().expect("it lends one");
        let inside = card.inside(1).expect("it is met inside");
        // By messages, as nobody serves its control queue while it waits.
        let options = Options { sessions: Through::Messages, ..Options::default() };
        let mut victim = Driver::inside(inside, &options).expect("the card takes it in");
        let session = victim.open(ALGORITHM, KEY).expect("an answer").expect("a session");
        let attacker = Attacker::inside(&Arc::new(card), 0, 1);
        Pair { attacker, victim, session, right: right(), engine, plays: 0 }
    }

    /// The attacker plays; then the victim has what it asks for.
    pub fn play(&mut self, data: &[u8], tally: &mut Tally) {
        let Pair { attacker, engine, .. } = self;
        attacker.play(data, tally, || _ = engine.turn());
        self.ask();
        self.plays += 1;
        if self.plays % LOOK == 1 {
            let looked_for: [&[u8]; 3] = [KEY, &TEXT[..16], &self.right[..16]];
            assert!(
                !looked_for.into_iter().any(|bytes| self.attacker.has(bytes)),
                "it has what is another's"
            );
        }
    }

    fn ask(&mut self) {
        let (area, at) = (self.victim.area().clone(), self.victim.free());
        let span = |at: usize| [Span { at, bytes: 64 }];
        area.write(at, TEXT);
        area.write(at + 64, &[0; 64]);
        let (source, result) = (span(at), span(at + 64));
        let operation = Operation::new(self.session, Work::Encrypt, &[9; 16], &source, &result);
        let queue = &mut self.victim.queues[0];
        assert!(queue.submit(1, &operation).expect("it can be asked"));
        queue.kick();
        self.engine.turn();
        let done = queue.take().expect("the card keeps to the protocol").expect("it is done");
        assert_eq!((done.status, done.bytes), (Status::Ok, 64));
        let mut bytes = [0; 64];
        area.read(at + 64, &mut bytes);
        assert_eq!(bytes, self.right, "another result");
    }
}

/// What the victim must get: by a session that nobody else has.
fn right() -> [u8; 64] {
    let session = Session::new(ALGORITHM, KEY).expect("a key that fits");
    let (mut text, mut result) = (*TEXT, [0; 64]);
    let job = Job {
        work: Work::Encrypt,
        iv: &[9; 16],
        associated: &[],
        source: &[VolatileSlice::from(&mut text[..])],
        result: &[VolatileSlice::from(&mut result[..])],
        digest: 0,
    };
    session.run(&job).expect("it fits");
    result
}
