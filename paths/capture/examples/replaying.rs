//! What sending a frame of a capture file at full speed costs, by the generator or by tcpreplay: a process of its own sends
//! frames of 60 bytes over a veth pair made for it; all must come out at the other end. Prints nanoseconds of processor
//! time a frame (the kernel's share is the same for both: copying, the way through the pair) and frames per second.
//!
//! ```text
//! cargo run --release -p tollway-capture --example replaying -- tollway|tcpreplay [FRAMES]
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tollway_capture::engine::Timestamp;
use tollway_capture::engine::generate::{
    Ended, Flows, Frames, Generator, Method, ReplayPace, Sizes, Stamp, Traffic,
};
use tollway_host::scratch;
use tollway_wire::{Cable, Interface};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let frames: u32 = words.get(1).map_or(Ok(1_000_000), |word| word.parse())?;
    match words.first().map(String::as_str) {
        Some("tollway") => measure(frames, |file| {
            let mut command = Command::new(std::env::current_exe().expect("a program knows its file"));
            command.args([Path::new("send"), Path::new("0"), file]);
            command
        }),
        // Without waits and statistics of flows, which it keeps by default: its fastest.
        Some("tcpreplay") => measure(frames, |file| {
            let mut command = Command::new("tcpreplay");
            command.args(["--quiet", "--no-flow-stats", "--topspeed", "--intf1", Cable::LEFT]).arg(file);
            command
        }),
        Some("send") => send(words.get(2).ok_or("send 0 FILE")?),
        _ => Err("usage: replaying tollway|tcpreplay [FRAMES]".into()),
    }
}

fn send(file: &str) -> Result<(), Box<dyn Error>> {
    let generator = Generator {
        interface: Cable::LEFT.into(),
        traffic: Traffic::Replay { file: file.into(), pace: ReplayPace::FullSpeed },
        count: None,
        time: None,
        method: Method::default(),
    };
    match generator.run(&AtomicBool::new(false))?.ended {
        Ended::Done => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn measure(frames: u32, sender: impl FnOnce(&Path) -> Command) -> Result<(), Box<dyn Error>> {
    let file = scratch::folder().join(format!("tollway-replaying-{}.pcap", std::process::id()));
    let sent = write(&file, frames).and_then(|()| timed(sender(&file), frames));
    fs::remove_file(&file)?;
    let (processor, elapsed) = sent?;
    let each = processor.as_nanos() as f64 / f64::from(frames);
    println!("{each:.1} {:.0}", f64::from(frames) / elapsed.as_secs_f64());
    Ok(())
}

/// Processor time and time of a process that sends so many frames.
fn timed(mut sender: Command, frames: u32) -> Result<(Duration, Duration), Box<dyn Error>> {
    let cable = Cable::new()?;
    // What this thread starts is there too.
    cable.namespace().enter()?;
    let (begun, used) = (Instant::now(), children());
    let output = sender.stdin(Stdio::null()).output()?;
    let (processor, elapsed) = (children() - used, begun.elapsed());
    if !output.status.success() {
        return Err(format!("{sender:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let came = Interface::named(Cable::RIGHT)?.counters.received;
    if came != u64::from(frames) {
        return Err(format!("{came} of {frames} frames came: what their sending costs says nothing").into());
    }
    Ok((processor, elapsed))
}

/// Processor time of all children that were waited for.
fn children() -> Duration {
    // SAFETY: all-zero is a valid rusage, which the kernel fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// A capture of frames of 60 bytes, 10 µs apart. Source of the format: draft-ietf-opsawg-pcap, sections 4 and 5.
fn write(file: &Path, frames: u32) -> Result<(), Box<dyn Error>> {
    let mut made = Frames::new(&Flows::web(0.5)?, &"64".parse::<Sizes>()?, 1)?;
    let mut bytes: Vec<u8> = Vec::with_capacity(24 + 76 * frames as usize);
    bytes.extend(0xa1b2_c3d4u32.to_le_bytes());
    bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    let mut slot = [0; 128];
    for number in 0..frames {
        let at = 1_700_000_000_000_000 + u64::from(number) * 10;
        let length = made.write(&mut slot, &Stamp::new(number.into(), Timestamp(at * 1000)));
        for word in [(at / 1_000_000) as u32, (at % 1_000_000) as u32, length as u32, length as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&slot[..length]);
    }
    Ok(fs::write(file, bytes)?)
}
