//! Ciphers that a kernel does, with whatever driver it has for them: a card's, virtio-crypto's, or its own code.
//!
//! ```text
//!   chosen     which of them is asked by AF_ALG: its own code, or one by its name
//!   dev_crypto /dev/crypto of the cryptodev module, if there is one
//!   drivers    which drivers a kernel has for an algorithm (/proc/crypto)
//!   sriov      which PCI functions there are, physical and virtual, and which of them are crypto devices
//! ```
//!
//! AF_ALG is in [`tollway_host::af_alg`], as the agent asks its kernel by it, too.

mod chosen;
mod crypto_device;
mod dev_crypto;
mod drivers;
mod sriov;

pub use chosen::{named, own};
pub use crypto_device::Kind;
pub use dev_crypto::DevCrypto;
pub use drivers::{Driver, drivers, drivers_below, preferred};
pub use sriov::{Device, Function, Sharing, devices};
