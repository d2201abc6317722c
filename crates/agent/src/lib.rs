//! The agent: plays actors in a process of its own, at the command of a coordinator.
//!
//! It holds nothing but the paths and what they need: no store, no report. `tollway` starts itself as an agent by a
//! hidden verb; the binary of this crate is the same agent on its own, small and static, for places where `tollway`
//! is not. In a Linux guest it is the only program there is: as process 1 it is [`init`], which starts agents.
//! On another host that is reached by ssh it is a [`keeper`] of agents.
#![warn(missing_debug_implementations)]

mod actor_thread;
mod disk;
mod functions;
pub mod init;
pub mod keeper;
mod micro;
mod network;
mod probe;
mod serve;

pub use serve::serve;

/// Of which sources this agent was built, as a number: programs that have the same one measure the same code.
pub const BUILD: &str = env!("TOLLWAY_BUILD");
