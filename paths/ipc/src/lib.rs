//! The path of a request: to another process or to the kernel, synchronously or asynchronously, alone or many at a time.
//!
//! [`engine`] has the applications, of use without the laboratory; what carries their requests is `tollway-channel`.

pub mod engine;
