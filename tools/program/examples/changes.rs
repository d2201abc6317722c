//! Programs as they are and changed, for the bar of what-ifs: `changes NAME COUNT before|after`. Each does the same work both times.

use std::env;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write, pipe};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

use io_uring::{IoUring, opcode, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Bytes of what is read in pieces.
const WHOLE: usize = 1 << 16;
/// Operations with one entry into the kernel.
const TOGETHER: usize = 32;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, count, when] = &arguments[..] else { return usage() };
    let (Ok(count), is_changed) = (count.parse::<usize>(), when == "after") else { return usage() };
    match name.as_str() {
        // Two threads that wait for each other: on two cores, and on one.
        "pipe" => talk(count, is_changed, pipe().unwrap(), pipe().unwrap()),
        "unix" => {
            let ((a, b), (c, d)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
            talk(count, is_changed, (a, b), (c, d));
        }
        "tcp" => {
            let (here, there) = tcp_pair();
            let twice = |stream: &TcpStream| (stream.try_clone().unwrap(), stream.try_clone().unwrap());
            let ((here_in, here_out), (there_in, there_out)) = (twice(&here), twice(&there));
            talk(count, is_changed, (there_in, here_out), (here_in, there_out));
        }
        "eventfd" => {
            let one = || File::from(eventfd(0, EventfdFlags::empty()).unwrap());
            let (asked, answered) = (one(), one());
            let twice = |file: &File| (file.try_clone().unwrap(), file.try_clone().unwrap());
            talk(count, is_changed, twice(&asked), twice(&answered));
        }
        // The same bytes in pieces, and as a whole.
        "zero-512" => {
            pieces(&mut File::open("/dev/zero").unwrap(), count, if is_changed { WHOLE } else { 512 })
        }
        "file-512" => file(count, if is_changed { WHOLE } else { 512 }),
        "file-1" => file(count, if is_changed { WHOLE } else { 1 }),
        "file-4096" => file(count, if is_changed { WHOLE } else { 4096 }),
        "pipe-512" => written(count, if is_changed { WHOLE } else { 512 }),
        // Writes to nowhere one by one, and 32 with one entry.
        "null-1" => nowhere(count, is_changed, 1),
        "null-4096" => nowhere(count, is_changed, 4096),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!(
        "changes pipe|unix|tcp|eventfd|zero-512|file-512|file-1|file-4096|pipe-512|null-1|null-4096 COUNT before|after"
    );
    ExitCode::from(2)
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (there, _) = listener.accept().unwrap();
    for stream in [&here, &there] {
        stream.set_nodelay(true).unwrap();
    }
    (here, there)
}

fn stay(core: usize) {
    let mut one = CpuSet::new();
    one.set(core);
    let _ = sched_setaffinity(None, &one);
}

fn talk<R, W>(count: usize, on_one: bool, (mut asked, mut ask): (R, W), (mut answered, mut answer): (R, W))
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let other = thread::spawn(move || {
        stay(usize::from(!on_one));
        let mut word = [0; 8];
        for _ in 0..count {
            asked.read_exact(&mut word).unwrap();
            answer.write_all(&word).unwrap();
        }
    });
    stay(0);
    let mut word = 1u64.to_ne_bytes();
    for _ in 0..count {
        ask.write_all(&word).unwrap();
        answered.read_exact(&mut word).unwrap();
    }
    other.join().unwrap();
}

/// Reads so many times 64 KiB in pieces of this size.
fn pieces(from: &mut impl Read, count: usize, size: usize) {
    let mut bytes = vec![0; size];
    for _ in 0..count * WHOLE / size {
        from.read_exact(&mut bytes).unwrap();
    }
    black_box(bytes);
}

fn file(count: usize, size: usize) {
    let mut file = rustix_file();
    file.write_all(&[7; WHOLE]).unwrap();
    let mut bytes = vec![0; size];
    for _ in 0..count {
        file.seek(SeekFrom::Start(0)).unwrap();
        for _ in 0..WHOLE / size {
            file.read_exact(&mut bytes).unwrap();
        }
    }
    black_box(bytes);
}

/// A file in memory that has no name.
fn rustix_file() -> File {
    File::from(rustix::fs::memfd_create("changes", rustix::fs::MemfdFlags::empty()).unwrap())
}

/// Through a pipe that never fills: a piece is written and read again.
fn written(count: usize, size: usize) {
    let (mut reader, mut writer) = pipe().unwrap();
    let mut bytes = vec![0; size];
    for _ in 0..count * WHOLE / size {
        writer.write_all(&bytes).unwrap();
        reader.read_exact(&mut bytes).unwrap();
    }
    black_box(bytes);
}

fn nowhere(count: usize, by_ring: bool, size: usize) {
    let mut null = File::options().write(true).open("/dev/null").unwrap();
    let bytes = vec![0u8; size];
    if !by_ring {
        return (0..count * TOGETHER).for_each(|_| null.write_all(&bytes).unwrap());
    }
    let mut ring = IoUring::new(TOGETHER as u32).unwrap();
    let entry = opcode::Write::new(types::Fd(null.as_raw_fd()), bytes.as_ptr(), size as u32).build();
    for _ in 0..count {
        for _ in 0..TOGETHER {
            // SAFETY: the bytes and the file outlive the ring's work, which is waited for below.
            unsafe { ring.submission().push(&entry) }.unwrap();
        }
        ring.submit_and_wait(TOGETHER).unwrap();
        assert!(ring.completion().all(|done| done.result() == size as i32));
    }
}
