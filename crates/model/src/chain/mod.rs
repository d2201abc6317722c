//! Markov chains solved as numbers: for what has no closed form, and to hold closed forms against.

pub mod poisson;
