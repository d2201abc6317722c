//! Higher classes that interrupt lower ones, whose services go on later where they stopped.

use super::Engine;
use super::station::Station;
use crate::customers::Customers;
use crate::error::Flow;

impl Station<'_> {
    /// Service that interrupted customers still have to get, seconds.
    pub(super) fn interrupted(&self, customers: &Customers) -> f64 {
        let waiting = self.levels.iter().flat_map(|queue| queue.iter(customers));
        waiting.filter(|customer| customers[*customer].begun).map(|customer| customers[customer].left).sum()
    }
}

impl Engine<'_> {
    pub(super) fn arrive_preemptive(&mut self, i: usize, customer: u32) -> Flow {
        let station = &mut self.stations[i];
        if station.busy < station.servers {
            station.join(&mut self.customers, customer);
            return self.serve_waiting(i);
        }
        let level = station.level(self.customers[customer].class);
        // Of those who are served, the lowest in rank; of several, who came last.
        let lowest = (station.all.iter())
            .map(|slot| (self.slots[*slot as usize].customer, *slot))
            .map(|(served, slot)| {
                (station.level(self.customers[served].class), self.customers[served].arrived, slot)
            })
            .max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        match lowest {
            Some((lowest, _, slot)) if lowest > level => {
                self.interrupt(i, slot as usize);
                self.begin(i, slot as usize, customer);
            }
            _ => station.join(&mut self.customers, customer),
        }
        Ok(())
    }

    /// Whoever is served there goes back to the head of his queue, with the service that is left to him.
    fn interrupt(&mut self, i: usize, slot: usize) {
        let interrupted = self.slots[slot].customer;
        let customer = &mut self.customers[interrupted];
        customer.left = self.calendar.time(slot) - self.now;
        customer.since = self.now;
        let class = customer.class;
        let station = &mut self.stations[i];
        station.served -= 1;
        station.busy -= 1;
        let level = station.level(class);
        station.levels[level].push_front(&mut self.customers, interrupted);
    }
}
