//! One program, many packets: everybody who decides must come to the same verdict.

use super::libpcap;
use super::linux::{BATCH, Linux};
use super::packets;
use super::plain::{self, Rules};
use super::random::Random;
use tollway_capture::engine::bpf::{Filter, Program};

/// What was compared.
#[derive(Debug, Default)]
pub struct Compared {
    /// Programs.
    pub programs: u64,
    /// Verdicts on a packet that our interpreter, our machine code, the plain machine and libpcap agree on.
    pub verdicts: u64,
    /// Verdicts of Linux that were as expected.
    pub linux: u64,
    /// Those of them that differ from libpcap's, as the two rules say that they must.
    pub linux_differs: u64,
    /// Packets that were kept.
    pub kept: u64,
}

impl Compared {
    /// Adds another count.
    pub fn add(&mut self, other: &Compared) {
        self.programs += other.programs;
        self.verdicts += other.verdicts;
        self.linux += other.linux;
        self.linux_differs += other.linux_differs;
        self.kept += other.kept;
    }
}

/// The engines of one program.
pub struct Engines<'a> {
    program: &'a Program,
    machine: Filter,
    interpreter: Filter,
}

impl<'a> Engines<'a> {
    /// Translates and decodes.
    pub fn new(program: &'a Program) -> Self {
        Engines { program, machine: Filter::new(program), interpreter: Filter::interpreted(program) }
    }

    /// The verdict of all that run in this process.
    ///
    /// # Panics
    /// If they disagree.
    pub fn verdict(&self, bytes: &[u8], wire_length: u32) -> u32 {
        let expected = plain::verdict(self.program, bytes, wire_length, Rules::Libpcap);
        let interpreted = self.interpreter.run(bytes, wire_length);
        let translated = self.machine.run(bytes, wire_length);
        let libpcap = match self.program.backward_jumps() {
            0 => libpcap::verdict(self.program, bytes, wire_length),
            // It may never end.
            _ => expected,
        };
        if [interpreted, translated, libpcap] != [expected; 3] {
            panic!(
                "plain {expected}, interpreter {interpreted}, machine code {translated}, libpcap {libpcap}\n\
                 wire length {wire_length}, packet {bytes:02x?}\n{}{}",
                self.program.to_text(),
                self.listing(),
            );
        }
        expected
    }

    fn listing(&self) -> String {
        #[cfg(target_arch = "x86_64")]
        return self.machine.machine().map(|m| m.listing()).unwrap_or_default();
        #[cfg(not(target_arch = "x86_64"))]
        String::new()
    }
}

/// Compares on packets of their own length, Linux among those who decide, and on the same packets cut off a longer wire.
pub fn compare(
    program: &Program,
    packets: &[Vec<u8>],
    random: &mut Random,
    linux: Option<&mut Linux>,
) -> Compared {
    let engines = Engines::new(program);
    let mut compared = Compared { programs: 1, ..Compared::default() };
    for bytes in packets {
        let length = bytes.len() as u32;
        let verdict = engines.verdict(bytes, length);
        compared.kept += u64::from(verdict != 0);
        compared.verdicts += 1;
        if random.below(4) == 0 {
            engines.verdict(bytes, length.wrapping_add(random.bits() as u32 >> random.below(32)));
            compared.verdicts += 1;
        }
    }
    if let Some(linux) = linux {
        with_linux(program, packets, linux, &mut compared);
    }
    compared
}

fn with_linux(program: &Program, packets: &[Vec<u8>], linux: &mut Linux, compared: &mut Compared) {
    if let Err(error) = linux.attach(program.instructions()) {
        if program.backward_jumps() > 0 {
            return;
        }
        // Linux thinks that a program may go on behind a `ret` when it looks for scratch memory.
        let reads = program.instructions().iter().any(|i| matches!(i.code, 0x60 | 0x61));
        assert!(reads, "Linux refuses what is taken here: {error}\n{}", program.to_text());
        return;
    }
    for batch in packets.chunks(BATCH) {
        let mut wanted = Vec::with_capacity(batch.len());
        for bytes in batch {
            let length = bytes.len() as u32;
            let expected = plain::verdict(program, bytes, length, Rules::Linux);
            let differs = expected != plain::verdict(program, bytes, length, Rules::Libpcap);
            assert!(!differs || program.linux_may_differ(), "Linux differs\n{}", program.to_text());
            compared.linux_differs += u64::from(differs);
            compared.linux += 1;
            if expected != 0 {
                wanted.push(&bytes[..bytes.len().min(expected as usize)]);
            }
        }
        let arrived = linux.pass(batch).unwrap_or_else(|e| panic!("sending packets to ourselves: {e}"));
        assert!(arrived == wanted, "Linux keeps {arrived:02x?}\nof {batch:02x?}\n{}", program.to_text());
    }
}

/// Packets of all kinds.
pub fn packets(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| packets::packet(random)).collect()
}
