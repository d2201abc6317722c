//! Who is at a station at this moment, and what is still to be done for them: for the laws that hold at every moment.

use super::Engine;
use crate::customers::Chain;

impl Engine<'_> {
    /// Service that was begun and is not finished, seconds.
    pub(super) fn unfinished(&self, i: usize) -> f64 {
        let station = &self.stations[i];
        if let Some(sharing) = &station.sharing {
            return sharing.unfinished();
        }
        let pending = station.all.iter().map(|slot| self.calendar.time(*slot as usize));
        let served: f64 = pending.filter(|time| time.is_finite()).map(|time| time - self.now).sum();
        served + station.interrupted(&self.customers)
    }

    /// Everybody at the station: how many, and the sum of the times since they arrived.
    pub(super) fn present(&self, i: usize) -> (u64, f64) {
        let station = &self.stations[i];
        let mut present = (0, 0.0);
        let mut see = |customer: u32| {
            present.0 += 1;
            present.1 += self.now - self.customers[customer].arrived;
        };
        let queues = station.levels.iter().chain([&station.queue]);
        queues.flat_map(|queue| queue.iter(&self.customers)).for_each(&mut see);
        if let Some(sharing) = &station.sharing {
            sharing.customers().for_each(&mut see);
            return present;
        }
        let busy = station.all.iter().filter(|slot| self.calendar.time(**slot as usize).is_finite());
        for first in busy.map(|slot| self.slots[*slot as usize].customer) {
            match station.plan.bulk {
                None => see(first),
                Some(_) => Chain::of(first).iter(&self.customers).for_each(&mut see),
            }
        }
        present
    }
}
