//! What the server does with a request: calibrated work, a product of matrices, and the reply.

use tollway_core::Clock;
use tollway_load::{delay, ticks_per_step};

use super::matrix::Matrices;
use super::message;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Cycles of work.
    pub cycles: u64,
    /// Rows of the matrices that are multiplied; 0: none.
    pub rows: usize,
}

impl Load {
    /// What the server finds out, which every reply has.
    pub fn result(self) -> u64 {
        Matrices::new(self.rows).multiply()
    }
}

/// A server's work on requests.
#[derive(Clone, Debug)]
pub struct Service {
    steps: u32,
    matrices: Matrices,
    served: u64,
}

impl Service {
    /// One that does so much for each request. Where that is work by the clock, finding out how much that is takes 20 ms.
    pub fn new(load: Load, clock: impl Clock) -> Service {
        let steps = match load.cycles {
            0 => 0,
            cycles => (cycles as f64 / ticks_per_step(clock)).round() as u32,
        };
        Service { steps, matrices: Matrices::new(load.rows), served: 0 }
    }

    /// Another that does the same, and has answered nothing yet.
    pub fn another(&self) -> Service {
        Service { served: 0, ..self.clone() }
    }

    /// The work alone: what was found out.
    #[inline]
    pub fn works(&mut self) -> u64 {
        if self.steps > 0 {
            delay(self.steps);
        }
        self.matrices.multiply()
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
