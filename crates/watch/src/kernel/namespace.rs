//! Numbers of threads in this process' PID namespace, and those by which the kernel's programs know them.
//!
//! Programs find who runs by its number in the first PID namespace, which costs the least. This process,
//! /proc and clocks have the numbers of the namespace that this process is in. Where that is another one, the
//! kernel is asked for both numbers of each task in it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use tollway_bpf::Program;
use tollway_bpf::assembler::Label;
use tollway_bpf::assembler::Register::{self, R0, R1, R2, R3, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Operation, When, Width};
use tollway_bpf::btf::Btf;
use tollway_core::{Error, Missing, Result};

use super::runs::read;
use super::{Fields, failed};

/// The inode of the first PID namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const FIRST: u64 = 0xefff_fffc;

/// What the iterator writes of each task: its number and its process' number in the first namespace, both in
/// this process', how deep that is, and nothing; 32 bits each.
const WRITTEN: usize = 24;

/// Where the stack has the address that was read last.
const FOUND: i16 = -80;

/// The PID namespace of this process.
pub(super) struct Namespace {
    /// How many others it is within.
    level: u32,
    /// What tells the numbers of its tasks, where that is needed.
    tasks: Option<Program>,
}

/// A thread's number, and its process'.
type Numbers = (u32, u32);

impl Namespace {
    /// # Errors
    /// [`Missing`](Error::Missing) where it is not the first one and this kernel does not tell the numbers in it.
    pub fn own(btf: &Btf, fields: &Fields) -> Result<Namespace> {
        // Whatever namespace that /proc is of, its links lead to this thread's own.
        if fs::metadata("/proc/thread-self/ns/pid").is_ok_and(|namespace| namespace.ino() == FIRST) {
            return Ok(Namespace { level: 0, tasks: None });
        }
        let lacking = |reason: String| {
            Error::Missing(Missing::new(
                "the kernel's numbers of threads in this PID namespace",
                reason,
                "Linux 5.8 or newer; or run tollway outside of it, with --pid and the number there",
            ))
        };
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::PermissionDenied => failed("the iterator over the tasks of this PID namespace", e),
            _ => lacking(format!("an iterator over its tasks: {e}")),
        };
        let tasks = Program::over_tasks(&all(fields), btf).map_err(failed)?;
        let (level, _) = read_tasks(&tasks).map_err(failed)?;
        let level = level.ok_or_else(|| lacking("an iterator over its tasks finds none".into()))?;
        Ok(Namespace { level, tasks: Some(tasks) })
    }

    /// Whether numbers here are those by which the kernel's programs know threads.
    pub fn is_first(&self) -> bool {
        self.level == 0
    }

    /// The kernel's numbers of threads by theirs here, of those that there are.
    pub fn global(&self, threads: &[Numbers]) -> io::Result<BTreeMap<u32, Numbers>> {
        match &self.tasks {
            Some(tasks) if !self.is_first() => read_tasks(tasks).map(|(_, all)| all),
            _ => Ok(threads.iter().map(|numbers| (numbers.0, *numbers)).collect()),
        }
    }

    /// `[to]` = number and process' number, here, of the task in `R8`, of which `[global]` has the others.
    /// `R8` and `R9` are lost.
    pub fn note(&self, program: &mut Assembler, fields: &Fields, (to, global): (i16, i16), none: Label) {
        if self.is_first() {
            program.load(Width::Double, R1, R10, global).store(Width::Double, R10, to, R1);
        } else {
            let at = fields.first_level + self.level.cast_signed() * fields.each_level;
            program.constant(Operation::Move, R9, at);
            both(program, fields, to, none);
        }
    }
}

/// `[to]` = number and process' number of the task in `R8` in the namespace whose numbers stand at the
/// byte of a `struct pid` that `R9` has. `R8` is lost.
fn both(program: &mut Assembler, fields: &Fields, to: i16, none: Label) {
    number(program, fields, to, none);
    address(program, R8, fields.leader, none);
    program.load(Width::Double, R8, R10, FOUND);
    number(program, fields, to + 4, none);
}

fn number(program: &mut Assembler, fields: &Fields, to: i16, none: Label) {
    address(program, R8, fields.numbers, none);
    program.load(Width::Double, R3, R10, FOUND).register(Operation::Add, R3, R9);
    read(program, 4, to, none);
}

/// Reads the address at a byte of what a register leads to.
fn address(program: &mut Assembler, of: Register, at: i32, none: Label) {
    program.register(Operation::Move, R3, of).constant(Operation::Add, R3, at);
    read(program, 8, FOUND, none);
}

/// The iterator: writes of each task what [`WRITTEN`] says. It is run by who reads it.
fn all(fields: &Fields) -> Vec<u64> {
    const TASK: i16 = -(WRITTEN as i16);
    const LEVEL: i16 = TASK + 16;
    let mut program = Assembler::new();
    let out = program.label();
    program.register(Operation::Move, R6, R1).load(Width::Double, R7, R6, 8);
    program.jump_if(When::Equal, R7, 0, out);
    program.store_constant(Width::Double, R10, LEVEL, 0);
    program.call(Helper::Task).register(Operation::Move, R8, R0);
    address(&mut program, R8, fields.numbers, out);
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Add, R3, fields.level);
    read(&mut program, 4, LEVEL, out);
    program.load(Width::Word, R9, R10, LEVEL).constant(Operation::Multiply, R9, fields.each_level);
    program.constant(Operation::Add, R9, fields.first_level);
    program.register(Operation::Move, R3, R7).constant(Operation::Add, R3, fields.number);
    read(&mut program, 8, TASK, out);
    program.register(Operation::Move, R8, R7);
    both(&mut program, fields, TASK + 8, out);
    program.load(Width::Double, R1, R6, 0).load(Width::Double, R1, R1, 0);
    program.register(Operation::Move, R2, R10).constant(Operation::Add, R2, TASK.into());
    program.constant(Operation::Move, R3, WRITTEN as i32).call(Helper::Write);
    program.place(out).end(0);
    program.finish()
}

/// How deep this namespace is, and the kernel's numbers of its threads by theirs here.
fn read_tasks(tasks: &Program) -> io::Result<(Option<u32>, BTreeMap<u32, Numbers>)> {
    let (mut level, mut all) = (None, BTreeMap::new());
    for task in tasks.run_over_tasks()?.chunks_exact(WRITTEN) {
        let word = |at: usize| task[4 * at..].first_chunk().map_or(0, |word| u32::from_ne_bytes(*word));
        level = Some(word(4));
        all.insert(word(2), (word(0), word(1)));
    }
    Ok((level, all))
}
