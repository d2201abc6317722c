//! QEMU's storage daemon, which serves images as virtio disks (vhost-user): the disks of QEMU's guests without the guest.
//!
//! It has neither a name in the file system nor a way to outlive us: its sockets are abstract, it inherits them, and it ends with the
//! thread that started it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, memfd_create};
use tollway_core::{Error, Missing, Result};
use tollway_host::guest_data;
use tollway_host::program::{Given, Program, last_words};

use super::file::{Image, path, write_all};

/// The program.
pub const PROGRAM: &str = "qemu-storage-daemon";
/// Debian's package that has it.
pub const PACKAGE: &str = "qemu-system-common";

const STARTING: &str = "starting qemu-storage-daemon";

/// A daemon that serves images, each at a socket of its own.
pub struct Server {
    daemon: Program,
    sockets: Vec<PathBuf>,
    /// What unlocks the images: their passphrases, in memory, which the daemon reads when it starts.
    _keys: Vec<OwnedFd>,
}

impl Server {
    /// Starts it, on the processors on which the calling thread may run. The images must live as long as it does.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is no such program, [`Error::System`] where it cannot be started.
    pub fn start(images: &[&Image]) -> Result<Server> {
        let failed = |e: std::io::Error| Error::system(STARTING, e);
        let mut command = Command::new(program()?);
        let (mut keys, mut sockets, mut listeners) = (Vec::new(), Vec::new(), Vec::new());
        for (number, image) in images.iter().enumerate() {
            let direct = match image.opens_directly() {
                true => "cache.direct=on,aio=native",
                false => "cache.direct=off,aio=threads",
            };
            let file = format!("driver=file,node-name=file{number},filename={},{direct}", image.path());
            let mut disk = format!("node-name=disk{number},file=file{number}");
            match &image.luks {
                None => disk += ",driver=raw",
                Some(luks) => {
                    let key = in_memory(luks.passphrase.as_bytes())?;
                    command.arg("--object").arg(format!("secret,id=key{number},file={}", path(&key)));
                    disk += &format!(",driver=luks,key-secret=key{number}");
                    keys.push(key);
                }
            }
            let (listener, socket) = listen().map_err(failed)?;
            let export = format!(
                "type=vhost-user-blk,id=export{number},node-name=disk{number},writable=on,addr.type=fd,addr.str={}",
                listener.as_raw_fd()
            );
            command.args(["--blockdev", &file, "--blockdev", &disk, "--export", &export]);
            sockets.push(socket);
            listeners.push(listener);
        }
        let descriptors: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
        let given = Given { descriptors: &descriptors, ..Given::default() };
        let daemon = Program::start(&mut command, given).map_err(failed)?;
        Ok(Server { daemon, sockets, _keys: keys })
    }

    /// Where an image is served, by its place among those that it was started with.
    pub fn socket(&self, number: usize) -> &Path {
        &self.sockets[number]
    }

    /// The error of who tried to use it, with what it has complained of itself.
    pub fn explained(&self, error: Error) -> Error {
        match (self.daemon.complaints(), error) {
            (Ok(complaints), Error::System { doing, reason }) if !complaints.trim().is_empty() => {
                Error::System { doing, reason: format!("{reason} ({})", last_words(&complaints)) }
            }
            (_, error) => error,
        }
    }
}

/// A socket without a name in the file system, and where it is.
fn listen() -> std::io::Result<(UnixListener, PathBuf)> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let name = format!("tollway-disk-{}-{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let path = OsString::from_vec([b"\0", name.as_bytes()].concat());
    Ok((listener, path.into()))
}

fn in_memory(bytes: &[u8]) -> Result<OwnedFd> {
    let file = memfd_create("tollway", MemfdFlags::CLOEXEC).and_then(|file| {
        write_all(&file, bytes, 0)?;
        Ok(file)
    });
    file.map_err(|e| Error::system("making a file in memory", e))
}

/// Whether there is such a daemon: what its variants need.
pub fn is_there() -> bool {
    program().is_ok()
}

/// The daemon beside the QEMU that TOLLWAY_QEMU names, else in the folder of the set-up for guests, else in PATH.
fn program() -> Result<PathBuf> {
    let beside = guest_data::named(guest_data::QEMU).and_then(|qemu| Some(qemu.parent()?.to_owned()));
    let set_up = guest_data::folder().map(|folder| folder.join("qemu/usr/bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    in_folders(beside.into_iter().chain(set_up).chain(env::split_paths(&path)), OsStr::new(PROGRAM))
        .ok_or_else(|| {
            let reason = "it is neither beside the QEMU of guests nor in PATH";
            Error::Missing(Missing::new(PROGRAM, reason, format!("apt-get install {PACKAGE}")))
        })
}

fn in_folders(folders: impl Iterator<Item = PathBuf>, program: &OsStr) -> Option<PathBuf> {
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use tollway_core::Requirement;
    use tollway_host::requirement::test_has;

    use super::super::{Drive, Format, Medium};
    use super::*;
    use crate::engine::disk::Pattern;

    #[test]
    fn an_image_that_it_refuses_is_told_with_its_reason() {
        if !test_has(&[(Requirement::Program(PROGRAM.into(), PACKAGE.into()), "qemu")]) {
            return;
        }
        let image = Image::make(Medium::Memory, Format::Luks, 1 << 20, 1).unwrap();
        write_all(&image.file, b"no LUKS header", 0).unwrap();
        let server = Server::start(&[&image]).unwrap();
        let refused = Drive::connect(server.socket(0), image, Pattern::Read, 4096, 1, 1).err();
        let error = server.explained(refused.expect("it was served")).to_string();
        assert!(error.contains("@tollway-disk-") && error.contains("LUKS"), "{error}");
    }
}
