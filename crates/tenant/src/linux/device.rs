//! What a guest's devices ask of QEMU and of the guest's kernel.
//!
//! | device | in the guest | on the host |
//! |---|---|---|
//! | disk | virtio_blk, serial number `tollway.N` | an image without a name ([`super::disk`]) |
//! | wire, host network | virtio_net, with an address | [`super::network`] |
//! | rng | virtio_rng, at /dev/hwrng | /dev/urandom, at a limited rate if one is asked for |
//! | crypto | virtio_crypto, by AF_ALG, for instance `virtio_crypto_aes_cbc` | QEMU's own ciphers |
//! | nvme, igb | these drivers, and virtual functions when they are asked for | QEMU's own, with nothing behind them |
//! | IOMMU | Intel's (VT-d) | QEMU's own |
//! | vhost-user | what it is | another process, which sees all of the guest's memory |

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use tollway_core::{Error, GuestDevice, Missing, Result};

use super::found::Qemu;

/// The module of virtio-crypto.
const CRYPTO: &str = "virtio_crypto";

/// Virtual functions of QEMU's disk controller at most (NVME_MAX_VFS, hw/nvme/nvme.h).
const MOST_FUNCTIONS: u16 = 127;

/// What all devices of a guest ask for.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// QEMU's arguments.
    pub(super) arguments: Vec<OsString>,
    /// Modules that the guest loads; what they need comes along.
    pub(super) modules: Vec<&'static str>,
    /// Words for the kernel's command line, which become the first program's environment.
    pub(super) settings: Vec<String>,
    /// Whether another process has to see the guest's memory.
    pub(super) shared_memory: bool,
    /// What QEMU inherits.
    descriptors: Vec<OwnedFd>,
    /// How many disks it has so far.
    pub(super) disks: u32,
}

impl Devices {
    /// Prepares the devices of one guest.
    ///
    /// # Errors
    /// [`Error::Missing`] where one cannot be had here, [`Error::Input`] where one cannot be at all.
    pub(super) fn prepare(qemu: &Qemu, wanted: &[GuestDevice]) -> Result<Devices> {
        let mut devices = Devices::default();
        for (number, device) in wanted.iter().enumerate() {
            match device {
                GuestDevice::Disk { format, mib, mounted } => {
                    devices.add_disk(qemu, *format, *mib, *mounted)?
                }
                GuestDevice::Wire(wire) => devices.add_wire(*wire)?,
                GuestDevice::HostNetwork => devices.add_host_network()?,
                GuestDevice::Rng { bytes_per_second } => devices.add_rng(number, *bytes_per_second)?,
                GuestDevice::Crypto => devices.add_crypto(number),
                GuestDevice::Nvme { virtual_functions } => devices.add_nvme(number, *virtual_functions)?,
                GuestDevice::Igb => devices.add_igb(number, qemu)?,
                GuestDevice::Iommu => devices.add_iommu(),
                GuestDevice::VhostUser { kind, socket, listens } => {
                    devices.add_vhost_user(number, qemu, kind, socket, *listens)?
                }
                GuestDevice::Served { kind, by } => {
                    return Err(Error::Input {
                        place: format!("device of a guest: {kind}, served by {}", by.role),
                        reason: "nobody has started who serves it".into(),
                        remedy: "start it, and name its socket: a vhost-user device".into(),
                    });
                }
            }
        }
        // The kernel has its driver check the signatures of what is loaded behind it, which QEMU 7.2 cannot.
        devices.modules.sort_by_key(|module| *module == CRYPTO);
        Ok(devices)
    }

    /// The descriptors that QEMU inherits under their own numbers.
    pub(super) fn inherited(&self) -> impl Iterator<Item = RawFd> {
        self.descriptors.iter().map(AsRawFd::as_raw_fd)
    }

    /// Adds an argument.
    pub(super) fn say(&mut self, option: &str, value: String) {
        self.arguments.extend([option.into(), value.into()]);
    }

    /// Has QEMU inherit a descriptor; its number.
    pub(super) fn hold(&mut self, descriptor: OwnedFd) -> RawFd {
        let number = descriptor.as_raw_fd();
        self.descriptors.push(descriptor);
        number
    }

    /// Has QEMU inherit a file; the path by which it opens it.
    pub(super) fn inherit(&mut self, file: OwnedFd) -> String {
        format!("/proc/self/fd/{}", self.hold(file))
    }

    fn add_rng(&mut self, number: usize, bytes_per_second: Option<u32>) -> Result<()> {
        let limit = match bytes_per_second {
            Some(0) => {
                return Err(Error::Input {
                    place: "limit of a guest's virtio-rng".into(),
                    reason: "it is 0 bytes in a second".into(),
                    remedy: "let it be more, or leave it out".into(),
                });
            }
            Some(bytes) => {
                let (bytes, ms) = portion(bytes);
                format!(",max-bytes={bytes},period={ms}")
            }
            None => String::new(),
        };
        self.say("-object", format!("rng-random,id=random{number},filename=/dev/urandom"));
        self.say("-device", format!("virtio-rng-pci,rng=random{number}{limit}"));
        self.modules.push("virtio_rng");
        Ok(())
    }

    fn add_crypto(&mut self, number: usize) {
        self.say("-object", format!("cryptodev-backend-builtin,id=crypto{number}"));
        self.add_crypto_card(number);
    }

    fn add_crypto_card(&mut self, number: usize) {
        // With event_idx back ends of other processes miss notifications (QEMU 10).
        self.say("-device", format!("virtio-crypto-pci,cryptodev=crypto{number},event_idx=off"));
        self.modules.extend(["algif_skcipher", CRYPTO]);
    }

    /// QEMU's documentation, system/devices/nvme.rst, "SR-IOV and Virtualization Enhancements": a controller with virtual
    /// functions is in a subsystem, and has two queues and an interrupt to give to each.
    fn add_nvme(&mut self, number: usize, functions: u16) -> Result<()> {
        if !(1..=MOST_FUNCTIONS).contains(&functions) {
            return Err(Error::Input {
                place: "virtual functions of a guest's disk controller".into(),
                reason: format!("there are {functions}"),
                remedy: format!("let it have 1 to {MOST_FUNCTIONS}"),
            });
        }
        let (queues, bus) = (2 * functions, self.add_port(number));
        self.say("-device", format!("nvme-subsys,id=subsystem{number}"));
        let shared = format!(
            "sriov_max_vfs={functions},sriov_vq_flexible={queues},sriov_vi_flexible={functions},max_ioqpairs={},msix_qsize={}",
            queues + 2,
            queues + 3
        );
        let device = format!("nvme,bus={bus},serial=tollway.{number},subsys=subsystem{number},{shared}");
        self.say("-device", device);
        self.modules.push("nvme");
        Ok(())
    }

    fn add_igb(&mut self, number: usize, qemu: &Qemu) -> Result<()> {
        if qemu.major() < 8 {
            let reason = format!("QEMU {} has no such card", qemu.version);
            let remedy = "use QEMU 8 or newer (make setup-guest)";
            return Err(Error::Missing(Missing::new(
                "a network card with virtual functions",
                reason,
                remedy,
            )));
        }
        let bus = self.add_port(number);
        self.say("-device", format!("igb,bus={bus},rombar=0"));
        self.modules.push("igb");
        Ok(())
    }

    /// A port of PCI Express of its own; its name. Only below one can a device have functions with numbers above 7.
    fn add_port(&mut self, number: usize) -> String {
        let name = format!("port-of-{number}");
        self.say("-device", format!("pcie-root-port,id={name},chassis={}", number + 1));
        name
    }

    fn add_iommu(&mut self) {
        self.say("-device", "intel-iommu".into());
        self.settings.push("intel_iommu=on".into());
    }

    fn add_vhost_user(
        &mut self,
        number: usize,
        qemu: &Qemu,
        kind: &str,
        socket: &str,
        listens: bool,
    ) -> Result<()> {
        let input = |reason: &str, remedy: &str| Error::Input {
            place: format!("vhost-user device of a guest: {kind} at {socket}"),
            reason: reason.into(),
            remedy: remedy.into(),
        };
        if socket.contains(',') || !Path::new(socket).is_absolute() {
            return Err(input(
                "the path of its socket cannot be told to QEMU",
                "use an absolute one without commas",
            ));
        }
        if !listens && !Path::new(socket).exists() {
            return Err(input("there is no such socket", "start the process that serves it first"));
        }
        self.shared_memory = true;
        let side = if listens { ",server=on,wait=on" } else { "" };
        self.say("-chardev", format!("socket,id=vhost{number},path={socket}{side}"));
        match kind {
            "blk" => {
                self.say("-device", format!("vhost-user-blk-pci,chardev=vhost{number}"));
                self.modules.push("virtio_blk");
            }
            "rng" => {
                self.say("-device", format!("vhost-user-rng-pci,chardev=vhost{number}"));
                self.modules.push("virtio_rng");
            }
            "crypto" => {
                vhost_user_crypto(qemu).map_err(Error::Missing)?;
                self.say("-object", format!("cryptodev-vhost-user,id=crypto{number},chardev=vhost{number}"));
                self.add_crypto_card(number);
            }
            _ => return Err(input("no such kind is known", "use blk, rng or crypto")),
        }
        Ok(())
    }
}

/// How many bytes virtio-rng may give in how many milliseconds, for that many in a second (to 5 %).
///
/// Linux asks for 64 bytes at a time, and QEMU's device stands still when less than that is left of a portion (seen with
/// 7.2 and 10.0): a portion is a multiple of that, and lasts 10 ms or more.
fn portion(bytes_per_second: u32) -> (u64, u64) {
    const REQUEST: u64 = 64;
    let wanted = u64::from(bytes_per_second);
    let bytes = (wanted / 100).next_multiple_of(REQUEST).max(REQUEST);
    (bytes, (bytes * 1000 + wanted / 2) / wanted)
}

/// Whether a guest of this QEMU can have a crypto device that another process serves.
///
/// # Errors
/// It is too old.
pub fn vhost_user_crypto(qemu: &Qemu) -> Result<(), Missing> {
    if qemu.major() >= 8 {
        return Ok(());
    }
    Err(Missing::new(
        "vhost-user crypto devices",
        format!("QEMU {} ends when a guest uses one", qemu.version),
        "use QEMU 8 or newer (make setup-guest)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_kept_to_five_per_cent_in_whole_requests() {
        for wanted in [1, 63, 64, 1000, 6399, 6400, 6401, 100_000, 12_345_678, u32::MAX] {
            let (bytes, ms) = portion(wanted);
            let got = bytes as f64 * 1000.0 / ms as f64;
            assert!(bytes % 64 == 0 && ms >= 10, "{wanted}: {bytes} in {ms} ms");
            assert!((got / f64::from(wanted) - 1.0).abs() < 0.051, "{wanted}: {got}");
        }
    }
}
