//! What needs nobody else: the cipher itself, and a look into a queue that has nothing.

use tollway_core::{Actor, Axis, Crossing, Error, Params, Plan, Result, TollKey, Variant};
use tollway_virtio::order::Share;
use tollway_virtio::socket::Meeting;
use vm_memory::VolatileSlice;

use crate::engine::device::{Card, Delivery, NewFunction, Options as CardOptions};
use crate::engine::driver::{DataQueue, Driver, Options, Waiting};
use crate::engine::suite::{Job, Session};
use crate::params;
use crate::variants::caller::{self, Called, Caller};
use crate::variants::load::Load;
use crate::variants::texts::Texts;

/// The cipher.
pub(super) struct Cipher;

/// A look.
pub(super) struct Look;

/// The toll of the cipher of a request.
pub(in crate::variants) fn cipher_key(load: &Load) -> TollKey {
    TollKey::of(Crossing::CipherWork).kind(load.named.name).size(load.size as u64)
}

/// The toll of a look in vain.
pub(in crate::variants) fn look_key() -> TollKey {
    TollKey::of(Crossing::QueueLook)
}

fn load(params: &Params) -> Result<Load> {
    Load::of(&params.clone().with("cipher", params.word("kind")?).with("depth", 1))
}

impl Variant for Cipher {
    fn name(&self) -> &str {
        Crossing::CipherWork.name()
    }

    fn about(&self) -> &str {
        Crossing::CipherWork.title()
    }

    fn caveats(&self) -> &str {
        "Source and result lie in the nearest cache that they fit into."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![Axis { name: "kind", ..params::cipher() }, params::size()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        Ok(caller::plan("request's cipher", Some(cipher_key(&load(params)?))))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = load(params)?;
        let refused = |status| Error::Wrong(format!("the library refuses {}: {status:?}", load.named.name));
        let session = Session::new(load.named.algorithm, load.key()).map_err(refused)?;
        let texts = Texts::of(&load)?;
        let result = vec![0; load.result()];
        Ok(Caller::of(Ciphering { load, session, texts, result, failed: 0 }))
    }
}

impl Variant for Look {
    fn name(&self) -> &str {
        Crossing::QueueLook.name()
    }

    fn about(&self) -> &str {
        Crossing::QueueLook.title()
    }

    fn caveats(&self) -> &str {
        "Nobody writes to the queue meanwhile: its line stays in the looker's cache. The pause between two looks (PAUSE) is in it."
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        Ok(caller::plan("look", Some(look_key())))
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        let function = NewFunction {
            name: "nobody".into(),
            meeting: Meeting::Inside,
            share: Share::default(),
            delivery: Delivery::Never,
        };
        // An engine that nobody lends a thread to.
        let options = CardOptions { engines: 0, lent: 1, ..CardOptions::default() };
        let card = Card::start(vec![function], &options, |_| ())?;
        let inside = card.inside(0).ok_or_else(|| Error::Wrong("a function has no door".into()))?;
        let mut driver = Driver::inside(inside, &Options { waiting: Waiting::Busy, ..Options::default() })?;
        let queue = driver.queues.remove(0);
        Ok(Caller::of(Looking { queue, found: 0, _driver: driver, _card: card }))
    }
}

struct Ciphering {
    load: Load,
    session: Session,
    texts: Texts,
    result: Vec<u8>,
    failed: u64,
}

impl Called for Ciphering {
    fn once(&mut self, _: usize) {
        let source = VolatileSlice::from(self.texts.sources[0].as_mut_slice());
        let job = Job {
            work: self.load.named.work,
            iv: self.load.iv(),
            associated: &[],
            source: &[source],
            result: &[VolatileSlice::from(self.result.as_mut_slice())],
            digest: 0,
        };
        self.failed += u64::from(self.session.run(&job).is_err());
    }

    fn wrong(&self) -> u64 {
        self.failed + u64::from(self.result != self.texts.results[0])
    }
}

struct Looking {
    queue: DataQueue,
    found: u64,
    _driver: Driver,
    _card: Card,
}

impl Called for Looking {
    fn once(&mut self, _: usize) {
        self.found += u64::from(!matches!(self.queue.take(), Ok(None)));
        std::hint::spin_loop();
    }

    fn wrong(&self) -> u64 {
        self.found
    }
}
