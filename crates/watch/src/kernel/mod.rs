//! What runs in the kernel: a program at each tracepoint that tells of a crossing, and the memory in which they count.
//!
//! Each processor remembers whom it found last, so that a system call of anybody else costs a look-up in an array. Each thread that is watched has a slot, in which only programs on its own processor write: nothing is locked and nothing is lost. A child gets a slot from a queue of free
//! ones; [`Kernel::harvest`] hands those of the dead back.
//!
//! Two sets of programs: those of lives (a thread begins, ends, becomes another program, is freed) are attached as long as this is; those
//! that count, from [`Kernel::begin`] to [`Kernel::pause`]. In between it may be counted how often each call is begun, and nothing else
//! (`begin_numbers`): by the same program, so that no call is in neither count and none in both.

mod budget;
mod calls;
mod cost;
mod extrapolation;
mod fields;
mod files;
mod harvest;
mod kind;
pub mod layout;
mod lives;
mod maps;
mod namespace;
mod own;
mod refused;
mod room;
mod runs;
mod switches;
mod taken;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollway_bpf::{Attached, Link, Program, ProgramKind};
use tollway_core::{Error, Missing, Result};

use fields::{Fields, described};
use layout::{call, key, numbered, thread, whole, word};
use maps::{Maps, SLOTS};
use namespace::Namespace;

use crate::numbers;

pub use cost::Cost;
pub use harvest::Seen;
pub use own::{Own, Slot, Totals};
pub use watch::Watch;

/// As long as it takes at the most until a program at a switch is over.
const LEAVES: Duration = Duration::from_millis(1);
/// A thread that ended so long ago has left its processor, even if nobody saw that.
const LAST_SWITCH: Duration = Duration::from_secs(1);

/// How long a process that another thread has begun may take to become another program.
const BECOMES: Duration = Duration::from_secs(30);
const ASKED: Duration = Duration::from_micros(200);

/// Where a processor goes from one thread to another.
const SWITCHES: &str = "sched_switch";

const WHAT: &str = "programs at the kernel's tracepoints";

/// What is kept of each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// By number and file, and the totals.
    Files,
    /// The thread's totals alone: cheaper for who is watched.
    Totals,
}

/// Where a tracepoint is. To attach a program and to detach it stops every other processor for moments: in a guest of KVM (AMD EPYC,
/// Linux 6.18) by 50 µs each, 1.4 ms of a thread's time in all for the thirteen of a slice. What is passed seldom therefore stays attached
/// between slices, at some 30 ns each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passed {
    /// It is passed some thousand times a second at the most.
    Seldom,
    /// At switches, page faults and the like: as often as these are.
    Switches,
    /// Where calls begin.
    Begins,
    /// Where they end.
    Ends,
}

/// Programs that count.
pub struct Kernel {
    maps: Maps,
    namespace: Namespace,
    lives: Vec<(Program, Attached)>,
    programs: Vec<(&'static str, Passed, Program)>,
    /// Those that are attached, by their places.
    counting: BTreeMap<usize, Attached>,
    /// Calls that were under way when everything was counted no more, but their numbers: by slot and number.
    carried: Mutex<BTreeMap<(u32, u32), u64>>,
    /// What kept those attached that counted before.
    before: Vec<Link>,
    /// When it was last counted no more (CLOCK_MONOTONIC, nanoseconds).
    held_at: u64,
    /// Tracepoints that this kernel has not.
    pub absent: Vec<&'static str>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("absent", &self.absent).finish_non_exhaustive()
    }
}

impl Kernel {
    /// Programs that watch nobody yet, and do not count. With `processes` the children of those who are watched are watched as well, else only their threads.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this process or kernel lacks.
    pub fn new(processes: bool) -> Result<Kernel> {
        Kernel::with(processes, Detail::Files)
    }

    /// The same, with so much detail.
    ///
    /// # Errors
    /// As [`new`](Kernel::new).
    pub fn with(processes: bool, detail: Detail) -> Result<Kernel> {
        let btf = described().map_err(Error::Missing)?;
        let fields = Fields::found(&btf).map_err(Error::Missing)?;
        let namespace = Namespace::own(&btf, &fields)?;
        let maps = Maps::new(detail).map_err(|e| failed("making their memory", e))?;
        let lives = [
            ("sched_process_free", lives::freed(&maps, &fields)),
            ("sched_process_exit", lives::ends(&maps, &fields)),
            ("sched_process_exec", lives::becomes(&maps, &fields)),
            ("task_newtask", lives::begins(&maps, &fields, &namespace, processes)),
        ];
        let count = |place| runs::counted(&maps, place);
        let counting = [
            ("page_fault_user", Passed::Switches, runs::faulted(&maps)),
            ("signal_deliver", Passed::Seldom, count(thread::SIGNALS)),
            ("io_uring_submit_req", Passed::Switches, count(thread::OPERATIONS)),
            ("kvm_exit", Passed::Switches, count(thread::EXITS)),
            ("irq_handler_entry", Passed::Seldom, count(thread::INTERRUPTS)),
            ("local_timer_entry", Passed::Seldom, count(thread::TICKS)),
            ("reschedule_entry", Passed::Seldom, count(thread::INTERRUPTS)),
            ("call_function_entry", Passed::Seldom, count(thread::INTERRUPTS)),
            ("call_function_single_entry", Passed::Seldom, count(thread::INTERRUPTS)),
            (SWITCHES, Passed::Switches, switches::switched(&maps, &fields)),
            ("sched_waking", Passed::Switches, switches::woken(&maps, &fields)),
            ("sys_exit", Passed::Ends, calls::ends(&maps, &fields, detail)),
            ("sys_enter", Passed::Begins, calls::begins(&maps, &fields, detail)),
        ];
        let load = |name: &'static str, words: &[u64]| {
            let program = Program::load(ProgramKind::RawTracepoint, words);
            program.map(|program| (name, program)).map_err(|e| failed(&format!("the one for {name}"), e))
        };
        let lives = lives.iter().map(|(name, words)| load(name, words)).collect::<Result<Vec<_>>>()?;
        let programs =
            counting.iter().map(|(name, passed, words)| Ok((*name, *passed, load(name, words)?.1)));
        let programs = programs.collect::<Result<Vec<_>>>()?;
        let attached = lives.into_iter().map(|(name, program)| {
            let link = program.at_tracepoint(name).map_err(|e| failed(&format!("attaching to {name}"), e))?;
            Ok((program, link))
        });
        let lives = attached.collect::<Result<Vec<_>>>()?;
        Ok(Kernel {
            maps,
            namespace,
            lives,
            programs,
            counting: BTreeMap::new(),
            carried: Mutex::default(),
            before: Vec::new(),
            held_at: 0,
            absent: Vec::new(),
        })
    }

    /// Begins to count everything, or goes on with it. What was under way is counted when it ends, and is not timed.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(&mut self) -> Result<()> {
        if self.counts(whole::EVERYTHING) {
            return Ok(());
        }
        self.bury()?;
        for slot in self.taken() {
            let of_a_stretch = [thread::ENTERED, thread::OUT, thread::WOKEN_BY, thread::LAST, thread::OPENS];
            for place in of_a_stretch {
                self.maps.threads.set(slot, word(place), 0);
            }
        }
        if !self.counts(whole::NUMBERS) || !self.sees_switches() {
            self.forget_runs();
        }
        self.maps.forget_idle();
        self.attach(|_| true)?;
        self.maps.whole.set(0, word(whole::SINCE), monotonic());
        self.maps.whole.set(0, word(whole::COUNTING), whole::EVERYTHING);
        Ok(())
    }

    /// Attaches what counts there and is not attached yet.
    fn attach(&mut self, is_asked: impl Fn(Passed) -> bool) -> Result<()> {
        self.look_again()?;
        self.wait_for_those_before()?;
        self.absent.clear();
        for (place, (name, passed, program)) in self.programs.iter().enumerate() {
            if self.counting.contains_key(&place) || !is_asked(*passed) {
                continue;
            }
            match program.at_tracepoint(name) {
                Ok(link) => drop(self.counting.insert(place, link)),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => self.absent.push(name),
                Err(error) => {
                    self.counting.clear();
                    return Err(failed(&format!("attaching to {name}"), error));
                }
            }
        }
        Ok(())
    }

    /// Counts from now on how often each call is begun, and nothing else, where nothing was counted up to now.
    ///
    /// # Errors
    /// The kernel's.
    fn resume_numbers(&mut self) -> Result<()> {
        self.bury()?;
        self.forget_runs();
        self.attach(|passed| matches!(passed, Passed::Switches | Passed::Begins))?;
        self.maps.whole.set(0, word(whole::SINCE), monotonic());
        self.maps.whole.set(0, word(whole::COUNTING), whole::NUMBERS);
        Ok(())
    }

    /// Counts from now on how often each call is begun, and nothing else, where everything was counted up to now: what is not for that is
    /// detached, or is kept. A call that is under way is counted with these: it ends where nobody sees it.
    fn begin_numbers(&mut self, keep: &[Passed]) {
        if !self.counts(whole::EVERYTHING) {
            return;
        }
        self.maps.whole.set(0, word(whole::COUNTING), whole::NUMBERS);
        self.held_at = monotonic();
        self.end_runs(thread::RAN_COUNTED);
        self.detach(&[keep, &[Passed::Begins]].concat());
        if !self.sees_switches() {
            self.forget_runs();
        }
        // Programs that were at it at that moment are over.
        sleep(LEAVES);
        let word_of = |slot, what| self.maps.threads.get(slot, word(what));
        for slot in self.taken() {
            let call = (word_of(slot, thread::CALL) as u32).min(numbered::OTHERS);
            let is_under_way = word_of(slot, thread::ENTERED) != 0 && word_of(slot, thread::DIED) == 0;
            // A thread's last call is counted when it ends.
            if is_under_way && !numbers::is_last(call) {
                *self.carried().entry((slot, call)).or_default() += 1;
            }
        }
    }

    /// A process that another thread of this one begins has all its descriptors until it becomes another program: what is counted would be counted twice as long as that
    /// holds what was attached before.
    fn wait_for_those_before(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.before.iter().any(|link| link.is_held()) {
            if begun.elapsed() > BECOMES {
                return Err(Error::system(
                    format!("{WHAT}: attaching them"),
                    "a child of this process has descriptors of it that it does not close",
                ));
            }
            sleep(ASKED);
        }
        self.before.clear();
        Ok(())
    }

    /// Counts no more, until it [`begin`](Kernel::begin)s again.
    pub fn pause(&mut self) {
        self.rest(&[]);
    }

    /// The same for a while: what is passed there stays attached.
    fn rest(&mut self, keep: &[Passed]) {
        let was_everything = self.counts(whole::EVERYTHING);
        self.maps.whole.set(0, word(whole::COUNTING), whole::NOTHING);
        self.held_at = monotonic();
        self.detach(keep);
        self.end_runs(if was_everything { thread::RAN_COUNTED } else { thread::RAN_NUMBERED });
        self.forget_runs();
    }

    fn counts(&self, what: u64) -> bool {
        self.maps.whole.get(0, word(whole::COUNTING)) == what
    }

    fn carried(&self) -> MutexGuard<'_, BTreeMap<(u32, u32), u64>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Detaches what counts, but for what is passed there.
    fn detach(&mut self, keep: &[Passed]) {
        // What tells of calls first: these are the dearest.
        for (place, (_, passed, _)) in self.programs.iter().enumerate().rev() {
            if !keep.contains(passed)
                && let Some(attached) = self.counting.remove(&place)
            {
                self.before.extend(attached.link());
            }
        }
    }

    /// Whether it is known of each moment who runs.
    fn sees_switches(&self) -> bool {
        let mut attached = self.counting.keys().filter_map(|place| self.programs.get(*place));
        attached.any(|(name, ..)| *name == SWITCHES)
    }

    /// Runs that go on are counted up to [`held_at`](Kernel::held_at), with those of this place. A stretch begins then.
    fn end_runs(&self, place: i16) {
        for slot in self.taken() {
            let run = self.run_until(self.held_at, self.maps.threads.get(slot, word(thread::RUNNING_SINCE)));
            let counted = self.maps.threads.get(slot, word(place));
            self.maps.threads.set(slot, word(place), counted + run);
        }
        self.maps.whole.set(0, word(whole::SINCE), self.held_at);
    }

    /// It is not known any more who runs.
    fn forget_runs(&self) {
        self.taken().for_each(|slot| self.maps.threads.set(slot, word(thread::RUNNING_SINCE), 0));
    }

    /// How long of the present stretch of counting a thread runs that does so since then: 0 is that it does not.
    fn run_until(&self, now: u64, since: u64) -> u64 {
        let begun = self.maps.whole.get(0, word(whole::SINCE));
        if since == 0 { 0 } else { now.saturating_sub(since.max(begun)) }
    }

    fn run_of(&self, seen: &Seen) -> u64 {
        self.run_until(monotonic(), seen.word(thread::RUNNING_SINCE))
    }

    /// How long a thread ran while everything was counted.
    fn ran_counted(&self, seen: &Seen) -> Duration {
        let counts = self.counts(whole::EVERYTHING);
        Duration::from_nanos(seen.word(thread::RAN_COUNTED) + if counts { self.run_of(seen) } else { 0 })
    }

    /// The same while calls were counted by their numbers.
    fn ran_numbered(&self, seen: &Seen) -> Duration {
        let counts = self.counts(whole::NUMBERS);
        Duration::from_nanos(seen.word(thread::RAN_NUMBERED) + if counts { self.run_of(seen) } else { 0 })
    }

    /// Watches a thread, by its number and its process' number as this process has them. Where it runs at
    /// this moment, [`look_again`](Kernel::look_again) has it seen at once, else it is from its next switch
    /// on.
    ///
    /// # Errors
    /// There is no slot left, there is no such thread, or the kernel's.
    pub fn add(&self, number: u32, process: u32) -> Result<()> {
        match self.add_all(&[(number, process)])?.as_slice() {
            [None] => Err(Error::system(format!("watching thread {number}"), "there is none of that number")),
            _ => Ok(()),
        }
    }

    /// Watches several threads; those that are watched already stay so. The slot of each, or `None` where it
    /// is no more.
    ///
    /// # Errors
    /// There is no slot left, or the kernel's.
    fn add_all(&self, threads: &[(u32, u32)]) -> Result<Vec<Option<u32>>> {
        let global = self.namespace.global(threads);
        let global = global.map_err(|e| failed("asking for the kernel's numbers of threads", e))?;
        let add = |numbers: &(u32, u32)| global.get(&numbers.0).map(|global| self.take(*numbers, *global));
        threads.iter().map(|numbers| add(numbers).transpose()).collect()
    }

    /// The slot of a thread, by its numbers as this process has them and as the kernel does.
    fn take(&self, here: (u32, u32), global: (u32, u32)) -> Result<u32> {
        let failed = |e: io::Error| Error::system(format!("watching thread {}", here.0), e);
        if let Some(slot) = self.maps.slots.get(&global.0.to_ne_bytes()).map_err(failed)? {
            return Ok(row(&slot));
        }
        let Some(slot) = self.maps.free.take().map_err(failed)? else {
            let reason = format!("{} are watched already", SLOTS - 1);
            return Err(Error::system(format!("watching thread {}", here.0), reason));
        };
        let both = |(number, process): (u32, u32)| u64::from(number) | u64::from(process) << 32;
        self.maps.threads.set(row(&slot), word(thread::GLOBAL), both(global));
        self.maps.threads.set(row(&slot), word(thread::NUMBER), both(here));
        self.maps.slots.set(&global.0.to_ne_bytes(), &slot).map_err(failed)?;
        Ok(row(&slot))
    }

    /// The slot of a thread that is watched and lives, by its number as this process has it.
    fn slot_of(&self, number: u32) -> io::Result<Option<u32>> {
        if self.namespace.is_first() {
            return Ok(self.maps.slots.get(&number.to_ne_bytes())?.map(|slot| row(&slot)));
        }
        let lives = |slot: &u32| self.maps.threads.get(*slot, word(thread::DIED)) == 0;
        Ok(self.taken().filter(lives).find(|slot| self.maps.number(*slot).0 == number))
    }

    /// Counts one call of a thread that is watched and stands still, on no file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn count_one(&self, number: u32, call: u16) -> Result<()> {
        let failed = |e: io::Error| Error::system(format!("counting a call of thread {number}"), e);
        let Some(slot) = self.slot_of(number).map_err(failed)? else { return Ok(()) };
        let (mut key, mut value) = ([0; key::SIZE], [0; call::SIZE]);
        key[key::SLOT as usize..][..4].copy_from_slice(&slot.to_ne_bytes());
        key[key::NUMBER as usize..][..2].copy_from_slice(&call.to_ne_bytes());
        value[call::COUNT as usize] = 1;
        self.maps.calls.set(&key, &value).map_err(failed)
    }

    /// Watches a thread no more; what is known of it is dropped.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, number: u32) -> Result<()> {
        let failed = |e: io::Error| Error::system(format!("watching thread {number} no more"), e);
        let Some(slot) = self.slot_of(number).map_err(failed)? else { return Ok(()) };
        self.maps.slots.remove(&self.maps.global(slot).0.to_ne_bytes()).map_err(failed)?;
        self.maps.threads.set(slot, word(thread::GONE), 1);
        self.look_again()
    }

    /// Whether the processor time of all that have ended is known to their last moment.
    fn is_settled(&self) -> bool {
        let has = |slot, what| self.maps.threads.get(slot, word(what)) != 0;
        self.taken().all(|slot| !has(slot, thread::DIED) || has(slot, thread::LEFT))
    }

    /// The processes that are watched, by their numbers as this process has them.
    pub fn processes(&self) -> BTreeSet<u32> {
        let alive = self.taken().filter(|slot| self.maps.threads.get(*slot, word(thread::DIED)) == 0);
        alive.map(|slot| self.maps.number(slot).1).collect()
    }

    /// Slots that threads have.
    fn taken(&self) -> impl Iterator<Item = u32> {
        (1..SLOTS).filter(|slot| self.maps.threads.get(*slot, word(thread::NUMBER)) != 0)
    }

    /// Who has left its processor for ever is gone.
    fn bury(&self) -> Result<()> {
        let failed = |e: io::Error| failed("taking back the slots of the dead", e);
        let now = monotonic();
        let is = |slot, what, ago: Duration| {
            let when = self.maps.threads.get(slot, word(what));
            when != 0 && when <= now.saturating_sub(ago.as_nanos() as u64)
        };
        // Who has just left: the program at its last switch may be at it.
        let just = if self.counts(whole::EVERYTHING) { LEAVES } else { Duration::ZERO };
        for slot in self.taken() {
            if !is(slot, thread::LEFT, just) && !is(slot, thread::DIED, LAST_SWITCH) {
                continue;
            }
            let number = self.maps.global(slot).0.to_ne_bytes();
            if self.maps.slots.get(&number).map_err(failed)? == Some(slot.to_ne_bytes().to_vec()) {
                self.maps.slots.remove(&number).map_err(failed)?;
            }
            self.maps.threads.set(slot, word(thread::GONE), 1);
        }
        Ok(())
    }

    /// Has every processor ask anew who runs there.
    ///
    /// # Errors
    /// The kernel's.
    pub fn look_again(&self) -> Result<()> {
        self.maps.forget().map_err(|e| failed("forgetting who ran", e))
    }

    /// Threads, and calls, for which there was no room, and events at which the kernel did not run a program: they are in no count.
    ///
    /// # Errors
    /// The kernel's.
    pub fn lost(&self) -> Result<u64> {
        let programs = self
            .lives
            .iter()
            .map(|(program, _)| program)
            .chain(self.programs.iter().map(|(_, _, program)| program));
        let missed = programs.map(Program::missed).sum::<io::Result<u64>>();
        let missed = missed.map_err(|e| failed("asking what they missed", e))?;
        let no_room = |what| self.maps.whole.get(0, word(what));
        Ok(missed + no_room(whole::THREADS_LOST) + no_room(whole::CALLS_LOST))
    }
}

/// The clock that the programs read, in nanoseconds.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The number of a slot, of what a map has of it.
fn row(slot: &[u8]) -> u32 {
    slot.first_chunk().map_or(0, |slot| u32::from_ne_bytes(*slot))
}

fn failed(doing: &str, error: io::Error) -> Error {
    // Of what the verifier refused there is a kind and no number: its words are in the place of that.
    let remedy = match (error.raw_os_error(), error.kind()) {
        (Some(libc::EPERM | libc::EACCES), _) | (None, io::ErrorKind::PermissionDenied) => refused::remedy(),
        // EOPNOTSUPP is ENOTSUP on Linux.
        (Some(libc::ENOSYS | libc::EOPNOTSUPP), _) | (None, io::ErrorKind::Unsupported) => {
            "have the container's seccomp profile allow bpf, or run outside of it; the kernel needs CONFIG_BPF_SYSCALL"
                .into()
        }
        _ => return Error::system(format!("{WHAT}: {doing}"), error),
    };
    Error::Missing(Missing::new(WHAT, format!("{doing}: {error}"), remedy))
}
