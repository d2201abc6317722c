use std::collections::BTreeMap;
use std::time::{Duration, Instant};
fn main() {
    let mut a: Vec<String> = std::env::args().skip(1).collect();
    let allowed = a.remove(0).parse::<f64>().ok().filter(|a| *a > 0.0);
    let mut w = tollway_watch::kernel::Watch::new(true, allowed).unwrap();
    eprintln!("{:?}", w.cost());
    let mut c = std::process::Command::new(&a[0]);
    c.args(&a[1..]);
    let t = Instant::now();
    let mut child = w.start(&mut c).unwrap();
    while child.try_wait().unwrap().is_none() {
        let d = w.tick().unwrap();
        std::thread::sleep(d.min(Duration::from_millis(5)));
    }
    let e = t.elapsed();
    std::thread::sleep(Duration::from_millis(20));
    for e in std::fs::read_dir("/proc/self/fdinfo").unwrap() {
        let t = std::fs::read_to_string(e.unwrap().path()).unwrap_or_default();
        for l in t.lines().filter(|l| l.starts_with("recursion_misses") && !l.ends_with("\t0")) {
            eprintln!("MISSES {l}");
        }
    }
    let c = w.counts().unwrap();
    eprintln!("took {e:?} watched {:?} counted {:?} lost {}", c.watched, c.counted, c.lost);
    let mut by: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for t in &c.threads {
        eprintln!(
            "{} {} {:?} user {:?} sys {:?} ran {:?} inside {:?} {:?}",
            t.process,
            t.number,
            t.name,
            t.user,
            t.system,
            t.ran,
            t.calls.iter().filter_map(|c| c.inside).sum::<Duration>(),
            t.moments
        );
        for c in &t.calls {
            let e = by.entry(c.number).or_default();
            e.0 += c.count;
            e.1 += c.failed.unwrap();
        }
    }
    if std::env::var("FULL").is_ok() {
        for t in &c.threads {
            for c in &t.calls {
                eprintln!("{c:?}");
            }
        }
    }
    for (n, (c, f)) in by {
        println!("{n} {c} {f}");
    }
}
