//! From an interface, until it is called off, as many packets came as were asked for, or something goes wrong.
//!
//! One thread a source. What packets go to is shared; a thread holds it for a batch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use tollway_capture::engine::bpf::{Filter, Origin};
use tollway_capture::engine::file::pcapng::{Described, Statistics};
use tollway_capture::engine::file::{self, pcap};
use tollway_capture::engine::in_process::{Clock, ClockKind};
use tollway_capture::engine::source::{self, Kind, Outages, Placement, Read, Settings, Source};
use tollway_capture::engine::{Accounting, LinkType, Packet, Timestamp};
use tollway_core::Error;
use tollway_wire::Stop;

use crate::args::{FilterPlace, Options, SourceWay, StampClock};
use crate::counters::Counters;
use crate::document::{Ended, OfferedBy, PacketsDocument, SourceDocument};
use crate::filter::Asked;
use crate::output::{self, Ends, Job};
use crate::session::{Outcome, Session};
use crate::{interfaces, link_type, privileges, say, signals};

/// Packets of a call where threads take turns at what packets go to.
const SHARED_BATCH: u64 = 4096;
/// The kernel's counters have 32 bits: they are looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// What waits to be written is written so often at least.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// Captures on an interface that is given as `-i`.
///
/// # Errors
/// No such interface, privileges that are lacking, a filter that is none. What goes wrong later is in the outcome.
pub fn run(options: &Options, name: &str, asked: &Asked, json: bool) -> Result<Session> {
    let interface = interfaces::named(name)?;
    let name = interface.name.as_str();
    let link = source::link_type(&interface).map_err(Error::from)?;
    if let Some(wanted) = options.program.linktype.map(LinkType)
        && wanted != link
    {
        return Err(Error::Input {
            place: format!("-y {}", link_type::name(wanted)),
            reason: format!("packets of {name} are of link type {}", link_type::name(link)),
            remedy: "leave -y out".into(),
        }
        .into());
    }
    let snapshot = options.snapshot_length.filter(|bytes| *bytes > 0).unwrap_or(Settings::WHOLE);
    let program = asked.wanted(link, Origin::Live, snapshot, !options.program.no_optimize)?;
    let settings = settings(options, snapshot, program.clone());
    if settings.kind == Kind::AfXdp && options.ways.cores > interface.receive_queues {
        return Err(Error::Input {
            place: format!("--cores {}", options.ways.cores),
            reason: format!(
                "AF_XDP has a receive queue for each, and {name} has {}",
                interface.receive_queues
            ),
            remedy: "give no more, or take another source".into(),
        }
        .into());
    }
    let sources = Source::open_group(name, &settings, options.ways.cores)
        .map_err(|error| unopened(error, settings.kind))?;
    let stops: Vec<Stop> = sources.iter().map(Source::stop).collect();
    let layout =
        pcap::Layout { snapshot, resolution: output::resolution(options), ..pcap::Layout::new(link) };
    let called_off = signals::call_off(stops.clone())?;
    let told = SourceDocument {
        interface: Some(name.into()),
        file: None,
        way: Some(settings.kind.name().into()),
        cores: options.ways.cores,
        link_type: link.0,
        snapshot_length: snapshot,
    };
    let clock = match options.ways.clock {
        StampClock::Kernel => None,
        StampClock::Tsc => Some(Clock::new(ClockKind::Tsc)?),
        StampClock::Vdso => Some(Clock::new(ClockKind::Vdso)?),
    };
    let resolution = layout.resolution;
    let described = Described { snapshot, name: Some(name.into()), resolution, ..Described::new(link) };
    let job = Capturing {
        sources,
        stops,
        clock,
        described,
        count: options.count,
        flush: options.packet_buffered || options.write.is_none(),
        user: options.relinquish_privileges.as_deref(),
        counters: Counters::wanted(options, json),
        called_off: &called_off,
        interface: name,
        hello: format!(
            "listening on {name}: {}, {}, {} KiB, {} bytes of a packet",
            link_type::name(link),
            settings.kind,
            options.buffer_size,
            snapshot
        ),
    };
    let outcome = output::with(options, layout, json, job)?;
    let here = settings.placement != Placement::Kernel || settings.kind == Kind::AfXdp;
    let filter = program.as_ref().filter(|_| here).map(Filter::new);
    Ok(Session::new(options, told, asked, program.as_ref(), filter.as_ref(), outcome))
}

fn settings(
    options: &Options,
    snapshot: u32,
    filter: Option<tollway_capture::engine::bpf::Program>,
) -> Settings {
    let kind = match options.ways.source {
        SourceWay::Auto | SourceWay::V3 => Kind::TpacketV3,
        SourceWay::Recv => Kind::Recv,
        SourceWay::Recvmmsg => Kind::Recvmmsg,
        SourceWay::V2 => Kind::TpacketV2,
        SourceWay::Xdp => Kind::AfXdp,
    };
    let placement = match options.ways.filter_in {
        FilterPlace::Kernel => Placement::Kernel,
        FilterPlace::User => Placement::User,
        FilterPlace::Both => Placement::Both,
    };
    Settings {
        kind,
        snapshot,
        buffer: options.buffer_size as usize * 1024,
        promiscuous: !options.no_promiscuous_mode,
        immediate: options.immediate_mode || output::prints_on_terminal(options),
        filter,
        placement,
        waits_for_interface: true,
        ..Settings::default()
    }
}

/// An error of opening, with what a person at a terminal would do about it.
fn unopened(error: source::SourceError, kind: Kind) -> Error {
    match error.into() {
        Error::Missing(missing) if kind != Kind::AfXdp => Error::Missing(interfaces::allowed(missing)),
        other => other,
    }
}

struct Capturing<'a> {
    sources: Vec<Source>,
    stops: Vec<Stop>,
    clock: Option<Clock>,
    described: Described,
    count: Option<u64>,
    /// Whether each batch is handed over at once.
    flush: bool,
    user: Option<&'a str>,
    counters: Option<Counters>,
    called_off: &'a AtomicBool,
    interface: &'a str,
    hello: String,
}

/// What the threads share.
struct Shared<S> {
    sink: S,
    captured: u64,
    bytes: u64,
    failed: Option<file::Error>,
}

/// What all threads know.
struct Common<'a, S> {
    shared: Mutex<Shared<S>>,
    captured: AtomicU64,
    count: u64,
    batch: u64,
    flush: bool,
    interface: &'a str,
    stops: &'a [Stop],
    /// Each thread's books, as of its last look.
    books: Mutex<Vec<(Accounting, u64)>>,
}

impl Job for Capturing<'_> {
    type Outcome = Outcome;

    fn run<S: Ends + Send>(self, mut sink: S) -> Result<Outcome> {
        let Capturing { sources, stops, clock, described, counters, called_off, .. } = self;
        privileges::drop(self.user)?;
        // Who looks at the file meanwhile finds a header.
        let begun = sink.describe(&described).and_then(|()| sink.flush());
        if begun.is_err() {
            stops.iter().for_each(Stop::stop);
        }
        let alone = sources.len() == 1;
        let common = Common {
            shared: Mutex::new(Shared { sink, captured: 0, bytes: 0, failed: begun.err() }),
            captured: AtomicU64::new(0),
            count: self.count.unwrap_or(u64::MAX),
            batch: if alone { u64::MAX } else { SHARED_BATCH },
            flush: self.flush,
            interface: self.interface,
            stops: &stops,
            books: Mutex::new(vec![(Accounting::default(), 0); sources.len()]),
        };
        say(&self.hello);
        let (books, failed) = std::thread::scope(|scope| {
            let common = &common;
            let mut sources = sources.into_iter();
            let first = sources.next();
            let others: Vec<_> = sources
                .enumerate()
                .map(|(number, source)| {
                    let clock = clock.clone();
                    scope.spawn(move || common.capture(number + 1, source, clock, None))
                })
                .collect();
            let mut all =
                Vec::from_iter(first.map(|first| common.capture(0, first, clock.clone(), counters)));
            all.extend(
                others
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            );
            let mut failed = None;
            let mut books: Option<(Accounting, source::OfferedBy)> = None;
            for (one, by, error) in all {
                failed = failed.or(error);
                match &mut books {
                    Some((sum, _)) => *sum += one,
                    None => books = Some((one, by)),
                }
            }
            (books.unwrap_or((Accounting::default(), source::OfferedBy::Nobody)), failed)
        });
        let ((books, by), source_failed) = (books, failed);
        let Shared { mut sink, captured, failed, .. } =
            common.shared.into_inner().unwrap_or_else(|e| e.into_inner());
        let offered_by = match by {
            source::OfferedBy::Socket => OfferedBy::Socket,
            source::OfferedBy::Interface => OfferedBy::Interface,
            source::OfferedBy::Nobody => OfferedBy::Nobody,
        };
        let statistics = Statistics {
            received: books.offered.zip(books.lost_before).map(|(offered, lost)| offered - lost),
            lost: books.lost_before,
            accepted: books.dropped.map(|dropped| dropped + books.delivered),
            dropped: books.dropped,
            delivered: Some(captured),
        };
        let files_full = sink.is_over();
        let written = match failed {
            Some(error) => Err(error),
            None => sink.conclude(0, &statistics, now()).and_then(|()| sink.end()),
        };
        let content = sink.content();
        let bytes = content.map(|content| content.bytes);
        // Those are not captured that were handed over, and could then not be written.
        let written_packets = content.map_or(captured, |content| content.packets);
        let packets = PacketsDocument::of(&books, books.delivered - written_packets, offered_by);
        let is_full = self.count.is_some_and(|count| captured >= count);
        let (ended, error) = match (written, source_failed) {
            (Err(error), _) => (Ended::OutputFailed, Some(error.into())),
            // Nothing that somebody wrote is wrong: not of the kind that a refused command line is.
            (Ok(()), Some(error)) => (Ended::SourceFailed, Some(anyhow::anyhow!("{error}"))),
            (Ok(()), None) if is_full && !called_off.load(Ordering::Relaxed) => (Ended::Count, None),
            (Ok(()), None) if files_full => (Ended::Files, None),
            (Ok(()), None) => (Ended::CalledOff, None),
        };
        Ok(Outcome { packets, bytes, ended, error })
    }
}

type Captured = (Accounting, source::OfferedBy, Option<source::SourceError>);

impl<S: Ends> Common<'_, S> {
    /// One thread's part: reads until it is called off, and closes the books.
    fn capture(
        &self,
        number: usize,
        mut source: Source,
        mut clock: Option<Clock>,
        mut counters: Option<Counters>,
    ) -> Captured {
        let mut stamp = move |kernel: Option<Timestamp>| match &mut clock {
            Some(clock) => clock.now(),
            None => kernel.unwrap_or_else(now),
        };
        let every = counters.as_ref().map_or(LOOK_EVERY, |_| Counters::EVERY);
        let mut looked = Instant::now();
        let mut written = looked;
        let mut failed = None;
        let mut outages = Outages::default();
        loop {
            let left = self.count.saturating_sub(self.captured.load(Ordering::Relaxed));
            if left == 0 {
                break;
            }
            let mut turn = Turn { common: self, shared: None };
            let read = source
                .read(left.min(self.batch), every.min(WRITE_EVERY), &mut stamp, |packet| turn.take(&packet));
            turn.end();
            match read {
                Ok(Read::Stopped) => break,
                Ok(Read::Frames(_) | Read::Idle | Read::Interrupted) => {}
                Err(error) => {
                    failed = Some(error);
                    self.call_off();
                    break;
                }
            }
            // One thread does it for all.
            if number == 0 && source.outages() != outages {
                self.tell_outage(outages, source.outages(), counters.is_some());
                outages = source.outages();
            }
            if number == 0 && written.elapsed() >= WRITE_EVERY {
                written = Instant::now();
                self.flush(&mut self.shared.lock().unwrap_or_else(|e| e.into_inner()));
            }
            if looked.elapsed() >= every {
                looked = Instant::now();
                self.look(number, &mut source, counters.as_mut());
            }
        }
        drop(counters);
        let mut turn = Turn { common: self, shared: None };
        let closed = source.finish(&mut stamp, |packet| turn.take(&packet));
        turn.end();
        let books = closed.or_else(|error| {
            failed.get_or_insert(error);
            source.accounting()
        });
        (books.unwrap_or_default(), source.offered_by(), failed)
    }

    /// Tells that the interface went down or is up again, or both since the last look.
    fn tell_outage(&self, before: Outages, now: Outages, on_a_terminal: bool) {
        // What stands on the line is erased.
        let erase = if on_a_terminal { "\r\x1b[K" } else { "" };
        let interface = self.interface;
        if now.count > before.count {
            say(&format!(
                "{erase}interface {interface} went down: nothing comes until it is up again \
                 (ip link set {interface} up); Ctrl-C ends the capture"
            ));
        }
        if !now.is_down {
            say(&format!("{erase}interface {interface} is up again: the capture goes on"));
        }
    }

    /// Looks at the kernel's counters, and shows what they say.
    fn look(&self, number: usize, source: &mut Source, counters: Option<&mut Counters>) {
        // What cannot be told now is told at the end.
        let Ok(books) = source.accounting() else { return };
        let mut all = self.books.lock().unwrap_or_else(|e| e.into_inner());
        all[number] = (books, source.waiting());
        if let Some(counters) = counters {
            let dropped = all.iter().map(|(books, _)| books.dropped).try_fold(0, |sum, n| Some(sum + n?));
            let waiting = all.iter().map(|(_, waiting)| waiting).sum();
            drop(all);
            let shared = self.shared.lock().unwrap_or_else(|e| e.into_inner());
            let (captured, bytes) = (shared.captured, shared.bytes);
            drop(shared);
            counters.show(captured, bytes, dropped, waiting);
        }
    }

    fn flush(&self, shared: &mut Shared<S>) {
        if shared.failed.is_none()
            && let Err(error) = shared.sink.flush()
        {
            shared.failed = Some(error);
            self.call_off();
        }
    }

    fn call_off(&self) {
        self.stops.iter().for_each(Stop::stop);
    }
}

/// A thread's turn at what is shared: begins with its first packet.
struct Turn<'a, 'b, S> {
    common: &'a Common<'b, S>,
    shared: Option<std::sync::MutexGuard<'a, Shared<S>>>,
}

impl<S: Ends> Turn<'_, '_, S> {
    #[inline]
    fn take(&mut self, packet: &Packet<'_>) {
        let common = self.common;
        let shared =
            self.shared.get_or_insert_with(|| common.shared.lock().unwrap_or_else(|e| e.into_inner()));
        if shared.captured >= common.count || shared.failed.is_some() || shared.sink.is_over() {
            return;
        }
        match shared.sink.write(0, packet) {
            Ok(()) if shared.sink.is_over() => common.call_off(),
            Ok(()) => {
                shared.captured += 1;
                shared.bytes += packet.bytes.len() as u64;
            }
            Err(error) => {
                shared.failed = Some(error);
                common.call_off();
            }
        }
    }

    fn end(self) {
        let Some(mut shared) = self.shared else { return };
        if self.common.flush {
            self.common.flush(&mut shared);
        }
        self.common.captured.store(shared.captured, Ordering::Relaxed);
        if shared.captured >= self.common.count {
            self.common.call_off();
        }
    }
}

fn now() -> Timestamp {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Timestamp(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
