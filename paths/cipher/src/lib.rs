//! The path of a request to encrypt: from a tenant to the one crypto device that many share, and back.
//!
//! [`engine`] is the real thing, of use without the laboratory: a virtio-crypto device with one physical function and
//! many virtual ones, in software.

pub mod engine;
