//! A round trip by the processor time of its two ends: what one pays, on the mean of both.
//!
//! Both do the same, a call that wakes and one that sleeps, and yet one of them may pay a third more: which processor is woken how is the
//! hypervisor's. Across cores both together are less than the time that goes by, in which a core is woken; on one core they are that time, but for what others
//! take of the core meanwhile.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tollway_core::{Error, Missing, Params, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::hz;
use tollway_host::samplers::thread_time;
use tollway_host::watch::Release;

use super::echo::Echo;
use super::eventfd::EventfdExchange;
use super::futex::FutexExchange;
use super::pipe::Pipes;
use super::processor_time;
use super::shared::Shared;
use super::sockets::{TcpLoopback, UnixStream};
use super::yielding::YieldExchange;
use super::{Caller, Exchange, Server};

/// What the two may talk by: named as the crossings are whose round trips these are.
/// Each as it is at first, and once it has lasted a while; of `sched-yield` both stay ready, and nobody is woken.
pub const KINDS: &[&str] = &[
    "futex",
    "pipe",
    "eventfd",
    "unix-stream",
    "tcp-loopback",
    "sched-yield",
    "futex-lasting",
    "pipe-lasting",
    "eventfd-lasting",
    "unix-stream-lasting",
    "tcp-loopback-lasting",
];

/// What a kind's name ends in that has lasted.
const LASTING: &str = "-lasting";

/// From then on two that take turns across cores do so at the pace at which they go on.
const LASTS: Duration = Duration::from_millis(100);

/// How long they take turns before it is measured.
pub fn settles(params: &Params) -> Duration {
    let lasts = params.word("kind").is_ok_and(|kind| kind.ends_with(LASTING));
    if lasts { LASTS } else { Duration::ZERO }
}

/// The end that asks and is measured, and the end that answers.
pub struct HandOver;

/// The end that asks.
pub struct Asking {
    end: Box<dyn Caller>,
    /// Where the other says which process it is.
    shared: Shared,
    /// Why the time of both could not be read.
    untold: Option<Missing>,
    /// Ticks a second.
    hz: f64,
}

/// The end that answers.
pub struct Answering {
    end: Box<dyn Server>,
    shared: Shared,
}

/// A kind's end that asks with what the other is made of, and its end that answers.
type Ends = (
    fn(&Params, &Place) -> Result<(Box<dyn Caller>, Vec<OwnedFd>)>,
    fn(&Params, Vec<OwnedFd>) -> Result<Box<dyn Server>>,
);

fn ends_of<E: Exchange>() -> Ends {
    (
        |params, place| E::caller(params, place).map(|(end, sent)| (Box::new(end) as _, sent)),
        |params, sent| E::server(params, sent).map(|end| Box::new(end) as _),
    )
}

fn ends(params: &Params) -> Result<Ends> {
    let kind = params.word("kind")?;
    Ok(match kind.strip_suffix(LASTING).unwrap_or(kind) {
        "futex" => ends_of::<FutexExchange>(),
        "pipe" => ends_of::<Echo<Pipes>>(),
        "eventfd" => ends_of::<EventfdExchange>(),
        "unix-stream" => ends_of::<Echo<UnixStream>>(),
        "tcp-loopback" => ends_of::<Echo<TcpLoopback>>(),
        "sched-yield" => ends_of::<YieldExchange>(),
        other => {
            return Err(Error::Input {
                place: "axis `kind`".into(),
                reason: format!("two do not talk by `{other}`"),
                remedy: format!("it is one of {}", KINDS.join(", ")),
            });
        }
    })
}

impl Exchange for HandOver {
    type Caller = Asking;
    type Server = Answering;

    fn caller(params: &Params, place: &Place) -> Result<(Asking, Vec<OwnedFd>)> {
        let (end, mut sent) = ends(params)?.0(params, place)?;
        let (shared, memory) = Shared::create()?;
        sent.push(memory);
        Ok((Asking { end, shared, untold: None, hz: hz()? }, sent))
    }

    fn server(params: &Params, mut descriptors: Vec<OwnedFd>) -> Result<Answering> {
        let memory = descriptors.pop();
        let [memory] = super::exactly(memory.into_iter().collect())?;
        Ok(Answering { end: ends(params)?.1(params, descriptors)?, shared: Shared::adopt(memory)? })
    }
}

/// What both have spent: of two threads of one process its own time.
fn of_both(other: i32) -> Result<Duration, Missing> {
    let own = thread_time::process();
    if other == std::process::id() as i32 { Ok(own) } else { Ok(own + thread_time::process_of(other)?) }
}

impl Caller for Asking {
    fn begin(&mut self) {
        self.end.begin();
    }

    fn ask(&mut self) {
        self.end.ask();
    }

    fn repeat(&mut self, window: &Window, recorder: &mut Recorder) -> u64 {
        // By its answer the other has said who it is.
        self.end.ask();
        let other = i32::try_from(self.shared.sum.load(Ordering::Acquire)).unwrap_or(0);
        self.untold = of_both(other).err();
        let half = || of_both(other).unwrap_or_default() / 2;
        1 + processor_time::repeat(window, recorder, self.hz, half, || self.end.ask())
    }

    fn stop(&mut self) -> Result<()> {
        self.end.stop()
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.untold.take().map_or(Ok(()), |missing| Err(Error::Missing(missing)))?;
        self.end.verify(asked, served)
    }

    fn release(&self) -> Release {
        self.end.release()
    }

    fn tally(&self, asked: u64) -> Tally {
        self.end.tally(asked)
    }
}

impl Server for Answering {
    fn serve(&mut self) -> Result<u64> {
        self.shared.sum.store(std::process::id().into(), Ordering::Release);
        self.end.serve()
    }

    fn release(&self) -> Release {
        self.end.release()
    }
}
