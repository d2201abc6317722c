//! What a Linux guest has besides its processors, for the plans that ask for one.

use serde::{Deserialize, Serialize};

use crate::Params;

/// A Linux guest as a plan wants it. It has a virtual processor for each core slot that its roles name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestSpec {
    /// Its memory, in MiB.
    pub memory_mib: u32,
    /// Its devices, in the order in which it finds them.
    pub devices: Vec<GuestDevice>,
    /// Whether its memory is made of huge pages: of the machine's pool where that has enough that are free, else as its kernel
    /// gives them to a program that asks.
    #[serde(default)]
    pub huge_pages: bool,
    /// Whether its kernel checks its own memory: what is free is filled with a pattern that is looked at when it is given out, and
    /// slabs have red zones.
    #[serde(default)]
    pub checked_memory: bool,
}

impl Default for GuestSpec {
    /// Room for a kernel, an agent and small jobs; no devices.
    fn default() -> Self {
        GuestSpec { memory_mib: 192, devices: Vec::new(), huge_pages: false, checked_memory: false }
    }
}

/// How a disk's image keeps its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskFormat {
    /// Block by block.
    Raw,
    /// QEMU's own, which grows with what is written.
    Qcow2,
    /// Block by block, encrypted by the host (LUKS 1).
    Luks,
}

impl DiskFormat {
    /// The name in presets and in QEMU's options.
    pub fn name(self) -> &'static str {
        match self {
            DiskFormat::Raw => "raw",
            DiskFormat::Qcow2 => "qcow2",
            DiskFormat::Luks => "luks",
        }
    }
}

/// Who serves a device of a Linux guest: an actor in a process of its own that is made and got ready before the guest is started,
/// serves from then on, and lives as long as the guest, whose trials may be many. It has no window and no core of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Its path.
    pub path: String,
    /// Its variant.
    pub variant: String,
    /// Its role, which is none of a plan's; its address is the socket at which it serves.
    pub role: String,
    /// What it is like. Points that say the same here share a guest.
    pub params: Params,
}

/// Something that a Linux guest is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestDevice {
    /// A virtio disk of its own.
    Disk {
        /// How its image is kept.
        format: DiskFormat,
        /// Its size, in MiB.
        mib: u32,
        /// Whether it has a file system on which actors find their scratch folder.
        mounted: bool,
    },
    /// One end of a private wire; the guest that names the same number has the other.
    Wire(u32),
    /// A network card behind which only the host is.
    HostNetwork,
    /// virtio-rng, served from the host's generator.
    Rng {
        /// The most that it gives in a second, if there is a limit.
        bytes_per_second: Option<u32>,
    },
    /// virtio-crypto, served by QEMU itself.
    Crypto,
    /// A disk controller without disks that can have so many virtual functions (SR-IOV).
    Nvme {
        /// How many at most.
        virtual_functions: u16,
    },
    /// A network card with seven virtual functions (SR-IOV), and no wire.
    Igb,
    /// What keeps devices apart in memory: each has a group then, as a device must that is handed to a guest.
    Iommu,
    /// A device that another process serves over a Unix socket.
    VhostUser {
        /// What it is: `blk`, `rng`, `crypto`, ….
        kind: String,
        /// The path of the socket.
        socket: String,
        /// Whether the machine listens there and waits, as it starts, for its server to connect; else the server listens
        /// already.
        #[serde(default)]
        listens: bool,
    },
    /// The same, where the process that serves it is the trial's: the laboratory starts it and puts its socket here.
    Served {
        /// What it is, as above.
        kind: String,
        /// Who serves it.
        by: Server,
    },
}
