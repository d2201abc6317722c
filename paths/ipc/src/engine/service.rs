//! What the server does with a request: calibrated work, a product of matrices, a call that takes memory or gives it back; and the reply.

use tollway_core::{Clock, Result};
use tollway_load::{delay, ticks_per_step};

use super::matrix::Matrices;
use super::memory::{Memory, User, calls};
use super::message;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Cycles of work.
    pub cycles: u64,
    /// Rows of the matrices that are multiplied; 0: none.
    pub rows: usize,
    /// Bytes of memory that are taken or given back, in turns; 0: none.
    pub bytes: usize,
}

impl Load {
    /// What the server finds out, which every reply has.
    pub fn result(self) -> u64 {
        Matrices::new(self.rows).multiply()
    }
}

/// A server's work on requests.
#[derive(Clone)]
pub struct Service {
    steps: u32,
    matrices: Matrices,
    memory: Option<(Memory, User)>,
    served: u64,
}

impl Service {
    /// One that does so much for each request. Where that is work by the clock, finding out how much that is takes 20 ms.
    ///
    /// # Errors
    /// Those of [`Memory::new`], and of [`Memory::proves`].
    pub fn new(load: Load, clock: impl Clock) -> Result<Service> {
        let steps = match load.cycles {
            0 => 0,
            cycles => (cycles as f64 / ticks_per_step(clock)).round() as u32,
        };
        Ok(Service { steps, matrices: Matrices::new(load.rows), memory: memory(load.bytes)?, served: 0 })
    }

    /// Another that does the same, and has answered nothing yet.
    ///
    /// # Errors
    /// As [`new`](Service::new).
    pub fn another(&self) -> Result<Service> {
        let bytes = self.memory.as_ref().map_or(0, |(memory, _)| memory.pages().len());
        Ok(Service { served: 0, memory: memory(bytes)?, ..self.clone() })
    }

    /// The work alone: what was found out. If memory was not as it had to be, that is something else than it is otherwise.
    #[inline]
    pub fn works(&mut self) -> u64 {
        if self.steps > 0 {
            delay(self.steps);
        }
        let product = self.matrices.multiply();
        match &mut self.memory {
            None => product,
            Some((memory, user)) => {
                let (part, advice) = user.asks(memory);
                let is_right = calls::advise(memory, part, advice).is_ok() && user.has(memory);
                product.wrapping_sub(u64::from(!is_right))
            }
        }
    }

    /// Works, and writes the reply: how many bytes it has.
    #[inline]
    pub fn answers(&mut self, request: &[u8], reply: &mut [u8]) -> usize {
        self.served += 1;
        let result = self.works();
        message::answer(request, result, reply)
    }

    /// How many requests it has answered.
    pub fn served(&self) -> u64 {
        self.served
    }
}

/// Memory of one user, and what the calls do to it proven; none for no bytes.
fn memory(bytes: usize) -> Result<Option<(Memory, User)>> {
    if bytes == 0 {
        return Ok(None);
    }
    let memory = Memory::new(1, bytes)?;
    memory.proves(|part, advice| calls::advise(&memory, part, advice))?;
    let user = memory.user(0);
    Ok(Some((memory, user)))
}
