//! Every device that a Linux guest can have, used for real by two guests and checked from the host.
//!
//! Where QEMU, a kernel or the static agent are missing the test says why it does nothing, unless `TOLLWAY_REQUIRE`
//! names `qemu`: then it fails; likewise `qemu8`, where QEMU is older than 8.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Spawn};
use std::thread;
use std::time::{Duration, Instant};

use crate::eventually::eventually;
use crate::turn::boot;
use tollway_core::{DiskFormat, Error, GuestDevice, GuestSpec};
use tollway_host::requirement::skip_test;
use tollway_tenant::Agent;
use tollway_tenant::guest_settings::HOST;
use tollway_tenant::linux::{Boot, GuestOptions, LinuxGuest};
use tollway_tenant::probe::{Disk, Probe, pattern};
use tollway_tenant::protocol::{Answer, Command};

/// How long anything may take.
const HANG: Duration = Duration::from_secs(300);
const MIB: usize = 1 << 20;
/// Of a disk without a file system: a guest without KVM takes seconds for more.
const DISK_MIB: u32 = 2;
/// Above ext4's own size.
const MOUNTED_MIB: u32 = 16;
const WIRE: u32 = 259;

/// A server of a vhost-user disk that is not ours: QEMU's.
struct DiskServer {
    process: Child,
    folder: tempfile::TempDir,
}

impl DiskServer {
    fn start(boot: &Boot, content: &[u8]) -> DiskServer {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("image"), content).unwrap();
        let program = boot.found().qemu.tool("qemu-storage-daemon").unwrap();
        let process = Spawn::new(program)
            .args(["--blockdev", &format!("driver=file,node-name=file,filename={}", at("image"))])
            .args(["--blockdev", "driver=raw,node-name=disk,file=file"])
            .args([
                "--export",
                &format!(
                    "vhost-user-blk,id=export,node-name=disk,writable=on,addr.type=unix,addr.path={}",
                    at("socket")
                ),
            ])
            .spawn()
            .unwrap();
        let server = DiskServer { process, folder };
        eventually("the server of a disk listens", || server.socket().exists());
        server
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn image(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("image")).unwrap()
    }
}

impl Drop for DiskServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn patterned(seed: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    pattern(seed, 0, &mut content);
    content
}

/// A check that must pass; what it found.
fn probe(agent: &mut Agent, probe: Probe) -> String {
    let begun = Instant::now();
    let answer = agent.ask(1, Command::Probe(probe.clone()), Instant::now() + HANG).unwrap();
    let Answer::Probed(found) = answer else { panic!("{probe:?}: {answer:?}") };
    println!("{:?}: {probe:.60?}", begun.elapsed());
    found
}

fn refused(agent: &mut Agent, probe: Probe) -> String {
    match agent.ask(1, Command::Probe(probe), Instant::now() + HANG) {
        Err(error) => error.to_string(),
        Ok(answer) => panic!("{answer:?}"),
    }
}

/// The images of a guest's disks, in their order, as only QEMU still has them.
fn images(guest: &LinuxGuest) -> Vec<PathBuf> {
    let folder = tollway_host::scratch::folder();
    let files = fs::read_dir(format!("/proc/{}/fd", guest.process())).unwrap().flatten();
    let mut files: Vec<(u32, PathBuf)> = files
        .filter(|file| fs::read_link(file.path()).is_ok_and(|to| to.starts_with(&folder)))
        .map(|file| (file.file_name().to_string_lossy().parse().unwrap(), file.path()))
        .collect();
    files.sort();
    let mut seen = Vec::new();
    // QEMU opens each once more.
    files.retain(|(_, path)| {
        let inode = fs::metadata(path).unwrap().ino();
        let new = !seen.contains(&inode);
        seen.push(inode);
        new
    });
    let mut images: Vec<PathBuf> = files.into_iter().map(|(_, path)| path).collect();
    // Numbers of descriptors tell no order: QEMU closes some, and opens others in their place.
    images.sort_by_key(|image| {
        let mut magic = [0; 4];
        File::open(image).unwrap().read_exact(&mut magic).unwrap();
        [[0; 4], *b"QFI\xfb", *b"LUKS"].iter().position(|m| *m == magic).unwrap_or(0)
    });
    images
}

/// The files without a name in the folder of images that this process has open.
fn ours() -> Vec<PathBuf> {
    let folder = tollway_host::scratch::folder();
    let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.filter(|to| to.starts_with(&folder) && to.to_string_lossy().ends_with("(deleted)")).collect()
}

/// A disk's content behind whatever format it has, as QEMU's own tool reads it.
fn content(boot: &Boot, format: &str, image: &Path) -> Vec<u8> {
    let raw = tempfile::NamedTempFile::new().unwrap();
    let tool = boot.found().qemu.tool("qemu-img").unwrap();
    let done = Spawn::new(tool)
        .args(["convert", "-q", "-U", "-f", format, "-O", "raw"])
        .args([image, raw.path()])
        .status()
        .unwrap();
    assert!(done.success());
    fs::read(raw.path()).unwrap()
}

/// Whether a sector of an image begins so: whatever lies before a disk's content there is of whole sectors.
fn has_sector(image: &[u8], begin: &[u8]) -> bool {
    image.chunks(512).any(|sector| sector.starts_with(begin))
}

#[test]
fn every_device_does_what_it_is_for() {
    let Some((boot, _turn)) = boot() else { return };
    let begun = Instant::now();
    let server = DiskServer::start(boot, &patterned(50, 2 * MIB));
    let disk = |format, mounted| {
        let mib = if mounted { MOUNTED_MIB } else { DISK_MIB };
        GuestDevice::Disk { format, mib, mounted }
    };
    let socket = server.socket().display().to_string();
    let start = |devices| {
        let spec = GuestSpec { devices, ..GuestSpec::default() };
        LinuxGuest::start(boot, &GuestOptions { spec, ..GuestOptions::default() }).unwrap()
    };
    let mut guest = start(vec![
        disk(DiskFormat::Raw, false),
        disk(DiskFormat::Qcow2, false),
        disk(DiskFormat::Luks, false),
        disk(DiskFormat::Luks, true),
        GuestDevice::Wire(WIRE),
        GuestDevice::HostNetwork,
        GuestDevice::Rng { bytes_per_second: None },
        GuestDevice::Crypto,
        GuestDevice::VhostUser { kind: "blk".into(), socket, listens: false },
    ]);
    let mut other = start(vec![
        GuestDevice::Wire(WIRE),
        GuestDevice::Rng { bytes_per_second: Some(1000) },
        disk(DiskFormat::Qcow2, true),
    ]);
    guest.booted(Instant::now() + HANG).unwrap();
    other.booted(Instant::now() + HANG).unwrap();
    println!("QEMU {}: two guests booted in {:?}", boot.found().qemu.version, begun.elapsed());
    let (mut agent, mut others) = (guest.agent(0).unwrap(), other.agent(0).unwrap());

    disks(boot, &guest, &mut agent);
    assert_eq!(probe(&mut agent, Probe::Scratch { bytes: MIB as u32 }), "/disk/3");
    assert_eq!(probe(&mut others, Probe::Scratch { bytes: MIB as u32 }), "/disk/0");
    vhost_user_disk(&server, &mut agent);
    wire(&mut agent, &mut others);
    host_network(&mut agent);
    random_numbers(&mut agent, &mut others);
    cipher(&mut agent);

    let disk = images(&guest).remove(0);
    let held = File::open(disk).unwrap();
    assert_eq!(ours().len(), 1, "images that this program keeps: {:?}", ours());
    guest.stop(HANG).unwrap();
    other.stop(HANG).unwrap();
    assert_eq!(held.metadata().unwrap().nlink(), 0, "nothing but this test keeps the image");
    println!("all in {:?}", begun.elapsed());
}

/// What the guest writes it reads back, and it is in the image, in the format it should be in.
fn disks(boot: &Boot, guest: &LinuxGuest, agent: &mut Agent) {
    let size = DISK_MIB as usize * MIB;
    for number in 0..3 {
        let found =
            probe(agent, Probe::FillDisk { disk: Disk::Number(number), seed: 40 + u64::from(number) });
        assert_eq!(found, size.to_string());
    }
    // A check that could not fail would be none.
    let wrong = refused(agent, Probe::DiskHolds { disk: Disk::Number(0), seed: 41 });
    assert!(wrong.contains("byte 0 is not what was written"), "{wrong}");
    let absent = refused(agent, Probe::DiskHolds { disk: Disk::Number(4), seed: 0 });
    assert!(absent.contains("no such disk"), "{absent}");

    let images = images(guest);
    assert_eq!(images.len(), 4, "{images:?}");
    assert!(fs::read(&images[0]).unwrap() == patterned(40, size), "the raw image");
    assert!(fs::read(&images[1]).unwrap().starts_with(b"QFI\xfb"), "the magic number of qcow2");
    assert!(content(boot, "qcow2", &images[1]) == patterned(41, size), "the content of qcow2");
    for image in &images[2..] {
        // LUKS On-Disk Format Specification 1.2.3, figure 1: magic number and version.
        assert!(fs::read(image).unwrap().starts_with(b"LUKS\xba\xbe\0\x01"), "the header of LUKS");
    }
    let (luks, plain) = (fs::read(&images[2]).unwrap(), patterned(42, size));
    assert!(luks.len() >= size);
    for at in (0..size).step_by(size / 16) {
        assert!(!has_sector(&luks, &plain[at..at + 16]), "byte {at} of the disk is readable in its image");
    }
    assert!(has_sector(&plain, &plain[MIB..MIB + 16]), "the search finds nothing");
}

fn vhost_user_disk(server: &DiskServer, agent: &mut Agent) {
    let found = probe(agent, Probe::DiskHolds { disk: Disk::Foreign, seed: 50 });
    assert_eq!(found, (2 * MIB).to_string());
    probe(agent, Probe::FillDisk { disk: Disk::Foreign, seed: 51 });
    assert!(server.image() == patterned(51, 2 * MIB), "what the guest wrote is not in the server's file");
}

fn wire(agent: &mut Agent, others: &mut Agent) {
    let at = SocketAddrV4::new(Ipv4Addr::new(10, 129, 3, 1), 5000);
    agent.send(7, Command::Probe(Probe::Echo { at })).unwrap();
    assert_eq!(probe(others, Probe::Call { at, bytes: 1 << 20 }), (1 << 20).to_string());
    let reply = agent.reply(Instant::now() + HANG).unwrap();
    assert_eq!((reply.actor, reply.answer), (7, Answer::Probed((1 << 20).to_string())));
}

fn host_network(agent: &mut Agent) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = SocketAddrV4::new(HOST, listener.local_addr().unwrap().port());
    let echo = thread::spawn(move || {
        let (mut caller, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        caller.read_to_end(&mut all).unwrap();
        caller.write_all(&all).unwrap();
        all
    });
    assert_eq!(probe(agent, Probe::Call { at, bytes: 100_000 }), "100000");
    assert!(echo.join().unwrap() == patterned(100_000, 100_000));
}

fn random_numbers(agent: &mut Agent, others: &mut Agent) {
    let draw = |agent: &mut Agent, bytes| {
        let found = probe(agent, Probe::Random { bytes });
        let (device, digits) = found.split_once(' ').unwrap();
        assert!(device.starts_with("virtio_rng"), "{device}");
        assert_eq!(digits.len(), 2 * bytes as usize);
        digits.to_owned()
    };
    let digits = draw(agent, 4096);
    assert_ne!(digits, draw(agent, 4096));
    // 32,768 bits: their ones are within five standard deviations (90.5) of the half but once in 1.7 million draws.
    let ones: u32 = digits.chars().map(|digit| digit.to_digit(16).unwrap().count_ones()).sum();
    assert!(ones.abs_diff(16_384) < 453, "{ones} ones");

    let begun = Instant::now();
    draw(others, 2000);
    // At 1000 bytes in a second; the driver has two requests' worth beforehand.
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(1700), "{took:?}");
}

/// NIST SP 800-38A, appendix F.2.1: CBC-AES128.Encrypt, all four blocks.
fn cipher(agent: &mut Agent) {
    let bytes = |digits: &str| -> Vec<u8> {
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
    };
    let found = probe(
        agent,
        Probe::Encipher {
            implementation: "virtio_crypto_aes_cbc".into(),
            key: bytes("2b7e151628aed2a6abf7158809cf4f3c"),
            iv: bytes("000102030405060708090a0b0c0d0e0f"),
            plain: bytes(
                "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                 30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
            ),
        },
    );
    let expected = "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2\
                    73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7";
    assert_eq!(found, expected);
}

#[test]
fn devices_that_cannot_be_are_refused_before_anything_starts() {
    let Some((boot, _turn)) = boot() else { return };
    let refused = |device: GuestDevice| {
        let spec = GuestSpec { devices: vec![device], ..GuestSpec::default() };
        match LinuxGuest::start(boot, &GuestOptions { spec, ..GuestOptions::default() }) {
            Ok(_) => panic!("it started"),
            Err(error) => error,
        }
    };
    let disk = |mib| GuestDevice::Disk { format: DiskFormat::Raw, mib, mounted: false };
    let vhost = |kind: &str, socket: &str| GuestDevice::VhostUser {
        kind: kind.into(),
        socket: socket.into(),
        listens: false,
    };
    let present = std::env::current_exe().unwrap().display().to_string();
    for (device, text) in [
        (disk(0), "no such size"),
        (disk(u32::MAX), "no such size"),
        (GuestDevice::Wire(1 << 15), "no addresses"),
        (GuestDevice::Rng { bytes_per_second: Some(0) }, "0 bytes in a second"),
        (vhost("blk", "/nowhere/socket"), "no such socket"),
        (vhost("blk", "relative"), "absolute"),
        (vhost("blk", "/a,b"), "commas"),
        (vhost("gpu", &present), "no such kind"),
    ] {
        let error = refused(device);
        assert!(matches!(error, Error::Input { .. }) && error.to_string().contains(text), "{error}");
    }
    let crypto = refused_or_none(boot, &present);
    if boot.found().qemu.major() < 8 {
        skip_test(&["qemu8"], &format!("QEMU is {}", boot.found().qemu.version));
        assert!(crypto.unwrap().to_string().contains("QEMU 8"));
    }
}

/// A vhost-user crypto device whose socket is none: QEMU itself ends, unless we refuse first.
fn refused_or_none(boot: &Boot, socket: &str) -> Option<Error> {
    let devices =
        vec![GuestDevice::VhostUser { kind: "crypto".into(), socket: socket.into(), listens: false }];
    let spec = GuestSpec { devices, ..GuestSpec::default() };
    LinuxGuest::start(boot, &GuestOptions { spec, ..GuestOptions::default() }).err()
}
