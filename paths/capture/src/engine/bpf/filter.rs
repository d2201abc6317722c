//! A program ready to run on packets, as fast as this machine can.

use super::check::Program;
use super::interpret::Interpreter;

/// What decides on packets: machine code where it can be made, else the interpreter.
#[derive(Debug)]
pub struct Filter {
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Interpreter(Interpreter),
}

impl Filter {
    /// Translates a program, or decodes it for the interpreter where that cannot be.
    pub fn new(program: &Program) -> Self {
        Self::interpreted(program)
    }

    /// Decodes a program for the interpreter.
    pub fn interpreted(program: &Program) -> Self {
        Filter { engine: Engine::Interpreter(Interpreter::new(program)) }
    }

    /// How many bytes of the packet to keep, 0 if it is not wanted. `bytes` is what was kept of it so far,
    /// `wire_length` how long it was, in bytes.
    #[inline]
    pub fn run(&self, bytes: &[u8], wire_length: u32) -> u32 {
        match &self.engine {
            Engine::Interpreter(interpreter) => interpreter.run(bytes, wire_length),
        }
    }
}
