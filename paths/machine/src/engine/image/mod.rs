//! What QEMU's disks give without a guest, and what their encryption takes: QEMU's own storage daemon serves images that are made
//! here, by the same code as the disks of its guests, and this process plays the guest's driver.
//!
//! ```text
//!   luks      a header and a key of our own, and the cipher by other hands than QEMU's
//!   file      images in a folder or in memory, of which it is known what they must hold
//!   server    the storage daemon: started, served by, ended
//!   requests  a disk's driver: requests under way in a queue that the daemon sees
//!   drive     a load on a disk: which block is next, and whether what came back is right
//! ```
//!
//! Sources: OASIS, "Virtual I/O Device (VIRTIO) 1.2", 5.2 (block devices); C. Fruhwirth, "LUKS1 On-Disk Format Specification 1.2.3".

mod drive;
mod file;
pub mod luks;
mod requests;
mod server;

pub use drive::Drive;
pub use file::{Format, Image, Medium};
pub use requests::{Direction, Requests};
pub use server::{PACKAGE, PROGRAM, Server, is_there};
