//! What runs in the kernel: a program at each tracepoint that tells of a crossing, and the memory in which they count.
//!
//! They know which watched thread runs on which processor, so that a system call of anybody else costs two look-ups in arrays. Each thread that is
//! watched has a slot, in which only programs on its own processor write: nothing is locked and nothing is lost. A child gets a slot from a queue of free ones;
//! [`Kernel::harvest`] hands those of the dead back.

mod calls;
pub mod layout;
mod lives;
mod moments;
mod switches;

use std::io;

use tollway_bpf::btf::Btf;
use tollway_bpf::{Attached, Map, MapKind, Program, ProgramKind};
use tollway_core::{Error, Missing, Result};

use layout::{NUMBERS, call, processor, thread, whole};

/// Slots: threads that can be watched at once.
pub const SLOTS: u32 = 1024;

/// The memory that programs and this process share.
pub(crate) struct Maps {
    /// For each processor, who runs there.
    processors: Map,
    /// The slot of each thread that is watched, by its number.
    slots: Map,
    /// What is known of each, by its slot.
    threads: Map,
    /// What is known of its calls, by slot and number.
    calls: Map,
    /// Slots that nobody has.
    free: Map,
    /// What is known of all.
    whole: Map,
}

/// Where the kernel's `task_struct` has what is read of it.
pub(crate) struct Fields {
    number: i32,
    minor: i32,
    major: i32,
}

/// Programs that count.
pub struct Kernel {
    maps: Maps,
    /// What each has counted that has a slot, and what the dead had.
    _attached: Vec<(Program, Attached)>,
    /// Tracepoints that this kernel has not.
    pub absent: Vec<&'static str>,
}

/// A thread, as the kernel's programs saw it: the words of [`layout::thread`], and those of [`layout::call`] by number of call.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    thread: Vec<u8>,
    /// By number of the system call.
    pub calls: Vec<(u32, [u64; call::SIZE / 8])>,
}

impl Seen {
    /// A number of 64 bits.
    pub fn word(&self, at: i16) -> u64 {
        self.thread
            .get(at as usize..)
            .and_then(|from| from.first_chunk())
            .map_or(0, |word| u64::from_ne_bytes(*word))
    }

    /// A number of 32 bits.
    pub fn half(&self, at: i16) -> u32 {
        self.thread
            .get(at as usize..)
            .and_then(|from| from.first_chunk())
            .map_or(0, |word| u32::from_ne_bytes(*word))
    }
}

impl Fields {
    fn found() -> Result<Fields, Missing> {
        let lacking = |reason: String| {
            Missing::new(
                "the kernel's description of its types",
                reason,
                "a kernel with CONFIG_DEBUG_INFO_BTF (Debian's have it)",
            )
        };
        let btf = Btf::of_the_kernel().map_err(|e| lacking(e.to_string()))?;
        let field = |name: &str| {
            let offset = btf.offset("task_struct", name).and_then(|offset| i32::try_from(offset).ok());
            offset.ok_or_else(|| lacking(format!("its tasks have no `{name}`")))
        };
        let fields = Fields { number: field("pid")?, minor: field("min_flt")?, major: field("maj_flt")? };
        if field("tgid")? != fields.number + 4 {
            return Err(lacking("a task's numbers do not stand side by side".into()));
        }
        Ok(fields)
    }
}

impl Maps {
    fn new() -> io::Result<Maps> {
        let maps = Maps {
            processors: Map::new(MapKind::ArrayOnEach, 4, processor::SIZE, 1)?,
            slots: Map::new(MapKind::Hash, 4, 4, SLOTS)?,
            threads: Map::new(MapKind::Array, 4, thread::SIZE, SLOTS)?,
            calls: Map::new(MapKind::Array, 4, call::SIZE, SLOTS * NUMBERS)?,
            free: Map::new(MapKind::Queue, 0, 4, SLOTS)?,
            whole: Map::new(MapKind::Array, 4, whole::SIZE, 1)?,
        };
        // The first slot is nobody's: it stands for none.
        (1..SLOTS).try_for_each(|slot| maps.free.set(&[], &slot.to_ne_bytes()))?;
        Ok(maps)
    }
}

impl Kernel {
    /// Programs that watch nobody yet. With `processes` the children of those who are watched are watched as well, else only their threads.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this process or kernel lacks.
    pub fn new(processes: bool) -> Result<Kernel> {
        const WHAT: &str = "programs at the kernel's tracepoints";
        let failed = |doing: &str, error: io::Error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Error::Missing(Missing::new(
                WHAT,
                format!("{doing}: {error}"),
                "run as root, or with CAP_BPF and CAP_PERFMON",
            )),
            _ => Error::system(format!("{WHAT}: {doing}"), error),
        };
        let fields = Fields::found().map_err(Error::Missing)?;
        let maps = Maps::new().map_err(|e| failed("making their memory", e))?;
        let programs = [
            ("sched_process_exit", lives::ends(&maps, &fields)),
            ("sched_process_exec", lives::becomes(&maps)),
            ("sched_process_fork", lives::begins(&maps, &fields, processes)),
            ("sched_switch", switches::switched(&maps, &fields)),
            ("sched_waking", switches::woken(&maps, &fields)),
            ("sys_exit", calls::ends(&maps)),
            ("sys_enter", calls::begins(&maps)),
            ("page_fault_user", moments::counted(&maps, thread::FAULTS)),
            ("signal_deliver", moments::counted(&maps, thread::SIGNALS)),
            ("io_uring_submit_req", moments::counted(&maps, thread::OPERATIONS)),
            ("irq_handler_entry", moments::counted(&maps, thread::INTERRUPTS)),
            ("local_timer_entry", moments::counted(&maps, thread::INTERRUPTS)),
            ("reschedule_entry", moments::counted(&maps, thread::INTERRUPTS)),
            ("call_function_entry", moments::counted(&maps, thread::INTERRUPTS)),
            ("call_function_single_entry", moments::counted(&maps, thread::INTERRUPTS)),
        ];
        let (mut attached, mut absent) = (Vec::new(), Vec::new());
        for (tracepoint, words) in programs {
            let program = Program::load(ProgramKind::RawTracepoint, &words)
                .map_err(|e| failed(&format!("the one for {tracepoint}"), e))?;
            match program.at_tracepoint(tracepoint) {
                Ok(link) => attached.push((program, link)),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => absent.push(tracepoint),
                Err(error) => return Err(failed(&format!("attaching to {tracepoint}"), error)),
            }
        }
        Ok(Kernel { maps, _attached: attached, absent })
    }

    /// Watches a thread from its next switch to a processor on.
    ///
    /// # Errors
    /// There is no slot left, or the kernel's.
    pub fn add(&self, number: u32, process: u32) -> Result<()> {
        let failed = |e: io::Error| Error::system(format!("watching thread {number}"), e);
        let Some(slot) = self.maps.free.take().map_err(failed)? else {
            return Err(Error::system(
                format!("watching thread {number}"),
                format!("{} are watched already", SLOTS - 1),
            ));
        };
        let mut known = vec![0u8; thread::SIZE];
        known[thread::NUMBER as usize..][..4].copy_from_slice(&number.to_ne_bytes());
        known[thread::PROCESS as usize..][..4].copy_from_slice(&process.to_ne_bytes());
        self.maps.threads.set(&slot, &known).map_err(failed)?;
        self.maps.slots.set(&number.to_ne_bytes(), &slot).map_err(failed)
    }

    /// Threads for which there was no slot.
    ///
    /// # Errors
    /// The kernel's.
    pub fn lost(&self) -> Result<u64> {
        let value = self
            .maps
            .whole
            .get(&[0; 4])
            .map_err(|e| Error::system("reading what the kernel's programs counted", e))?;
        Ok(self.maps.whole.summed(&value.unwrap_or_default()).iter().sum())
    }

    /// What is known of each thread that has a slot, and of those that have ended since this was asked last, whose slots are free from then on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn harvest(&self) -> Result<Vec<Seen>> {
        let failed = |e: io::Error| Error::system("reading what the kernel's programs counted", e);
        let mut seen = Vec::new();
        for slot in (1..SLOTS).map(u32::to_ne_bytes) {
            let known = self.maps.threads.get(&slot).map_err(failed)?.unwrap_or_default();
            let mut one = Seen { thread: known, calls: Vec::new() };
            if one.half(thread::NUMBER) == 0 {
                continue;
            }
            let is_gone = one.word(thread::GONE) != 0;
            self.calls_of(u32::from_ne_bytes(slot), is_gone, &mut one.calls).map_err(failed)?;
            if is_gone {
                self.maps.threads.set(&slot, &[0; thread::SIZE]).map_err(failed)?;
                self.maps.free.set(&[], &slot).map_err(failed)?;
            }
            seen.push(one);
        }
        Ok(seen)
    }

    /// What is known of the calls of a slot; with `clear` nothing is after that.
    fn calls_of(
        &self,
        slot: u32,
        clear: bool,
        calls: &mut Vec<(u32, [u64; call::SIZE / 8])>,
    ) -> io::Result<()> {
        for number in 0..NUMBERS {
            let key = (slot * NUMBERS + number).to_ne_bytes();
            let value = self.maps.calls.get(&key)?.unwrap_or_default();
            let words = self.maps.calls.summed(&value);
            let Ok(words) = <[u64; call::SIZE / 8]>::try_from(words) else { continue };
            if words != [0; call::SIZE / 8] {
                calls.push((number, words));
                if clear {
                    self.maps.calls.set(&key, &[0; call::SIZE])?;
                }
            }
        }
        Ok(())
    }
}
