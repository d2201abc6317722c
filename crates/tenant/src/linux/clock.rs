//! How far a guest's clock is from the host's, found by asking it.
//!
//! A guest's counter is the host's plus a constant: under TCG QEMU adds it, under KVM the processor does. Each question
//! bounds that constant: the guest read its clock after the question was sent and before the answer was there. The
//! bounds of all questions are intersected, so every further one can only make it more exact; where two exclude each
//! other the clocks do not run at one rate.

use tollway_core::Ticks;

/// By how much the rates may differ: what is known becomes wider by this share of the time since. Counters that are
/// one and the same do not drift; the allowance is for clocks of two kernels.
const DRIFT: f64 = 20e-6;

/// What is known of a guest's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GuestClock {
    known: Option<Bounds>,
}

/// The offset is between these two, guest minus host, wrapping.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    least: i64,
    most: i64,
    /// When that was found, by the host's clock.
    at: Ticks,
}

impl GuestClock {
    /// Takes in one answer: the guest's clock stood at `theirs` between `before` and `after` of the host's.
    pub(crate) fn learn(&mut self, before: Ticks, theirs: Ticks, after: Ticks) -> Result<(), String> {
        let fresh = Bounds {
            least: theirs.wrapping_sub(after).cast_signed(),
            most: theirs.wrapping_sub(before).cast_signed(),
            at: after,
        };
        if fresh.least > fresh.most {
            return Err("its clock shows a time that no clock can have come to".into());
        }
        let known = match self.known {
            None => fresh,
            Some(known) => {
                let elapsed = after.saturating_sub(known.at);
                let drift = (elapsed as f64 * DRIFT) as i64 + 1;
                let (least, most) = (known.least.saturating_sub(drift), known.most.saturating_add(drift));
                let both = Bounds { least: fresh.least.max(least), most: fresh.most.min(most), at: after };
                if both.least > both.most {
                    let apart = fresh.least.abs_diff(most).min(least.abs_diff(fresh.most));
                    return Err(format!(
                        "its clock does not run at this machine's rate: {apart} ticks apart after {elapsed}"
                    ));
                }
                both
            }
        };
        self.known = Some(known);
        Ok(())
    }

    /// Forgets everything: after a rest the constant may be another.
    pub(crate) fn forget(&mut self) {
        self.known = None;
    }

    /// A moment of the host's clock in the guest's; `None` where nothing is known yet.
    pub(crate) fn theirs(&self, ours: Ticks) -> Option<Ticks> {
        let known = self.known?;
        let middle = known.least.midpoint(known.most);
        Some(ours.wrapping_add(middle.cast_unsigned()))
    }

    /// Half the width of what is known, in ticks; the greatest number where nothing is.
    pub(crate) fn uncertainty(&self) -> Ticks {
        self.known.map_or(Ticks::MAX, |known| known.most.abs_diff(known.least).div_ceil(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest may say anything; a sum of what it says must not end this program.
    #[test]
    fn whatever_it_says_is_an_offset_or_an_error() {
        let values =
            [0, 1, 999, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 63) + 500, (1 << 63) + 1000, u64::MAX];
        for (first, second) in values.into_iter().flat_map(|a| values.map(|b| (a, b))) {
            let mut clock = GuestClock::default();
            let _ = clock.learn(500, first, 1000).and_then(|()| clock.learn(2000, second, 2100));
            clock.theirs(5000);
            clock.uncertainty();
        }
    }

    const OFFSET: u64 = 0_u64.wrapping_sub(5_000_000_000);

    fn answer(at: u64, wait: u64, back: u64) -> (u64, u64, u64) {
        (at, (at + wait).wrapping_add(OFFSET), at + wait + back)
    }

    #[test]
    fn questions_narrow_what_is_known_down_to_the_offset() {
        let mut clock = GuestClock::default();
        assert_eq!(clock.theirs(7), None);
        for (i, (wait, back)) in [(900, 100), (100, 800), (300, 300), (50, 900)].into_iter().enumerate() {
            let (before, theirs, after) = answer(10_000_000_000 + i as u64 * 1000, wait, back);
            clock.learn(before, theirs, after).unwrap();
        }
        // At most 50 ticks before and 100 after, and a tick of drift for each further question.
        assert!(clock.uncertainty() <= 80, "{clock:?}");
        let theirs = clock.theirs(20_000_000_000).unwrap();
        assert!(theirs.abs_diff(15_000_000_000) <= clock.uncertainty(), "{theirs}");
    }

    #[test]
    fn another_rate_is_found() {
        let mut clock = GuestClock::default();
        let mut ask = |ours: u64, rate: f64| {
            let theirs = (ours as f64 * rate) as u64;
            clock.learn(ours - 500, theirs, ours + 500)
        };
        ask(1_000_000_000, 1.0001).unwrap();
        let error = (2..20_u64).find_map(|i| ask(i * 1_000_000_000, 1.0001).err());
        assert!(error.unwrap().contains("rate"));
    }

    #[test]
    fn a_rest_makes_it_forget() {
        let mut clock = GuestClock::default();
        clock.learn(100, 50, 200).unwrap();
        clock.forget();
        clock.learn(1000, 90_000, 1100).unwrap();
        assert_eq!(clock.uncertainty(), 50);
    }
}
