//! How it is going: what the status socket answers, SIGUSR1 prints, and --once and --dry-run print with --json.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use serde::Serialize;
use tollway_entropy::engine::feed::Kernel;
use tollway_entropy::engine::health::{Health, SelfTest, State, Test, Watch};

use super::pipeline::Plan;
use super::worker::Known;

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// The state of a feeder. All counts are since it started.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FeedDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Seconds since it started.
    pub seconds: f64,
    /// What it does; absent until the source is open.
    pub plan: Option<PlanState>,
    /// How the source is.
    pub health: HealthState,
    /// What was fed.
    pub fed: FedState,
    /// What the kernel says.
    pub kernel: KernelState,
}

/// What it does.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanState {
    /// The source's name.
    pub source: String,
    /// Whether 512 bytes of it become one.
    pub conditioned: bool,
    /// Bits credited for a byte that is fed, at most.
    pub bits_per_byte: f64,
    /// Bytes of a feeding.
    pub bytes: usize,
    /// Bits that it is credited with.
    pub bits: u32,
    /// Seconds between two.
    pub interval: f64,
    /// False alarms a year that a good source raises at most, at the bytes that this draws.
    pub false_alarms_per_year: f64,
    /// Bytes that the start-up test takes.
    pub start_up_bytes: usize,
    /// The probability that a good source fails its start-up test, at most.
    pub start_up_false_failure: f64,
}

/// How the source is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HealthState {
    /// `starting`, `healthy` or `failed`.
    pub state: String,
    /// Whose alarm it was, where it has failed.
    pub test: Option<String>,
    /// What was found, where it has failed.
    pub detail: Option<String>,
    /// Bytes that went through the health tests.
    pub tested: u64,
    /// Start-up tests passed.
    pub start_ups: u64,
    /// Alarms of each test.
    pub alarms: BTreeMap<String, u64>,
}

/// What was fed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedState {
    /// Feedings.
    pub portions: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bits credited.
    pub bits: u64,
    /// Seconds since the last; absent before the first.
    pub seconds_ago: Option<f64>,
}

/// What the kernel says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelState {
    /// Its release.
    pub release: String,
    /// Whether its generator is initialised: nobody waits for it any more.
    pub initialised: bool,
    /// Bits that it says it has: since 5.18 always 256 once it is initialised. Absent where it does not say.
    pub entropy_avail: Option<u32>,
}

impl FeedDocument {
    /// As it is now. What is absent has not begun yet.
    pub fn of(begun: Instant, interval: f64, progress: &Known) -> Self {
        let health = progress.watch.as_ref().map_or_else(Health::default, Watch::health);
        let fed = progress.fed;
        FeedDocument {
            schema_version: SCHEMA_VERSION,
            seconds: begun.elapsed().as_secs_f64(),
            plan: progress.plan.as_ref().map(|plan| PlanState::of(plan, interval)),
            health: health.into(),
            fed: FedState {
                portions: fed.portions,
                bytes: fed.bytes,
                bits: fed.bits,
                seconds_ago: progress.last.map(|last| last.elapsed().as_secs_f64()),
            },
            kernel: KernelState::read(),
        }
    }
}

impl PlanState {
    fn of(plan: &Plan, interval: f64) -> Self {
        PlanState {
            source: plan.source.clone(),
            conditioned: plan.conditioned,
            bits_per_byte: plan.bits_per_byte,
            bytes: plan.portion.bytes,
            bits: plan.portion.bits,
            interval,
            false_alarms_per_year: plan.limits.alarms_a_year(plan.drawn as f64 / interval),
            start_up_bytes: plan.limits.start_up(),
            start_up_false_failure: SelfTest::start_up(&plan.limits).false_failure(),
        }
    }
}

impl From<Health> for HealthState {
    fn from(health: Health) -> Self {
        let (state, test, detail) = match health.state {
            State::Starting => ("starting", None, None),
            State::Healthy => ("healthy", None, None),
            State::Failed { test, detail } => ("failed", Some(test.name().into()), Some(detail)),
        };
        HealthState {
            state: state.into(),
            test,
            detail,
            tested: health.tested,
            start_ups: health.started,
            alarms: Test::ALL.iter().map(|test| (test.name().into(), health.alarms.of(*test))).collect(),
        }
    }
}

impl KernelState {
    fn read() -> Self {
        let says =
            |name: &str| Some(fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().to_owned());
        KernelState {
            release: says("osrelease").unwrap_or_else(|| "unknown".into()),
            initialised: Kernel::is_initialised(),
            entropy_avail: says("random/entropy_avail").and_then(|bits| bits.parse().ok()),
        }
    }
}
