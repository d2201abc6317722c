//! Statistics held against other programs, and against samples whose truth is known.

mod coverage;
mod noise;
mod properties;
mod sequential;
mod traces;
mod vectors;
