//! Requests that are not all alike: how many bytes the next one has.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tollway_core::{Error, Params, Result};

use crate::engine::device::LONGEST;

/// Sizes that a request may have, the smallest first, and how one of them comes to be the next.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    /// Bytes of each, all different.
    pub(super) sizes: Vec<usize>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    One,
    /// The weights of each and of those before it.
    Drawn(Arc<[u64]>),
    /// By their places among the sizes, one after the other, and again.
    Recorded(Arc<[u16]>),
}

/// The most that weights add up to.
const MOST: u64 = 1 << 32;

impl Mix {
    /// All alike.
    pub(super) fn one(size: usize) -> Mix {
        Mix { sizes: vec![size], kind: Kind::One }
    }

    /// As the axis `mix` says; `None` where it says nothing.
    ///
    /// # Errors
    /// [`Error::Input`] with what does not fit.
    pub(super) fn of(params: &Params) -> Result<Option<Mix>> {
        let Ok(text) = params.word("mix") else { return Ok(None) };
        if text.is_empty() {
            return Ok(None);
        }
        let mut parts = text.split(',').map(part).collect::<Result<Vec<_>>>()?;
        parts.sort_unstable();
        if let Some(twice) = parts.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(refused(
                format!("{} bytes are in `{text}` twice", twice[0].0),
                "give each size one weight",
            ));
        }
        let mut all = 0;
        let up_to: Arc<[u64]> = parts
            .iter()
            .map(|(_, weight)| {
                all += weight;
                all
            })
            .collect();
        if all > MOST {
            return Err(refused(
                format!("the weights of `{text}` add up to {all}"),
                "take smaller ones of the same ratios",
            ));
        }
        let sizes: Vec<usize> = parts.iter().map(|(size, _)| *size).collect();
        Ok(Some(Mix { sizes, kind: Kind::Drawn(up_to) }))
    }

    /// As they were recorded: `bytes` of one request after the other, of which there is at least one.
    pub(super) fn recorded(bytes: &[u32]) -> Mix {
        let mut sizes: Vec<usize> = bytes.iter().map(|bytes| *bytes as usize).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let place = |bytes: &u32| sizes.partition_point(|size| *size < *bytes as usize) as u16;
        let places = bytes.iter().map(place).collect();
        Mix { kind: Kind::Recorded(places), sizes }
    }

    /// What one task asks for: draws of `seed`; of what was recorded from the one of that number on.
    pub(super) fn sizes(&self, seed: u64, first: usize) -> Sizes {
        let random = StdRng::seed_from_u64(seed);
        Sizes { kind: self.kind.clone(), random, next: first }
    }
}

/// One after the other.
pub(super) struct Sizes {
    kind: Kind,
    random: StdRng,
    next: usize,
}

impl Sizes {
    /// Which of the mix's sizes the next request has. Neither allocates nor calls the system.
    #[inline]
    pub(super) fn draw(&mut self) -> usize {
        match &self.kind {
            Kind::One => 0,
            Kind::Drawn(up_to) => {
                let drawn = self.random.random_range(0..up_to.last().copied().unwrap_or(1));
                up_to.partition_point(|up_to| *up_to <= drawn)
            }
            Kind::Recorded(places) => {
                let place = places[self.next % places.len()];
                self.next = (self.next + 1) % places.len();
                place.into()
            }
        }
    }
}

fn refused(reason: String, remedy: &str) -> Error {
    Error::Input { place: "axis `mix`".into(), reason, remedy: remedy.into() }
}

/// `64:7`.
fn part(text: &str) -> Result<(usize, u64)> {
    let form = "give `BYTES:WEIGHT,BYTES:WEIGHT`, like 64:7,16384:1";
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (size, weight) = text
        .split_once(':')
        .and_then(|(size, weight)| Some((number(size)?, number(weight)?)))
        .ok_or_else(|| refused(format!("`{text}` is no size with its weight"), form))?;
    if !size.is_multiple_of(16) || !(16..=LONGEST).contains(&size) {
        return Err(refused(
            format!("{size} bytes: a request has a multiple of 16, and {LONGEST} at most"),
            "take such a size",
        ));
    }
    if !(1..=MOST).contains(&weight) {
        return Err(refused(
            format!("{size} bytes have weight {weight}"),
            "give a weight of 1 or more, or leave the size out",
        ));
    }
    Ok((size as usize, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(text: &str) -> Result<Mix> {
        Mix::of(&Params::new().with("mix", text)).map(|mix| mix.unwrap())
    }

    #[test]
    fn sizes_come_as_often_as_their_weights_say_and_again_with_the_same_seed() {
        let mix = mix("16384:1, 64:7,1024:2").unwrap();
        assert_eq!(mix.sizes, [64, 1024, 16384]);
        let mut counts = [0u32; 3];
        let (mut once, mut again, mut other) = (mix.sizes(5, 0), mix.sizes(5, 0), mix.sizes(6, 0));
        let mut same = 0;
        for _ in 0..100_000 {
            let drawn = once.draw();
            assert_eq!(drawn, again.draw());
            same += u32::from(drawn == other.draw());
            counts[drawn] += 1;
        }
        // Five standard deviations: √(n p (1 − p)).
        for (count, share) in counts.iter().zip([0.7, 0.2, 0.1f64]) {
            let sd = (1e5 * share * (1.0 - share)).sqrt();
            assert!((f64::from(*count) - 1e5 * share).abs() < 5.0 * sd, "{counts:?}");
        }
        // Another seed agrees by chance only: 0.7² + 0.2² + 0.1².
        assert!((53_000..55_000).contains(&same), "{same}");
    }

    #[test]
    fn what_was_recorded_comes_in_its_order_and_again() {
        let mix = Mix::recorded(&[64, 4096, 64, 16]);
        assert_eq!(mix.sizes, [16, 64, 4096]);
        let mut sizes = mix.sizes(1, 3);
        let drawn: Vec<usize> = (0..6).map(|_| sizes.draw()).collect();
        assert_eq!(drawn, [0, 1, 2, 1, 0, 1]);
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        for (text, reason) in [
            ("64", "`64` is no size"),
            ("64:x", "`64:x` is no size"),
            ("64:1,", "`` is no size"),
            ("60:1", "60 bytes"),
            ("0:1", "0 bytes"),
            ("1048592:1", "1048592 bytes"),
            ("64:0", "weight 0"),
            ("64:1,64:2", "64 bytes are"),
            ("64:4294967296,16:1", "add up to"),
        ] {
            let told = mix(text).unwrap_err().to_string();
            assert!(told.contains("axis `mix`") && told.contains(reason), "{text}: {told}");
        }
        assert!(Mix::of(&Params::new().with("mix", "")).unwrap().is_none());
    }
}
