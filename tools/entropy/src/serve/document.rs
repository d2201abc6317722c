//! How it is going: the document that the status socket answers with.

use serde::Serialize;
use tollway_entropy::engine::serve::{Status, TenantStatus, WorkerStatus};

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// The state of a server. All counts are since it started.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatusDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Seconds since it started.
    pub seconds: f64,
    /// Whether at least one source is good enough to be served from.
    pub healthy: bool,
    /// Each tenant.
    pub tenants: Vec<TenantState>,
    /// Each thread that draws, with its source.
    pub sources: Vec<SourceState>,
}

/// One tenant.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TenantState {
    /// Its name.
    pub name: String,
    /// Whether its virtual machine is connected.
    pub connected: bool,
    /// Whether its driver's queue is served.
    pub served: bool,
    /// Its weight.
    pub weight: u32,
    /// Bytes a second that it may have; absent without a limit.
    pub limit: Option<u64>,
    /// Bytes that it may have at once; absent without a limit.
    pub burst: Option<u64>,
    /// Bytes given.
    pub bytes: u64,
    /// Buffers given back, each full up to its 64th piece.
    pub requests: u64,
    /// Kicks noticed; several at once count as one.
    pub kicks: u64,
    /// Interrupts sent.
    pub interrupts: u64,
    /// Queues given up, for a buffer that could not be used.
    pub refused_chains: u64,
    /// Messages refused, and connections that broke.
    pub refused_messages: u64,
    /// Connections made.
    pub connections: u64,
    /// Turns that it had.
    pub turns: u64,
    /// Seconds that it waited for its turns, in the mean.
    pub mean_wait: f64,
    /// Seconds that it waited for a turn at most.
    pub longest_wait: f64,
    /// Seconds that it wanted something and its limit forbade it.
    pub limited: f64,
}

/// One thread that draws.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceState {
    /// The source's name.
    pub name: String,
    /// Whether it is good enough to be served from.
    pub healthy: bool,
    /// What is wrong with it, or was the last time that something was.
    pub trouble: Option<String>,
    /// How often it failed after it had been good.
    pub health_failures: u64,
    /// Bytes drawn, also such that nobody was given.
    pub bytes: u64,
    /// How often it was asked.
    pub draws: u64,
    /// How often it had nothing to give.
    pub failures: u64,
}

const NANO: f64 = 1e-9;

impl From<Status> for StatusDocument {
    fn from(status: Status) -> Self {
        StatusDocument {
            schema_version: SCHEMA_VERSION,
            seconds: status.seconds,
            healthy: status.workers.iter().any(|worker| worker.healthy),
            tenants: status.tenants.into_iter().map(TenantState::from).collect(),
            sources: status.workers.into_iter().map(SourceState::from).collect(),
        }
    }
}

impl From<TenantStatus> for TenantState {
    fn from(tenant: TenantStatus) -> Self {
        let TenantStatus { name, share, connected, served, counts, waits } = tenant;
        TenantState {
            name,
            connected,
            served,
            weight: share.weight,
            limit: share.limit.map(|(rate, _)| rate),
            burst: share.limit.map(|(_, burst)| burst),
            bytes: counts.bytes,
            requests: counts.requests,
            kicks: counts.kicks,
            interrupts: counts.calls,
            refused_chains: counts.refused_chains,
            refused_messages: counts.refused_messages,
            connections: counts.connections,
            turns: waits.turns,
            mean_wait: waits.total as f64 * NANO / waits.turns.max(1) as f64,
            longest_wait: waits.longest as f64 * NANO,
            limited: waits.limited as f64 * NANO,
        }
    }
}

impl From<WorkerStatus> for SourceState {
    fn from(worker: WorkerStatus) -> Self {
        SourceState {
            name: worker.source,
            healthy: worker.healthy,
            trouble: worker.reason,
            health_failures: worker.failures,
            bytes: worker.counts.bytes,
            draws: worker.counts.draws,
            failures: worker.counts.failures,
        }
    }
}
