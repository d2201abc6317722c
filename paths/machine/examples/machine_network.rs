//! How many bits a second streams of TCP carry, in one line of JSON: by our engine or by iperf3, server and client on the first two
//! processors.
//!
//! `cargo run --release -p tollway-machine --example machine_network -- --by iperf3 --streams 1 --block 131072 --seconds 2 --between loopback`
//!
//! `--by slowed` is ours with a tenth more work than is counted: who compares the two has to see it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_host::cpu::{allowed_cpus, pin_current_thread};
use tollway_machine::engine::network::streams::{self, Shape};
use tollway_machine::engine::network::{Listener, Network, PATIENCE, iperf3};

/// Of so many blocks one is not counted, where ours is slowed.
const PLANTED: f64 = 11.0;

struct Options {
    by: String,
    between: String,
    seconds: u32,
    shape: Shape,
}

fn main() -> Result<()> {
    let options = options(std::env::args().skip(1))?;
    let network = match &*options.between {
        "loopback" => None,
        "namespaces" => Some(Network::on_one_node()?),
        "two-nodes" => Some(Network::on_two_nodes()?),
        other => return Err(unusable("--between", other)),
    };
    let (tell, told) = channel();
    let rate = thread::scope(|scope| {
        let server = scope.spawn(|| {
            let ip = match &network {
                Some(network) => {
                    network.server().enter()?;
                    network.address()
                }
                None => Ipv4Addr::LOCALHOST,
            };
            pin(1)?;
            serve(&options, ip, tell)
        });
        let client = scope.spawn(|| {
            network.as_ref().map_or(Ok(()), |network| network.client().enter())?;
            pin(0)?;
            send(&options, told)
        });
        client.join().expect("the client panicked")?;
        server.join().expect("the server panicked")
    })?;
    println!("{{\"bits_per_second\": {rate:.0}}}");
    Ok(())
}

fn pin(slot: usize) -> Result<()> {
    let cpus = allowed_cpus()?;
    pin_current_thread(cpus[slot % cpus.len()])
}

/// Receives; bits a second, from the first block on.
fn serve(options: &Options, ip: Ipv4Addr, tell: Sender<SocketAddrV4>) -> Result<f64> {
    if options.by == "iperf3" {
        let server = iperf3::Server::start(ip)?;
        let _ = tell.send(server.address());
        let counted = server.hear(Duration::from_secs(options.seconds.into()) + 2 * PATIENCE)?;
        return Ok(counted.bytes as f64 * 8.0 / counted.seconds);
    }
    let listener = Listener::at(ip)?;
    options.shape.buffer.map_or(Ok(()), |bytes| listener.receive_into(bytes))?;
    let _ = tell.send(listener.address());
    let (mut first, mut last) = (None, Instant::now());
    let received = streams::receive(&listener, &options.shape, || {
        last = Instant::now();
        first.get_or_insert(last);
    })?;
    let seconds = first.map_or(0.0, |first| (last - first).as_secs_f64());
    let counted = if options.by == "slowed" { 1.0 - 1.0 / PLANTED } else { 1.0 };
    Ok((received.bytes - options.shape.block as u64) as f64 * 8.0 / seconds * counted)
}

fn send(options: &Options, told: Receiver<SocketAddrV4>) -> Result<()> {
    // Where there is none the server says why.
    let Ok(address) = told.recv() else { return Ok(()) };
    if options.by == "iperf3" {
        return iperf3::send(address, &iperf3::Traffic::Streams(options.shape), options.seconds).map(drop);
    }
    let mut sender = streams::Sender::come(address, &options.shape)?;
    let end = Instant::now() + Duration::from_secs(options.seconds.into());
    sender.send(|| Instant::now() < end)?;
    sender.finish().map(drop)
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options =
        Options { by: "tollway".into(), between: "loopback".into(), seconds: 1, shape: Shape::USUAL };
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        let number = || value.parse::<u32>().map_err(|_| unusable(&word, &value));
        match &*word {
            "--by" if ["tollway", "slowed", "iperf3"].contains(&&*value) => options.by = value,
            "--between" => options.between = value,
            "--seconds" => options.seconds = number()?,
            "--streams" => options.shape.streams = number()? as usize,
            "--block" => options.shape.block = number()? as usize,
            "--buffer" => options.shape.buffer = Some(number()? as usize),
            _ => return Err(unusable(&word, &value)),
        }
    }
    Ok(options)
}

fn unusable(word: &str, value: &str) -> Error {
    Error::Input {
        place: format!("argument {word} {value}"),
        reason: "it is not understood".into(),
        remedy: "give --by tollway|slowed|iperf3, --between loopback|namespaces|two-nodes, or --seconds, --streams, --block, \
                 --buffer with a number"
            .into(),
    }
}
