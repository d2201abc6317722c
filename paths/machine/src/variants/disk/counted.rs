//! Counts accesses within a window.

use std::ops::ControlFlow;

use tollway_core::{Recorder, Ticks, Window};

/// Counts what comes back between two looks of the window, the first of which is where the counting begins: what came back with it was
/// the work of the time before. It goes on for as long as the window is, from there on: where a disk stood still until the window was over, what comes
/// back together then may be seen in two looks, and the little time between these is not what it took. So the rate is right, however few come back, and
/// however many at once.
#[derive(Default)]
pub(in crate::variants) struct Counted {
    from: Option<Ticks>,
}

impl Counted {
    pub(in crate::variants) fn look(
        &mut self,
        window: &Window,
        recorder: &mut Recorder,
        at: Ticks,
        took: &[Ticks],
    ) -> ControlFlow<()> {
        match self.from {
            None if at >= window.open => self.from = Some(at),
            None => {}
            Some(from) => {
                took.iter().for_each(|took| recorder.sample(*took));
                recorder.took(at - from);
                if at - from >= window.close - window.open {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { warm: 0, open: 100, close: 200, batch: 1, planted: 0 };

    /// Operations counted and ticks they took when told of these looks.
    fn counted(looks: &[(Ticks, usize)]) -> (u64, Option<Ticks>, usize) {
        let (mut recorder, mut counted) = (Recorder::new(), Counted::default());
        let mut taken = 0;
        for (at, n) in looks {
            taken += 1;
            if counted.look(&WINDOW, &mut recorder, *at, &vec![7; *n]).is_break() {
                break;
            }
        }
        (recorder.spread().ops, recorder.stretch(), taken)
    }

    #[test]
    fn what_comes_in_lumps_is_counted_by_the_time_between_them() {
        // 32 each 30 ticks: three such stretches are as long as the window, but for a moment.
        let lumps: Vec<_> = (1..20).map(|n| (n * 30, 32)).collect();
        assert_eq!(counted(&lumps), (128, Some(120), 8));
    }

    #[test]
    fn an_access_longer_than_the_window_is_counted_with_the_time_it_took() {
        assert_eq!(counted(&[(1_000, 1), (4_000, 2), (5_000, 1)]), (2, Some(3_000), 2));
        assert_eq!(counted(&[(90, 5), (95, 5)]), (0, None, 2));
    }

    /// 32 that were under way while a disk stood still come back in two looks, and again 1000 ticks later.
    #[test]
    fn what_comes_after_a_standstill_is_no_burst() {
        let looks = [(1_000, 1), (1_001, 31), (2_000, 1), (2_001, 31)];
        assert_eq!(counted(&looks), (32, Some(1_000), 3));
    }
}
