//! Linux guests: virtual machines with a kernel, by QEMU, in which agents play actors.
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//! use tollway_tenant::linux::{Boot, GuestOptions, LinuxGuest};
//!
//! let boot = Boot::prepare(None)?;
//! let mut guest = LinuxGuest::start(&boot, &GuestOptions { agents: 2, ..GuestOptions::default() })?;
//! guest.booted(Instant::now() + Duration::from_secs(30))?;
//! let mut agent = guest.agent(0)?;
//! agent.synchronise()?;
//! // … agent.send(…), agent.reply(…) as with an agent of this machine.
//! drop(agent);
//! guest.stop(Duration::from_secs(5))?;
//! # Ok::<(), tollway_core::Error>(())
//! ```
//!
//! # How it is made
//! The kernel is unpacked here and started at its PVH entry (`kernel.rs`); the first file system is made in memory
//! (`initramfs.rs`): the static agent, which is the guest's first program and starts agents, and the modules it loads.
//! Each agent speaks by a virtio-serial port of its own, whose other end is a socket that QEMU inherits, so nothing has
//! a name in the host's file system. When our end of one more, the lifeline, closes, whoever closes it, the guest
//! powers off; and QEMU is killed with the program that started it (`keeper.rs`).
//!
//! A guest's clock is the host's counter plus a constant, which [`Agent::synchronise`](crate::Agent::synchronise)
//! measures; windows are told in the guest's own clock.
//!
//! # What it takes
//! Measured on two shared cores with QEMU 10.0 and Debian's generic kernel 6.1 under TCG, in tests built without
//! optimisation (`make soak guests`):
//!
//! | | |
//! |---|---|
//! | start to results of a first job | 1.7 s |
//! | eight started at once: all booted; all had worked | 7.0 s; 8.1 s |
//! | twenty times started, synchronised and stopped | 28 s; no descriptor, child or thread, 0.1 MB |
//! | an idle guest, of a processor | 0.3 % |
//! | memory of QEMU, of a guest of 192 MiB | 250 MB |
//! | a fresh agent process | 30–50 ms |
//! | what is known of its clock | ± 0.1 ms |
//!
//! # What a guest cannot do to others
//! What it sends is taken as anybody's: whole lines up to a limit, within a deadline, checked before use. One that
//! breaks the protocol or does not answer is killed, and the error has the last lines of its console.

pub mod accelerator;
mod boot;
mod clock;
mod command_line;
mod console;
mod device;
mod disk;
mod found;
mod guest;
mod huge_pages;
mod initramfs;
mod keeper;
mod kernel;
mod machine;
mod modules;
mod network;
mod packed;
pub mod static_agent;

use tollway_core::{Error, Missing};

pub use accelerator::Choice;
pub use boot::Boot;
pub use device::vhost_user_crypto;
pub use found::{Found, Kernel, Qemu};
pub use guest::{CpuTime, GuestOptions, LinuxGuest};
pub(crate) use machine::Machine;

/// Whether Linux guests can run here: files and versions are looked at, and the agent is started once; no guest is
/// booted. With the accelerator, where it is known without a trial. The agent must be of this build; `None` takes any.
///
/// # Errors
/// [`Missing`] with what is not there and what would provide it.
pub fn check(build: Option<&str>) -> Result<(Found, Option<Choice>), Missing> {
    let found = found::find()?;
    static_agent::find(build)?;
    let choice = accelerator::known(&found).map_err(|error| match error {
        Error::Missing(missing) => missing,
        other => Missing::new("an accelerator for Linux guests", other.to_string(), "unset TOLLWAY_ACCEL"),
    })?;
    Ok((found, choice))
}
