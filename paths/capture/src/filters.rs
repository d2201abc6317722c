//! The three filters of the study, and the frames that pass them.
//!
//! The study counts instructions executed for a frame: 3 for "is it IP", 21 for five TCP ports, 50 for ten addresses and ten
//! ports. libpcap's compiler of today makes programs that execute 3, 21 and 52 for the frames below. The programs are
//! kept as numbers (`tcpdump -ddd -y EN10MB -s 262144`), so that the agent of guests needs no libpcap; a test compiles the expressions anew.

use std::net::Ipv4Addr;

use tollway_core::{Error, Result};

use crate::engine::bpf::{Instruction, Program};
use crate::engine::generate::{Addresses, Group, Ports, Transport};

/// A filter with traffic that it wants.
#[derive(Clone, Copy, Debug)]
pub struct StudyFilter {
    /// Its name on the axis `filter`.
    pub name: &'static str,
    /// The expression (pcap-filter(7)).
    pub expression: &'static str,
    /// Instructions executed for a frame of uniform traffic.
    pub executed: u32,
    program: &'static str,
    hosts: u8,
    ports: &'static [u16],
}

/// All three, by the length of their way.
pub const FILTERS: [StudyFilter; 3] = [
    StudyFilter {
        name: "ip",
        expression: "ip",
        executed: 3,
        program: include_str!("filters/ip.txt"),
        hosts: 10,
        ports: &[80],
    },
    StudyFilter {
        name: "ports",
        expression: "tcp port 80 or tcp port 443 or tcp port 25 or tcp port 22 or tcp port 53",
        executed: 21,
        program: include_str!("filters/ports.txt"),
        hosts: 10,
        ports: &[80, 443, 25, 22, 53],
    },
    StudyFilter {
        name: "addresses",
        expression: "(ip host 10.1.0.1 or ip host 10.1.0.2 or ip host 10.1.0.3 or ip host 10.1.0.4 or ip host 10.1.0.5 \
                     or ip host 10.1.0.6 or ip host 10.1.0.7 or ip host 10.1.0.8 or ip host 10.1.0.9 or ip host 10.1.0.10) \
                     and (tcp port 20 or tcp port 21 or tcp port 22 or tcp port 23 or tcp port 25 or tcp port 53 or tcp \
                     port 80 or tcp port 110 or tcp port 143 or tcp port 443)",
        executed: 52,
        program: include_str!("filters/addresses.txt"),
        hosts: 10,
        ports: &[20, 21, 22, 23, 25, 53, 80, 110, 143, 443],
    },
];

/// The names on the axis.
pub const NAMES: &[&str] = &["ip", "ports", "addresses"];

/// Frames of a traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Every frame takes the same way through the filter, the longest.
    Uniform,
    /// Each takes one of the ways that end in being wanted, at random.
    Mixed,
}

impl StudyFilter {
    /// The filter of that name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn named(name: &str) -> Result<&'static StudyFilter> {
        FILTERS.iter().find(|f| f.name == name).ok_or_else(|| Error::Input {
            place: format!("filter `{name}`"),
            reason: "it is none of the study's".into(),
            remedy: format!("there are: {}", NAMES.join(", ")),
        })
    }

    /// Its program.
    ///
    /// # Errors
    /// Never with the programs kept here.
    pub fn program(&self) -> Result<Program> {
        let numbers = |line: &str| -> Option<Instruction> {
            let mut parts = line.split(' ').map(str::parse::<u32>);
            let mut next = || parts.next()?.ok();
            let (code, jt, jf, k) = (next()?, next()?, next()?, next()?);
            Some(Instruction {
                code: code.try_into().ok()?,
                jt: jt.try_into().ok()?,
                jf: jf.try_into().ok()?,
                k,
            })
        };
        let instructions = self.program.lines().skip(1).map_while(numbers).collect();
        Program::new(instructions)
            .map_err(|e| Error::Wrong(format!("the filter `{}` is damaged: {e}", self.name)))
    }

    /// So many frames of `size` bytes that it wants, always the same for a seed.
    pub fn frames(&self, traffic: Traffic, count: usize, size: usize, seed: u64) -> Vec<Vec<u8>> {
        let mut random = Random(seed | 1);
        (0..count).map(|_| self.frame(traffic, size, &mut random)).collect()
    }

    /// Flows of uniform traffic: all of it is wanted, and takes the longest way through the filter.
    pub fn flows(&self) -> Group {
        let port = self.ports[self.ports.len() - 1];
        Group {
            sources: Addresses { first: Ipv4Addr::new(10, 2, 0, 0).into(), count: 1 << 16 },
            destinations: Addresses { first: Ipv4Addr::new(10, 1, 0, self.hosts).into(), count: 1 },
            source_ports: Ports { first: 40_000, count: 20_000 },
            destination_ports: Ports::one(port),
            ..Group::v4(Transport::Tcp)
        }
    }

    fn frame(&self, traffic: Traffic, size: usize, random: &mut Random) -> Vec<u8> {
        let (host, port) = match traffic {
            Traffic::Uniform => (self.hosts, self.ports[self.ports.len() - 1]),
            Traffic::Mixed => (
                1 + random.below(u64::from(self.hosts)) as u8,
                self.ports[random.below(self.ports.len() as u64) as usize],
            ),
        };
        let mut frame: Vec<u8> = (0..size.max(TCP_END)).map(|_| random.below(256) as u8).collect();
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        let length = (frame.len() - 14) as u16;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        // No fragment.
        frame[20..22].copy_from_slice(&[0x40, 0]);
        frame[23] = 6;
        // The source is in no list, its port neither.
        frame[26..28].copy_from_slice(&[10, 2]);
        frame[30..34].copy_from_slice(&[10, 1, 0, host]);
        frame[34..36].copy_from_slice(&(40_000 + (random.below(20_000) as u16)).to_be_bytes());
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    }
}

/// Bytes of an Ethernet, an IPv4 and a TCP header.
const TCP_END: usize = 14 + 20 + 20;

/// Marsaglia's xorshift64 (2003).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::bpf::Filter;
    use crate::engine::generate::{Frames, HEAD, Size, Sizes, Stamp};

    #[test]
    fn every_frame_is_wanted_by_its_filter() {
        for filter in FILTERS {
            let machine = Filter::interpreted(&filter.program().unwrap());
            for traffic in [Traffic::Uniform, Traffic::Mixed] {
                for frame in filter.frames(traffic, 200, 60, 3) {
                    assert_eq!(machine.run(&frame, 60), 262_144, "{} {traffic:?}", filter.name);
                }
            }
        }
    }

    #[test]
    fn every_frame_of_its_flows_is_wanted() {
        let size = Sizes::Fixed(Size::SHORTEST);
        for filter in FILTERS {
            let machine = Filter::interpreted(&filter.program().unwrap());
            let mut frames = Frames::new(&filter.flows().into(), &size, 3).unwrap();
            for number in 0..200 {
                let mut frame = [0; HEAD];
                let length = frames.write(&mut frame, &Stamp { number, time: 0 });
                assert_eq!(machine.run(&frame[..length], 60), 262_144, "{}", filter.name);
            }
        }
    }

    #[test]
    fn the_programs_are_those_of_the_expressions() {
        use crate::engine::LinkType;
        use crate::engine::bpf::{Origin, compile};
        for filter in FILTERS {
            let compiled =
                compile(filter.expression, LinkType::ETHERNET, Origin::Live, 262_144, true).unwrap();
            assert_eq!(compiled.instructions(), filter.program().unwrap().instructions(), "{}", filter.name);
        }
    }
}
