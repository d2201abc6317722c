//! The document of a reproduction: what was published, predicted and measured, and what has become of each claim.

use serde::{Deserialize, Serialize};

use super::{MachineDocument, QualityDocument, RunHead, Span};

/// What has become of the claims that runs tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "A reproduction by Tollway"))]
pub struct ReproductionDocument {
    /// The version of this document.
    pub schema_version: u32,
    /// The runs that tested them, in the order in which they were named.
    pub runs: Vec<TestingRunDocument>,
    /// By path, in the order of their files.
    pub paths: Vec<PathClaimsDocument>,
}

/// A run that tested claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestingRunDocument {
    /// The run.
    pub run: RunHead,
    /// The machine.
    pub machine: MachineDocument,
    /// How quiet it was.
    pub quality: QualityDocument,
}

/// The claims about one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PathClaimsDocument {
    /// The path.
    pub path: String,
    /// What the sources leave open, or what is different here.
    pub conditions: Vec<String>,
    /// The claims.
    pub claims: Vec<ClaimDocument>,
}

/// A claim and what has become of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimDocument {
    /// Path and name, as `capture.jit`.
    pub id: String,
    /// What was claimed.
    pub says: String,
    /// Where.
    pub source: String,
    /// `quoted`, `read off a figure` or `derived`.
    pub provenance: String,
    /// The published figure.
    pub published: String,
    /// Whether it could be expected to hold here, and why.
    pub expected: String,
    /// The preset that tests it.
    pub preset: String,
    /// The run that tested it; null where nothing can.
    pub run: Option<i64>,
    /// What was measured, in words.
    pub metric: String,
    /// What the figure counts: `c` for ticks of the clock, or a rate's unit, as `IO/s`; null of a plain number.
    pub unit: Option<String>,
    /// The least that the figure has to be if the claim holds; null where there is no such limit.
    pub at_least: Option<f64>,
    /// The most that it may be; null where there is no such limit.
    pub at_most: Option<f64>,
    /// What was predicted from tolls before it was measured; null where nothing was.
    pub predicted: Option<f64>,
    /// What was measured; null where that could not be.
    pub measured: Option<Span>,
    /// Of a crossover the last value that was tried: a figure above it says only that one quantity is nowhere below the other up to
    /// there. Null of everything else.
    pub last_step: Option<f64>,
    /// What has become of it.
    pub verdict: ClaimVerdict,
    /// Why, in one sentence.
    pub why: String,
}

/// What has become of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The whole interval lies where the claim says.
    Reproduced,
    /// No part of the interval lies where the claim says.
    Expired,
    /// The interval lies partly there.
    NotSeparable,
    /// It could not be measured here.
    NotTestable,
}

impl ClaimVerdict {
    /// Every one, in the order in which they are counted.
    pub const ALL: [ClaimVerdict; 4] = [
        ClaimVerdict::Reproduced,
        ClaimVerdict::Expired,
        ClaimVerdict::NotSeparable,
        ClaimVerdict::NotTestable,
    ];

    /// What a person reads.
    pub fn title(self) -> &'static str {
        match self {
            ClaimVerdict::Reproduced => "reproduced",
            ClaimVerdict::Expired => "expired",
            ClaimVerdict::NotSeparable => "not separable",
            ClaimVerdict::NotTestable => "not testable here",
        }
    }
}
