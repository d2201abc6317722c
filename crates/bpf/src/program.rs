//! A program that the kernel has taken, and where it is attached.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::btf::Btf;
use crate::call::{
    INFORMATION, ITERATOR_CREATE, LINK_BY_NUMBER, LINK_CREATE, PROGRAM_LOAD, RAW_TRACEPOINT_OPEN, call,
    number, own, pair,
};

/// What a program is for (`enum bpf_prog_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// Frames of an interface.
    Xdp = 6,
    /// Tracepoints, with the arguments as the kernel has them: an array of words of 64 bits.
    RawTracepoint = 17,
    /// Functions of the kernel, of which those are used here that it has for programs to iterate: see
    /// [`Program::over_tasks`].
    Tracing = 26,
}

/// `BPF_XDP`, where an XDP program is attached, and `BPF_TRACE_ITER`, where an iterator is (`enum
/// bpf_attach_type`).
const ATTACH_XDP: u64 = 37;
const ATTACH_ITERATOR: u32 = 28;

/// Words of the attributes of BPF_PROG_LOAD that are used, and which of them have in their high halves
/// `expected_attach_type` and `attach_btf_id`.
const LOADED: usize = 14;
const ATTACHED_AT: usize = 8;
const ATTACHED_TO: usize = 13;

/// The function that stands for an iterator over tasks (kernel/bpf/task_iter.c, since Linux 5.8).
const TASKS: &str = "bpf_iter_task";

/// Which word of `struct bpf_prog_info` says how often it did not run.
const MISSED: usize = 26;

/// The longest that the verifier may say.
const LOG: usize = 64 << 10;

/// A program in the kernel, attached to nothing.
#[derive(Debug)]
pub struct Program(OwnedFd);

/// A program that runs, until this is dropped: see [`Link`].
#[derive(Debug)]
pub struct Attached {
    link: OwnedFd,
}

/// What keeps a program attached. A process that another thread begins meanwhile has it as well until it becomes another program, and so may outlive an [`Attached`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(u32);

impl Program {
    /// Has the kernel check a program and take it.
    ///
    /// # Errors
    /// This process may not, or the verifier refuses it: what that says is in the error.
    pub fn load(kind: ProgramKind, words: &[u64]) -> io::Result<Program> {
        Program::load_for(kind, words, 0, 0)
    }

    /// A program that is run for each task of this process' PID namespace when
    /// [`run_over_tasks`](Program::run_over_tasks) asks for it. Its argument leads to two addresses: of what
    /// the iterator has of itself, whose first 8 bytes are the address of the file to
    /// [`Write`](crate::assembler::Helper::Write) to, and of the task, which is 0 at the end.
    ///
    /// # Errors
    /// As [`load`](Program::load), or the kernel has no such iterator.
    pub fn over_tasks(words: &[u64], btf: &Btf) -> io::Result<Program> {
        let function = btf.function(TASKS).ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, format!("the kernel has no function {TASKS}"))
        })?;
        Program::load_for(ProgramKind::Tracing, words, ATTACH_ITERATOR, function)
    }

    fn load_for(kind: ProgramKind, words: &[u64], at: u32, function: u32) -> io::Result<Program> {
        // Helpers that look into the kernel are for such programs alone.
        let license = c"Dual MIT/GPL";
        let mut attributes = [0u64; LOADED];
        attributes[0] = pair(kind as u32, words.len() as u32);
        (attributes[ATTACHED_AT], attributes[ATTACHED_TO]) = (pair(0, at), pair(0, function));
        (attributes[1], attributes[2]) = (words.as_ptr() as u64, license.as_ptr() as u64);
        // SAFETY: the program has as many words as is said; the licence ends with a zero; there is no log.
        let loaded = unsafe { call(PROGRAM_LOAD, &attributes) };
        match loaded {
            // SAFETY: it was just made.
            Ok(descriptor) => Ok(Program(unsafe { own(descriptor) })),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => {
                let mut log = vec![0u8; LOG];
                attributes[3] = pair(1, LOG as u32);
                attributes[4] = log.as_mut_ptr() as u64;
                // SAFETY: as before, and the log has as many bytes as is said.
                if let Ok(descriptor) = unsafe { call(PROGRAM_LOAD, &attributes) } {
                    // SAFETY: it was just made.
                    return Ok(Program(unsafe { own(descriptor) }));
                }
                let said = String::from_utf8_lossy(&log);
                let said = said.trim_end_matches('\0').trim();
                Err(if said.is_empty() {
                    error
                } else {
                    io::Error::new(error.kind(), format!("{error}: {said}"))
                })
            }
            Err(error) => Err(error),
        }
    }

    /// At how many passages the kernel did not run it, because it was running on that processor already (`struct bpf_prog_info`, recursion_misses: since Linux 5.12;
    /// 0 before).
    ///
    /// # Errors
    /// The kernel's.
    pub fn missed(&self) -> io::Result<u64> {
        let mut known = [0u64; 28];
        let attributes = [pair(number(self.as_fd()), size_of_val(&known) as u32), known.as_mut_ptr() as u64];
        // SAFETY: the kernel writes as many bytes as is said at the most, and reads from there addresses, which are 0, of lists of length 0.
        unsafe { call(INFORMATION, &attributes)? };
        Ok(known[MISSED])
    }

    /// Runs it at each passage of a tracepoint: of a [`RawTracepoint`](ProgramKind::RawTracepoint).
    ///
    /// # Errors
    /// The kernel has no tracepoint of that name, or the program reads more arguments than it has.
    pub fn at_tracepoint(&self, name: &str) -> io::Result<Attached> {
        let name = CString::new(name)?;
        // SAFETY: the name ends with a zero.
        let link =
            unsafe { call(RAW_TRACEPOINT_OPEN, &[name.as_ptr() as u64, pair(number(self.as_fd()), 0)]) };
        // SAFETY: it was just made.
        link.map(|link| Attached { link: unsafe { own(link) } })
    }

    /// Runs it for each frame of an interface: of an [`Xdp`](ProgramKind::Xdp).
    ///
    /// # Errors
    /// The kernel's: EBUSY where there is another already.
    pub fn at_interface(&self, interface: u32, flags: u32) -> io::Result<Attached> {
        // SAFETY: there is no address among these.
        let link = unsafe {
            call(LINK_CREATE, &[pair(number(self.as_fd()), interface), ATTACH_XDP | u64::from(flags) << 32])
        };
        // SAFETY: it was just made.
        link.map(|link| Attached { link: unsafe { own(link) } })
    }

    /// Runs it for each task, once: what it wrote, of an [`over_tasks`](Program::over_tasks).
    ///
    /// # Errors
    /// The kernel's.
    pub fn run_over_tasks(&self) -> io::Result<Vec<u8>> {
        // SAFETY: there is no address among these.
        let link =
            unsafe { call(LINK_CREATE, &[pair(number(self.as_fd()), 0), ATTACH_ITERATOR.into(), 0, 0]) };
        // SAFETY: it was just made.
        let link = unsafe { own(link?) };
        // SAFETY: there is no address among these.
        let iterator = unsafe { call(ITERATOR_CREATE, &[pair(number(link.as_fd()), 0)]) };
        // SAFETY: it was just made.
        let mut iterator = File::from(unsafe { own(iterator?) });
        let mut written = Vec::new();
        iterator.read_to_end(&mut written)?;
        Ok(written)
    }
}

impl Attached {
    /// What keeps it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn link(&self) -> io::Result<Link> {
        // `struct bpf_link_info`: its type and its number.
        let mut known = [0u64; 8];
        let attributes =
            [pair(number(self.link.as_fd()), size_of_val(&known) as u32), known.as_mut_ptr() as u64];
        // SAFETY: the kernel writes as many bytes as is said at the most, and reads from there addresses, which are 0, of buffers of length 0.
        unsafe { call(INFORMATION, &attributes)? };
        Ok(Link((known[0] >> 32) as u32))
    }
}

impl Link {
    /// Whether somebody still holds it; not, where this process may not ask (CAP_SYS_ADMIN).
    pub fn is_held(self) -> bool {
        // SAFETY: there is no address among these.
        let link = unsafe { call(LINK_BY_NUMBER, &[self.0.into()]) };
        // SAFETY: it was just made.
        link.map(|link| drop(unsafe { own(link) })).is_ok()
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
