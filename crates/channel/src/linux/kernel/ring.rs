//! The ring of a thread: opened as asked, and the driver of the thread's executor.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use io_uring::IoUring;
use tollway_core::{Clock, Error, Missing, Requirement, Result};
use tollway_host::clock::RunClock;
use tollway_host::requirement;

use super::memory::Arena;
use super::offers::Offer;
use super::provided::Pool;
use super::queue::Queue;
use super::{Counts, Kernel};
use crate::atomic::AtomicU64;
use crate::coroutine::{Driver, Rouser};
use crate::ring::Violation;
use crate::ring::bell::Bell;
use crate::wait::{Gone, Patience, Platform, Waiter};

/// What a ring has.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many operations there are at a time; others wait in line. At most [`MOST`](Options::MOST).
    pub operations: usize,
    /// How many entries the submission queue has, rounded up to a power of two; as many as operations if that is not said. More are submitted by more than
    /// one call.
    pub entries: Option<usize>,
    /// How many completions lie ready, rounded up to a power of two; twice the entries if that is not said. The kernel keeps more, but has to be asked for
    /// them.
    pub completions: Option<usize>,
    /// How many buffers there are.
    pub buffers: usize,
    /// How many bytes each of them has; rounded up to whole cache lines of 64.
    pub bytes: usize,
    /// Whether the buffers are registered: the kernel looks up and holds their pages once instead of at each read and write.
    pub registered: bool,
    /// How many files can be [registered](Kernel::register).
    pub files: usize,
    /// How many pieces there are of which the kernel chooses for what [arrives](Kernel::receiving), rounded up to a power of two; or none.
    pub pieces: usize,
    /// How many bytes each of them has.
    pub piece_bytes: usize,
    /// Have a thread of the kernel look for entries (IORING_SETUP_SQPOLL), which sleeps after so long in vain. It takes a processor meanwhile.
    pub polled: Option<Duration>,
    /// On which processor that thread runs (IORING_SETUP_SQ_AFF); where the scheduler likes if that is not said.
    pub polled_on: Option<u32>,
    /// How long to look before sleeping; if that is not said, what was measured ([`Patience::measured`]).
    pub patience: Option<Patience>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            operations: 256,
            entries: None,
            completions: None,
            buffers: 256,
            bytes: 4096,
            registered: false,
            files: 0,
            pieces: 0,
            piece_bytes: 4096,
            polled: None,
            polled_on: None,
            patience: None,
        }
    }
}

impl Options {
    /// The most operations at a time (io_uring_setup(2): 32768 entries).
    pub const MOST: usize = 1 << 15;
}

/// How long a closing ring waits for the kernel to be done.
const CLOSING: Duration = Duration::from_secs(10);

/// How often a closing ring asks again: what was just being done could not be given up.
const AGAIN: Duration = Duration::from_millis(50);

/// What brings the tasks of a thread the results of their operations. Dropped, it has the kernel give up what is on its way, and waits until it has, for ten
/// seconds; what the kernel should still have then is never given back.
pub struct Ring {
    kernel: Kernel,
    waiter: Waiter<Asleep>,
    bell: Arc<AtomicU64>,
}

impl core::fmt::Debug for Ring {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ring")
            .field("kernel", &self.kernel)
            .field("waits", &self.waiter.waits())
            .finish_non_exhaustive()
    }
}

/// Where the thread of a ring sleeps: in the kernel, until there are completions.
struct Asleep {
    clock: RunClock,
    kernel: Kernel,
}

impl Platform for Asleep {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn relax(&self) {
        std::hint::spin_loop();
    }

    fn give_way(&self) {
        std::thread::yield_now();
    }

    fn sleep(&self, _: &AtomicU64) -> Result<(), Gone> {
        self.kernel.sleeps(|queue| queue.arms_roused())
    }

    fn wake(&self, _: &AtomicU64) {
        super::queue::rouses(&self.kernel.0.borrow().roused());
    }
}

impl Ring {
    /// Opens a ring for this thread.
    ///
    /// # Errors
    /// [`Error::Input`] if there can be no such ring, or it needs more locked memory than is allowed; [`Error::Missing`] if this kernel has, or
    /// allows, no io_uring; [`Error::System`] if it refuses.
    pub fn open(options: &Options) -> Result<Ring> {
        let bytes = checked(options)?;
        requirement::check(&Requirement::IoUring).map_err(Error::Missing)?;
        let ring = built(options)?;
        if !ring.params().is_feature_nodrop() || !ring.params().is_feature_submit_stable() {
            return Err(Error::Missing(Missing::new(
                "an io_uring that loses nothing",
                "this kernel drops completions for which there is no room",
                "use Linux 5.5 or later",
            )));
        }
        Offer::Plain.check(&ring).map_err(Error::Missing)?;
        let arena = Rc::new(Arena::new(options.buffers, bytes)?);
        let mut queue = Queue::new(ring, options.operations, arena)?;
        registers(&mut queue, options)?;
        let kernel = Kernel(Rc::new(RefCell::new(queue)));
        let patience = options.patience.unwrap_or_else(Patience::measured);
        let asleep = Asleep { clock: RunClock::chosen(), kernel: kernel.clone() };
        Ok(Ring { kernel, waiter: Waiter::new(asleep, patience), bell: Arc::default() })
    }

    /// By what tasks ask.
    pub fn kernel(&self) -> Kernel {
        self.kernel.clone()
    }

    /// What wakes this thread when it waits: for [`Executor::new`](crate::coroutine::Executor::new).
    pub fn rouser(&self) -> Rouser {
        let (bell, roused) = (self.bell.clone(), self.kernel.0.borrow().roused());
        Box::new(move || {
            if Bell(&bell).answer() {
                super::queue::rouses(&roused);
            }
        })
    }

    /// The word by which this thread says to others of its process that it sleeps.
    pub(super) fn bell(&self) -> Arc<AtomicU64> {
        self.bell.clone()
    }

    /// Whether this kernel has that; by what else it could be had.
    ///
    /// # Errors
    /// [`Missing`] if it has not.
    pub fn offers(&self, offer: Offer) -> Result<(), Missing> {
        offer.check(self.kernel.0.borrow().ring())
    }

    /// Has the kernel's threads that do for this thread what would keep it waiting run on that processor (IORING_REGISTER_IOWQ_AFF, Linux 5.14;
    /// io_uring_register(2)). Without this they run where the scheduler likes.
    ///
    /// # Errors
    /// [`Error::Input`] if there can be no processor of that number; [`Error::System`] if the kernel refuses.
    pub fn works_on(&self, processor: u32) -> Result<()> {
        if processor >= libc::CPU_SETSIZE as u32 {
            return Err(Error::Input {
                place: format!("processor {processor}"),
                reason: "the kernel's call knows none of that number".into(),
                remedy: format!("take one below {}", libc::CPU_SETSIZE),
            });
        }
        // SAFETY: a set of processors is bits, of which none may be set.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: the set has a bit of that number, as was checked.
        unsafe { libc::CPU_SET(processor as usize, &mut set) };
        let queue = self.kernel.0.borrow();
        if !queue.is_own() {
            return Err(Error::system("having io_uring's threads run on a processor", super::forked()));
        }
        queue
            .ring()
            .submitter()
            .register_iowq_aff(&set)
            .map_err(|e| Error::system(format!("having io_uring's threads run on processor {processor}"), e))
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        Counts { waits: self.waiter.waits(), ..self.kernel.counts() }
    }

    /// Has the kernel give up everything, and waits for that; whether it has.
    fn closes(&self) -> bool {
        let queue = &self.kernel.0;
        if !queue.borrow().is_own() {
            return false;
        }
        self.kernel.stops(libc::ECANCELED);
        let begun = Instant::now();
        while queue.borrow_mut().cancels() {
            let asked = Instant::now();
            while queue.borrow().is_busy() && asked.elapsed() < AGAIN {
                if queue.borrow_mut().submits_for(AGAIN).is_err() {
                    return false;
                }
                self.kernel.takes();
            }
            if begun.elapsed() > CLOSING {
                return !queue.borrow().is_busy();
            }
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.kernel.0.try_borrow_mut().is_err() || !self.closes() {
            // What the kernel may still write to is never given back.
            mem::forget(self.kernel.0.clone());
        }
    }
}

impl Kernel {
    /// Submits, and takes what has come; whether that was anything.
    pub(super) fn turns(&self) -> bool {
        let submitted = self.0.borrow_mut().submit(false);
        if let Err(error) = submitted {
            self.stops(error.raw_os_error().unwrap_or(libc::EIO));
        }
        self.takes()
    }

    /// Takes what has come.
    fn takes(&self) -> bool {
        let mut any = false;
        loop {
            let taken = self.0.borrow_mut().take();
            let Some((is_awaited, after)) = taken else { return any };
            after.settle();
            any |= is_awaited;
        }
    }

    /// Whether something can be taken.
    pub(super) fn has_some(&self) -> bool {
        self.0.borrow_mut().has_some()
    }

    /// Submits, and sleeps until something has come; before, `arms` says what else is to wake this thread.
    pub(super) fn sleeps(&self, arms: impl FnOnce(&mut Queue)) -> Result<(), Gone> {
        let slept = {
            let mut queue = self.0.borrow_mut();
            if queue.stopped().is_some() {
                return Err(Gone);
            }
            arms(&mut queue);
            queue.submit(true)
        };
        slept.map_err(|error| {
            self.stops(error.raw_os_error().unwrap_or(libc::EIO));
            Gone
        })
    }

    /// Nothing is submitted any more: everybody is told.
    fn stops(&self, errno: i32) {
        let wakers = self.0.borrow_mut().stops(errno);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Driver for Ring {
    fn turn(&mut self) -> Result<bool, Violation> {
        Ok(self.kernel.turns())
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        self.waiter.wait(Bell(&self.bell), || self.kernel.has_some() || is_ready())
    }
}

/// Bytes of each buffer, if such a ring can be.
fn checked(options: &Options) -> Result<usize> {
    let within = |what: &str, value: usize, most: usize| {
        if (1..=most).contains(&value) {
            return Ok(());
        }
        Err(Error::Input {
            place: format!("an io_uring of {value} {what}"),
            reason: "there is none of that size".into(),
            remedy: format!("ask for 1 to {most}"),
        })
    };
    within("operations", options.operations, Options::MOST)?;
    within("entries", options.entries.unwrap_or(1), Options::MOST)?;
    // io_uring_setup(2), IORING_SETUP_CQSIZE: twice as many completions as entries.
    within("completions", options.completions.unwrap_or(1), 2 * Options::MOST)?;
    within("buffers", options.buffers.max(1), 1 << 20)?;
    within("bytes in a buffer", options.bytes, 1 << 30)?;
    within("pieces", options.pieces.max(1), Pool::MOST)?;
    within("bytes in a piece", options.piece_bytes, 1 << 30)?;
    let bytes = options.bytes.next_multiple_of(64);
    if options.registered && options.buffers * bytes > 1 << 30 {
        return Err(Error::Input {
            place: format!("{} registered buffers of {bytes} bytes", options.buffers),
            reason: "the kernel registers no more than 1 GiB at once (io_uring_register(2))".into(),
            remedy: "ask for fewer or shorter buffers".into(),
        });
    }
    Ok(bytes)
}

/// The ring by the cheapest of the ways that this kernel has to tell a thread of completions.
fn built(options: &Options) -> Result<IoUring> {
    let entries = options.entries.unwrap_or(options.operations) as u32;
    let mut refused = None;
    // Linux 6.1: work is done when this thread asks for it. Linux 5.19: when it enters the kernel anyway. Else it is interrupted.
    for way in 0..3 {
        let mut builder = IoUring::builder();
        builder.dontfork();
        if let Some(idle) = options.polled {
            builder.setup_sqpoll(u32::try_from(idle.as_millis()).unwrap_or(u32::MAX).max(1));
            options.polled_on.map(|processor| builder.setup_sqpoll_cpu(processor));
        } else if way == 0 {
            builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        } else if way == 1 {
            builder.setup_coop_taskrun().setup_taskrun_flag();
        }
        if let Some(completions) = options.completions {
            builder.setup_cqsize((completions as u32).max(entries));
        }
        match builder.build(entries) {
            Ok(ring) => return Ok(ring),
            Err(error) => {
                let is_final = error.raw_os_error() != Some(libc::EINVAL);
                refused = Some(error);
                if is_final {
                    break;
                }
            }
        }
    }
    let error = refused.unwrap_or_else(std::io::Error::last_os_error);
    Err(match error.raw_os_error() {
        Some(libc::ENOMEM) => too_much(format!("an io_uring of {entries} entries")),
        _ => Error::system("opening an io_uring", error),
    })
}

fn too_much(place: String) -> Error {
    Error::Input {
        place,
        reason: "that is more locked memory than this process may have (RLIMIT_MEMLOCK)".into(),
        remedy: "raise the limit (ulimit -l), or ask for fewer or shorter buffers".into(),
    }
}

/// What the kernel is to know of beforehand.
fn registers(queue: &mut Queue, options: &Options) -> Result<()> {
    let refused = |what: &str, error: std::io::Error| match error.raw_os_error() {
        Some(libc::ENOMEM) => too_much(what.into()),
        _ => Error::system(format!("registering {what} with io_uring"), error),
    };
    if options.registered && options.buffers > 0 {
        let whole = queue.arena.whole();
        // SAFETY: the arena's mapping, which lives as long as the ring has operations.
        let registered = unsafe { queue.ring().submitter().register_buffers(&[whole]) };
        registered.map_err(|error| refused("buffers", error))?;
        queue.arena.is_registered.set(true);
    }
    if options.files > 0 {
        let none = vec![-1; options.files];
        queue.ring().submitter().register_files(&none).map_err(|error| match error.raw_os_error() {
            Some(libc::EMFILE) => Error::Input {
                place: format!("a table of {} files", options.files),
                reason: "that is more files than this process may open (RLIMIT_NOFILE)".into(),
                remedy: "raise the limit (ulimit -n), or ask for a shorter table".into(),
            },
            _ => refused("files", error),
        })?;
        queue.files = (0..options.files as u32).rev().collect();
    }
    if options.pieces > 0 {
        let pool = Rc::new(Pool::new(options.pieces.next_power_of_two(), options.piece_bytes)?);
        pool.register(queue.ring()).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => Error::Missing(Missing::new(
                "pieces of memory of which the kernel chooses",
                format!("it does not know them: {error}"),
                "use Linux 5.19 or later, or receive into buffers",
            )),
            _ => refused("pieces", error),
        })?;
        queue.pool = Some(pool);
    }
    Ok(())
}
