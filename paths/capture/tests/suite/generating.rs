//! The generator at one end of a cable and a live source at the other: what was sent arrives, once each, at the rate that
//! was asked for, judged by the kernel's time stamps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tollway_capture::engine::generate::{
    Ended, Flows, Frames, GenerateError, Generator, Group, Method, ReplayPace, Report, Schedule, Sequence,
    Size, Sizes, Stamp, Traffic, Transport,
};
use tollway_capture::engine::source::{Read, Settings, Source};
use tollway_capture::engine::{Packet, Timestamp};
use tollway_core::Requirement;
use tollway_host::requirement::{check, skip_test};
use tollway_wire::{Cable, Interface, set_mtu, set_up};

use crate::asleep::Thread;
use crate::eventually::eventually;
use crate::live::cable::all_have_come;
use crate::quiet::is_quiet;
use crate::turn::alone;

/// Runs something where there is a cable, if this process may make one.
fn at_a_cable(play: impl FnOnce() + Send) {
    if let Err(missing) =
        check(&Requirement::NetworkNamespaces).and_then(|()| check(&Requirement::PacketSockets))
    {
        return skip_test(&["netns", "packet"], &missing);
    }
    let _alone = alone();
    Cable::new().unwrap().namespace().run(play).unwrap();
}

fn generator(rate: f64, count: u64) -> Generator {
    Generator {
        interface: Cable::LEFT.into(),
        traffic: Traffic::Made {
            flows: Flows::web(0.5).unwrap(),
            sizes: Sizes::Fixed(Size::SHORTEST),
            schedule: Schedule::Constant { rate },
            seed: 1,
        },
        count: Some(count),
        time: None,
        method: Method::default(),
    }
}

/// What came: the order of it, bytes, when the first and the last came, and the longest and shortest time on its way.
#[derive(Default)]
struct Heard {
    sequence: Sequence,
    bytes: u64,
    first: u64,
    last: u64,
    ages: (i64, i64),
    /// Frames that were taken, and for which the kernel's queue then had no room, as where others keep it from its processor.
    lost: u64,
}

/// Runs a generator and hears everything that comes out at the cable's other end.
fn heard(generator: &Generator) -> (Report, Heard) {
    // Room for all: a listener that does not run for a while loses nothing.
    let settings = Settings { buffer: 256 << 20, outgoing: false, ..Settings::default() };
    let mut source = Source::open(Cable::RIGHT, &settings).unwrap();
    let over = source.stop();
    let ready = generator.open().unwrap();
    let lost = || Interface::named(Cable::LEFT).unwrap().counters.send_dropped;
    let lost_before = lost();
    thread::scope(|scope| {
        let listener = scope.spawn(move || {
            let mut heard = Heard::default();
            let stamp = |at: Option<Timestamp>| at.expect("the kernel stamps");
            let wait = Duration::from_millis(100);
            while source.read(u64::MAX, wait, stamp, |packet| heard.see(packet)).unwrap() != Read::Stopped {}
            let account = source.finish(stamp, |packet| heard.see(packet)).unwrap();
            assert_eq!(
                account.dropped,
                Some(0),
                "the listener lost frames: this tells nothing of the sender"
            );
            heard
        });
        let report = ready.run(&AtomicBool::new(false));
        all_have_come();
        over.stop();
        (report, Heard { lost: lost() - lost_before, ..listener.join().unwrap() })
    })
}

impl Heard {
    fn see(&mut self, packet: Packet<'_>) {
        let Some(stamp) = Stamp::read(packet.bytes) else { return };
        let (age, at) = (stamp.age(packet.timestamp), packet.timestamp.0);
        if self.bytes == 0 {
            (self.first, self.ages) = (at, (age, age));
        }
        self.last = at;
        self.ages = (self.ages.0.min(age), self.ages.1.max(age));
        self.sequence.see(stamp.number);
        self.bytes += packet.bytes.len() as u64;
    }

    /// Frames per second by the kernel's clock.
    fn rate(&self) -> f64 {
        (self.sequence.received() - 1) as f64 / ((self.last - self.first) as f64 / 1e9)
    }
}

/// Every frame that was to be sent was taken, and came once, in order, with its bytes, but for those that the cable lost.
fn arrived(report: &Report, heard: &Heard, count: u64) {
    assert!(matches!(report.ended, Ended::Done), "{report:?}");
    assert_eq!((report.sent, report.refused()), (count, 0), "{report:?}");
    let sequence = &heard.sequence;
    let came = (sequence.received(), sequence.missing(count), sequence.reordered(), sequence.repeated());
    assert_eq!(came, (count - heard.lost, heard.lost, 0, 0));
    assert!(heard.bytes == report.bytes || heard.lost > 0, "{} bytes: {report:?}", heard.bytes);
    // Stamped before it was handed over, and no other clock's stamp.
    assert!(heard.ages.0 >= 0 && heard.ages.1 < 60_000_000_000, "{:?}", heard.ages);
}

/// Puts the calling thread, and those it starts, before all that is not real-time. Refused, it stays as it was.
fn before_others() {
    let priority = libc::sched_param { sched_priority: 10 };
    // SAFETY: the kernel reads one sched_param.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) };
}

/// Every frame comes, each when it is due or as much later as the report says: pauses are caught up. Where nothing else runs the mean rate is
/// within 0.1 %, by the sender's clock and by the kernel's.
fn keeps_its_rate(rate: f64, count: u64) {
    at_a_cable(|| {
        if is_quiet() {
            before_others();
        }
        let (report, heard) = heard(&generator(rate, count));
        arrived(&report, &heard, count);
        is_on_schedule(&report, (count - 1) as f64 / rate);
        let (mine, kernels) = (report.rate.unwrap() / rate - 1.0, heard.rate() / rate - 1.0);
        println!(
            "{rate} frames/s: off by {:+.4} % (the kernel's clock: {:+.4} %); \
             gaps off by p50 {:.0}, p99 {:.0}, max {:.0} ns; late by p50 {:.0}, p99 {:.0}, max {:.0} ns; \
             given {:.1} % of a processor; {:.0} µs taken in {} gaps while waiting",
            mine * 100.0,
            kernels * 100.0,
            report.gap_errors.p50.unwrap(),
            report.gap_errors.p99.unwrap(),
            report.gap_errors.max.unwrap(),
            report.lateness.p50.unwrap(),
            report.lateness.p99.unwrap(),
            report.lateness.max.unwrap(),
            report.processor.as_secs_f64() / report.elapsed.as_secs_f64() * 100.0,
            report.preempted.lost as f64 / report.hz * 1e6,
            report.preempted.count,
        );
        assert!((mine - report.rate_error.unwrap()).abs() < 1e-6, "{report:?}");
        // The kernel stamps a frame after its moment, by no more than the frame was on its way.
        let (on_way, of_kernel) = (heard.ages.1 as f64 / 1e9, (heard.last - heard.first) as f64 / 1e9);
        let is_so = (of_kernel - report.elapsed.as_secs_f64()).abs() < on_way + 2e-3;
        assert!(is_so || heard.lost > 0, "{of_kernel} s by the kernel's clock: {report:?}");
        assert!(!is_quiet() || mine.abs() < 1e-3 && kernels.abs() < 1e-3, "not within 0.1 %");
    });
}

/// From the first frame to the last it took as long as it should, but for how late these may have been.
fn is_on_schedule(report: &Report, seconds: f64) {
    let off = report.elapsed.as_secs_f64() - seconds;
    assert!(off.abs() < 1e-3 + report.lateness.max.unwrap() / 1e9, "{off} s off: {report:?}");
}

#[test]
fn a_thousand_frames_a_second() {
    keeps_its_rate(1000.0, 2000);
}

#[test]
fn as_many_shortest_frames_as_100_megabits_carry() {
    keeps_its_rate(148_809.0, 300_000);
}

#[test]
fn half_a_million_frames_a_second() {
    keeps_its_rate(500_000.0, 1_000_000);
}

#[test]
fn every_way_of_sending_sends_every_frame_once() {
    at_a_cable(|| {
        for method in [Method::Send, Method::SendMany, Method::Ring] {
            for schedule in [
                Schedule::FullSpeed,
                Schedule::Poisson { rate: 100_000.0 },
                Schedule::Bursts { rate: 100_000.0, length: 100, peak: None },
                Schedule::Bursts { rate: 50_000.0, length: 32, peak: Some(148_809.5) },
                Schedule::OnOff {
                    rate: 50_000.0,
                    on: Duration::from_millis(2),
                    off: Duration::from_millis(2),
                },
            ] {
                let traffic = Traffic::Made {
                    flows: Flows::web(0.5).unwrap(),
                    sizes: Sizes::imix(),
                    schedule,
                    seed: 5,
                };
                let generator = Generator { traffic, method, ..generator(1.0, 20_000) };
                let (report, heard) = heard(&generator);
                arrived(&report, &heard, 20_000);
                assert_eq!(report.rate_error.is_none(), schedule == Schedule::FullSpeed, "{report:?}");
                assert!(report.calls > 0 && report.calls <= 20_000, "{report:?}");
            }
        }
    });
}

/// A capture file: 3000 frames with stamps, one every 100 µs, of which every third was cut short when captured.
fn capture_file() -> tempfile::NamedTempFile {
    let mut frames =
        Frames::new(&Flows::web(0.5).unwrap(), &Sizes::Fixed(Size::new(204).unwrap()), 3).unwrap();
    // Source: draft-ietf-opsawg-pcap, sections 4 and 5; nanoseconds, Ethernet.
    let mut file: Vec<u8> = Vec::new();
    file.extend(0xa1b2_3c4du32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    for number in 0..3000u32 {
        let mut frame = [0; 200];
        let at = 1_700_000_000_000_000_000 + u64::from(number) * 100_000;
        assert_eq!(frames.write(&mut frame, &Stamp::new(number.into(), Timestamp(at))), 200);
        let kept = if number % 3 == 0 { 96 } else { 200u32 };
        for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, kept, 200] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&frame[..kept as usize]);
    }
    let out = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&out, file).unwrap();
    out
}

#[test]
fn a_capture_file_is_sent_as_it_came() {
    at_a_cable(|| {
        let file = capture_file();
        for (pace, seconds) in [
            (ReplayPace::Gaps(1.0), 0.2999),
            (ReplayPace::Gaps(0.5), 0.149_95),
            (ReplayPace::Rate(30_000.0), 0.1),
        ] {
            let traffic = Traffic::Replay { file: file.path().into(), pace };
            let (report, heard) = heard(&Generator { traffic, count: None, ..generator(1.0, 0) });
            assert!(matches!(report.ended, Ended::Done), "{report:?}");
            assert_eq!((report.sent, report.bytes, report.padded, report.skipped), (3000, 600_000, 1000, 0));
            let whole = 3000 - heard.lost;
            assert_eq!(
                (heard.sequence.received(), heard.sequence.reordered(), heard.bytes),
                (whole, 0, 200 * whole)
            );
            is_on_schedule(&report, seconds);
        }
        let traffic = Traffic::Replay { file: "no/such/file".into(), pace: ReplayPace::FullSpeed };
        let error = Generator { traffic, ..generator(1.0, 1) }.open().unwrap_err().to_string();
        assert!(error.contains("no/such/file"), "{error}");
    });
}

#[test]
fn time_and_a_word_end_it() {
    at_a_cable(|| {
        let forever = Generator { count: None, ..generator(10_000.0, 0) };
        let short = Generator { time: Some(Duration::from_millis(50)), ..forever.clone() };
        let report = short.run(&AtomicBool::new(false)).unwrap();
        // The one due at 50 ms is not sent any more. On a busy machine the time may be over before all are.
        assert!(matches!(report.ended, Ended::TimeOver) && report.sent <= 500, "{report:?}");
        assert!(!is_quiet() || report.sent == 500, "{report:?}");
        // One frame in 10 s: told to stop while it sleeps.
        let slow = Generator { count: None, ..generator(0.1, 0) };
        let sent_before = sent();
        let (report, ()) = beside(&slow, |thread| {
            eventually("a frame is sent", || sent() > sent_before);
            thread.falls_asleep();
        });
        assert!(matches!(report.ended, Ended::Stopped) && report.sent == 1, "{report:?}");
    });
}

/// Frames that the sender's end of the cable has taken.
fn sent() -> u64 {
    Interface::named(Cable::LEFT).unwrap().counters.sent
}

/// Runs a generator, in a thread that `does` is told of, beside `does`, and stops it then.
fn beside<T>(generator: &Generator, does: impl FnOnce(&Thread) -> T) -> (Report, T) {
    let ready = generator.open().unwrap();
    let stop = AtomicBool::new(false);
    let (tell, told) = channel();
    thread::scope(|scope| {
        let (stop, stops) = (&stop, Stops(&stop));
        let running = scope.spawn(move || {
            tell.send(Thread::here()).unwrap();
            ready.run(stop)
        });
        let done = does(&told.recv().unwrap());
        drop(stops);
        (running.join().unwrap(), done)
    })
}

/// Stops a generator even where its test fails, which waits for it.
struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_interface_that_goes_down_ends_it_and_what_was_sent_is_told() {
    at_a_cable(|| {
        let sent_before = sent();
        let ready = Generator { count: None, ..generator(10_000.0, 0) }.open().unwrap();
        let report = thread::scope(|scope| {
            let running = scope.spawn(|| ready.run(&AtomicBool::new(false)));
            eventually("a frame is sent", || sent() > sent_before);
            set_up(Cable::LEFT, false).unwrap();
            running.join().unwrap()
        });
        assert!(matches!(report.ended, Ended::Lost(_)) && report.sent > 0, "{report:?}");
        assert_eq!((report.interface.as_str(), report.bytes), (Cable::LEFT, report.sent * 60));
    });
}

/// A generator that runs for so long meets every frame that was due when it began to, of which there are two in a millisecond.
const MEETS: Duration = Duration::from_millis(80);

#[test]
fn frames_refused_while_the_other_end_is_down_are_not_sent() {
    const RATE: f64 = 2000.0;
    at_a_cable(|| {
        for method in [Method::Send, Method::SendMany, Method::Ring] {
            let counters = || Interface::named(Cable::LEFT).unwrap().counters;
            let before = counters();
            let generator = Generator { method, count: None, ..generator(RATE, 0) };
            let (report, ()) = beside(&generator, |thread| {
                eventually("frames are sent", || sent() > before.sent + 100);
                set_up(Cable::RIGHT, false).unwrap();
                let ran = thread.ran();
                eventually("the generator runs while the other end is down", || thread.ran() > ran + MEETS);
                let sent_down = sent();
                set_up(Cable::RIGHT, true).unwrap();
                eventually("frames are sent again", || sent() > sent_down + 100);
            });
            assert!(matches!(report.ended, Ended::Stopped), "{report:?}");
            let now = counters();
            let (sent, lost) = (now.sent - before.sent, now.send_dropped - before.send_dropped);
            // At the moment when it goes down a frame may be taken and lost.
            assert!(report.sent >= sent && report.sent - sent <= 2 + lost, "{sent}, {lost} lost: {report:?}");
            // The rate is of what the kernel took, in as long as it was sent.
            let all = report.sent + report.refused();
            let (share, due) = (report.sent as f64 / all as f64, (all - 1) as f64 / RATE);
            is_on_schedule(&report, due);
            let expected = share * due / report.elapsed.as_secs_f64();
            assert!((report.rate.unwrap() / RATE - expected).abs() < 0.01, "{report:?}");
            assert!((report.rate_error.unwrap() + 1.0 - expected).abs() < 0.01, "{report:?}");
            assert_eq!(report.try_again, 0, "{report:?}");
            if method == Method::Ring {
                assert!(report.refused() == 0 && report.put_off > 100, "{report:?}");
            } else {
                // One that met the end of it may have been asked for too late.
                assert!(report.put_off == 0 && report.no_carrier > 100, "{report:?}");
            }
        }
    });
}

#[test]
fn what_waits_in_a_ring_at_the_end_was_refused() {
    at_a_cable(|| {
        let ready = Generator { method: Method::Ring, ..generator(2000.0, 100) }.open().unwrap();
        set_up(Cable::RIGHT, false).unwrap();
        let report = ready.run(&AtomicBool::new(false));
        assert_eq!((report.sent, report.no_carrier, report.rate), (0, 100, None), "{report:?}");
    });
}

#[test]
fn nothing_is_sent_where_it_cannot_be() {
    at_a_cable(|| {
        let refused = |generator: Generator| generator.open().unwrap_err().to_string();
        let nowhere = Generator { interface: String::new(), ..generator(1.0, 1) };
        assert!(refused(nowhere).contains("none of that name"));
        assert!(refused(generator(0.0, 1)).contains("rate of 0"));
        let v6 = Traffic::Made {
            flows: Group::v6(Transport::Tcp).into(),
            sizes: Sizes::imix(),
            schedule: Schedule::FullSpeed,
            seed: 1,
        };
        assert!(refused(Generator { traffic: v6, ..generator(1.0, 1) }).contains("need 84"));
        set_mtu(Cable::LEFT, 1000).unwrap();
        let long = Traffic::Made {
            flows: Group::v4(Transport::Udp).into(),
            sizes: Sizes::imix(),
            schedule: Schedule::FullSpeed,
            seed: 1,
        };
        let error = Generator { traffic: long, ..generator(1.0, 1) }.open().unwrap_err();
        assert!(matches!(error, GenerateError::Input { .. }));
        assert!(error.to_string().contains("1018"), "{error}");
        set_up(Cable::LEFT, false).unwrap();
        assert!(refused(generator(1.0, 1)).contains("is down"));
    });
}
