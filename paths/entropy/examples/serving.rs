//! How fast the device serves, and how evenly: `cargo run --release -p tollway-entropy --example serving -- [SOURCE]
//! [THREADS]`.
//!
//! Tenants are threads of this process with a front end each; what one gets is read from the server's own counters. A row
//! is a number of greedy tenants, beside one that asks for 64 bytes a thousand times a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollway_entropy::engine::health::{Monitored, Settings};
use tollway_entropy::engine::serve::{Options as ServeOptions, Server, Tenant};
use tollway_entropy::engine::source::{Kind, Source};
use tollway_virtio::frontend::{Frontend, Options};
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

const WINDOW: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind: Kind = arguments.next().as_deref().unwrap_or("rdrand").parse()?;
    let threads: usize = arguments.next().as_deref().unwrap_or("1").parse()?;
    let mut alone = Monitored::new(kind.open()?, Settings::default())?;
    let (mut block, mut drawn) = (vec![0; 4096], 0);
    let begun = Instant::now();
    while begun.elapsed() < WINDOW / 2 {
        alone.fill(&mut block)?;
        drawn += block.len();
    }
    println!(
        "{kind} alone, under health tests: {:.1} MB/s",
        drawn as f64 / begun.elapsed().as_secs_f64() / 1e6
    );
    println!("greedy  MB/s in all  least  most (MB/s)  modest: of what it asked, mean and slowest answer");
    for greedy in [0, 1, 2, 4, 8] {
        row(&kind, threads, greedy)?;
    }
    Ok(())
}

fn row(kind: &Kind, threads: usize, greedy: usize) -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("tollway-serving-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = |tenant: usize| folder.join(format!("{tenant}.sock"));
    let mut tenants = Vec::new();
    for tenant in 0..=greedy {
        let meeting = Meeting::Listen(Listener::bind(&path(tenant), 0o600)?);
        tenants.push(Tenant { name: tenant.to_string(), meeting, share: Share::default() });
    }
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for _ in 0..threads {
        sources.push(Box::new(Monitored::new(kind.open()?, Settings::default())?));
    }
    let server = Server::start(tenants, sources, ServeOptions::default(), |_| ())?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut players = Vec::new();
    for tenant in 1..=greedy {
        let options = Options { buffers: 256, buffer_bytes: 4096, ..Options::default() };
        let (mut frontend, stop) = (Frontend::connect(&path(tenant), &options)?, stop.clone());
        players.push(thread::spawn(move || be_greedy(&mut frontend, &stop)));
    }
    let options = Options { buffers: 1, buffer_bytes: 64, ..Options::default() };
    let mut frontend = Frontend::connect(&path(0), &options)?;
    thread::sleep(WINDOW / 4);
    let (before, begun) = (server.status(), Instant::now());
    let (mut answers, mut slowest, mut total) = (0, Duration::ZERO, Duration::ZERO);
    while begun.elapsed() < WINDOW {
        let asked = Instant::now();
        frontend.offer(0, 64)?;
        frontend.kick();
        frontend.wait(Duration::from_secs(10))?.ok_or("nothing came")?;
        let took = asked.elapsed();
        (answers, slowest, total) = (answers + 1, slowest.max(took), total + took);
        thread::sleep(Duration::from_millis(1).saturating_sub(took));
    }
    let after = server.status();
    stop.store(true, Ordering::Relaxed);
    let seconds = after.seconds - before.seconds;
    let rate =
        |n: usize| (after.tenants[n].counts.bytes - before.tenants[n].counts.bytes) as f64 / seconds / 1e6;
    let rates: Vec<f64> = (1..=greedy).map(rate).collect();
    let all: f64 = (0..=greedy).map(rate).sum();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    println!(
        "{greedy:6}  {all:11.1}  {least:5.1}  {most:11.1}  {answers} answers, {:.0} µs, {:.0} µs",
        total.as_secs_f64() / f64::from(answers) * 1e6,
        slowest.as_secs_f64() * 1e6,
    );
    for player in players {
        player.join().map_err(|_| "a tenant panicked")?;
    }
    server.stop();
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn be_greedy(frontend: &mut Frontend, stop: &AtomicBool) {
    for buffer in 0..256 {
        frontend.offer(buffer, 4096).expect("it is free");
    }
    frontend.kick();
    while !stop.load(Ordering::Relaxed) {
        if let Ok(Some(used)) = frontend.wait(Duration::from_millis(100)) {
            frontend.offer(used.buffer, 4096).expect("it came back");
            frontend.kick();
        }
    }
}
