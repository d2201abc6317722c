//! Sources of entropy and what is done with them.

pub mod condition;
pub mod feed;
pub mod fips;
pub mod health;
pub mod serve;
pub mod source;
