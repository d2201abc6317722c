//! What a live capture costs, against tcpdump, on a cable of its own:
//!
//! ```text
//! live compare RATE FRAMES [KIND …]     each kind and tcpdump in turns: "max" or frames a second, and how many
//! live cost KIND|tcpdump|./tollway RATE FRAMES FILE     one of them, as a line of numbers
//! live capture INTERFACE KIND FILE      one capture, until SIGINT; FILE "none": only counted
//! ```
//!
//! The sender is on one processor, the capture a process of its own on another. "ns" is its processor time (user and
//! system, of /proc/PID/schedstat) from when it listened until the last frame was in, a frame; its start, which the
//! kernel's search for contiguous memory makes vary by 50 ms, is not in it, for tcpdump as for ours. "c" are cycles of
//! the reading loop alone: ticks of the time-stamp counter in calls that gave frames, a frame, on average and in the best
//! call; tcpdump does not tell its own.

use std::error::Error;
use std::io::{BufRead, BufReader, Read as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tollway_capture::engine::file::{Output, pcap};
use tollway_capture::engine::source::{Kind, Read, Settings, Source};
use tollway_capture::engine::{Packet, Timestamp};
use tollway_core::Clock;
use tollway_host::clock::Tsc;
use tollway_wire::send::{Many, Transmit};
use tollway_wire::{Cable, Interface, Stop};

type Anything<T> = Result<T, Box<dyn Error>>;

/// Turns of `compare`.
const TURNS: usize = 3;
/// Bytes of the kernel's memory, of every kind and of tcpdump.
const BUFFER: usize = 16 << 20;

fn main() -> Anything<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["compare", rate, frames, ref kinds @ ..] => compare(rate_of(rate)?, frames.parse()?, kinds),
        ["cost", what, rate, frames, file] => {
            println!("{}", cost(what, file, rate_of(rate)?, frames.parse()?)?);
            Ok(())
        }
        ["capture", interface, kind, file] => capture(interface, kind.parse()?, file),
        _ => Err("live compare RATE FRAMES [KIND …], or live capture INTERFACE KIND FILE".into()),
    }
}

static STOP: OnceLock<Stop> = OnceLock::new();

extern "C" fn on_signal(_: i32) {
    if let Some(stop) = STOP.get() {
        stop.stop();
    }
}

fn capture(interface: &str, kind: Kind, file: &str) -> Anything<()> {
    let settings = Settings { kind, buffer: BUFFER, ..Settings::default() };
    let mut source = Source::open(interface, &settings)?;
    let _ = STOP.set(source.stop());
    // SAFETY: the handler sets a flag and writes to an eventfd, which handlers may.
    unsafe { libc::signal(libc::SIGINT, on_signal as extern "C" fn(i32) as usize) };
    eprintln!("listening");
    if file == "none" {
        let mut sum = 0u64;
        let done = drive(&mut source, |packet| {
            sum = sum.wrapping_add(u64::from(packet.bytes[13])).wrapping_add(packet.timestamp.0);
        });
        std::hint::black_box(sum);
        return done;
    }
    let mut writer =
        pcap::Writer::new(Output::create(Path::new(file))?, pcap::Layout::new(source.link_type()))?;
    let mut failed = None;
    drive(&mut source, |packet| {
        if let Err(error) = writer.write(&packet) {
            failed.get_or_insert(error);
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    Ok(writer.finish()?)
}

/// Reads until it is called off, and tells the books and the cycles.
fn drive(source: &mut Source, mut sink: impl FnMut(Packet<'_>)) -> Anything<()> {
    let (mut frames, mut cycles) = (0u64, 0u64);
    // AF_XDP frames have no stamp of the kernel's.
    let stamp = |kernel: Option<Timestamp>| kernel.unwrap_or_else(now);
    let mut best = f64::MAX;
    loop {
        let begun = Tsc.now();
        let read = source.read(4096, Duration::ZERO, stamp, &mut sink)?;
        match read {
            Read::Frames(count) => {
                let took = Tsc.now() - begun;
                (frames, cycles) = (frames + count, cycles + took);
                if count >= 512 {
                    best = best.min(took as f64 / count as f64);
                }
                continue;
            }
            Read::Stopped => break,
            Read::Idle | Read::Interrupted => {}
        }
        if source.read(1, Duration::from_secs(1), stamp, &mut sink)? == Read::Stopped {
            break;
        }
    }
    let books = source.finish(stamp, &mut sink)?;
    let (dropped, mean) = (books.dropped.unwrap_or_default(), cycles as f64 / frames.max(1) as f64);
    println!("{} {dropped} {mean:.1} {:.1}", books.delivered, best.min(mean));
    Ok(())
}

fn now() -> Timestamp {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Timestamp(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// What one capture cost.
struct Outcome {
    captured: u64,
    dropped: i64,
    sent: u64,
    /// Frames a second that the sender reached.
    rate: f64,
    /// Nanoseconds of processor time a frame captured.
    cost: f64,
    /// Cycles of the reading loop: on average, and in its best call.
    cycles: (f64, f64),
}

/// Frames a second; `None`: as many as go.
fn rate_of(word: &str) -> Anything<Option<f64>> {
    Ok(if word == "max" { None } else { Some(word.parse()?) })
}

fn compare(rate: Option<f64>, frames: u64, kinds: &[&str]) -> Anything<()> {
    let all = Kind::ALL.map(Kind::name);
    let kinds = if kinds.is_empty() { &all } else { kinds };
    println!("                         sent  captured  dropped    M/s     ns      c best c");
    for _ in 0..TURNS {
        for kind in kinds {
            println!("{kind:11}none      {}", cost(kind, "none", rate, frames)?);
            println!("{kind:11}/dev/null {}", cost(kind, "/dev/null", rate, frames)?);
        }
        println!("tcpdump    /dev/null {}", cost("tcpdump", "/dev/null", rate, frames)?);
    }
    Ok(())
}

fn cost(what: &str, file: &str, rate: Option<f64>, frames: u64) -> Anything<Outcome> {
    let (this, buffer) = (std::env::current_exe()?.display().to_string(), (BUFFER >> 10).to_string());
    match what {
        "tcpdump" => one(&["tcpdump", "-i", Cable::RIGHT, "-B", &buffer, "-w", file], rate, frames),
        // The tool itself, with its defaults.
        path if path.contains('/') => one(&[path, "capture", "-i", Cable::RIGHT, "-w", file], rate, frames),
        kind => one(&[&this, "capture", Cable::RIGHT, kind, file], rate, frames),
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { sent, captured, dropped, rate, cost, cycles } = self;
        let rate = rate / 1e6;
        write!(f, "{sent:8} {captured:9} {dropped:8} {rate:6.3} {cost:6.1} {:6.1} {:6.1}", cycles.0, cycles.1)
    }
}

/// Runs a capture on a new cable while frames are sent.
fn one(command: &[&str], rate: Option<f64>, frames: u64) -> Anything<Outcome> {
    let cable = Cable::new()?;
    cable.namespace().run(|| one_there(command, rate, frames).map_err(|e| e.to_string()))?.map_err(Into::into)
}

fn one_there(command: &[&str], rate: Option<f64>, frames: u64) -> Anything<Outcome> {
    let mut child = Command::new(command[0]);
    child.args(&command[1..]).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: the closure makes one system call.
    unsafe { child.pre_exec(|| pin(1)) };
    let mut child = child.spawn()?;
    pin(0)?;
    let mut said = BufReader::new(child.stderr.take().ok_or("no standard error")?);
    let mut line = String::new();
    while !line.contains("listening") {
        line.clear();
        if said.read_line(&mut line)? == 0 {
            return Err(format!("{} ended: {line}", command[0]).into());
        }
    }
    // It may say so a little before it does.
    std::thread::sleep(Duration::from_millis(100));
    let spent = processor_time(child.id())?;
    let mut sender = Many::open(&Interface::named(Cable::LEFT)?)?;
    let begun = Instant::now();
    while sender.counts().frames < frames {
        if let Some(rate) = rate {
            while begun.elapsed().as_secs_f64() * rate < sender.counts().frames as f64 {
                std::hint::spin_loop();
            }
        }
        while let Some(slot) = sender.slot() {
            slot[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5]);
            sender.commit(60);
        }
        sender.flush()?;
    }
    let sent = sender.counts().frames;
    let rate = sent as f64 / begun.elapsed().as_secs_f64();
    std::thread::sleep(Duration::from_millis(300));
    let spent = processor_time(child.id())? - spent;
    // SAFETY: the number of a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().ok_or("no standard output")?.read_to_string(&mut out)?;
    said.read_to_string(&mut err)?;
    child.wait()?;
    let figures: Vec<f64> = out.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let in_words = |what: &str| -> f64 {
        let line = err.lines().find(|line| line.contains(what));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN)
    };
    let (captured, dropped, cycles) = match figures[..] {
        [captured, dropped, mean, best] => (captured, dropped, (mean, best)),
        _ => (in_words("captured"), in_words("dropped"), (f64::NAN, f64::NAN)),
    };
    if captured.is_nan() {
        return Err(format!("{}: {out}{err}", command[0]).into());
    }
    Ok(Outcome {
        captured: captured as u64,
        dropped: dropped as i64,
        sent,
        rate,
        cost: spent / captured.max(1.0),
        cycles,
    })
}

/// Nanoseconds of processor time of a process of one thread, so far.
fn processor_time(process: u32) -> Anything<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat"))?;
    Ok(text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?)
}

/// Keeps this thread on a processor.
fn pin(processor: usize) -> std::io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}
