//! A call of a function that does nothing.

use std::hint::black_box;

use tollway_core::{Error, Params, Place, Result};

use super::Operation;

/// Calls through a pointer that the compiler cannot see through, so the call is a real one.
pub struct EmptyCall {
    callee: extern "C" fn(u64) -> u64,
}

/// Returns what it is given: the least that a function can do and still be caught at not being called.
#[inline(never)]
extern "C" fn echo(x: u64) -> u64 {
    x
}

impl Operation for EmptyCall {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(EmptyCall { callee: black_box(echo as extern "C" fn(u64) -> u64) })
    }

    #[inline]
    fn once(&mut self) {
        black_box((self.callee)(7));
    }

    fn verify(&mut self, _: u64) -> Result<()> {
        let x = black_box(0x5eed);
        match (self.callee)(x) {
            y if y == x => Ok(()),
            y => Err(Error::Wrong(format!("the function returned {y} for {x}"))),
        }
    }
}
