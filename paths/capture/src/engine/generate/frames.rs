//! Frames one after the other: flow and size drawn, template patched, number and time stamped. The same seed gives the same
//! frames but for their times.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::choice::{Choice, below};
use super::size::SizeDraw;
use super::template::{HEAD, Template, Varying};
use super::{Flows, GenerateError, Group, Sizes, Stamp};

/// Makes frames into memory that the caller has.
#[derive(Clone, Debug)]
pub struct Frames {
    groups: Vec<(Template, Group)>,
    choice: Choice,
    sizes: SizeDraw,
    random: Xoshiro256PlusPlus,
}

impl Frames {
    /// Frames of these flows and sizes.
    ///
    /// # Errors
    /// [`GenerateError::Input`] if there are no flows, a weight or a range is none, or the shortest frame has no room for a
    /// group's headers and stamp: 76 and 80 bytes handed over (UDP and TCP over IPv6), 60 always suffice over IPv4.
    pub fn new(flows: &Flows, sizes: &Sizes, seed: u64) -> Result<Frames, GenerateError> {
        let weights: Vec<f64> = flows.0.iter().map(|group| group.weight).collect();
        let choice = Choice::by_weights("the groups of flows", &weights)?;
        let mut groups = Vec::with_capacity(flows.0.len());
        for group in &flows.0 {
            group.check()?;
            let template = Template::of(group)?;
            let (needed, shortest) = (template.shortest(), sizes.shortest());
            if shortest.handed() < needed {
                return Err(GenerateError::input(
                    format!("frames of {shortest} bytes"),
                    format!(
                        "headers and stamp of {:?} to {} need {}",
                        group.transport,
                        group.destinations.first,
                        needed + 4
                    ),
                    "make all frames that long",
                ));
            }
            groups.push((template, group.clone()));
        }
        Ok(Frames { groups, choice, sizes: sizes.drawn()?, random: Xoshiro256PlusPlus::seed_from_u64(seed) })
    }

    /// Writes the next frame's first [`HEAD`] bytes and returns how many bytes the frame has (without check sequence): 60
    /// to 1514. The caller sees to it that what follows the head is zeros: the checksums are made for that.
    ///
    /// # Panics
    /// If `slot` is shorter than [`HEAD`].
    #[inline]
    pub fn write(&mut self, slot: &mut [u8], stamp: &Stamp) -> usize {
        let head = slot.first_chunk_mut::<HEAD>().expect("a slot has room for a head");
        let (template, group) = &self.groups[self.choice.draw(&mut self.random)];
        let handed = self.sizes.draw(&mut self.random);
        // Halves of two draws: a draw costs less than a branch that would save it.
        let (addresses, ports) = (self.random.next_u64(), self.random.next_u64());
        let varying = Varying {
            handed,
            source: group.sources.low() + below(group.sources.count, addresses as u32),
            destination: group.destinations.low() + below(group.destinations.count, (addresses >> 32) as u32),
            source_port: group.source_ports.first + below(group.source_ports.count, ports as u32) as u16,
            destination_port: group.destination_ports.first
                + below(group.destination_ports.count, (ports >> 32) as u32) as u16,
        };
        template.write(head, &varying, stamp);
        usize::from(handed)
    }
}
