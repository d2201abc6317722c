//! A cipher behind a socket of family AF_ALG (`linux/if_alg.h`): the key is the kernel's once it is set, and each request
//! crosses into the kernel twice, with its bytes copied in and out.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use tollway_core::Missing;

use crate::engine::suite::Direction;

/// The longest IV that is sent: a block of AES.
const IV: usize = 16;

/// A cipher with its key.
#[derive(Debug)]
pub struct AfAlg {
    /// Keeps the key; requests are those of a socket that was accepted from it.
    _cipher: OwnedFd,
    requests: OwnedFd,
}

/// A descriptor that a call returned.
fn owned(descriptor: i32) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl AfAlg {
    /// Whether this kernel has such sockets.
    ///
    /// # Errors
    /// It has not.
    pub fn check() -> Result<(), Missing> {
        // SAFETY: a plain call.
        let socket =
            owned(unsafe { libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) });
        match socket {
            Ok(_) => Ok(()),
            Err(error) => Err(Missing::new(
                "AF_ALG",
                format!("this kernel has no such sockets ({error})"),
                "a kernel with CONFIG_CRYPTO_USER_API_SKCIPHER (modprobe algif_skcipher)",
            )),
        }
    }

    /// A cipher by the name of an algorithm (`cbc(aes)`: the driver with the highest priority) or of a driver
    /// (`virtio_crypto_aes_cbc`), with a key.
    ///
    /// # Errors
    /// The kernel has no such cipher, or the key does not fit.
    pub fn open(name: &str, key: &[u8]) -> io::Result<AfAlg> {
        // SAFETY: a plain call.
        let cipher =
            owned(unsafe { libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: all-zero bytes are a valid address of this kind.
        let mut address: libc::sockaddr_alg = unsafe { std::mem::zeroed() };
        address.salg_family = libc::AF_ALG as u16;
        let kind = b"skcipher";
        address.salg_type[..kind.len()].copy_from_slice(kind);
        let place = address.salg_name.get_mut(..name.len());
        place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?.copy_from_slice(name.as_bytes());
        // SAFETY: the address lives through the call, and its length is told.
        checked(unsafe {
            libc::bind(cipher.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as u32)
        })?;
        // SAFETY: the key lives through the call, and its length is told.
        checked(unsafe {
            libc::setsockopt(
                cipher.as_raw_fd(),
                libc::SOL_ALG,
                libc::ALG_SET_KEY,
                key.as_ptr().cast(),
                key.len() as u32,
            )
        })?;
        // SAFETY: no address is asked for.
        let requests = owned(unsafe {
            libc::accept4(cipher.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC)
        })?;
        Ok(AfAlg { _cipher: cipher, requests })
    }

    /// Has these bytes encrypted or decrypted; the result is as long.
    ///
    /// # Errors
    /// The kernel refuses, or the result is shorter.
    pub fn run(
        &mut self,
        direction: Direction,
        iv: &[u8; IV],
        source: &[u8],
        result: &mut [u8],
    ) -> io::Result<()> {
        let result =
            result.get_mut(..source.len()).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.send(direction, iv, source)?;
        let mut done = 0;
        while done < result.len() {
            let got = rustix::io::read(&self.requests, &mut result[done..])?;
            if got == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            done += got;
        }
        Ok(())
    }

    fn send(&mut self, direction: Direction, iv: &[u8; IV], source: &[u8]) -> io::Result<()> {
        let operation = match direction {
            Direction::Encrypt => libc::ALG_OP_ENCRYPT,
            Direction::Decrypt => libc::ALG_OP_DECRYPT,
        } as u32;
        // `struct af_alg_iv`: its length, then it.
        let mut vector = [0; 4 + IV];
        vector[..4].copy_from_slice(&(IV as u32).to_ne_bytes());
        vector[4..].copy_from_slice(iv);
        // Room for both control messages, aligned as their headers are.
        let mut control = [0u64; 16];
        let mut data = libc::iovec { iov_base: source.as_ptr().cast_mut().cast(), iov_len: source.len() };
        // SAFETY: all-zero bytes are a valid message.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut data;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: sizes only.
        let lengths = unsafe { [libc::CMSG_SPACE(4), libc::CMSG_SPACE(vector.len() as u32)] };
        message.msg_controllen = lengths.iter().sum::<u32>() as usize;
        debug_assert!(message.msg_controllen <= size_of_val(&control));
        // SAFETY: the two headers and what follows each of them are within `control`, which is large enough and aligned; the
        // macros keep to `msg_controllen`.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            (*first).cmsg_level = libc::SOL_ALG;
            (*first).cmsg_type = libc::ALG_SET_OP;
            (*first).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(first).cast::<u32>().write_unaligned(operation);
            let second = libc::CMSG_NXTHDR(&raw const message, first);
            (*second).cmsg_level = libc::SOL_ALG;
            (*second).cmsg_type = libc::ALG_SET_IV;
            (*second).cmsg_len = libc::CMSG_LEN(vector.len() as u32) as usize;
            std::ptr::copy_nonoverlapping(vector.as_ptr(), libc::CMSG_DATA(second), vector.len());
        }
        // SAFETY: everything that the message points to lives through the call.
        let sent = unsafe { libc::sendmsg(self.requests.as_raw_fd(), &raw const message, 0) };
        match usize::try_from(sent) {
            Err(_) => Err(io::Error::last_os_error()),
            Ok(sent) if sent == source.len() => Ok(()),
            // A socket holds sixteen pages at most (`ALG_MAX_PAGES`, crypto/if_alg.h): more would wait for a reader.
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "more than the kernel takes at once")),
        }
    }
}
