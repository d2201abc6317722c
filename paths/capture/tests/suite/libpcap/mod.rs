//! libpcap, which tests hold the path against.

pub mod file;
mod loaded;
pub mod machine;
