//! How it is going: everything that is counted.

use tollway_virtio::order::{Share, Waits};

use crate::engine::source::Counts;

/// A whole server.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Seconds since it started.
    pub seconds: f64,
    /// Its tenants, in the order in which they were given.
    pub tenants: Vec<TenantStatus>,
    /// Its workers.
    pub workers: Vec<WorkerStatus>,
}

/// One tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantStatus {
    /// Its name.
    pub name: String,
    /// What it is entitled to.
    pub share: Share,
    /// Whether a peer is connected.
    pub connected: bool,
    /// Whether its queue is served.
    pub served: bool,
    /// What was counted.
    pub counts: TenantCounts,
    /// What it had to wait.
    pub waits: Waits,
}

/// What is counted of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantCounts {
    /// Bytes that it was given.
    pub bytes: u64,
    /// Buffers given back to it, full up to their 64th piece.
    pub requests: u64,
    /// Kicks that were noticed; several at once count as one.
    pub kicks: u64,
    /// Calls that it was sent.
    pub calls: u64,
    /// Buffers, and queues, that were refused.
    pub refused_chains: u64,
    /// Messages, and connections, that were refused.
    pub refused_messages: u64,
    /// Connections.
    pub connections: u64,
}

/// One worker and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerStatus {
    /// The source's name.
    pub source: String,
    /// What the source did.
    pub counts: Counts,
    /// Whether it is good enough to be served from.
    pub healthy: bool,
    /// What is wrong with it, or was the last time.
    pub reason: Option<String>,
    /// How often it failed while it had been good.
    pub failures: u64,
}
