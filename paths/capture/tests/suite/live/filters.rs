//! A filter wants the same packets wherever it runs.

use tollway_capture::engine::bpf::{Filter, Instruction, Program};
use tollway_capture::engine::source::{Kind, OfferedBy, Placement, Settings};

use super::cable::{Sender, drain, numbered, on_a_cable, open, settings, tagged};

fn program(instructions: &[(u16, u8, u8, u32)]) -> Program {
    let instructions = instructions.iter().map(|&(code, jt, jf, k)| Instruction { code, jt, jf, k });
    Program::new(instructions.collect()).unwrap()
}

/// `ldh [12]; jeq #0x8100 or #0x88b5 with an odd number`, and a verdict that cuts.
fn programs() -> Vec<Program> {
    const ODD: [(u16, u8, u8, u32); 4] = [(0x30, 0, 0, 17), (0x45, 0, 1, 1), (6, 0, 0, 40), (6, 0, 0, 0)];
    vec![
        program(&ODD),
        // Frames with a VLAN tag only.
        program(&[(0x28, 0, 0, 12), (0x15, 0, 1, 0x8100), (6, 0, 0, 262_144), (6, 0, 0, 0)]),
        // Frames without one only.
        program(&[(0x28, 0, 0, 12), (0x15, 0, 1, 0x88b5), (6, 0, 0, 262_144), (6, 0, 0, 0)]),
        // By the length on the wire: more than 99 bytes, and as many of them as that.
        program(&[(0x80, 0, 0, 0), (0x25, 1, 0, 99), (6, 0, 0, 0), (0x16, 0, 0, 0)]),
        // None, and all. What A is at the start is 0.
        program(&[(6, 0, 0, 0)]),
        program(&[(0x15, 0, 1, 0), (6, 0, 0, 262_144), (6, 0, 0, 0)]),
    ]
}

/// Frames of two lengths, every third with a tag if so wished.
fn frames(with_tags: bool) -> Vec<Vec<u8>> {
    (0..200)
        .map(|number| {
            let frame = numbered(number, if number % 5 == 0 { 200 } else { 64 });
            if with_tags && number % 3 == 0 { tagged(&frame, 0x8100, 0x2005) } else { frame }
        })
        .collect()
}

#[test]
fn a_filter_wants_the_same_in_the_kernel_and_here() {
    on_a_cable(|sender| {
        for (i, program) in programs().into_iter().enumerate() {
            for (snapshot, with_tags) in [(Settings::WHOLE, true), (50, true), (Settings::WHOLE, false)] {
                for kind in Kind::ALL {
                    for placement in [Placement::Kernel, Placement::User, Placement::Both] {
                        let about = format!("{i} {kind} {placement:?} {snapshot} {with_tags}");
                        let filter = Some(program.clone());
                        let asked =
                            Settings { filter, placement, snapshot, lock_filter: true, ..settings(kind) };
                        one(&sender, &program, &asked, &frames(with_tags), &about);
                    }
                }
            }
        }
    });
}

fn one(sender: &Sender, program: &Program, asked: &Settings, frames: &[Vec<u8>], about: &str) {
    let filter = Filter::new(program);
    let wanted: Vec<(usize, &[u8])> = frames
        .iter()
        .filter_map(|frame| {
            let keep = filter.run(frame, frame.len() as u32).min(asked.snapshot) as usize;
            (keep > 0).then(|| (frame.len(), &frame[..keep.min(frame.len())]))
        })
        .collect();
    let mut source = open(asked);
    frames.iter().for_each(|frame| sender.send(frame));
    let (kept, books) = drain(&mut source);
    let got: Vec<(usize, &[u8])> = kept.iter().map(|k| (k.wire_length as usize, &k.bytes[..])).collect();
    assert_eq!(got, wanted, "{about}");
    assert_eq!(books.delivered, wanted.len() as u64, "{about}");
    let in_kernel = asked.kind != Kind::AfXdp && asked.placement != Placement::User;
    let filtered_out = Some((frames.len() - wanted.len()) as u64);
    // A frame with a tag that no VLAN has counts as dropped at the interface, though it came here.
    let with_tags = asked.kind != Kind::AfXdp && frames.iter().any(|frame| frame[12] == 0x81);
    if with_tags {
        let by = if in_kernel { OfferedBy::Nobody } else { OfferedBy::Socket };
        assert_eq!((source.offered_by(), books.balances()), (by, None), "{about}: {books:?}");
        assert_eq!(books.filtered_out, filtered_out.filter(|_| !in_kernel), "{about}");
    } else {
        let by = if in_kernel { OfferedBy::Interface } else { OfferedBy::Socket };
        assert_eq!((source.offered_by(), books.balances()), (by, Some(true)), "{about}: {books:?}");
        assert_eq!((books.offered, books.filtered_out), (Some(frames.len() as u64), filtered_out), "{about}");
    }
}
