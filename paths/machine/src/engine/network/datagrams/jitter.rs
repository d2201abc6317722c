//! Interarrival jitter: RFC 3550, section 6.4.1.

/// How unevenly packets arrive, against how evenly they were sent: a mean of differences in transit time from one to the next, of
/// which each new one counts a sixteenth. The clocks of both ends need not agree on the time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    transit: Option<i64>,
    mean: f64,
}

impl Jitter {
    /// Takes down when a packet was sent and when it arrived, in nanoseconds of either end's clock. Packets come in the order of
    /// their arrival.
    #[inline]
    pub fn arrived(&mut self, sent: u64, at: u64) {
        let transit = at.wrapping_sub(sent).cast_signed();
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.wrapping_sub(before).unsigned_abs() as f64;
            self.mean += (difference - self.mean) / 16.0;
        }
    }

    /// So far, in nanoseconds.
    pub fn nanoseconds(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 3550, appendix A.8, in whole numbers, where the estimate is kept sixteenfold.
    fn appendix_a8(packets: &[(u64, u64)]) -> f64 {
        let (mut transit, mut jitter) = (0i64, 0i64);
        for (count, (sent, at)) in packets.iter().enumerate() {
            let now = *at as i64 - *sent as i64;
            let d = if count == 0 { 0 } else { (now - transit).abs() };
            transit = now;
            jitter += d - ((jitter + 8) >> 4);
        }
        jitter as f64 / 16.0
    }

    proptest! {
        #[test]
        fn it_is_what_the_appendix_computes(
            packets in prop::collection::vec((0u64..1_000_000_000, 0u64..1_000_000_000), 0..200),
            apart in 0u64..1 << 40,
        ) {
            let mut jitter = Jitter::default();
            for (sent, at) in &packets {
                jitter.arrived(sent + apart, *at);
            }
            // Whole numbers are rounded by up to a half each time, of which a sixteenth lasts: 16 × 0.5 / 16.
            prop_assert!((jitter.nanoseconds() - appendix_a8(&packets)).abs() <= 0.6);
        }
    }

    #[test]
    fn what_arrives_as_it_was_sent_has_none_and_every_second_late_tends_to_how_late() {
        let (mut even, mut uneven) = (Jitter::default(), Jitter::default());
        for number in 0..1000u64 {
            even.arrived(number * 1000, 77_000 + number * 1000);
            uneven.arrived(number * 1000, number * 1000 + (number % 2) * 300);
        }
        assert_eq!(even.nanoseconds(), 0.0);
        assert!((uneven.nanoseconds() - 300.0).abs() < 1e-6);
    }
}
