//! Crossings that were measured in several kinds of tenants, side by side.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollway_core::{Boundary, TenantKind, TollKey, Value};

use super::{Estimate, RatioDocument};

/// What crossings cost in this machine and in its guests: points that differ in the axis `tenant` only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostAgainstGuestDocument {
    /// The kinds of tenants, those of this machine first.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub tenants: Vec<TenantKind>,
    /// Ratios between 1 / (1 + margin) and 1 + margin count as the same.
    pub margin: f64,
    /// Share of the differences, and of the equivalences, found that may be false.
    pub false_discovery_rate: f64,
    /// The crossings, in the order in which they were planned.
    pub crossings: Vec<AcrossTenantsDocument>,
    /// What kind of guests these were, what the figures mean therefore, and what cannot be compared.
    pub notes: Vec<String>,
}

/// One crossing in several kinds of tenants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcrossTenantsDocument {
    /// Which side of a comparison it belongs to.
    pub side: Option<String>,
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// The value of each axis but `tenant`.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, super::point::AxisValue>"))]
    pub params: BTreeMap<String, Value>,
    /// The key of the toll that it measures in a process of this machine.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub toll: Option<TollKey>,
    /// The boundary that is crossed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub boundary: Option<Boundary>,
    /// What a person calls it, wherever it is measured.
    pub title: String,
    /// What it costs in each kind of tenant in which it was planned, in the order of the kinds.
    pub measured: Vec<InTenantDocument>,
}

/// What a crossing costs in one kind of tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InTenantDocument {
    /// The kind of tenant.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub tenant: TenantKind,
    /// The number of its point in the store.
    pub point: i64,
    /// The median; null where there is none.
    pub median: Option<Estimate>,
    /// This tenant (B) over a process of this machine (A), paired by block; null for that process itself, and where
    /// it cannot be given.
    pub to_host: Option<RatioDocument>,
    /// Why there is no median, or no ratio.
    pub why: Option<String>,
}

impl HostAgainstGuestDocument {
    /// Whether that point stands in this table only: it has one of a process beside it, which a price list shows.
    pub(crate) fn has_alone(&self, point: i64) -> bool {
        let beside_host = |c: &&AcrossTenantsDocument| c.in_tenant(TenantKind::Process).is_some();
        let cells = self.crossings.iter().filter(beside_host).flat_map(|c| &c.measured);
        cells.filter(|m| m.tenant != TenantKind::Process).any(|m| m.point == point)
    }
}

impl AcrossTenantsDocument {
    /// What a list calls it: its title, and its side where there are several.
    pub(crate) fn label(&self) -> String {
        match &self.side {
            Some(side) => format!("{} [{side}]", self.title),
            None => self.title.clone(),
        }
    }

    /// What it costs in that kind of tenant.
    pub(crate) fn in_tenant(&self, tenant: TenantKind) -> Option<&InTenantDocument> {
        self.measured.iter().find(|m| m.tenant == tenant)
    }
}
