//! The machine on which a run's agents live: this one, or another host.

use std::sync::Arc;
use std::time::Duration;

use tollway_core::{Clock, KvmKind, Missing, Requirement, Result, Ticks};
use tollway_host::clock::RunClock;
use tollway_host::meters::Meters;

use crate::ssh::{OtherHost, Reading};
use crate::{Agent, Executable, micro};

/// A machine that is measured.
#[derive(Clone, Debug, Default)]
pub enum Target {
    /// This one.
    #[default]
    ThisHost,
    /// One that is reached by ssh.
    OtherHost(Arc<OtherHost>),
}

impl Target {
    /// Starts an agent there, and waits for its hello.
    ///
    /// # Errors
    /// As [`Agent::start`]; [`Error::Tenant`](tollway_core::Error::Tenant) where the other host is no longer reached.
    pub fn start(&self, executable: &Executable) -> Result<Agent> {
        match self {
            Target::ThisHost => Agent::start(executable),
            Target::OtherHost(host) => host.agent(executable),
        }
    }

    /// Whether a requirement is met there.
    ///
    /// # Errors
    /// [`Missing`] with what was tried and what would provide it.
    pub fn check(&self, requirement: &Requirement) -> Result<(), Missing> {
        match self {
            Target::ThisHost => crate::check(requirement),
            Target::OtherHost(host) => host.check(requirement),
        }
    }

    /// The kind of the KVM that is there for micro-guests.
    ///
    /// # Errors
    /// What keeps micro-guests from running there.
    pub fn micro_guests(&self) -> Result<KvmKind> {
        match self {
            Target::ThisHost => Ok(micro::check()?.kind),
            Target::OtherHost(host) => host.micro_guests(),
        }
    }

    /// The clock of agents there, as it stands now at the latest; and how much longer a word takes to get there than on
    /// this machine.
    ///
    /// # Errors
    /// [`Error::Tenant`](tollway_core::Error::Tenant) where the other host is no longer reached.
    pub fn now(&self) -> Result<(Ticks, Duration)> {
        match self {
            Target::ThisHost => Ok((RunClock::chosen().now(), Duration::ZERO)),
            Target::OtherHost(host) => host.now(),
        }
    }

    /// The meters there, and, of another host, the processor time that this run has used there.
    ///
    /// # Errors
    /// [`Error::Tenant`](tollway_core::Error::Tenant) where the other host is no longer reached.
    pub fn read(&self) -> Result<(Meters, Option<Duration>)> {
        match self {
            Target::ThisHost => Ok((Meters::read(), None)),
            Target::OtherHost(host) => host.read().map(|Reading { meters, own }| (meters, Some(own))),
        }
    }

    /// Whether it is this machine.
    pub fn is_here(&self) -> bool {
        matches!(self, Target::ThisHost)
    }
}
