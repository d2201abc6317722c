//! A model of the card on this machine: its steps measured alone, fitted to light loads of one way of telling, and asked about heavier
//! loads and other ways.
//!
//! ```text
//!   asked      what the card is to do: cipher, size, tenants
//!   way        a way of telling, with its settings
//!   alone      the steps of a request, each measured by itself
//!   taken      what the machine takes of its cores meanwhile
//!   observed   what the trials of a point came to
//!   fit        what light loads say that the steps do not
//!   foreseen   what follows for a load and a way: simulation and formulas
//! ```

pub mod alone;
pub mod asked;
pub mod fit;
pub mod foreseen;
pub mod observed;
pub mod taken;
pub mod way;
