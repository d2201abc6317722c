//! /dev/crypto: what programs asked for ciphers by before AF_ALG, and what the study's requests went through. Linux has it by a
//! module that is not its own, cryptodev-linux; the numbers and layouts are those of its `crypto/cryptodev.h` (1.14).

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::ptr;

use tollway_core::Missing;

use crate::engine::suite::{CipherMode, Direction};

/// Bytes of an IV of AES.
const IV: usize = 16;

/// `struct session_op`: what a session is asked for by.
#[repr(C)]
struct NewSession {
    cipher: u32,
    mac: u32,
    key_bytes: u32,
    key: *const u8,
    mac_key_bytes: u32,
    mac_key: *const u8,
    /// The number that the module gave it.
    number: u32,
}

/// `struct crypt_op`: a request.
#[repr(C)]
struct Request {
    session: u32,
    operation: u16,
    flags: u16,
    bytes: u32,
    source: *const u8,
    result: *mut u8,
    mac: *mut u8,
    iv: *const u8,
}

/// `struct session_info_op`: by what a session is served. Of cipher and hash each a name of the algorithm and of the driver.
#[repr(C)]
struct About {
    session: u32,
    names: [[u8; 64]; 4],
    alignment: u16,
    flags: u32,
}

/// The number of a call that hands over a `T` in both directions (`_IOWR('c', …)`, `asm-generic/ioctl.h`).
const fn both<T>(number: u64) -> u64 {
    3 << 30 | (size_of::<T>() as u64) << 16 | (b'c' as u64) << 8 | number
}

const CIOCGSESSION: u64 = both::<NewSession>(102);
/// In one direction: to the module.
const CIOCFSESSION: u64 = both::<u32>(103) & !(2 << 30);
const CIOCCRYPT: u64 = both::<Request>(104);
const CIOCGSESSINFO: u64 = both::<About>(107);

/// `enum cryptodev_crypto_op_t`.
fn number(mode: CipherMode) -> u32 {
    match mode {
        CipherMode::Cbc => 11,
        CipherMode::Ctr => 21,
        CipherMode::Xts => 22,
    }
}

/// A cipher with its key, which is the kernel's. The session ends when this is dropped.
#[derive(Debug)]
pub struct DevCrypto {
    device: File,
    session: u32,
}

impl DevCrypto {
    /// Whether the machine whose files are below that root has it.
    ///
    /// # Errors
    /// It has not.
    pub fn check(root: &Path) -> Result<(), Missing> {
        let lacking = |reason: String| {
            let remedy = "build and load the module cryptodev (cryptodev-linux), which this kernel does not bring along";
            Err(Missing::new("/dev/crypto", reason, remedy))
        };
        match fs::metadata(root.join("dev/crypto")) {
            Ok(found) if found.file_type().is_char_device() => Ok(()),
            Ok(_) => lacking("what is there is no character device".into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => lacking("there is no such file".into()),
            Err(error) => lacking(error.to_string()),
        }
    }

    /// AES in that mode, by whichever driver the kernel prefers.
    ///
    /// # Errors
    /// The device cannot be opened, or has no such cipher with such a key.
    pub fn open(mode: CipherMode, key: &[u8]) -> io::Result<DevCrypto> {
        let device = File::options().read(true).write(true).open("/dev/crypto")?;
        let mut new = NewSession {
            cipher: number(mode),
            mac: 0,
            key_bytes: key.len() as u32,
            key: key.as_ptr(),
            mac_key_bytes: 0,
            mac_key: ptr::null(),
            number: 0,
        };
        // SAFETY: the number tells of a `NewSession`; the key that it points to lives through the call, and is only read.
        checked(unsafe { libc::ioctl(device.as_raw_fd(), CIOCGSESSION, &raw mut new) })?;
        Ok(DevCrypto { device, session: new.number })
    }

    /// The driver that does it, by the kernel's name.
    ///
    /// # Errors
    /// The module does not tell.
    pub fn driver(&self) -> io::Result<String> {
        let mut about = About { session: self.session, names: [[0; 64]; 4], alignment: 0, flags: 0 };
        // SAFETY: the number tells of an `About`, which is written.
        checked(unsafe { libc::ioctl(self.device.as_raw_fd(), CIOCGSESSINFO, &raw mut about) })?;
        let name = about.names[1].split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    /// Has these bytes encrypted or decrypted; the result is as long.
    ///
    /// # Errors
    /// The result has less room, or the kernel refuses.
    pub fn run(
        &mut self,
        direction: Direction,
        iv: &[u8; IV],
        source: &[u8],
        result: &mut [u8],
    ) -> io::Result<()> {
        let bytes = u32::try_from(source.len()).ok().filter(|_| result.len() >= source.len());
        let mut request = Request {
            session: self.session,
            operation: u16::from(direction == Direction::Decrypt),
            flags: 0,
            bytes: bytes.ok_or(io::ErrorKind::InvalidInput)?,
            source: source.as_ptr(),
            result: result.as_mut_ptr(),
            mac: ptr::null_mut(),
            iv: iv.as_ptr(),
        };
        // SAFETY: the number tells of a `Request`; as many bytes as it says are read at the source, whose memory is left as it is, and
        // written at the result, which has as many, and both live through the call, as does the IV of a block.
        checked(unsafe { libc::ioctl(self.device.as_raw_fd(), CIOCCRYPT, &raw mut request) })
    }
}

impl Drop for DevCrypto {
    fn drop(&mut self) {
        // SAFETY: the number tells of a `u32`, which is read.
        unsafe { libc::ioctl(self.device.as_raw_fd(), CIOCFSESSION, &raw const self.session) };
    }
}

fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use tollway_host::requirement::skip_test;

    use super::*;

    #[test]
    fn only_a_device_is_one() {
        let root = tempfile::tempdir().unwrap();
        let told = DevCrypto::check(root.path()).unwrap_err();
        assert!(told.reason.contains("no such file") && told.remedy.contains("cryptodev"), "{told}");
        fs::create_dir(root.path().join("dev")).unwrap();
        fs::write(root.path().join("dev/crypto"), "").unwrap();
        assert!(DevCrypto::check(root.path()).unwrap_err().reason.contains("no character device"));
        fs::remove_file(root.path().join("dev/crypto")).unwrap();
        std::os::unix::fs::symlink("/dev/null", root.path().join("dev/crypto")).unwrap();
        assert_eq!(DevCrypto::check(root.path()), Ok(()));
    }

    /// As a C compiler has them of `crypto/cryptodev.h` (cryptodev-linux 1.14, x86-64).
    #[test]
    fn calls_have_the_headers_numbers() {
        assert_eq!(
            [CIOCGSESSION, CIOCFSESSION, CIOCCRYPT, CIOCGSESSINFO],
            [0xc030_6366, 0x4004_6367, 0xc030_6368, 0xc10c_636b]
        );
    }

    #[test]
    fn the_device_makes_what_the_library_makes() {
        use crate::engine::protocol::Work;
        use crate::engine::suite::{Algorithm, Job, Session};
        use vm_memory::VolatileSlice;
        if let Err(missing) = DevCrypto::check(Path::new("/")) {
            return skip_test(&["dev-crypto"], &missing);
        }
        for (mode, key) in [(CipherMode::Cbc, 16), (CipherMode::Ctr, 32), (CipherMode::Xts, 32)] {
            let key: Vec<u8> = (0..key).map(|at| at as u8 ^ 0x5a).collect();
            for bytes in [16usize, 4096, 100_000 / 16 * 16] {
                let mut source: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
                let (mut expected, mut result) = (vec![0; bytes], vec![0; bytes]);
                let mut device = DevCrypto::open(mode, &key).unwrap();
                device.run(Direction::Encrypt, &[3; IV], &source, &mut result).unwrap();
                let session = Session::new(Algorithm::Cipher(mode, Direction::Encrypt), &key).unwrap();
                let job = Job {
                    work: Work::Encrypt,
                    iv: &[3; IV],
                    associated: &[],
                    source: &[VolatileSlice::from(&mut source[..])],
                    result: &[VolatileSlice::from(&mut expected[..])],
                    digest: 0,
                };
                session.run(&job).unwrap();
                assert!(result == expected, "{mode:?}, {bytes} bytes, by {:?}", device.driver());
                println!("{mode:?} by {}", device.driver().unwrap());
                let mut back = vec![0; bytes];
                device.run(Direction::Decrypt, &[3; IV], &result, &mut back).unwrap();
                assert_eq!(back, source);
                let short = device.run(Direction::Encrypt, &[3; IV], &source, &mut back[1..]).unwrap_err();
                assert_eq!(short.kind(), io::ErrorKind::InvalidInput);
            }
        }
        assert!(DevCrypto::open(CipherMode::Cbc, &[1; 15]).is_err());
    }
}
