//! Programs with loops: they end, whatever the packet, and where libpcap's end they come to the same verdict.

use tollway_capture::engine::bpf::{Filter, Instruction, Program};

use super::libpcap;
use super::plain::{self, Rules};
use super::{packets, random::Random};

/// A program of codes and constants; tests skip as many as beside.
fn program(list: &[(u16, u8, u8, i32)]) -> Program {
    let list = list.iter().map(|&(code, jt, jf, k)| Instruction { code, jt, jf, k: k as u32 });
    Program::new(list.collect()).expect("a program with a loop")
}

#[test]
fn a_program_that_would_run_for_ever_ends_with_verdict_0() {
    let for_ever = program(&[(5, 0, 0, -1), (6, 0, 0, 1)]);
    // Adds 1 until A is 0 again.
    let long = program(&[(4, 0, 0, 1), (0x15, 1, 0, 0), (5, 0, 0, -3), (6, 0, 0, 1)]);
    for program in [for_ever, long] {
        let filter = Filter::new(&program);
        assert!(filter.engine().contains("without a loop"), "{}", filter.engine());
        for length in [0, 1, 60, 262_144] {
            let packet = vec![0; length];
            assert_eq!(filter.run(&packet, 60), 0);
            assert_eq!(plain::verdict(&program, &packet, 60, Rules::Libpcap), 0);
        }
    }
}

/// Each backward jump may be taken as often as the packet has bytes.
#[test]
fn a_loop_over_all_bytes_of_a_packet_comes_to_its_end() {
    // X goes from byte to byte until one is 7; the verdict is its place, and 0 if there is none.
    let search = program(&[
        (0x50, 0, 0, 0),
        (0x15, 3, 0, 7),
        (0x87, 0, 0, 0),
        (4, 0, 0, 1),
        (5, 0, 0, 1),
        (5, 0, 0, 2),
        (7, 0, 0, 0),
        (5, 0, 0, -8),
        (0x87, 0, 0, 0),
        (0x16, 0, 0, 0),
    ]);
    let filter = Filter::new(&search);
    for place in [0usize, 1, 59, 1513, 262_143] {
        let mut packet = vec![1; place + 1];
        packet[place] = 7;
        assert_eq!(filter.run(&packet, 60), place as u32);
    }
    assert_eq!(filter.run(&[1; 300], 60), 0);
}

/// IPv6 packets with chains of headers before TCP, UDP or nothing known, some of them cut or with lengths that lie.
fn chains(random: &mut Random) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for round in 0..4000 {
        let mut headers = Vec::new();
        let last = [6, 17, 58, 59, 50, 200][round % 6];
        let kinds: Vec<u8> =
            (0..random.below(9)).map(|_| [0, 43, 44, 60, 51][random.below(5) as usize]).collect();
        for (at, kind) in kinds.iter().enumerate() {
            let next = kinds.get(at + 1).copied().unwrap_or(last);
            let units = random.below(3) as u8;
            let length = if *kind == 51 { 8 + 4 * usize::from(units) } else { 8 + 8 * usize::from(units) };
            let says = if random.below(20) == 0 { random.bits() as u8 } else { units };
            headers.extend([next, if *kind == 44 { 0 } else { says }]);
            headers.resize(headers.len() + if *kind == 44 { 8 } else { length } - 2, 0);
        }
        let first = kinds.first().copied().unwrap_or(last);
        let ip = [&[0x60, 0, 0, 0, 0, 0, first, 64][..], &[0x20; 32], &headers, &[0; 20]].concat();
        let frame = [&[2; 12][..], &[0x86, 0xdd], &ip].concat();
        let keep =
            if random.below(5) == 0 { random.below(frame.len() as u64 + 1) as usize } else { frame.len() };
        all.push(frame[..keep].to_vec());
    }
    all
}

#[test]
fn protochain_finds_the_packets_that_libpcap_finds_and_is_printed_as_libpcap_prints_it() {
    use tollway_capture::engine::{LinkType, bpf};
    let mut random = Random(58);
    let mut packets = chains(&mut random);
    packets.extend((0..1000).map(|_| packets::packet(&mut random)));
    let expressions = [
        "ip6 protochain 6",
        "ip6 protochain 17",
        "ip protochain 17",
        "protochain 6",
        "ip6 protochain 58 or ip6 protochain 6 or ip protochain 1",
        "not ip6 protochain 200",
    ];
    for expression in expressions {
        for origin in [bpf::Origin::Live, bpf::Origin::File { is_swapped: false }] {
            let program =
                bpf::compile(expression, LinkType::ETHERNET, origin, 262_144, true).expect(expression);
            assert!(program.backward_jumps() > 0, "{}", program.to_text());
            let filter = Filter::new(&program);
            let mut taken = 0;
            for packet in &packets {
                let length = packet.len() as u32;
                let verdict = libpcap::verdict(&program, packet, length);
                assert_eq!(filter.run(packet, length), verdict, "{expression}: {packet:02x?}");
                taken += usize::from(verdict > 0);
            }
            assert!(
                (100..packets.len() - 100).contains(&taken) || !expression.contains("ip6"),
                "{expression}: {taken}"
            );
            for (number, instruction) in program.instructions().iter().enumerate() {
                let ours = format!("({number:03}) {}", instruction.display(number));
                assert_eq!(ours, libpcap::text(*instruction, number), "{expression}");
            }
            assert_eq!(Program::read(&program.to_numbers()).as_ref(), Ok(&program));
        }
    }
}
