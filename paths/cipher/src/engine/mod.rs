//! A crypto device in software that many tenants share.
//!
//! ```text
//!   protocol   virtio-crypto on the wire: sessions, requests, statuses
//!   suite      algorithms and keys: what a session does to bytes, wherever they lie
//!   device     the card: functions, engines, order of service, delivery of completions
//!   driver     the tenant's end of it
//!   kernel     what the operating system offers instead: AF_ALG, and whatever driver is behind it; the machine's crypto devices
//! ```

pub mod device;
pub mod driver;
pub mod kernel;
pub mod protocol;
pub mod suite;
