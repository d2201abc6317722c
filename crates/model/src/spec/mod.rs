//! A system of queues as data: solved by a formula where one fits, by a numerical chain where it is Markovian and
//! small, by simulation always.
//!
//! Read from TOML:
//!
//! ```toml
//! title = "one device, interrupts coalesced"
//!
//! [[source]]
//! name         = "machines"
//! interarrival = "exponential(100us)"
//! to           = "device"
//!
//! [[station]]
//! name    = "device"
//! service = "exponential(60us)"
//! to      = "interrupts"
//!
//! [[coalescer]]
//! name  = "interrupts"
//! count = 8
//! timer = "50us"
//! ```
//!
//! Customers leave the system where a part names no `to`. A spec is only data until [`Spec::checked`] has accepted it.

mod checked;
mod formula;
mod one_or_many;
mod parts;
mod toml;
mod trace;
mod whole;

pub use parts::{
    Adaptive, Arrivals, Bulk, ByClass, Class, Coalescer, Exit, Order, Population, Routes, Source, Station,
    Stop, Switching, Wake,
};

pub use checked::LARGEST_SIZE;
pub use formula::Formula;
pub use trace::gaps;

use serde::{Deserialize, Serialize};

/// A system of queues, and when to stop simulating it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What it is, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Classes of customers; without any, all are of one class without a name.
    #[serde(default, rename = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Where customers come from.
    #[serde(rename = "source")]
    pub sources: Vec<Source>,
    /// Where they are served.
    #[serde(default, rename = "station", skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<Station>,
    /// Where they are held back and let go together.
    #[serde(default, rename = "coalescer", skip_serializing_if = "Vec::is_empty")]
    pub coalescers: Vec<Coalescer>,
    /// When the simulation stops.
    #[serde(default)]
    pub stop: Stop,
}
