//! The generator at one end of a cable and a live source at the other: what was sent arrives, once each, at the rate that
//! was asked for, judged by the kernel's time stamps.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// One at a time: each wants a processor for itself.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs something where there is a cable, if this process may make one.
fn at_a_cable(play: impl FnOnce() + Send) {
    if let Err(missing) =
        check(&Requirement::NetworkNamespaces).and_then(|()| check(&Requirement::PacketSockets))
    {
        return skip_test(&["netns", "packet"], &missing);
    }
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
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
}

/// Runs a generator and hears everything that comes out at the cable's other end.
fn heard(generator: &Generator) -> (Report, Heard) {
    // Room for all: a listener that does not run for a while loses nothing.
    let settings = Settings { buffer: 256 << 20, outgoing: false, ..Settings::default() };
    let mut source = Source::open(Cable::RIGHT, &settings).unwrap();
    let over = source.stop();
    let ready = generator.open().unwrap();
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
        over.stop();
        (report, listener.join().unwrap())
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

/// Every frame that was to be sent was taken, and came once, in order, with its bytes.
fn arrived(report: &Report, heard: &Heard, count: u64) {
    assert!(matches!(report.ended, Ended::Done), "{report:?}");
    assert_eq!((report.sent, report.refused()), (count, 0), "{report:?}");
    let sequence = &heard.sequence;
    let came = (sequence.received(), sequence.missing(count), sequence.reordered(), sequence.repeated());
    assert_eq!(came, (count, 0, 0, 0));
    assert_eq!(heard.bytes, report.bytes);
    // Stamped before it was handed over, and not long before.
    assert!(heard.ages.0 >= 0 && heard.ages.1 < 2_000_000_000, "{:?}", heard.ages);
}

/// Puts the calling thread, and those it starts, before all that is not real-time. Refused, it stays as it was.
fn before_others() {
    let priority = libc::sched_param { sched_priority: 10 };
    // SAFETY: the kernel reads one sched_param.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) };
}

/// Whether other threads of this machine want processors at most moments of a tenth of a second.
fn others_are_at_work() -> bool {
    let running = |_| {
        thread::sleep(Duration::from_millis(5));
        let load = std::fs::read_to_string("/proc/loadavg").unwrap();
        let (running, _) = load.split(' ').nth(3).unwrap().split_once('/').unwrap();
        running.parse::<u32>().unwrap()
    };
    // The one that asks runs.
    (0..20).map(running).filter(|running| *running > 1).count() > 10
}

/// So many times a rate is what a sender must be able to give, to catch up in time with what pauses cost it.
const TO_CATCH_UP: f64 = 1.2;

/// What this machine sends at this moment at the most: processors that are shared swing by half.
fn most_frames_a_second() -> f64 {
    let mut generator = generator(1.0, 100_000);
    if let Traffic::Made { schedule, .. } = &mut generator.traffic {
        *schedule = Schedule::FullSpeed;
    }
    heard(&generator).0.rate.unwrap()
}

/// The mean rate within 0.1 %, by the sender's clock and by the kernel's. Where others are at work the sender cannot always
/// catch up in time, nor is a processor as fast that shares its core: another run is judged then, and the reason told.
/// Where nobody is, the machine can send a fifth more, and the sender was given its processor but for what is kept from real-time threads (5 %,
/// sched_rt_runtime_us), a miss is a failure.
fn keeps_its_rate(rate: f64, count: u64) {
    at_a_cable(|| {
        const TRIES: usize = 5;
        let mut excused = false;
        before_others();
        for attempt in 1..=TRIES {
            let (report, heard) = heard(&generator(rate, count));
            arrived(&report, &heard, count);
            let (mine, kernels) = (report.rate.unwrap() / rate - 1.0, heard.rate() / rate - 1.0);
            let given = report.processor.as_secs_f64() / report.elapsed.as_secs_f64();
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
                given * 100.0,
                report.preempted.lost as f64 / report.hz * 1e6,
                report.preempted.count,
            );
            assert!((mine - report.rate_error.unwrap()).abs() < 1e-6, "{report:?}");
            if mine.abs() < 1e-3 && kernels.abs() < 1e-3 {
                return;
            }
            let (busy, most) = (others_are_at_work(), most_frames_a_second());
            excused |= busy || given < 0.94 || most < TO_CATCH_UP * rate;
            println!(
                "try {attempt} of {TRIES}: not within 0.1 %; others are at work: {busy}; at full speed {most:.0} frames/s"
            );
        }
        assert!(excused, "not within 0.1 % on a machine of its own that can send more");
        skip_test(&["quiet"], &"the machine is too busy to judge a rate: run this where nothing else does");
    });
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
            assert_eq!(
                (heard.sequence.received(), heard.sequence.reordered(), heard.bytes),
                (3000, 0, 600_000)
            );
            // At its begin and its end it may be as late as its processor was taken away.
            let off = report.elapsed.as_secs_f64() - seconds;
            assert!(off.abs() < 1e-3 + report.lateness.max.unwrap() / 1e9, "{report:?}");
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
        assert!(
            report.sent == 500 || report.lateness.max.unwrap() > 1e5 || report.preempted.count > 0,
            "{report:?}"
        );
        // One frame in 10 s: told to stop while it sleeps.
        let slow = Generator { count: None, ..generator(0.1, 0) };
        let stop = AtomicBool::new(false);
        let ready = slow.open().unwrap();
        let report = thread::scope(|scope| {
            let running = scope.spawn(|| ready.run(&stop));
            thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap()
        });
        assert!(matches!(report.ended, Ended::Stopped) && report.sent == 1, "{report:?}");
        assert!(report.processor < Duration::from_millis(40), "it sleeps through long waits: {report:?}");
    });
}

#[test]
fn an_interface_that_goes_down_ends_it_and_what_was_sent_is_told() {
    at_a_cable(|| {
        let ready = Generator { count: None, ..generator(10_000.0, 0) }.open().unwrap();
        let report = thread::scope(|scope| {
            let running = scope.spawn(|| ready.run(&AtomicBool::new(false)));
            thread::sleep(Duration::from_millis(50));
            set_up(Cable::LEFT, false).unwrap();
            running.join().unwrap()
        });
        assert!(matches!(report.ended, Ended::Lost(_)) && report.sent > 0, "{report:?}");
        assert_eq!((report.interface.as_str(), report.bytes), (Cable::LEFT, report.sent * 60));
    });
}

#[test]
fn frames_refused_while_the_other_end_is_down_are_not_sent() {
    at_a_cable(|| {
        for method in [Method::Send, Method::SendMany, Method::Ring] {
            let meets_it = |_| {
                let ready = Generator { method, ..generator(2000.0, 1200) }.open().unwrap();
                let sent_before = Interface::named(Cable::LEFT).unwrap().counters.sent;
                let report = thread::scope(|scope| {
                    let running = scope.spawn(|| ready.run(&AtomicBool::new(false)));
                    thread::sleep(Duration::from_millis(200));
                    set_up(Cable::RIGHT, false).unwrap();
                    thread::sleep(Duration::from_millis(200));
                    set_up(Cable::RIGHT, true).unwrap();
                    running.join().unwrap()
                });
                assert!(matches!(report.ended, Ended::Done), "{report:?}");
                assert_eq!(report.sent + report.refused(), 1200, "{report:?}");
                let sent = Interface::named(Cable::LEFT).unwrap().counters.sent - sent_before;
                // At the moment when it goes down a frame may be taken and lost.
                assert!(report.sent >= sent && report.sent - sent <= 2, "{sent} were sent: {report:?}");
                // The rate is of what the kernel took, in as long as it was sent: 0.6 s, and as much as others had the processor.
                let (Some(rate), Some(error)) = (report.rate, report.rate_error) else { return false };
                let (share, seconds) = (report.sent as f64 / 1200.0, report.elapsed.as_secs_f64());
                let (due, late) = (1199.0 / 2000.0, report.lateness.max.unwrap() / 1e9);
                assert!((rate / 2000.0 - share * due / seconds).abs() < 0.01, "{report:?}");
                assert!((error + 1.0 - share * due / seconds).abs() < 0.01, "{report:?}");
                assert!((seconds - due).abs() < late + 1e-3, "{report:?}");
                assert_eq!(report.try_again, 0, "{report:?}");
                if method == Method::Ring {
                    return report.refused() == 0 && report.put_off > 100;
                }
                assert_eq!(report.put_off, 0, "{report:?}");
                // One that met the end of it may have been asked for too late.
                report.no_carrier > 100 && report.no_buffers < 40
            };
            // Where others have the processor it may come to send only when the other end is up again, or not before its end.
            assert!((0..20).any(meets_it), "{method:?} does not meet what it should");
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
