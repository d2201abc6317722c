//! Simulations: held against formulas, repeatable, and never endless.

mod closed_forms;
mod conduct;
mod coverage;
mod formulas;
mod fuzzed;
#[path = "../../../host/testing/processor_time.rs"]
mod processor_time;
mod simulated;
mod without_chance;
