//! A load on a disk that is served: which block is next, what it must hold, and whether that is what came.

use std::ops::ControlFlow;
use std::path::Path;

use tollway_core::{Clock, Error, Result, Ticks};

use super::file::Image;
use super::requests::{Direction, Requests};
use crate::engine::disk::Pattern;
use crate::engine::disk::content::SECTOR;
use crate::engine::disk::order::Order;

/// A load on an image that is served at a socket.
pub struct Drive {
    requests: Requests,
    image: Image,
    order: Order,
    /// Of each slot, the block that is under way and which way it goes.
    flights: Vec<Option<(u64, Direction)>>,
    begun: Vec<Ticks>,
    landed: Vec<usize>,
    last: Option<(usize, u64)>,
    read: u64,
    written: u64,
    wrong: u64,
}

impl Drive {
    /// The image is that which is served at `path`; nobody else writes to it. `size` bytes a block, whole sectors.
    ///
    /// # Errors
    /// [`Error::Input`] where the image has not twice as many blocks as are to be under way; else as [`Requests::connect`].
    pub fn connect(
        path: &Path,
        image: Image,
        pattern: Pattern,
        size: usize,
        depth: usize,
        seed: u64,
    ) -> Result<Drive> {
        let load = crate::engine::disk::Load { pattern, size, depth, direct: true };
        load.check(image.bytes())?;
        let requests = Requests::connect(path, size, depth)?;
        for slot in 0..depth {
            requests.fill(slot, seed.wrapping_add(1 + slot as u64));
        }
        Ok(Drive {
            requests,
            order: Order::new(pattern, image.bytes() / size as u64, seed),
            image,
            flights: vec![None; depth],
            begun: vec![0; depth],
            landed: Vec::with_capacity(depth),
            last: None,
            read: 0,
            written: 0,
            wrong: 0,
        })
    }

    /// Keeps as many requests under way as there are slots, until `look` breaks; then waits for those that are. Each time that some
    /// have come back `look` is told when that was, and how long each of them took.
    ///
    /// # Errors
    /// As [`Requests::land`].
    pub fn run(
        &mut self,
        clock: impl Clock,
        mut look: impl FnMut(Ticks, &[Ticks]) -> ControlFlow<()>,
    ) -> Result<()> {
        let depth = self.requests.depth();
        let mut free: Vec<usize> = (0..depth).rev().collect();
        let mut took = Vec::with_capacity(depth);
        let mut goes_on = true;
        while goes_on || free.len() < depth {
            while goes_on && let Some(slot) = free.pop() {
                self.begin(slot)?;
                self.begun[slot] = clock.now();
            }
            self.requests.show();
            self.requests.land(&mut self.landed)?;
            let now = clock.now();
            took.clear();
            took.extend(self.landed.iter().map(|slot| now.saturating_sub(self.begun[*slot])));
            if goes_on {
                goes_on = look(now, &took).is_continue();
            }
            for at in 0..self.landed.len() {
                let slot = self.landed[at];
                self.end(slot);
                free.push(slot);
            }
        }
        Ok(())
    }

    /// One request, alone, to its end.
    ///
    /// # Errors
    /// As [`Requests::land`].
    pub fn once(&mut self) -> Result<()> {
        self.begin(0)?;
        self.requests.show();
        self.requests.land(&mut self.landed)?;
        self.end(0);
        Ok(())
    }

    fn begin(&mut self, slot: usize) -> Result<()> {
        // Of two requests for one block at once nobody could say which came first. There are twice as many blocks as slots.
        let block = loop {
            let block = self.order.block();
            if !self.flights.iter().flatten().any(|(under_way, _)| *under_way == block) {
                break block;
            }
        };
        let direction = if self.order.writes() { Direction::Write } else { Direction::Read };
        let first = block * self.sectors();
        if direction == Direction::Write {
            self.requests.stamp(slot, first, |sector| self.image.generation(sector).wrapping_add(1));
        }
        self.flights[slot] = Some((block, direction));
        self.requests.begin(slot, direction, first)
    }

    fn end(&mut self, slot: usize) {
        let Some((block, direction)) = self.flights[slot].take() else { return };
        let first = block * self.sectors();
        match direction {
            Direction::Write => {
                self.image.written(first, self.sectors() as usize);
                self.written += 1;
            }
            Direction::Read => {
                let is_right = self.requests.bears(slot, first, |sector| self.image.generation(sector));
                self.wrong += u64::from(!is_right);
                self.read += 1;
                self.last = Some((slot, block));
            }
        }
    }

    fn sectors(&self) -> u64 {
        (self.requests.size() / SECTOR) as u64
    }

    /// How many blocks were read and how many were written so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.read, self.written)
    }

    /// Checks that each read brought what was written last, of the last one each byte, and in the image what the last requests left: at
    /// most so many bytes of it, and that in an encrypted one nothing of it lies in the clear. Hands back the image.
    ///
    /// # Errors
    /// [`Error::Wrong`] where something does not hold what it must.
    pub fn verified(self, bytes: u64) -> Result<Image> {
        if self.wrong > 0 {
            let reason = format!("{} of {} reads brought something else", self.wrong, self.read);
            return Err(Error::Wrong(reason));
        }
        if let Some((slot, block)) = self.last
            && self.written == 0
            && !self.requests.holds(slot, block * self.sectors(), |sector| self.image.generation(sector))
        {
            return Err(Error::Wrong(format!("block {block}, which was read last, is not whole")));
        }
        let blocks = self.order.last((bytes / self.requests.size() as u64).max(1));
        self.image.check(self.requests.size(), blocks)?;
        Ok(self.image)
    }
}
