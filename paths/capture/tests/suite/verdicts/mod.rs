//! Whoever decides on a packet comes to the same verdict: our machine code, our interpreter, libpcap's `bpf_filter`,
//! Linux with the program attached to a socket, and a plain machine that lives in these tests.
//!
//! `make soak verdicts` compares a hundred million times (TOLLWAY_LONG).

mod compare;
mod expressions;
mod harness;
mod linux;
mod list;
mod loops;
mod offline;
mod packets;
mod plain;
mod programs;
mod random;

use crate::libpcap::{file as libpcap_file, machine as libpcap};
use compare::{Compared, compare};
use linux::Linux;
use random::Random;
use tollway_capture::engine::bpf::{Instruction, Program};

/// Programs against packets, until so many verdicts were compared.
fn search(seed: u64, verdicts: u64) -> Compared {
    let mut random = Random(seed);
    let mut linux = Linux::new().map_err(|e| eprintln!("without Linux: {e}")).ok();
    let mut total = Compared::default();
    let mut pool = Vec::new();
    while total.verdicts < verdicts {
        // A pool of packets serves a hundred programs.
        if total.programs % 100 == 0 {
            pool = compare::packets(&mut random, 512);
        }
        let program = programs::program(&mut random);
        let from = random.below(256) as usize;
        total.add(&compare(&program, &pool[from..from + 256], &mut random, linux.as_mut()));
    }
    total
}

#[test]
fn programs_and_packets_of_all_kinds() {
    let long = std::env::var_os("TOLLWAY_LONG").is_some();
    let (threads, verdicts) = if long { (2, 50_000_000) } else { (2, 500_000) };
    let seed = std::env::var("TOLLWAY_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads).map(|t| scope.spawn(move || search(seed * 1000 + t, verdicts))).collect();
        threads.into_iter().map(|t| t.join()).collect::<Vec<_>>()
    });
    let mut total = Compared::default();
    for count in counts {
        match count {
            Ok(count) => total.add(&count),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    println!("{total:?}");
    // The generator must make programs that decide: neither nothing nor everything is kept.
    let share = total.kept as f64 / total.verdicts as f64;
    assert!((0.05..0.95).contains(&share), "{share} of the packets are kept");
}

#[test]
fn packets_cut_short_anywhere() {
    let mut random = Random(7);
    let mut linux = Linux::new().ok();
    let whole: Vec<Vec<u8>> =
        (0..80).map(|_| packets::packet(&mut random)).filter(|p| p.len() > 40).collect();
    let generated = (0..200).map(|_| programs::program(&mut random)).collect();
    for program in [generated, compiled()].concat() {
        let packet = &whole[random.below(whole.len() as u64) as usize];
        let cut: Vec<Vec<u8>> = (0..=packet.len()).map(|length| packet[..length].to_vec()).collect();
        compare(&program, &cut, &mut random, linux.as_mut());
    }
}

/// What libpcap makes of expressions.
fn compiled() -> Vec<Program> {
    use tollway_capture::engine::{LinkType, bpf};
    let compile = |e: &String| {
        bpf::compile(e, LinkType::ETHERNET, bpf::Origin::Live, 262_144, e.len().is_multiple_of(2)).ok()
    };
    list::expressions(400).iter().filter_map(compile).collect()
}

/// Bytes of any kind, mostly codes that exist: whatever is taken runs, and both others take it too.
#[test]
fn bytes_that_nobody_compiled() {
    let mut random = Random(11);
    let linux = Linux::new().ok();
    let mut taken = 0;
    for round in 0..40_000 {
        let length = 1 + random.below(6) as usize;
        let mut list = if round % 2 == 0 {
            programs::instructions(&mut random, length)
        } else {
            vec![Instruction { code: 6, jt: 0, jf: 0, k: 1 }; length]
        };
        for _ in 0..random.below(3) {
            let at = random.below(list.len() as u64) as usize;
            let bits = random.bits();
            let code = if bits & 1 == 0 { (bits >> 1) as u16 & 0xff } else { (bits >> 1) as u16 };
            list[at] = match random.below(4) {
                0 => Instruction {
                    code,
                    jt: (bits >> 17) as u8,
                    jf: (bits >> 25) as u8,
                    k: (bits >> 32) as u32,
                },
                1 => Instruction { code, jt: 0, jf: 0, k: (bits >> 60) as u32 },
                2 => Instruction { k: (bits >> 32) as u32, ..list[at] },
                _ => Instruction { code: code & 0xff, ..list[at] },
            };
        }
        let Ok(program) = Program::new(list.clone()) else { continue };
        taken += 1;
        assert!(libpcap::takes(&list), "libpcap refuses\n{}", program.to_text());
        let packets = compare::packets(&mut random, 4);
        compare(&program, &packets, &mut random, None);
        if let Some(linux) = &linux
            && round % 16 < 2
        {
            let reads = list.iter().any(|i| matches!(i.code, 0x60 | 0x61)) || program.backward_jumps() > 0;
            assert!(linux.attach(&list).is_ok() || reads, "Linux refuses\n{}", program.to_text());
        }
    }
    assert!(taken > 5_000, "only {taken} were taken");
}

/// libpcap's `bpf_image` prints what we print, instruction by instruction.
#[test]
fn instructions_are_printed_as_libpcap_prints_them() {
    let mut random = Random(3);
    let known = (0..=0xffu16).flat_map(|code| {
        // Numbers of all sizes; the negative ones reach what Linux knows of a packet.
        let ks =
            [0, 1, 14, 0x1fff, 0x7fff_ffff, 0x8000_0000, 0xffff_f000, 0xffff_f02c, 0xffff_f030, u32::MAX];
        ks.map(|k| Instruction { code, jt: 3, jf: 200, k })
    });
    let ancillary = (0..64).map(|beyond| Instruction { code: 0x20, jt: 0, jf: 0, k: 0xffff_f000 + beyond });
    for instruction in known.chain(ancillary) {
        let number = random.below(4096) as usize;
        let ours = format!("({number:03}) {}", instruction.display(number));
        let theirs = libpcap::text(instruction, number);
        // Its printer does not know `ldx #pktlen` (0x81), which its machine runs.
        if instruction.meaning().is_some() && instruction.code != 0x81 {
            assert_eq!(ours, theirs, "{instruction:?}");
        }
    }
}

/// What a fuzzer found worth keeping; `make soak fuzz TARGET=bpf` goes on for longer.
#[test]
fn what_was_kept() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/bpf");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let (all, ran) =
        files.fold((0, 0), |(all, ran), input| (all + 1, ran + usize::from(harness::run(&input))));
    assert!(ran >= 20, "{ran} of {all} inputs are programs");
}
