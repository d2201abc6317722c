//! Programs executed: what the kernel has to do between a program's execve and its first instruction, and what its end takes.
//!
//! The program is made here: an image of four segments and the interpreter that it names, which has four as well, as programs have that are linked
//! dynamically (elf(5)). It is the interpreter that runs. It asks for the processor time that its process has had, writes that to its
//! standard output, and ends. So the figure has no instruction of a C library in it, and none of its calls.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::ptr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use tollway_core::{Error, Missing, Result, Tally};
use tollway_host::scratch::{FOLDER, Folder, folder};
use tollway_host::shared::SharedPages;

use super::processor_time::Spent;
use super::region::{PAGE, Region};

/// The exit status of the program: no crash leaves this behind.
const STATUS: i32 = 71;
/// The same of a child that could not execute it.
const NOT_EXECUTED: i32 = 72;

/// Bytes of a child's stack.
const STACK: usize = 4 * PAGE;

/// How long others may still have a program open for writing that was just made: children that were forked meanwhile have it until they exec.
const BUSY: Duration = Duration::from_secs(30);

/// The interpreter's instructions: clock_gettime(CLOCK_THREAD_CPUTIME_ID), write to descriptor 1, exit_group (asm/unistd_64.h).
const PROGRAM: [u8; 48] = [
    0x48,
    0x83,
    0xec,
    0x20, // sub rsp, 32
    0xb8,
    0xe4,
    0,
    0,
    0, // mov eax, 228
    0xbf,
    3,
    0,
    0,
    0, // mov edi, 3
    0x48,
    0x89,
    0xe6, // mov rsi, rsp
    0x0f,
    0x05, // syscall
    0xb8,
    1,
    0,
    0,
    0, // mov eax, 1
    0x89,
    0xc7, // mov edi, eax
    0x48,
    0x89,
    0xe6, // mov rsi, rsp
    0xba,
    16,
    0,
    0,
    0, // mov edx, 16
    0x0f,
    0x05, // syscall
    0xbf,
    STATUS as u8,
    0,
    0,
    0, // mov edi, 71
    0xb8,
    0xe7,
    0,
    0,
    0, // mov eax, 231
    0x0f,
    0x05, // syscall
];

/// Whether the child that executes has a copy of its parent's memory, which has to go first, or borrows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// By fork.
    Copy,
    /// As by vfork and posix_spawn.
    Borrower,
}

/// Of what the figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// execve.
    Execution,
    /// The end.
    End,
}

/// A child that executes a program, over and over.
pub struct Execution {
    image: CString,
    _folder: Folder,
    child: Child,
    part: Part,
    stack: Region,
    /// What the child's clock said before it executed.
    before: SharedPages,
    pipe: (File, OwnedFd),
    spent: Spent,
}

impl Execution {
    /// Makes the program, and executes it once.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) where programs in the folder for measurements cannot be made or executed.
    pub fn new(child: Child, part: Part) -> Result<Execution> {
        let parent = folder();
        let refused = |e: std::io::Error| lacks(&parent, &e.to_string());
        let folder = Folder::make(&parent).map_err(refused)?;
        let (image, interpreter) = (folder.path().join("program"), folder.path().join("interpreter"));
        for (path, names) in [(&interpreter, None), (&image, Some(interpreter.as_path()))] {
            fs::write(path, program(names)).map_err(refused)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(refused)?;
        }
        let image = CString::new(image.as_os_str().as_bytes())
            .map_err(|e| Error::system("naming a scratch program", e.to_string()))?;
        let (from, to) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|e| Error::system("making a pipe", e))?;
        let mut stack = Region::new(STACK)?;
        stack.touch();
        let mut made = Execution {
            image,
            _folder: folder,
            child,
            part,
            stack,
            before: SharedPages::new(size_of::<libc::timespec>())?,
            pipe: (File::from(from), to),
            spent: Spent::nothing()?,
        };
        let begun = Instant::now();
        while !made.once() {
            if begun.elapsed() > BUSY {
                return Err(lacks(&parent, "programs there are not executed (noexec?)"));
            }
            sleep(Duration::from_millis(1));
        }
        made.spent = Spent::nothing()?;
        Ok(made)
    }

    /// A child that executes the program, and its end; whether all of it went as it should.
    pub fn once(&mut self) -> bool {
        let Some(child) = self.begin() else { return false };
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both are written to memory that is ours; the child is ours and not waited for elsewhere.
        let ended = unsafe { libc::wait4(child, &raw mut status, 0, usage.as_mut_ptr()) };
        let mut came = [0; 16];
        let well = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == STATUS;
        if ended != child || !well || !matches!(self.pipe.0.read(&mut came), Ok(16)) {
            return false;
        }
        // SAFETY: it is all numbers, and was zeroed.
        let usage = unsafe { usage.assume_init() };
        let of = |time: libc::timeval| {
            Duration::new(time.tv_sec.max(0) as u64, time.tv_usec.clamp(0, 999_999) as u32 * 1000)
        };
        // SAFETY: the page is as long and aligned, all that it may hold are numbers, and who wrote to it has ended.
        let before = time_of(&unsafe { self.before.as_ptr().cast::<[u8; 16]>().read() });
        let (after, all) = (time_of(&came), of(usage.ru_utime) + of(usage.ru_stime));
        if after <= before {
            return false;
        }
        let spent = match self.part {
            Part::Execution => after - before,
            Part::End => all.saturating_sub(after),
        };
        self.spent.add(spent, 1);
        true
    }

    fn begin(&mut self) -> Option<libc::pid_t> {
        let task = Task {
            program: self.image.as_ptr(),
            output: self.pipe.1.as_raw_fd(),
            stamp: self.before.as_ptr().cast(),
        };
        match self.child {
            Child::Copy => {
                // SAFETY: the child makes system calls and no others, all of them safe in a copy of a process of several threads.
                match unsafe { libc::syscall(libc::SYS_fork) } {
                    0 => {
                        execute((&raw const task).cast_mut().cast());
                        // SAFETY: ends the child without running anything of the parent's.
                        unsafe { libc::syscall(libc::SYS_exit_group, NOT_EXECUTED) };
                        None
                    }
                    child if child > 0 => Some(child as libc::pid_t),
                    _ => None,
                }
            }
            Child::Borrower => {
                let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
                let top = self.stack.address().wrapping_byte_add(STACK);
                // SAFETY: stack and task are in no other use while the child has them: this thread sleeps until the child has
                // executed or ended.
                let child = unsafe { libc::clone(execute, top, flags, (&raw const task).cast_mut().cast()) };
                (child > 0).then_some(child)
            }
        }
    }

    /// What was done, and the work of it in ticks of the clock.
    pub fn tally(&self) -> Tally {
        self.spent.tally()
    }
}

fn lacks(folder: &Path, reason: &str) -> Error {
    Error::Missing(Missing::new(
        format!("a scratch program in {}", folder.display()),
        reason,
        format!("name a folder whose programs may be executed in {FOLDER}"),
    ))
}

/// What a child has to do.
struct Task {
    program: *const libc::c_char,
    output: i32,
    stamp: *mut libc::timespec,
}

/// Notes the time and executes; comes back where it cannot.
extern "C" fn execute(task: *mut libc::c_void) -> i32 {
    let arguments = [c"program".as_ptr(), ptr::null()];
    let environment: [*const libc::c_char; 1] = [ptr::null()];
    // SAFETY: the task outlives the call; both lists end with a null pointer. These are calls alone: nothing of the C library's
    // state is used but `errno`, whose owner sleeps or is another process.
    unsafe {
        let task = &*task.cast::<Task>();
        libc::syscall(libc::SYS_dup2, task.output, 1);
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID, task.stamp);
        libc::syscall(libc::SYS_execve, task.program, arguments.as_ptr(), environment.as_ptr());
    }
    NOT_EXECUTED
}

fn time_of(stamp: &[u8; 16]) -> Duration {
    let half = |at: usize| i64::from_ne_bytes(std::array::from_fn(|byte| stamp[at + byte]));
    Duration::new(half(0).max(0) as u64, half(8).clamp(0, 999_999_999) as u32)
}

/// Bytes of a program's file: four pages, a segment each.
const FILE: usize = 4 * PAGE;
/// Where its instructions are.
const TEXT: u64 = PAGE as u64;

/// An ELF file of 64 bits for x86-64 (elf(5)) that may be anywhere in memory, and names an interpreter or is one.
fn program(interpreter: Option<&Path>) -> Vec<u8> {
    const NAME: u64 = 0x800;
    let mut file = vec![0; FILE];
    let name = interpreter.map(|path| [path.as_os_str().as_bytes(), &[0]].concat());
    let page = PAGE as u64;
    // The kind of each segment, its rights (1 to execute, 2 to write, 4 to read), where it begins, its bytes in the file and in memory.
    let mut segments = vec![
        (1u32, 4u32, 0, page, page),
        (1, 5, TEXT, page, page),
        (1, 4, 2 * page, page, page),
        (1, 6, 3 * page, page / 2, 2 * page),
        // PT_GNU_STACK: not to be executed.
        (0x6474_e551, 6, 0, 0, 0),
    ];
    if let Some(name) = &name {
        file[NAME as usize..][..name.len()].copy_from_slice(name);
        // PT_INTERP comes before what is loaded.
        segments.insert(0, (3, 4, NAME, name.len() as u64, name.len() as u64));
    }
    let mut head = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // A shared object for machine 62 (x86-64), version 1.
    head.extend([3u16, 62].map(u16::to_le_bytes).concat());
    head.extend(1u32.to_le_bytes());
    // Entry, where the segments are described, no sections.
    head.extend([TEXT, 64, 0].map(u64::to_le_bytes).concat());
    head.extend(0u32.to_le_bytes());
    head.extend([64, 56, segments.len() as u16, 64, 0, 0].map(u16::to_le_bytes).concat());
    for (kind, rights, at, bytes, memory) in segments {
        head.extend([kind, rights].map(u32::to_le_bytes).concat());
        let align = if kind == 1 { page } else { 1 };
        head.extend([at, at, at, bytes, memory, align].map(u64::to_le_bytes).concat());
    }
    file[..head.len()].copy_from_slice(&head);
    file[TEXT as usize..][..PROGRAM.len()].copy_from_slice(&PROGRAM);
    file
}
