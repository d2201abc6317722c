//! What each of many tenants gets of a generator: min(c₁, C/n), from the cap of one alone and the cap of all together.

use tollway_core::{Error, Forecast, PublishedLaw, Quoted, Result, Sharing, Toll};
use tollway_model::scaling::{Cores, Saturation};

use crate::engine::condition::SAMPLES;

/// How far the law may be off and still hold: what the study's curve was off at the most, near the break and beyond it.
const TOLERANCE: f64 = 0.1;

/// What a draw of 64 bits gives, as a person counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gives {
    unit: &'static str,
    bits: f64,
}

impl Gives {
    /// Of RDRAND its seed-grade part, one bit of 512; of RDSEED all, as its maker says; of a kernel or a device what comes, of which
    /// nobody here can say what is in it.
    pub(crate) fn of(kind: &str) -> Gives {
        match kind {
            "rdseed" | "rdseed-rested" => Gives { unit: "bit/s of entropy", bits: 64.0 },
            "getrandom" | "hwrng" => Gives { unit: "bit/s", bits: 64.0 },
            _ => Gives { unit: "bit/s of seed-grade entropy", bits: 64.0 / SAMPLES as f64 },
        }
    }
}

/// The curve of the study that the law is from: 73 MB/s of one thread, 760 MB/s of two processors, over 512, in bit/s.
pub(crate) fn of_the_study() -> PublishedLaw {
    PublishedLaw {
        source: "two Xeon E5-2650 v2, 60 guests (73 MB/s of a thread, 760 MB/s of all)".into(),
        one: 73e6 * 8.0 / SAMPLES as f64,
        shared: 760e6 * 8.0 / SAMPLES as f64,
    }
}

/// The tolls of a draw that caps are made of.
pub(crate) struct Caps {
    /// One that finds the generator rested: what the instruction takes.
    pub(crate) draw: Toll,
    /// One after the other, by one that has the generator to itself.
    pub(crate) alone: Toll,
    /// One after the other, by as many at once as there are processors.
    pub(crate) all: Toll,
}

/// The pace of each of `tenants` on so many processors: c₁ is what a draw costs where there is always something to draw, C the
/// most that was ever drawn, by one that has the generator to itself or by all processors at once.
///
/// # Errors
/// A toll is nothing that a rate can be made of.
pub(crate) fn shared(
    caps: &Caps,
    tenants: u32,
    processors: u32,
    gives: Gives,
    published: Option<PublishedLaw>,
) -> Result<Forecast> {
    let wrong = |e: tollway_model::ModelError| Error::Wrong(e.to_string());
    let sharing = Sharing {
        alone: caps.draw.work,
        together: caps.alone.work.min(caps.all.work / f64::from(processors)),
        tenants,
        processors,
        gives: gives.unit.into(),
        amount: gives.bits,
        published,
    };
    // Rates are per tick here.
    let law = Saturation::new(1.0 / sharing.alone, 1.0 / sharing.together)
        .and_then(|law| law.on(Cores { cores: f64::from(processors), share: 1.0, each: 1.0 }))
        .map_err(wrong)?;
    let ticks = f64::from(tenants) / law.throughput(tenants.into()).0;
    let width = |toll: &Toll| (toll.work_hi / toll.work_lo).sqrt() - 1.0;
    let precision = width(&caps.draw).max(width(&caps.all)).min(TOLERANCE);
    let margin = 1.0 + TOLERANCE + precision;
    Ok(Forecast {
        of: Quoted::Pace,
        ticks,
        lo: ticks / margin,
        hi: ticks * margin,
        model: format!(
            "saturation: min(c₁, C/n), on {processors} processors; ± 10 % and what the caps are uncertain by"
        ),
        from: vec![caps.draw.key.clone(), caps.alone.key.clone(), caps.all.key.clone()],
        p99: None,
        counts: Default::default(),
        sharing: Some(sharing),
    })
}

#[cfg(test)]
mod tests {
    use tollway_core::{Crossing, TollKey};

    use super::*;

    fn toll(ticks: f64) -> Toll {
        let key = TollKey::of(Crossing::EntropyDraw);
        let (lo, hi) = (0.99 * ticks, 1.01 * ticks);
        Toll { key, median: ticks, lo, hi, work: ticks, work_lo: lo, work_hi: hi, hz: 1e9, run: 1 }
    }

    fn caps(draw: f64, alone: f64, all: f64) -> Caps {
        Caps { draw: toll(draw), alone: toll(alone), all: toll(all) }
    }

    #[test]
    fn an_instruction_of_each_core_is_shared_by_time() {
        // 80 ticks whether one or two draw: two processors have a draw in 40.
        let at = |n| shared(&caps(80.0, 80.0, 80.0), n, 2, Gives::of("rdrand"), None).unwrap();
        assert_eq!([1, 2, 4, 60].map(|n| at(n).ticks), [80.0, 80.0, 160.0, 2400.0]);
        // With half of what was hoped for of the processors it takes twice as long.
        let sharing = at(60).sharing.unwrap();
        assert_eq!(sharing.fair_share(), 1.0 / 30.0);
        assert_eq!(sharing.pace(1.0 / 60.0), 4800.0);
    }

    #[test]
    fn a_generator_with_a_cap_is_shared_from_the_first() {
        // One draw takes 2000 ticks, and the next is there after 60,000; two have them in turns.
        let at = |n| shared(&caps(2000.0, 60_000.0, 120_000.0), n, 2, Gives::of("rdseed"), None).unwrap();
        assert_eq!([1, 2, 3, 60].map(|n| at(n).ticks), [60_000.0, 120_000.0, 180_000.0, 3_600_000.0]);
        // Processor time is not what they lack, until there is hardly any.
        let sharing = at(60).sharing.unwrap();
        assert_eq!((sharing.pace(1.0 / 90.0), sharing.pace(1.0 / 3600.0)), (3_600_000.0, 7_200_000.0));
    }

    #[test]
    fn the_study_broke_between_ten_and_eleven() {
        // 73 MB/s a thread, 760 MB/s in all: 48 threads of which each has 760/48 when all draw (ticks of a nanosecond).
        let one = 8e9 / 73e6;
        let at = |n| {
            8e9 / shared(&caps(one, one, 48.0 * 8e9 / 760e6), n, 48, Gives::of("rdrand-512"), None)
                .unwrap()
                .ticks
        };
        assert!((at(10) / 73e6 - 1.0).abs() < 1e-9 && (at(11) / (760e6 / 11.0) - 1.0).abs() < 1e-9);
        // In decimal units 1140.6 kbit/s of seed-grade entropy up to ten (the study has 1168, with 1024 for 1000).
        assert!((at(1) * 8.0 / 512.0 - 1_140_625.0).abs() < 1e-6);
        let study = of_the_study();
        assert!((study.one - 1_140_625.0).abs() < 1e-6 && (study.shared / study.one - 10.41).abs() < 0.01);
    }
}
