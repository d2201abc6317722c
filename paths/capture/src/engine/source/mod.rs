//! Packets from an interface, as they come.
//!
//! ```text
//! interface ── filter in the kernel ── socket's memory ── Source::read ── filter here ── snapshot ── the caller's sink
//! ```
//!
//! [`Source::read`] hands over packets in batches, by one way of several ([`Kind`]) that all give the same: whole frames
//! with their VLAN tag, their length on the wire, and a timestamp. [`Source::accounting`] says what became of every
//! frame, as far as that can be known, and [`Source::finish`] brings the books to their end.

mod books;
mod engine;
mod error;
mod kernel_filter;
mod settings;

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tollway_wire::{Interface, Stop, Watch, WireError, Woken, wait};

use self::books::Books;
pub use self::engine::Details;
use self::engine::Engine;
use super::bpf::Filter;
use super::{Accounting, LinkType, Packet, Timestamp};

pub use books::OfferedBy;
pub use error::SourceError;
pub use settings::{Kind, Placement, Settings};

/// What came of a call to [`Source::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// So many frames were read; the filter may have kept fewer.
    Frames(u64),
    /// Nothing came in time.
    Idle,
    /// A signal came whose handler returned.
    Interrupted,
    /// [`Stop::stop`] was called.
    Stopped,
}

/// What reading took so far, besides frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Looks into the kernel's memory. Each that was not cut short by a limit ended by finding no further frame.
    pub looks: u64,
    /// Waits for frames, asleep or not.
    pub waits: u64,
    /// Naps after a wait, in which more frames came.
    pub naps: u64,
}

/// The most frames of one call: so that a call ends, and the stop is looked at, however fast frames come.
const BATCH: u64 = 65_536;
/// To ask an interface costs as much as some hundred frames.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// How often an interface that is down is asked whether it is up again, or gone.
const WHILE_DOWN: Duration = Duration::from_millis(50);
/// An AF_XDP socket does not wake who waits on it when its interface goes down or away: so long goes unnoticed.
const UNNOTICED: Duration = Duration::from_secs(1);

/// An open capture on one interface.
pub struct Source {
    engine: Engine,
    watch: Watch,
    /// When the interface was last asked whether it is up.
    looked: Instant,
    link_type: LinkType,
    filter: Option<Filter>,
    /// Whether the filter here decides only upon frames with a VLAN tag, the kernel upon the others.
    only_tagged: bool,
    snapshot: u32,
    /// How long frames can wait in the kernel before they are handed over.
    patience: Duration,
    /// How long more frames are waited for once there are some: less than the buffer takes to fill.
    nap: Duration,
    stop: Stop,
    books: Books,
    steps: Steps,
    /// An error was told by the socket; what came before it is read first.
    in_trouble: bool,
    /// It was that the interface went down.
    told_down: bool,
    waits_for_interface: bool,
    outages: Outages,
}

/// How often an interface was down while it was captured on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outages {
    /// How often it went down.
    pub count: u64,
    /// Whether it is down now.
    pub is_down: bool,
}

impl Source {
    /// Opens an interface of the network namespace of the calling thread. Frames are captured from now on.
    ///
    /// # Errors
    /// No such interface, one that is down or of a kind that is not known, privileges that are lacking, settings that do
    /// not go together.
    pub fn open(interface: &str, settings: &Settings) -> Result<Source, SourceError> {
        let watch = watch(interface)?;
        let engine = Engine::open(watch.first(), settings)?;
        Source::new(watch, engine, settings)
    }

    /// Opens an interface for several threads: every frame comes to exactly one of the sources, which one is up to
    /// [`Settings::fanout`]. With AF_XDP they are the first receive queues.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_group(
        interface: &str,
        settings: &Settings,
        members: u32,
    ) -> Result<Vec<Source>, SourceError> {
        let mut first = Source::open(interface, &Settings { queue: 0, ..settings.clone() })?;
        if members < 2 {
            return Ok(vec![first]);
        }
        first.books.first_of_group();
        let group = first.engine.socket().map(|socket| socket.found_group(settings.fanout)).transpose()?;
        let mut sources = vec![first];
        for queue in 1..members {
            let watch = watch(interface)?;
            let engine = match &sources[0].engine {
                Engine::Port(port) => {
                    Engine::open_port(watch.first(), port.redirect().clone(), queue, settings.buffer)?
                }
                _ => Engine::open(watch.first(), settings)?,
            };
            let mut source = Source::new(watch, engine, settings)?;
            if let (Some(group), Some(socket)) = (group, source.engine.socket()) {
                socket.join(group)?;
            }
            source.books.other_of_group();
            sources.push(source);
        }
        Ok(sources)
    }

    fn new(watch: Watch, engine: Engine, settings: &Settings) -> Result<Source, SourceError> {
        let facts = watch.first();
        let is_xdp = settings.kind == Kind::AfXdp;
        let in_kernel = settings.filter.is_some() && !is_xdp;
        let kernel_filters = in_kernel && settings.placement != Placement::User;
        let both_ways = settings.outgoing && !facts.is_loopback() && !is_xdp;
        Ok(Source {
            books: Books::open(facts.counters, kernel_filters, both_ways, is_xdp),
            stop: Stop::new()?,
            engine,
            link_type: link_type(facts)?,
            filter: settings.filter.as_ref().map(Filter::new),
            only_tagged: in_kernel && settings.placement == Placement::Kernel,
            snapshot: settings.snapshot,
            patience: if settings.immediate { Duration::from_millis(1) } else { settings.patience },
            nap: settings.nap(),
            steps: Steps::default(),
            watch,
            looked: Instant::now(),
            in_trouble: false,
            told_down: false,
            waits_for_interface: settings.waits_for_interface,
            outages: Outages::default(),
        })
    }

    /// What packets of this source begin with.
    pub fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// Calls off whoever reads, from any thread or a signal's handler.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Hands over the packets that are there, at most `limit`; if there are none, waits for some, for at most `timeout`
    /// (AF_XDP: at most a second, to look whether the interface is still there).
    /// `stamp` is given the kernel's timestamp, where it has one, and answers that of the packet.
    ///
    /// # Errors
    /// [`WireError::Lost`] once the interface is gone, or down unless that is waited for
    /// ([`Settings::waits_for_interface`]), and what came before was handed over.
    #[inline]
    pub fn read(
        &mut self,
        limit: u64,
        timeout: Duration,
        mut stamp: impl FnMut(Option<Timestamp>) -> Timestamp,
        mut sink: impl FnMut(Packet<'_>),
    ) -> Result<Read, SourceError> {
        if self.stop.is_stopped() {
            return Ok(Read::Stopped);
        }
        match self.take(limit, &mut stamp, &mut sink)? {
            0 => {}
            frames => {
                self.outages.is_down = false;
                return Ok(Read::Frames(frames));
            }
        }
        if limit == 0 {
            return Ok(Read::Idle);
        }
        let timeout = match self.engine {
            // recv tells of an error once: who waits after that is not woken by it.
            _ if self.in_trouble => Duration::ZERO,
            _ if self.outages.is_down => timeout.min(WHILE_DOWN),
            Engine::Port(_) => timeout.min(UNNOTICED),
            _ => timeout,
        };
        match self.wait(timeout)? {
            Woken::Stopped => return Ok(Read::Stopped),
            Woken::Interrupted => return Ok(Read::Interrupted),
            Woken::Ready => self.nap(),
            Woken::TimedOut => self.look_after_interface(),
            Woken::Trouble => self.in_trouble = true,
        }
        match self.take(limit, &mut stamp, &mut sink)? {
            0 if self.in_trouble => self.after_trouble(limit, stamp, sink),
            0 => Ok(Read::Idle),
            frames => Ok(Read::Frames(frames)),
        }
    }

    /// Not every kind of socket tells that its interface went down; so when nothing comes, it is asked now and then.
    fn look_after_interface(&mut self) {
        let every = if self.outages.is_down { WHILE_DOWN } else { BETWEEN_LOOKS };
        if self.looked.elapsed() >= every {
            self.looked = Instant::now();
            self.in_trouble |= match self.watch.look() {
                Ok(now) => now.up == self.outages.is_down,
                Err(_) => true,
            };
        }
    }

    /// How often the interface was down, and whether it is. What is short may go unseen.
    pub fn outages(&self) -> Outages {
        self.outages
    }

    /// Lets some more frames come: to be woken costs more than to read hundreds.
    fn nap(&mut self) {
        if !self.nap.is_zero() {
            self.steps.naps += 1;
            std::thread::sleep(self.nap);
        }
    }

    /// Waits until there are packets, for at most `timeout`: as [`Source::read`] does when there are none.
    ///
    /// # Errors
    /// If the kernel does not let us wait.
    pub fn wait(&mut self, timeout: Duration) -> Result<Woken, SourceError> {
        self.steps.waits += 1;
        Ok(wait(self.engine.as_fd(), Some(&self.stop), timeout)?)
    }

    /// What reading took so far, besides frames.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// Hands over the packets that are in the kernel's memory, at most `limit`, without waiting, and says how many frames
    /// were read.
    ///
    /// # Errors
    /// As [`Source::read`].
    #[inline]
    pub fn take(
        &mut self,
        limit: u64,
        stamp: &mut impl FnMut(Option<Timestamp>) -> Timestamp,
        sink: &mut impl FnMut(Packet<'_>),
    ) -> Result<u64, SourceError> {
        self.steps.looks += 1;
        let (filter, only_tagged, snapshot) = (self.filter.as_ref(), self.only_tagged, self.snapshot);
        let (mut read, mut delivered) = (0u64, 0u64);
        let result = self.engine.read(limit.min(BATCH), |frame| {
            read += 1;
            let keep = match filter {
                Some(filter) if !only_tagged || frame.tagged => filter.run(frame.bytes, frame.wire_length),
                _ => snapshot,
            };
            if keep == 0 {
                return;
            }
            delivered += 1;
            let length = (keep.min(snapshot) as usize).min(frame.bytes.len());
            sink(Packet {
                timestamp: stamp(frame.stamp.map(Timestamp)),
                bytes: &frame.bytes[..length],
                wire_length: frame.wire_length,
            });
        });
        self.books.read(read, delivered);
        match result {
            Ok(_) => Ok(read),
            // recv tells this before it hands over what waits.
            Err(error) if error.errno() == Some(libc::ENETDOWN) => {
                (self.in_trouble, self.told_down) = (true, true);
                Ok(read)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The socket has told of an error. Nothing that came before is lost by it.
    #[cold]
    fn after_trouble(
        &mut self,
        limit: u64,
        mut stamp: impl FnMut(Option<Timestamp>) -> Timestamp,
        mut sink: impl FnMut(Packet<'_>),
    ) -> Result<Read, SourceError> {
        // A block that is not full is handed over when its time is up, interface or not.
        std::thread::sleep(self.patience + Duration::from_millis(2));
        let frames = self.take(limit, &mut stamp, &mut sink)?;
        if frames > 0 {
            return Ok(Read::Frames(frames));
        }
        let is_down = !self.watch.look()?.up;
        if is_down && !self.waits_for_interface {
            self.watch.must_be_up()?;
        }
        self.in_trouble = false;
        match self.engine.take_error()? {
            Some(error) if error.raw_os_error() != Some(libc::ENETDOWN) => {
                return Err(WireError::System { doing: "receiving frames".into(), source: error }.into());
            }
            told => self.told_down |= told.is_some(),
        }
        // It was down, even if it is up again.
        let was_down = std::mem::take(&mut self.told_down) || is_down;
        self.outages.count += u64::from(was_down && !self.outages.is_down);
        self.outages.is_down = is_down;
        Ok(Read::Idle)
    }

    /// What became of every frame so far. Frames that wait to be read are offered and nothing else yet, so it balances
    /// after [`Source::finish`] at the latest.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn accounting(&mut self) -> Result<Accounting, SourceError> {
        self.books.look(&mut self.engine, &self.watch)?;
        Ok(self.books.accounting())
    }

    /// Frames that waited to be read when [`Source::accounting`] was last asked for.
    pub fn waiting(&self) -> u64 {
        self.books.waiting()
    }

    /// What there is to tell of the way that frames take.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn details(&mut self) -> Result<Details, SourceError> {
        Ok(self.engine.details()?)
    }

    /// Who says how many frames were offered.
    pub fn offered_by(&self) -> OfferedBy {
        self.books.offered_by()
    }

    /// Reads what has come until now and no more, whether it was stopped or not, and closes the books: what becomes of
    /// later frames is not told.
    ///
    /// # Errors
    /// As [`Source::read`]; not if the interface is lost.
    pub fn finish(
        &mut self,
        mut stamp: impl FnMut(Option<Timestamp>) -> Timestamp,
        mut sink: impl FnMut(Packet<'_>),
    ) -> Result<Accounting, SourceError> {
        self.books.look(&mut self.engine, &self.watch)?;
        self.books.close();
        while self.books.waiting() > 0 {
            let waiting = self.books.waiting();
            if self.take(waiting, &mut stamp, &mut sink)? > 0 {
                continue;
            }
            // What the kernel has counted it hands over, at the latest when a block's time is up.
            let longest = self.patience + Duration::from_millis(500);
            let woken = wait(self.engine.as_fd(), None, longest)?;
            if woken == Woken::Trouble {
                std::thread::sleep(self.patience + Duration::from_millis(2));
            }
            if self.take(waiting, &mut stamp, &mut sink)? == 0 && woken != Woken::Interrupted {
                break;
            }
        }
        Ok(self.books.accounting())
    }
}

/// An interface that frames can come from.
fn watch(interface: &str) -> Result<Watch, SourceError> {
    let watch = Watch::on(interface)?;
    link_type(watch.first())?;
    if !watch.first().up {
        return Err(SourceError::settings(
            format!("interface {interface}"),
            "it is down",
            format!("switch it on: ip link set {interface} up"),
        ));
    }
    Ok(watch)
}

/// What frames of an interface begin with. Source: linux/if_arp.h; packet(7) on SOCK_RAW.
///
/// # Errors
/// A kind of interface that is not known here.
pub fn link_type(interface: &Interface) -> Result<LinkType, SourceError> {
    /// `ARPHRD_RAWIP`.
    const RAW_IP: u16 = 519;
    match interface.hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok(LinkType::ETHERNET),
        libc::ARPHRD_NONE | libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 | libc::ARPHRD_SIT | RAW_IP => {
            Ok(LinkType::RAW)
        }
        other => Err(SourceError::settings(
            format!("interface {}", interface.name),
            format!("frames of its kind (ARPHRD {other}) are not known here"),
            "capture on an interface of Ethernet or of IP packets",
        )),
    }
}
