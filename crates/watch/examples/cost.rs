use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tollway_watch::kernel::Kernel;
fn calls() -> f64 {
    let n = 200_000;
    let t = Instant::now();
    for _ in 0..n {
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    t.elapsed().as_nanos() as f64 / n as f64
}
fn reads() -> f64 {
    let mut f = std::fs::File::open("/dev/zero").unwrap();
    let n = 100_000;
    let mut b = [0u8; 1];
    let t = Instant::now();
    for _ in 0..n {
        f.read_exact(&mut b).unwrap();
    }
    t.elapsed().as_nanos() as f64 / n as f64
}
fn pin(c: usize) {
    unsafe {
        let mut s: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(c, &mut s);
        libc::sched_setaffinity(0, size_of_val(&s), &s);
    }
}
fn pong(same: bool) -> f64 {
    let (mut ar, mut aw) = std::io::pipe().unwrap();
    let (mut br, mut bw) = std::io::pipe().unwrap();
    let t = std::thread::spawn(move || {
        pin(if same { 0 } else { 1 });
        let mut b = [0u8; 1];
        while ar.read(&mut b).unwrap() == 1 {
            if bw.write_all(&b).is_err() {
                break;
            }
        }
    });
    pin(0);
    let n = 20_000;
    let mut b = [0u8; 1];
    let s = Instant::now();
    for _ in 0..n {
        aw.write_all(&b).unwrap();
        br.read_exact(&mut b).unwrap();
    }
    let e = s.elapsed().as_nanos() as f64 / n as f64;
    drop(aw);
    let _ = t.join();
    e
}
fn main() {
    let me = std::process::id();
    let mut watched = Kernel::new(true).unwrap();
    let mut other = Kernel::new(true).unwrap();
    let mut sleeper = Command::new("sleep").arg("1000").stdout(Stdio::null()).spawn().unwrap();
    other.add(sleeper.id(), sleeper.id()).unwrap();
    watched.add(me, me).unwrap();
    let mut time = vec![];
    for round in 0..6 {
        for (name, k) in [("none", None), ("other", Some(&mut other)), ("watched", Some(&mut watched))] {
            let t = Instant::now();
            let on = if let Some(k) = k {
                k.begin().unwrap();
                Some(k)
            } else {
                None
            };
            let begin = t.elapsed();
            let r = (calls(), reads(), pong(true), pong(false));
            let t = Instant::now();
            if let Some(k) = on {
                k.pause();
            }
            let end = t.elapsed();
            if round > 0 {
                time.push((name, r, begin, end));
            }
        }
    }
    for name in ["none", "other", "watched"] {
        let m = |f: fn(&(f64, f64, f64, f64)) -> f64| {
            let mut v: Vec<f64> = time.iter().filter(|t| t.0 == name).map(|t| f(&t.1)).collect();
            v.sort_by(f64::total_cmp);
            v[v.len() / 2]
        };
        println!(
            "{name:8} getppid {:.0} read {:.0} pipe same {:.0} across {:.0}",
            m(|r| r.0),
            m(|r| r.1),
            m(|r| r.2),
            m(|r| r.3)
        );
    }
    let mut cycles: Vec<(Duration, Duration)> = vec![];
    for _ in 0..30 {
        let t = Instant::now();
        watched.begin().unwrap();
        let a = t.elapsed();
        std::thread::sleep(Duration::from_millis(2));
        let t = Instant::now();
        watched.pause();
        cycles.push((a, t.elapsed()));
        std::thread::sleep(Duration::from_millis(100));
    }
    cycles.sort();
    println!("begin median {:?} max {:?}; pause", cycles[15].0, cycles[29].0);
    let mut p: Vec<_> = cycles.iter().map(|c| c.1).collect();
    p.sort();
    println!("pause median {:?} max {:?}", p[15], p[29]);
    println!("lost {}", watched.lost());
    for s in watched.harvest().unwrap() {
        let mut c: Vec<_> = s.calls.iter().map(|c| (c.word(0), c.number, c.kind)).collect();
        c.sort();
        c.reverse();
        println!("{:?} {:?}", s.numbers(), &c[..c.len().min(4)]);
    }
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}
