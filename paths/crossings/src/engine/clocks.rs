//! The kernel's clocks, read through the vDSO and by a system call.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use libc::{clockid_t, timespec};
use tollway_core::{Error, Missing, Params, Place, Result};

use super::Operation;

/// How the clock is asked.
pub trait Way: Send + 'static {
    /// What `clock_gettime` returns.
    fn ask(clock: clockid_t, time: &mut timespec) -> i32;
}

/// Through the C library, which calls the kernel's code in the vDSO.
pub struct Vdso;

/// By a system call, past the vDSO.
pub struct SystemCall;

impl Way for Vdso {
    #[inline(always)]
    fn ask(clock: clockid_t, time: &mut timespec) -> i32 {
        // SAFETY: it writes one `timespec`, which is borrowed exclusively.
        unsafe { libc::clock_gettime(clock, time) }
    }
}

impl Way for SystemCall {
    #[inline(always)]
    fn ask(clock: clockid_t, time: &mut timespec) -> i32 {
        // SAFETY: it writes one `timespec`, which is borrowed exclusively.
        unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time as *mut timespec) as i32 }
    }
}

/// The clocks by name.
pub const KINDS: [(&str, clockid_t); 11] = [
    ("realtime", libc::CLOCK_REALTIME),
    ("monotonic", libc::CLOCK_MONOTONIC),
    ("realtime-coarse", libc::CLOCK_REALTIME_COARSE),
    ("monotonic-coarse", libc::CLOCK_MONOTONIC_COARSE),
    ("monotonic-raw", libc::CLOCK_MONOTONIC_RAW),
    ("boottime", libc::CLOCK_BOOTTIME),
    ("tai", libc::CLOCK_TAI),
    ("process-cputime", libc::CLOCK_PROCESS_CPUTIME_ID),
    ("thread-cputime", libc::CLOCK_THREAD_CPUTIME_ID),
    ("realtime-alarm", libc::CLOCK_REALTIME_ALARM),
    ("boottime-alarm", libc::CLOCK_BOOTTIME_ALARM),
];

/// How far a clock that shows the time may be from another: a coarse one's step (10 ms at 100 Hz) and a different rate for a while.
const SLACK: Duration = Duration::from_millis(25);

/// One reading of the clock `kind`, compared with the one before.
pub struct ClockRead<W> {
    clock: clockid_t,
    /// It counts the time that passes, not the processor's time.
    wall: bool,
    last: timespec,
    wrong: u64,
    /// What it showed at first, and the moments before and after it was asked.
    begun: (Duration, [Instant; 2]),
    way: PhantomData<W>,
}

impl<W: Way> Operation for ClockRead<W> {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let kind = params.word("kind")?;
        let clock =
            KINDS.iter().find(|(name, _)| *name == kind).map(|(_, id)| *id).ok_or_else(|| Error::Input {
                place: "axis `kind`".into(),
                reason: format!("`{kind}` is no clock"),
                remedy: format!("it takes one of: {}", KINDS.map(|(name, _)| name).join(", ")),
            })?;
        let mut last = timespec { tv_sec: 0, tv_nsec: 0 };
        let before = Instant::now();
        if W::ask(clock, &mut last) != 0 {
            let error = std::io::Error::last_os_error();
            if kind.ends_with("-alarm")
                && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
            {
                // timerfd_create(2): the alarm clocks need hardware that wakes the machine.
                return Err(Error::Missing(Missing::new(
                    format!("the clock {kind}"),
                    format!("the kernel does not read it: {error}"),
                    "run on a machine with a real-time clock that can wake it",
                )));
            }
            return Err(Error::system(format!("reading the clock {kind}"), error));
        }
        let begun = (length(last), [before, Instant::now()]);
        Ok(ClockRead { clock, wall: !kind.ends_with("cputime"), last, wrong: 0, begun, way: PhantomData })
    }

    #[inline]
    fn once(&mut self) {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        let failed = W::ask(self.clock, &mut now) != 0;
        let backwards = (now.tv_sec, now.tv_nsec) < (self.last.tv_sec, self.last.tv_nsec);
        self.wrong += u64::from(failed | backwards);
        self.last = now;
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        if self.wrong > 0 {
            return Err(Error::Wrong(format!("{} of {done} readings failed or went backwards", self.wrong)));
        }
        let before = Instant::now();
        self.once();
        let after = Instant::now();
        let shown = length(self.last).saturating_sub(self.begun.0);
        let [first, second] = self.begun.1;
        // Another thread may have the processor between a reading and the one it is held against.
        let (least, most) = (before - second, after - first);
        if self.wall && (shown + SLACK < least || shown > most + SLACK) {
            return Err(Error::Wrong(format!("it went on by {shown:?} while {least:?} to {most:?} passed")));
        }
        if !self.wall && shown.is_zero() {
            return Err(Error::Wrong(format!("{least:?} of work cost no processor time")));
        }
        Ok(())
    }
}

/// The time that a clock shows. None of these clocks is negative.
fn length(time: timespec) -> Duration {
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}
