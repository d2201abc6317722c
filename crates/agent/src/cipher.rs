//! Enciphers by the kernel's crypto interface, AF_ALG (its Documentation/crypto/userspace-if.rst).

use std::fs::File;
use std::io::{self, Error, Read};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// The longest initialisation vector, in bytes.
const LONGEST_IV: usize = 16;

/// Enciphers whole blocks with the implementation of that name.
pub(crate) fn encipher(implementation: &str, key: &[u8], iv: &[u8], plain: &[u8]) -> io::Result<Vec<u8>> {
    if iv.len() > LONGEST_IV {
        return Err(Error::other(format!("an initialisation vector of {} bytes", iv.len())));
    }
    let transform = transform(implementation)?;
    // SAFETY: the key is live for as long as its length says.
    let set = unsafe {
        libc::setsockopt(
            transform.as_raw_fd(),
            libc::SOL_ALG,
            libc::ALG_SET_KEY,
            key.as_ptr().cast(),
            key.len() as libc::socklen_t,
        )
    };
    done(set)?;
    // SAFETY: takes a descriptor; no address is asked for.
    let operation =
        unsafe { libc::accept4(transform.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), libc::SOCK_CLOEXEC) };
    done(operation)?;
    // SAFETY: the descriptor is new and nobody else's.
    let operation = unsafe { OwnedFd::from_raw_fd(operation) };
    send(&operation, iv, plain)?;
    let mut result = vec![0; plain.len()];
    File::from(operation).read_exact(&mut result)?;
    Ok(result)
}

fn transform(implementation: &str) -> io::Result<OwnedFd> {
    // SAFETY: all-zero is a valid sockaddr_alg.
    let mut address: libc::sockaddr_alg = unsafe { zeroed() };
    address.salg_family = libc::AF_ALG as libc::sa_family_t;
    address.salg_type[..8].copy_from_slice(b"skcipher");
    if implementation.len() >= address.salg_name.len() {
        return Err(Error::other(format!("`{implementation}` is too long for a cipher")));
    }
    address.salg_name[..implementation.len()].copy_from_slice(implementation.as_bytes());
    // SAFETY: takes numbers only.
    let socket = unsafe { libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) };
    done(socket)?;
    // SAFETY: the descriptor is new and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let length = size_of::<libc::sockaddr_alg>() as libc::socklen_t;
    // SAFETY: the address is live and as long as said.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket)
}

/// Sends the operation, the initialisation vector and the text in one message.
fn send(operation: &OwnedFd, iv: &[u8], plain: &[u8]) -> io::Result<()> {
    /// As `af_alg_iv`, which ends in an array of unstated length.
    #[repr(C)]
    struct Iv {
        length: u32,
        bytes: [u8; LONGEST_IV],
    }
    let mut vector = Iv { length: iv.len() as u32, bytes: [0; LONGEST_IV] };
    vector.bytes[..iv.len()].copy_from_slice(iv);
    let vector_length = (size_of::<u32>() + iv.len()) as u32;
    let mut control = [0_u64; 16];
    let mut text = libc::iovec { iov_base: plain.as_ptr().cast_mut().cast(), iov_len: plain.len() };
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut text;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    let operation_length = size_of::<u32>() as u32;
    // SAFETY: CMSG_SPACE only counts.
    message.msg_controllen =
        unsafe { libc::CMSG_SPACE(operation_length) + libc::CMSG_SPACE(vector_length) } as usize;
    // SAFETY: the two headers and their data lie within `control`, which is zeroed, aligned and longer than the two
    // spaces together (at most 24 + 40 of 128 bytes); the data written are as long as each header says.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        (*first).cmsg_level = libc::SOL_ALG;
        (*first).cmsg_type = libc::ALG_SET_OP;
        (*first).cmsg_len = libc::CMSG_LEN(operation_length) as usize;
        libc::CMSG_DATA(first).cast::<u32>().write_unaligned(libc::ALG_OP_ENCRYPT as u32);
        let second = libc::CMSG_NXTHDR(&raw const message, first);
        (*second).cmsg_level = libc::SOL_ALG;
        (*second).cmsg_type = libc::ALG_SET_IV;
        (*second).cmsg_len = libc::CMSG_LEN(vector_length) as usize;
        let from = (&raw const vector).cast::<u8>();
        ptr::copy_nonoverlapping(from, libc::CMSG_DATA(second), vector_length as usize);
    }
    // SAFETY: the message and all that it points to are live; the kernel only reads the text.
    let sent = unsafe { libc::sendmsg(operation.as_raw_fd(), &raw const message, 0) };
    match usize::try_from(sent) {
        Ok(sent) if sent == plain.len() => Ok(()),
        Ok(sent) => Err(Error::other(format!("the kernel took {sent} of {} bytes", plain.len()))),
        Err(_) => Err(Error::last_os_error()),
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
