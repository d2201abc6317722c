//! Agents and their keeper as processes that a coordinator starts: what they answer, what they refuse, and
//! that they end.

#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod keeper;
mod micro_guests;
mod robustness;
mod static_agent;
