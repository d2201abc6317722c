//! What needs nobody else: the cipher itself, and a look into a queue that has nothing.

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Gate, Params, Place, Plan, Recorder, Result, Role, Tally, TollKey,
    Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};
use tollway_virtio::order::Share;
use tollway_virtio::socket::Meeting;
use vm_memory::VolatileSlice;

use crate::engine::device::{Card, Delivery, NewFunction, Options as CardOptions};
use crate::engine::driver::{DataQueue, Driver, Options, Waiting};
use crate::engine::suite::{Job, Session};
use crate::params;
use crate::variants::load::Load;
use crate::variants::texts::Texts;

const CALLER: &str = "caller";

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

fn plan(key: TollKey, operation: &str) -> Plan {
    Plan {
        operation: operation.into(),
        roles: vec![Role::measured(CALLER)],
        gates: vec![Gate::new(key.crossing.name(), CALLER, key.clone())],
        provides: Some(key),
        needs: Vec::new(),
        requires: Vec::new(),
        guests: Vec::new(),
    }
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
        Ok(plan(cipher_key(&load(params)?), "request's cipher"))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = load(params)?;
        let refused = |status| Error::Wrong(format!("the library refuses {}: {status:?}", load.named.name));
        let session = Session::new(load.named.algorithm, load.key()).map_err(refused)?;
        let texts = Texts::of(&load)?;
        let result = vec![0; load.result()];
        Ok(Box::new(Caller { what: Ciphering { load, session, texts, result, failed: 0 }, done: 0 }))
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
        Ok(plan(look_key(), "look"))
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
        Ok(Box::new(Caller { what: Looking { queue, found: 0, _driver: driver, _card: card }, done: 0 }))
    }
}

/// What is repeated.
trait Repeated: Send {
    fn once(&mut self);

    /// How often it was not as it had to be.
    fn wrong(&self) -> u64;
}

struct Ciphering {
    load: Load,
    session: Session,
    texts: Texts,
    result: Vec<u8>,
    failed: u64,
}

impl Repeated for Ciphering {
    fn once(&mut self) {
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

impl Repeated for Looking {
    fn once(&mut self) {
        self.found += u64::from(!matches!(self.queue.take(), Ok(None)));
        std::hint::spin_loop();
    }

    fn wrong(&self) -> u64 {
        self.found
    }
}

struct Caller<R> {
    what: R,
    done: u64,
}

impl<R: Repeated> Work for &mut Caller<R> {
    #[inline]
    fn once(&mut self) {
        self.what.once();
    }
}

impl<R: Repeated> Actor for Caller<R> {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.done = repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.what.wrong()) {
            (0, _) => Err(Error::Wrong("nothing was done".into())),
            (_, 0) => Ok(()),
            (done, wrong) => Err(Error::Wrong(format!("{wrong} of {done} were not as they had to be"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
