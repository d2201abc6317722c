//! The books of a live capture: whether every frame that was sent is accounted for, once.

use tollway_core::{Error, Result};

use super::meeting::Sent;
use super::setting::Setting;
use crate::engine::Accounting;

/// What became of every frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Books {
    pub(super) sent: Sent,
    /// Frames that the cable carried, by the counters of the generator's end, and those that it lost.
    pub(super) carried: u64,
    pub(super) lost: u64,
    pub(super) source: Accounting,
}

impl Books {
    /// Whether every frame that was sent is accounted for, once.
    ///
    /// # Errors
    /// Which counts do not go together.
    pub(super) fn balance(&self, setting: &Setting, seen: u64) -> Result<()> {
        let wrong = |what: &str| Err(Error::Wrong(format!("{what}: {self:?}, {seen} seen")));
        let Books { sent, carried, lost, source } = self;
        // A kernel may count what the cable lost as sent, or refuse it.
        if *carried > sent.taken || sent.taken - carried > *lost {
            return wrong("the cable did not carry what was sent");
        }
        if source.delivered != seen {
            return wrong("not what was delivered was seen");
        }
        let Some(dropped) = source.dropped else { return wrong("it is not known what was dropped") };
        let Some(unwanted) = carried.checked_sub(source.delivered + dropped) else {
            return wrong("more was delivered and dropped than was sent");
        };
        if source.filtered_out.is_some_and(|filtered| filtered != unwanted)
            || source.balances() == Some(false)
        {
            return wrong("delivered, dropped and filtered out do not add up to what was sent");
        }
        // What passes the filter here found room before; in the kernel it is the other way round.
        let filtered = if setting.filters_first() { *carried } else { carried - dropped };
        let (share, filtered) = (1.0 - setting.share, filtered as f64);
        // Six standard deviations of a binomial count: one in 5e8 is beyond.
        let likely = 6.0 * (filtered * share * (1.0 - share)).sqrt();
        if (unwanted as f64 - filtered * share).abs() > likely {
            return wrong(&format!(
                "the filter should have refused {share} of {filtered} frames, ± {likely:.0}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tollway_core::Params;

    use super::*;
    use crate::engine::source::Kind;
    use crate::variants::live::setting;

    fn setting(place: &str, share: u64) -> Setting {
        let params = Params::new().with("filter", "ports").with("where", place).with("share", share);
        Setting::of(Kind::TpacketV3, &params.complete(&setting::axes(Kind::TpacketV3)).unwrap()).unwrap()
    }

    /// 10,000 sent, of which the cable lost 10: 90 did not find room.
    fn books(delivered: u64, filtered_out: Option<u64>) -> Books {
        Books {
            sent: Sent { taken: 10_000, refused: 3 },
            carried: 9_990,
            lost: 10,
            source: Accounting {
                offered: filtered_out.map(|_| 9_990),
                filtered_out,
                delivered,
                dropped: Some(90),
                lost_before: filtered_out.map(|_| 0),
            },
        }
    }

    #[test]
    fn books_that_add_up_are_accepted_wherever_the_filter_is() {
        for (place, share, delivered) in [
            ("user", 100, 9_900),
            ("kernel", 100, 9_900),
            // Half of 9,900 that found room, half of 9,990 that were looked at before; 298 are six deviations.
            ("user", 50, 4_950 + 290),
            ("kernel", 50, 4_995 - 90 - 290),
        ] {
            let filtered = 9_900 - delivered;
            for told in [Some(filtered), None] {
                let balance = books(delivered, told).balance(&setting(place, share), delivered);
                assert_eq!(balance, Ok(()), "{place} {share}");
            }
        }
    }

    #[test]
    fn a_frame_too_many_or_too_few_is_told() {
        let all = setting("user", 100);
        let told = |books: Books, seen: u64, setting: &Setting, what: &str| {
            let error = books.balance(setting, seen).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        told(books(9_900, Some(0)), 9_899, &all, "not what was delivered was seen");
        told(Books { lost: 9, ..books(9_900, Some(0)) }, 9_900, &all, "the cable did not carry");
        told(Books { carried: 10_001, ..books(9_900, Some(0)) }, 9_900, &all, "the cable did not carry");
        told(books(9_901, None), 9_901, &all, "more was delivered and dropped");
        told(books(9_899, Some(0)), 9_899, &all, "do not add up");
        told(books(9_899, Some(1)), 9_899, &all, "should have refused 0 of 9900");
        told(books(9_899, None), 9_899, &setting("kernel", 100), "should have refused 0 of 9990");
        told(books(4_650, Some(5_250)), 4_650, &setting("user", 50), "should have refused 0.5 of 9900");
        let source = Accounting { dropped: None, ..books(9_900, None).source };
        told(Books { source, ..books(9_900, None) }, 9_900, &all, "not known what was dropped");
    }
}
