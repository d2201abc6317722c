//! Bars of filters, in this process and in turns: our machine code against the same program through gcc -O2, our
//! interpreter against libpcap's `bpf_filter`.
//!
//! | filter | expression | instructions that its hot packet executes |
//! |---|---|---|
//! | 3 | `ip` | 3 |
//! | 21 | `tcp port 22 or 25 or 80 or 443 or 8080` | 21: a TCP segment from port 40000 to 9999 |
//! | 51 | ten hosts 10.0.0.1 … and ten ports 22 … | 51: from 192.168.1.2, port 40000, to 10.0.0.10, port 993 |
//!
//! The hot packet is looked at again and again; random ones are 65,536 different packets (`traffic.rs`), so many that no
//! branch predictor knows them by heart. All frames have 60 bytes. A program's verdicts are compared before it is timed,
//! and the sum of the verdicts of every trial as well. A trial is the least of eight parts, each short enough to find a
//! processor to itself: what else the machine does only adds.

mod traffic;
mod translation;

use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::hint::black_box;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{self, Filter};
use tollway_stats::paired_ratio;

use crate::CONFIDENCE;
use crate::bar::{self, Bar, Row, Verdict};
use crate::only::Only;
use traffic::Traffic;

const PORTS: [u16; 10] = [22, 25, 53, 80, 110, 143, 443, 993, 3306, 8080];

/// A filter and its hot packet's destination.
struct Case {
    name: &'static str,
    expression: String,
    to: ([u8; 4], u16),
}

fn cases() -> [Case; 3] {
    let list = |terms: Vec<String>| terms.join(" or ");
    let hosts = list((1..=10).map(|i| format!("host 10.0.0.{i}")).collect());
    let ports = list(PORTS.map(|port| port.to_string()).to_vec());
    let unlisted = ([10, 9, 9, 9], 9999);
    [
        Case { name: "3", expression: "ip".into(), to: unlisted },
        Case { name: "21", expression: "tcp port 22 or 25 or 80 or 443 or 8080".into(), to: unlisted },
        Case { name: "51", expression: format!("({hosts}) and (port {ports})"), to: ([10, 0, 0, 10], 993) },
    ]
}

/// Measures those whose name contains one of `only`, or all.
pub fn measure(rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut rows = Vec::new();
    for case in cases() {
        for hot in [true, false] {
            for machine in [true, false] {
                let packets = if hot { "hot" } else { "random" };
                let (sides, bar) = match machine {
                    true => ("machine code / gcc -O2", Bar::AtMost(1.2, "× twin")),
                    false => ("interpreter / libpcap", Bar::AtMost(1.0, "× twin")),
                };
                let name = format!("filter {}, {packets}: {sides}", case.name);
                if !only.wants(&name) {
                    continue;
                }
                let row = Row { name, bar: bar.to_string(), ..Row::default() };
                let measured = contest(&case, hot, machine, rounds, &mut rng, bar, row.clone());
                rows.push(
                    measured.unwrap_or_else(|error| Row {
                        verdict: Verdict::Broken(format!("{error:#}")),
                        ..row
                    }),
                );
            }
        }
    }
    rows
}

fn contest(
    case: &Case,
    hot: bool,
    machine: bool,
    rounds: u32,
    rng: &mut StdRng,
    bar: Bar,
    row: Row,
) -> Result<Row> {
    let program = bpf::compile(&case.expression, LinkType::ETHERNET, bpf::Origin::Live, 262_144, true)?;
    let addresses: Vec<[u8; 4]> = (1..=10).map(|i| [10, 0, 0, i]).collect();
    let traffic = match hot {
        true => Traffic::hot([192, 168, 1, 2], case.to.0, [40000, case.to.1]),
        false => Traffic::random(&addresses, &PORTS, 7),
    };
    if machine {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("filters");
        let compiled = translation::translate(&program, &format!("filter-{}", case.name), &folder)?;
        let filter = Filter::new(&program);
        let ours = filter.machine().with_context(|| format!("no machine code: {}", filter.engine()))?;
        // SAFETY: the packet has the length that is said, and the function looks no further.
        let twin = |packet: &[u8]| unsafe { compiled(packet.as_ptr(), packet.len(), packet.len() as u32) };
        in_turns(&traffic, |packet| ours.run(packet, packet.len() as u32), twin, rounds, rng, bar, row)
    } else {
        let ours = Filter::interpreted(&program);
        let interpret = translation::libpcap()?;
        let twin = |packet: &[u8]| {
            let length = packet.len() as u32;
            // SAFETY: the program was checked, more strictly than libpcap relies on; the packet is as long
            // as said.
            unsafe { interpret(program.instructions().as_ptr(), packet.as_ptr(), length, length) }
        };
        in_turns(&traffic, |packet| ours.run(packet, packet.len() as u32), twin, rounds, rng, bar, row)
    }
}

/// Both sides twice a round, in both orders.
fn in_turns(
    traffic: &Traffic,
    ours: impl Fn(&[u8]) -> u32,
    twin: impl Fn(&[u8]) -> u32,
    rounds: u32,
    rng: &mut StdRng,
    bar: Bar,
    row: Row,
) -> Result<Row> {
    for packet in traffic.parts().flat_map(Traffic::frames).take(8192) {
        for length in 0..=packet.len() {
            let cut = &packet[..length];
            ensure!(ours(cut) == twin(cut), "verdicts differ on {cut:02x?}: their speed says nothing");
        }
    }
    let mut pairs = Vec::with_capacity(rounds as usize);
    for _ in 0..rounds {
        let first: bool = rng.random();
        let mut block = Vec::with_capacity(2);
        for ours_first in [first, !first] {
            let (ours, twin) = if ours_first {
                let ours = trial(traffic, &ours);
                (ours, trial(traffic, &twin))
            } else {
                let twin = trial(traffic, &twin);
                (trial(traffic, &ours), twin)
            };
            ensure!(ours.1 == twin.1, "the verdicts add up to {} and {}", ours.1, twin.1);
            block.push((twin.0, ours.0));
        }
        pairs.push(block);
    }
    let median = |of: fn(&(f64, f64)) -> f64| -> Result<f64> {
        let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
        Ok(tollway_stats::figure(&blocks, CONFIDENCE)?.estimate)
    };
    let measured = paired_ratio(&pairs)?.interval(CONFIDENCE)?;
    Ok(Row {
        ours: bar::number(median(|(_, ours)| *ours)?),
        twin: bar::number(median(|(twin, _)| *twin)?),
        measured: format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi),
        verdict: bar.judge(&measured),
        ..row
    })
}

/// Ticks per packet, the least of as many as the traffic has parts, and the sum of all verdicts.
fn trial(traffic: &Traffic, filter: impl Fn(&[u8]) -> u32) -> (f64, u64) {
    let mut least = f64::INFINITY;
    let mut sum = 0;
    for part in traffic.parts() {
        let begun = now();
        for packet in Traffic::frames(part) {
            sum += u64::from(filter(black_box(packet)));
        }
        least = least.min((now() - begun) as f64 / Traffic::frames(part).len() as f64);
    }
    (least, sum)
}

/// The time-stamp counter, once all that comes before is done.
fn now() -> u64 {
    // SAFETY: every x86-64 has both instructions.
    unsafe {
        _mm_lfence();
        _rdtsc()
    }
}
