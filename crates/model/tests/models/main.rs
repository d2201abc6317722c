//! Models held against other programs, closed forms, laws, and questions that make no sense.

mod capacity;
mod clocks;
mod distributions;
mod fit_coarse_stamps;
mod general;
mod hostile;
mod oracle;
mod priorities;
#[path = "../../../host/testing/processor_time.rs"]
mod processor_time;
mod traces;
mod verdicts;
