//! A cipher behind a socket of family AF_ALG (`linux/if_alg.h`): the key is the kernel's once it is set, and each request
//! crosses into the kernel twice, with its bytes copied in and out (Linux's Documentation/crypto/userspace-if.rst).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use tollway_core::Missing;

use crate::Found;

/// The longest IV that is sent, in bytes: a block of AES.
const LONGEST_IV: usize = 16;

/// A cipher with its key.
#[derive(Debug)]
pub struct AfAlg {
    /// Keeps the key; requests are those of a socket that was accepted from it.
    _cipher: OwnedFd,
    requests: OwnedFd,
}

/// A descriptor that a call returned.
fn owned(descriptor: i32) -> io::Result<OwnedFd> {
    checked(descriptor)?;
    // SAFETY: the call has just returned it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: a plain call.
    owned(unsafe { libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) })
}

/// The address of a cipher. The kernel takes the name up to its first zero, which must be there.
fn address(name: &str) -> io::Result<libc::sockaddr_alg> {
    // SAFETY: all-zero bytes are a valid address of this kind.
    let mut address: libc::sockaddr_alg = unsafe { std::mem::zeroed() };
    address.salg_family = libc::AF_ALG as u16;
    let kind = b"skcipher";
    address.salg_type[..kind.len()].copy_from_slice(kind);
    if name.len() >= address.salg_name.len() {
        return Err(refused(format!("`{name}` is too long for a cipher's name")));
    }
    address.salg_name[..name.len()].copy_from_slice(name.as_bytes());
    Ok(address)
}

/// `struct af_alg_iv`: its length, then it.
fn vector(iv: &[u8]) -> io::Result<[u8; 4 + LONGEST_IV]> {
    let mut vector = [0; 4 + LONGEST_IV];
    let (length, bytes) = vector.split_at_mut(4);
    length.copy_from_slice(&(iv.len() as u32).to_ne_bytes());
    let bytes = bytes.get_mut(..iv.len());
    bytes.ok_or_else(|| refused(format!("an IV of {} bytes", iv.len())))?.copy_from_slice(iv);
    Ok(vector)
}

impl AfAlg {
    /// Whether this kernel has such sockets.
    ///
    /// # Errors
    /// It has not.
    pub fn check() -> Found<()> {
        match socket() {
            Ok(_) => Ok(()),
            Err(error) => Err(Missing::new(
                "AF_ALG",
                format!("this kernel has no such sockets ({error})"),
                "a kernel with CONFIG_CRYPTO_USER_API_SKCIPHER (modprobe algif_skcipher), or a Linux guest",
            )),
        }
    }

    /// Bytes that a request may have: whole pages of what a socket's send buffer holds (`af_alg_sndbuf`,
    /// crypto/if_alg.h), which is 208 KiB where nobody has changed `net.core.wmem_default`.
    ///
    /// # Errors
    /// This kernel has no such sockets.
    pub fn longest() -> io::Result<usize> {
        let buffer = rustix::net::sockopt::socket_send_buffer_size(&socket()?)?;
        let page = rustix::param::page_size();
        Ok((buffer / page * page).max(page))
    }

    /// A cipher by the name of an algorithm (`cbc(aes)`: the driver with the highest priority) or of a driver
    /// (`virtio_crypto_aes_cbc`), with a key.
    ///
    /// # Errors
    /// The kernel has no such cipher, or the key does not fit.
    pub fn open(name: &str, key: &[u8]) -> io::Result<AfAlg> {
        let address = address(name)?;
        let cipher = socket()?;
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

    /// Has these bytes encrypted; the result is as long.
    ///
    /// # Errors
    /// The IV is longer than 16 bytes, the result has less room, or the kernel refuses.
    pub fn encrypt(&mut self, iv: &[u8], source: &[u8], result: &mut [u8]) -> io::Result<()> {
        self.run(libc::ALG_OP_ENCRYPT, iv, source, result)
    }

    /// Has these bytes decrypted; the result is as long.
    ///
    /// # Errors
    /// As [`AfAlg::encrypt`].
    pub fn decrypt(&mut self, iv: &[u8], source: &[u8], result: &mut [u8]) -> io::Result<()> {
        self.run(libc::ALG_OP_DECRYPT, iv, source, result)
    }

    fn run(&mut self, operation: i32, iv: &[u8], source: &[u8], result: &mut [u8]) -> io::Result<()> {
        let result =
            result.get_mut(..source.len()).ok_or_else(|| refused("the result has less room".into()))?;
        self.send(operation as u32, &vector(iv)?[..4 + iv.len()], source)?;
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

    fn send(&mut self, operation: u32, vector: &[u8], source: &[u8]) -> io::Result<()> {
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
            // More than its send buffer would wait for a reader.
            Ok(sent) => Err(refused(format!(
                "the kernel took {sent} of {} bytes; a request has as many as a socket's send buffer holds \
                 (net.core.wmem_default)",
                source.len()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::skip_test;

    #[test]
    fn what_does_not_fit_is_refused_before_the_kernel_is_asked() {
        let room = address("").unwrap().salg_name.len();
        let longest = address(&"x".repeat(room - 1)).unwrap();
        assert_eq!((longest.salg_name[room - 2], longest.salg_name[room - 1]), (b'x', 0));
        for error in [AfAlg::open(&"x".repeat(room), &[0; 16]).unwrap_err(), vector(&[0; 17]).unwrap_err()] {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        assert_eq!(vector(&[7; 12]).unwrap()[..5], [12, 0, 0, 0, 7]);
    }

    /// NIST SP 800-38A, appendix F.2.1 and F.2.2: CBC-AES128, the first block.
    #[test]
    fn a_block_is_as_nist_has_it() {
        if let Err(missing) = AfAlg::check() {
            return skip_test(&["af-alg"], &missing);
        }
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let iv = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f_u128.to_be_bytes();
        let plain = 0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128.to_be_bytes();
        let mut cipher = AfAlg::open("cbc(aes)", &key).unwrap();
        let (mut made, mut back) = ([0; 16], [0; 16]);
        cipher.encrypt(&iv, &plain, &mut made).unwrap();
        assert_eq!(made, 0x7649_abac_8119_b246_cee9_8e9b_12e9_197d_u128.to_be_bytes());
        cipher.decrypt(&iv, &made, &mut back).unwrap();
        assert_eq!(back, plain);
        assert_eq!(
            cipher.encrypt(&iv, &plain, &mut made[1..]).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
