//! Where in this process's memory something lies, by way of `/proc/self/mem`: heap, stacks, whatever is shared. What is looked for
//! is kept with all its bits inverted, so that it is not found in its own place.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use zeroize::{Zeroize, Zeroizing};

/// Bytes with all bits inverted.
pub struct Inverted(pub Vec<u8>);

impl Inverted {
    /// Of these, which are wiped.
    pub fn of(bytes: &mut [u8]) -> Inverted {
        let inverted = Inverted(bytes.iter().map(|byte| !byte).collect());
        bytes.zeroize();
        inverted
    }

    pub fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len()));
        bytes.extend(self.0.iter().map(|byte| !byte));
        bytes
    }

    fn begin(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.0.len() && bytes.iter().zip(&self.0).all(|(byte, inverted)| *byte == !*inverted)
    }
}

/// Where any of these bytes lie in the memory of this process.
pub fn places(looked_for: &[Inverted]) -> Vec<String> {
    let memory = File::open("/proc/self/mem").unwrap();
    let longest = looked_for.iter().map(|bytes| bytes.0.len()).max().unwrap();
    let mut begins = vec![false; 1 << 16];
    looked_for
        .iter()
        .for_each(|bytes| begins[usize::from(u16::from_ne_bytes([!bytes.0[0], !bytes.0[1]]))] = true);
    let mut window = vec![0u8; 1 << 20];
    let own = window.as_ptr() as u64..window.as_ptr() as u64 + window.len() as u64;
    let mut places = Vec::new();
    // Not in pieces that grow: they would lie where a key was.
    let mut maps = String::with_capacity(1 << 18);
    File::open("/proc/self/maps").unwrap().read_to_string(&mut maps).unwrap();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, may) = (words.next().unwrap(), words.next().unwrap());
        if !may.starts_with("rw") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let [mut at, end] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        while at < end {
            let want = window.len().min((end - at) as usize);
            let Ok(read) = memory.read_at(&mut window[..want], at) else { break };
            for (i, two) in window[..read].windows(2).enumerate() {
                if !begins[usize::from(u16::from_ne_bytes([two[0], two[1]]))] {
                    continue;
                }
                let (place, rest) = (at + i as u64, &window[i..read]);
                if !own.contains(&place) && looked_for.iter().any(|bytes| bytes.begin(rest)) {
                    places.push(format!("{place:#x} in {line}"));
                }
            }
            // Whatever lies across the end of the window is found the next time.
            at += if read < want || at + read as u64 == end { end - at } else { (read - longest) as u64 };
        }
    }
    window.zeroize();
    places
}

/// Any sixteen bytes of a secret, first to last, and last to first as numbers are kept.
pub fn parts(secret: &Inverted, from: usize) -> impl Iterator<Item = Inverted> {
    secret.0[from..].chunks_exact(16).flat_map(|part| {
        let reversed = part.iter().rev().copied().collect();
        [Inverted(part.to_vec()), Inverted(reversed)]
    })
}
