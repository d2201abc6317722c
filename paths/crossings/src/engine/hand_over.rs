//! A round trip seen from one end: the processor time of who asks and sleeps until it is answered.
//!
//! Both ends do the same, a call that wakes and one that sleeps, so this is a half of what both pay. Across cores it is less than half of the time that goes by,
//! in which a core is woken.

use std::os::fd::OwnedFd;

use tollway_core::{Error, Params, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::hz;
use tollway_host::watch::Release;

use super::echo::Echo;
use super::eventfd::EventfdExchange;
use super::futex::FutexExchange;
use super::pipe::Pipes;
use super::processor_time;
use super::sockets::{TcpLoopback, UnixStream};
use super::{Caller, Exchange, Server};

/// What the two may talk by: named as the crossings are whose round trips these are.
pub const KINDS: &[&str] = &["futex", "pipe", "eventfd", "unix-stream", "tcp-loopback"];

/// The end that asks and is measured, and the end that answers.
pub struct HandOver;

/// The end that asks.
pub struct Asking {
    end: Box<dyn Caller>,
    /// Ticks a second.
    hz: f64,
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
    Ok(match params.word("kind")? {
        "futex" => ends_of::<FutexExchange>(),
        "pipe" => ends_of::<Echo<Pipes>>(),
        "eventfd" => ends_of::<EventfdExchange>(),
        "unix-stream" => ends_of::<Echo<UnixStream>>(),
        "tcp-loopback" => ends_of::<Echo<TcpLoopback>>(),
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
    type Server = Box<dyn Server>;

    fn caller(params: &Params, place: &Place) -> Result<(Asking, Vec<OwnedFd>)> {
        let (end, sent) = ends(params)?.0(params, place)?;
        Ok((Asking { end, hz: hz()? }, sent))
    }

    fn server(params: &Params, descriptors: Vec<OwnedFd>) -> Result<Box<dyn Server>> {
        ends(params)?.1(params, descriptors)
    }
}

impl Caller for Asking {
    fn begin(&mut self) {
        self.end.begin();
    }

    fn ask(&mut self) {
        self.end.ask();
    }

    fn repeat(&mut self, window: &Window, recorder: &mut Recorder) -> u64 {
        processor_time::repeat(window, recorder, self.hz, || self.end.ask())
    }

    fn stop(&mut self) -> Result<()> {
        self.end.stop()
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.end.verify(asked, served)
    }

    fn release(&self) -> Release {
        self.end.release()
    }

    fn tally(&self, asked: u64) -> Tally {
        self.end.tally(asked)
    }
}

impl Server for Box<dyn Server> {
    fn serve(&mut self) -> Result<u64> {
        self.as_mut().serve()
    }

    fn release(&self) -> Release {
        self.as_ref().release()
    }
}
