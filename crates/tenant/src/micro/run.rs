//! Runs code on a virtual processor: continues it after each exit, lets it sleep, and ends it when it returns, when it
//! does what it must not, or when its time is over.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use kvm_bindings::kvm_regs;
use kvm_ioctls::VcpuExit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tollway_host::samplers::thread_time;

use super::devices::{COUNTED, END, IDLE, PORT, TIME};
use super::error::MicroError;
use super::interrupts::{Line, RETURN_PORT};
use super::limit::Timer;
use super::own::PAGE;
use super::vcpu::{Exception, Vcpu};
use super::{ExitCounts, Limits};

/// The ways out that code on one processor has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways<'a> {
    /// Guest-physical address of its devices' first page.
    pub(super) base: u64,
    /// What rings it when it idles.
    pub(super) wake: BorrowedFd<'a>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It stored this value to the page that ends a call.
    Returned(usize),
    /// It did something that it must not.
    Stopped(Exception),
}

impl Vcpu {
    /// Runs code from the state `regs` on, with `fs` as the base of FS, until it ends.
    ///
    /// # Errors
    /// [`MicroError::TimedOut`], [`MicroError::WildPort`], [`MicroError::NoDevice`], [`MicroError::MemoryGone`], or
    /// [`MicroError::Setup`] and [`MicroError::Unexpected`] if KVM refuses. Other code can be run afterwards.
    pub(super) fn run(
        &mut self,
        regs: &kvm_regs,
        fs: u64,
        limits: Limits,
        ways: Ways<'_>,
    ) -> Result<(End, ExitCounts), MicroError> {
        self.prepare(fs)?;
        self.clean = false;
        self.start_at(regs)?;
        let started = Instant::now();
        let flag = &raw mut self.fd.get_kvm_run().immediate_exit;
        // SAFETY: the flag lies in memory that lives as long as the processor, which outlives this call.
        let timer = unsafe { Timer::start(limits.time, flag)? };
        let line = self.line.clone();
        line.iter().for_each(|line| line.enter());
        let outcome = self.until_it_ends(started, limits.time, ways);
        line.iter().for_each(|line| line.leave());
        drop(timer);
        self.fd.set_kvm_immediate_exit(0);
        self.clean = matches!(outcome, Ok((End::Returned(_), _)));
        outcome
    }

    /// The loop that continues the guest after each exit.
    fn until_it_ends(
        &mut self,
        started: Instant,
        limit: Duration,
        ways: Ways<'_>,
    ) -> Result<(End, ExitCounts), MicroError> {
        let page = |number: usize| ways.base + (number * PAGE) as u64;
        let (end, counted, idle, time) = (page(END), page(COUNTED), page(IDLE), page(TIME));
        let mut exits = ExitCounts { interrupts: self.deliver()?, ..ExitCounts::default() };
        loop {
            match self.fd.run() {
                Ok(VcpuExit::IoOut(PORT, _)) => exits.port += 1,
                Ok(VcpuExit::MmioWrite(at, _)) if at == counted => exits.mmio += 1,
                Ok(VcpuExit::MmioWrite(at, data)) if at == end => {
                    let mut value = [0; 8];
                    let len = data.len().min(8);
                    value[..len].copy_from_slice(&data[..len]);
                    return Ok((End::Returned(usize::from_le_bytes(value)), exits));
                }
                Ok(VcpuExit::MmioRead(at, data)) if at == idle => {
                    exits.idle += 1;
                    match sleep(ways.wake, self.line.as_deref(), started, limit)? {
                        Some(rings) => answer(data, rings),
                        None => return Err(self.timed_out(started, limit)),
                    }
                }
                Ok(VcpuExit::MmioRead(at, data)) if at == time => {
                    answer(data, u64::try_from(thread_time::thread().as_nanos()).unwrap_or(u64::MAX));
                    exits.other += 1;
                }
                Ok(VcpuExit::IoIn(PORT, data)) => {
                    data.fill(0);
                    exits.other += 1;
                }
                Ok(VcpuExit::MmioRead(at, data)) if at == counted => {
                    data.fill(0);
                    exits.other += 1;
                }
                Ok(VcpuExit::Hypercall(call)) => {
                    *call.ret = 0;
                    exits.hypercall += 1;
                }
                Ok(VcpuExit::IoOut(RETURN_PORT, _)) => {
                    if !self.return_from_interrupt()? {
                        return Err(MicroError::WildPort { port: RETURN_PORT, write: true, rip: self.rip() });
                    }
                    exits.interrupts += self.deliver()?;
                }
                Ok(VcpuExit::IoOut(port, _)) => {
                    return Err(MicroError::WildPort { port, write: true, rip: self.rip() });
                }
                Ok(VcpuExit::IoIn(port, _)) => {
                    return Err(MicroError::WildPort { port, write: false, rip: self.rip() });
                }
                Ok(VcpuExit::MmioWrite(at, _) | VcpuExit::MmioRead(at, _)) => {
                    return Err(MicroError::NoDevice { physical: at, rip: self.rip() });
                }
                Ok(VcpuExit::Hlt | VcpuExit::Shutdown) => {
                    return Ok((End::Stopped(self.exception()), exits));
                }
                Ok(VcpuExit::InternalError) => return Err(MicroError::NotEmulated { rip: self.rip() }),
                Ok(VcpuExit::Intr | VcpuExit::IrqWindowOpen) => {
                    exits.interrupts += self.check(started, limit)?
                }
                Ok(exit) => {
                    let exit = format!("{exit:?}");
                    return Err(MicroError::Unexpected { exit, rip: self.rip() });
                }
                Err(error) if matches!(error.errno(), libc::EINTR | libc::EAGAIN) => {
                    exits.interrupts += self.check(started, limit)?;
                }
                Err(error) if error.errno() == libc::EFAULT => {
                    return Err(MicroError::MemoryGone { rip: self.rip() });
                }
                Err(error) => {
                    return Err(MicroError::Unexpected { exit: error.to_string(), rip: self.rip() });
                }
            }
        }
    }

    /// After an interruption: has the time run out? If not, delivers what waits, and says how much.
    fn check(&mut self, started: Instant, limit: Duration) -> Result<u64, MicroError> {
        // Before the lines are looked at: who raises something afterwards sets it again.
        self.fd.set_kvm_immediate_exit(0);
        if started.elapsed() >= limit { Err(self.timed_out(started, limit)) } else { self.deliver() }
    }

    fn timed_out(&self, started: Instant, limit: Duration) -> MicroError {
        MicroError::TimedOut { limit, after: started.elapsed(), rip: self.rip() }
    }
}

/// Answers a load with as many bytes of the number as were asked for.
fn answer(data: &mut [u8], number: u64) {
    data.fill(0);
    let len = data.len().min(8);
    data[..len].copy_from_slice(&number.to_le_bytes()[..len]);
}

/// Sleeps until `wake` has been rung since it was last asked; returns how often, or nothing if the time is over first.
/// A ring that came before the sleep ends it at once: none is lost. So does an interrupt, with 0 rings.
fn sleep(
    wake: BorrowedFd<'_>,
    line: Option<&Line>,
    started: Instant,
    limit: Duration,
) -> Result<Option<u64>, MicroError> {
    use rustix::io::Errno;
    loop {
        let mut rings = [0; 8];
        match rustix::io::read(wake, &mut rings) {
            Ok(_) => return Ok(Some(u64::from_ne_bytes(rings))),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(MicroError::system("hear whether a guest was rung")(error)),
        }
        if line.is_some_and(Line::waiting) {
            return Ok(Some(0));
        }
        let left = limit.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        let left = Timespec::try_from(left).ok();
        let on = |event| PollFd::from_borrowed_fd(event, PollFlags::IN);
        let woken = match line {
            None => poll(&mut [on(wake)], left.as_ref()),
            Some(line) => poll(&mut [on(wake), on(line.event())], left.as_ref()).inspect(|_| line.heard()),
        };
        match woken {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(MicroError::system("wait until a guest is rung")(error)),
        }
    }
}
