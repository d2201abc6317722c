//! Several customers in one service.

use super::Engine;
use crate::customers::Chain;
use crate::system::BulkPlan;

impl Engine<'_> {
    /// As many as wait and fit are served together.
    pub(super) fn begin_bulk(&mut self, i: usize, slot: usize, bulk: &BulkPlan) {
        let mut together = Chain::EMPTY;
        let mut service = 0.0;
        for nth in 0..bulk.most {
            let Some(customer) = self.stations[i].call(&self.customers) else { break };
            self.stop_waiting(i, customer);
            together.push(&mut self.customers, customer);
            if nth == 0 {
                service = self.draw_service(i, customer);
            }
            if let Some((each, mean, variance)) = &bulk.each {
                let station = &mut self.stations[i];
                let more = each.draw(&mut station.stream);
                service += more;
                station.work += more;
                station.expected += mean;
                station.variance += variance;
            }
        }
        self.stations[i].busy += 1;
        self.slots[slot].customer = together.first();
        self.calendar.set(slot, self.now + service);
    }
}
