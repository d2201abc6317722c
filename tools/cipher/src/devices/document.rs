//! What was found: the document of `--json`.

use serde::Serialize;
use tollway_cipher::engine::kernel::{Device, Driver, Function, Kind};
use tollway_core::Missing;

use super::{Found, lacks, table};

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// Crypto devices and what can be shared out, and by what the kernel does ciphers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DevicesDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// PCI devices that can be shared out (SR-IOV), of whatever kind, and crypto devices.
    pub devices: Vec<DeviceState>,
    /// By what the kernel does ciphers, hashes and random numbers, as /proc/crypto has it.
    pub drivers: Vec<DriverState>,
    /// Whether programs can ask the kernel for ciphers by sockets of family AF_ALG.
    pub af_alg: bool,
    /// Whether they can by /dev/crypto.
    pub dev_crypto: bool,
    /// What is lacking.
    pub missing: Vec<Lack>,
}

/// A PCI device.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceState {
    /// The device itself; one that can be shared out is the physical function.
    pub function: FunctionState,
    /// How many virtual functions it can have; absent of one that cannot be shared out.
    pub most: Option<u16>,
    /// How many it is to have.
    pub enabled: Option<u16>,
    /// Those that it has.
    pub virtual_functions: Vec<FunctionState>,
}

/// A PCI function.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FunctionState {
    /// Domain, bus, device and function.
    pub address: String,
    /// Vendor and device, in hexadecimal digits.
    pub id: String,
    /// PCI's class: base class, sub-class, interface, in hexadecimal digits.
    pub class: String,
    /// Its driver; of virtio that of the virtio device. Absent if it has none.
    pub driver: Option<String>,
    /// Its IOMMU group; absent without an IOMMU.
    pub group: Option<u32>,
    /// Its NUMA node; absent where there is one alone.
    pub node: Option<u32>,
    /// What makes it a crypto device; absent of any other.
    pub crypto: Option<CryptoKind>,
    /// What the kernel does by it, or by others of its kind.
    pub algorithms: Vec<DriverState>,
}

/// What makes a function a crypto device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CryptoKind {
    /// It is virtio-crypto.
    Virtio,
    /// It is Intel's QuickAssist.
    Qat,
    /// It is an encryption controller by its class.
    Class,
}

/// An algorithm by one driver.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DriverState {
    /// The algorithm.
    pub algorithm: String,
    /// The driver's own name for it.
    pub driver: String,
    /// Its module; `kernel` if it is in none.
    pub module: String,
    /// Of several drivers the one with the highest is taken.
    pub priority: i32,
    /// Whether it works while the caller does something else.
    pub asynchronous: bool,
}

/// Something that is lacking.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lack {
    /// What.
    pub what: String,
    /// Why.
    pub reason: String,
    /// What would help.
    pub remedy: String,
}

impl DevicesDocument {
    /// Of what was found.
    pub fn of(found: &Found) -> DevicesDocument {
        DevicesDocument {
            schema_version: SCHEMA_VERSION,
            devices: found.devices.iter().map(DeviceState::of).collect(),
            drivers: found.drivers.iter().map(DriverState::of).collect(),
            af_alg: found.af_alg.is_ok(),
            dev_crypto: found.dev_crypto.is_ok(),
            missing: lacks::of(found).into_iter().map(Lack::from).collect(),
        }
    }

    /// For people.
    pub fn to_text(&self) -> String {
        table::of(self)
    }
}

impl DeviceState {
    fn of(device: &Device) -> DeviceState {
        let sharing = device.sharing.as_ref();
        DeviceState {
            function: FunctionState::of(&device.function),
            most: sharing.map(|sharing| sharing.most),
            enabled: sharing.map(|sharing| sharing.enabled),
            virtual_functions: sharing.iter().flat_map(|s| &s.functions).map(FunctionState::of).collect(),
        }
    }
}

impl FunctionState {
    fn of(function: &Function) -> FunctionState {
        FunctionState {
            address: function.address.clone(),
            id: format!("{:04x}:{:04x}", function.vendor, function.device),
            class: format!("{:06x}", function.class),
            driver: function.driver.clone(),
            group: function.group,
            node: function.node,
            crypto: function.crypto.map(|kind| match kind {
                Kind::Virtio => CryptoKind::Virtio,
                Kind::Qat => CryptoKind::Qat,
                Kind::Class => CryptoKind::Class,
            }),
            algorithms: function.algorithms.iter().map(DriverState::of).collect(),
        }
    }
}

impl DriverState {
    fn of(driver: &Driver) -> DriverState {
        DriverState {
            algorithm: driver.algorithm.clone(),
            driver: driver.name.clone(),
            module: driver.module.clone(),
            priority: driver.priority,
            asynchronous: driver.asynchronous,
        }
    }
}

impl From<Missing> for Lack {
    fn from(Missing { what, reason, remedy }: Missing) -> Lack {
        Lack { what, reason, remedy }
    }
}
