//! A program ready to run on packets, as fast as this machine can.

use std::hint::cold_path;

use super::check::Program;
use super::interpret::Interpreter;
#[cfg(target_arch = "x86_64")]
use super::jit::Machine;

/// What decides on packets: machine code where it can be made, else the interpreter.
#[derive(Debug)]
pub struct Filter {
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    #[cfg(target_arch = "x86_64")]
    Machine(Machine),
    /// And why it is not machine code.
    Interpreter(Interpreter, &'static str),
}

impl Filter {
    /// Translates a program, or decodes it for the interpreter where that cannot be: on other processors than
    /// x86-64, of programs with a loop, and where the system gives no memory that may run. [`Filter::engine`]
    /// says which it is.
    #[cfg(target_arch = "x86_64")]
    pub fn new(program: &Program) -> Self {
        if program.backward_jumps() > 0 {
            return Self::interpret(program, "interpreter: machine code is made of programs without a loop");
        }
        match Machine::new(program) {
            Ok(machine) => Filter { engine: Engine::Machine(machine) },
            Err(_) => Self::interpret(program, "interpreter: the system gives no memory that may run"),
        }
    }

    /// Decodes a program for the interpreter: there is no translator for this processor. [`Filter::engine`] says so.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn new(program: &Program) -> Self {
        Self::interpret(program, "interpreter: machine code is made for x86-64 only")
    }

    /// Decodes a program for the interpreter.
    pub fn interpreted(program: &Program) -> Self {
        Self::interpret(program, "interpreter: as was asked")
    }

    fn interpret(program: &Program, why: &'static str) -> Self {
        Filter { engine: Engine::Interpreter(Interpreter::new(program), why) }
    }

    /// What runs the program, for readers; with the reason where it is not machine code.
    pub fn engine(&self) -> &'static str {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Machine(_) => "machine code (x86-64)",
            Engine::Interpreter(_, why) => why,
        }
    }

    /// The machine code, if that is what runs.
    #[cfg(target_arch = "x86_64")]
    pub fn machine(&self) -> Option<&Machine> {
        match &self.engine {
            Engine::Machine(machine) => Some(machine),
            Engine::Interpreter(..) => None,
        }
    }

    /// How many bytes of the packet to keep, 0 if it is not wanted. `bytes` is what was kept of it so far,
    /// `wire_length` how long it was, in bytes.
    #[inline]
    pub fn run(&self, bytes: &[u8], wire_length: u32) -> u32 {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Machine(machine) => machine.run(bytes, wire_length),
            Engine::Interpreter(interpreter, _) => {
                // One jump more is nothing here, and much beside four instructions of machine code.
                cold_path();
                interpreter.run(bytes, wire_length)
            }
        }
    }
}
