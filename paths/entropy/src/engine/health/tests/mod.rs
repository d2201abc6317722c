//! Cut-offs against other people's, the fast way against the plain one, and every fault that can be planted.

mod cutoffs;
mod faults;
mod plain;
