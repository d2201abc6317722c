//! The sessions of one virtual function. Their numbers mean nothing to any other.

use crate::engine::protocol::Status;
use crate::engine::suite::Session;

/// Sessions by number.
#[derive(Debug)]
pub(super) struct Sessions {
    slots: Vec<Slot>,
    free: Vec<u32>,
    most: usize,
}

#[derive(Debug)]
struct Slot {
    /// How often it was used before: a session that was closed is not found by its number any more.
    generation: u32,
    session: Option<Session>,
}

impl Sessions {
    /// None yet, and at most so many at once.
    pub(super) fn new(most: usize) -> Sessions {
        Sessions { slots: Vec::new(), free: Vec::new(), most }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes one in; its number, which is positive in 64 bits with a sign.
    pub(super) fn open(&mut self, session: Session) -> Result<u64, Status> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < self.most => {
                self.slots.push(Slot { generation: 0, session: None });
                (self.slots.len() - 1) as u32
            }
            None => return Err(Status::NoSpace),
        };
        let place = &mut self.slots[slot as usize];
        place.session = Some(session);
        Ok(u64::from(place.generation) << 32 | u64::from(slot))
    }

    /// Ends one, and wipes its keys.
    pub(super) fn close(&mut self, id: u64) -> Result<(), Status> {
        let place =
            self.slots.get_mut(id as u32 as usize).filter(|slot| slot.generation == (id >> 32) as u32);
        let place = place.filter(|slot| slot.session.is_some()).ok_or(Status::InvalidSession)?;
        place.session = None;
        place.generation = (place.generation + 1) & i32::MAX as u32;
        self.free.push(id as u32);
        Ok(())
    }

    /// Ends all.
    pub(super) fn clear(&mut self) {
        (self.slots, self.free) = (Vec::new(), Vec::new());
    }

    /// Ends all, and takes none in any more.
    pub(super) fn end(&mut self) {
        self.most = 0;
        self.clear();
    }

    /// The session of that number.
    #[inline]
    pub(super) fn get(&self, id: u64) -> Result<&Session, Status> {
        let slot = self.slots.get(id as u32 as usize).filter(|slot| slot.generation == (id >> 32) as u32);
        slot.and_then(|slot| slot.session.as_ref()).ok_or(Status::InvalidSession)
    }
}
