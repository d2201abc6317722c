//! Simulations: held against formulas, repeatable, and never endless.

mod closed_forms;
mod conduct;
mod coverage;
mod formulas;
mod fuzzed;
mod simulated;
mod without_chance;
