//! This machine's kernel, through /dev/random.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};
use rustix::rand::{GetRandomFlags, getrandom};
use tollway_core::{Error, Missing};
use zeroize::Zeroize;

use super::sink::{Woken, wait_for};
use super::{MOST_BYTES, Sink};

/// The device, whose ioctls those of random(4) are.
const DEVICE: &str = "/dev/random";

/// `RNDGETENTCNT`: `_IOR('R', 0x00, int)` in `linux/random.h`.
const GET_ENTROPY_COUNT: Opcode = opcode::read::<c_int>(b'R', 0);

/// `RNDADDENTROPY`: `_IOW('R', 0x03, int[2])` in `linux/random.h`.
const ADD_ENTROPY: Opcode = opcode::write::<[c_int; 2]>(b'R', 3);

/// `struct rand_pool_info` of `linux/random.h`, with room.
#[repr(C)]
struct PoolInfo {
    /// Bits to credit.
    entropy_count: c_int,
    /// Bytes of `buf` that count.
    buf_size: c_int,
    buf: [u8; MOST_BYTES],
}

/// A kernel that may be fed.
pub struct Kernel {
    device: File,
    info: Box<PoolInfo>,
}

impl Kernel {
    /// This machine's.
    ///
    /// # Errors
    /// [`Missing`] where this process may not: it asks, with nothing in hand.
    pub fn open() -> Result<Kernel, Error> {
        let refused = |error: io::Error| {
            if error.kind() != io::ErrorKind::PermissionDenied {
                return Error::system(format!("opening {DEVICE} to feed it"), error);
            }
            Error::Missing(Missing::new(
                "the right to credit entropy to the kernel",
                error.to_string(),
                "run it as root or with CAP_SYS_ADMIN of the first user namespace; --dry-run needs neither",
            ))
        };
        let device = OpenOptions::new().read(true).write(true).open(DEVICE).map_err(refused)?;
        let mut info: Box<PoolInfo> = PoolInfo::empty();
        add(&device, &mut info).map_err(refused)?;
        Ok(Kernel { device, info })
    }

    /// Whether this machine's kernel has a generator that is initialised: nobody waits for it any more.
    pub fn is_initialised() -> bool {
        // Nothing of it is kept, and a kernel without the flag is none that this program runs on.
        !matches!(getrandom(&mut [0; 1], GetRandomFlags::NONBLOCK), Err(Errno::AGAIN))
    }
}

impl PoolInfo {
    fn empty() -> Box<PoolInfo> {
        Box::new(PoolInfo { entropy_count: 0, buf_size: 0, buf: [0; MOST_BYTES] })
    }
}

fn add(device: &File, info: &mut PoolInfo) -> io::Result<()> {
    // SAFETY: the number is that of the header, and `PoolInfo` is what it takes: it reads `buf_size` bytes of `buf`, which
    // is no more than there are, and writes nothing.
    Ok(unsafe { ioctl(device, Updater::<ADD_ENTROPY, PoolInfo>::new(info)) }?)
}

impl Sink for Kernel {
    fn credit(&mut self, bytes: &[u8], bits: u32) -> io::Result<()> {
        if bytes.len() > MOST_BYTES || bits as usize > 8 * bytes.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.info.buf[..bytes.len()].copy_from_slice(bytes);
        (self.info.entropy_count, self.info.buf_size) = (bits as c_int, bytes.len() as c_int);
        let added = add(&self.device, &mut self.info);
        self.info.buf[..bytes.len()].zeroize();
        added
    }

    fn available(&self) -> io::Result<u32> {
        // SAFETY: the number is that of the header, and it writes an int.
        let bits = unsafe { ioctl(&self.device, Getter::<GET_ENTROPY_COUNT, c_int>::new()) }?;
        Ok(bits as u32)
    }

    fn wait(&self, patience: Duration, stop: Option<BorrowedFd<'_>>) -> io::Result<Woken> {
        wait_for(Some(self.device.as_fd()), patience, stop)
    }
}
