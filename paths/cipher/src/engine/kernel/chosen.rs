//! Which driver of a kernel is asked by AF_ALG: its own code, or one that was named. The one that the kernel would take itself, that
//! with the highest priority, may be either.

use std::path::Path;

use tollway_core::{Error, Missing, Result};
use tollway_host::af_alg::AfAlg;

use super::crypto_device::Kind;
use super::drivers::{Driver, drivers, of_several};
use super::sriov::{Device, devices};

/// The kernel's own code for an algorithm: of the drivers that are no crypto device's that with the highest priority.
///
/// # Errors
/// [`Error::Missing`] if there is none; /proc/crypto or sysfs cannot be read.
pub fn own(algorithm: &str) -> Result<Driver> {
    let devices = devices(Path::new("/")).map_err(|e| Error::system("looking for PCI devices", e))?;
    let found = || Ok(of_several(without(&devices, all()?), algorithm));
    // What is made of parts is made when it is asked for: as the kernel likes it, or of the part that is code in any case.
    for name in [algorithm.to_owned(), algorithm.replace("aes", "aes-generic")] {
        if let Some(driver) = found()? {
            return Ok(driver);
        }
        // Whether it can be had without a key does not matter: it is asked for.
        let _ = AfAlg::open(&name, &[]);
    }
    found()?.ok_or_else(|| {
        Error::Missing(Missing::new(
            format!("{algorithm} by the kernel's own code"),
            told(&all().unwrap_or_default(), algorithm),
            "load the modules that have it (modprobe -a aes_generic cbc ctr xts)",
        ))
    })
}

/// The driver of that name, as it stands in /proc/crypto, which must be one of that algorithm.
///
/// # Errors
/// [`Error::Missing`] if it is not there, or does something else; /proc/crypto cannot be read.
pub fn named(name: &str, algorithm: &str) -> Result<Driver> {
    let found = || Ok::<_, Error>(all()?.into_iter().find(|driver| driver.name == name));
    let driver = match found()? {
        Some(driver) => Some(driver),
        None => {
            // As above; and a driver's module comes by its name, too.
            let _ = AfAlg::open(name, &[]);
            found()?
        }
    };
    fitting(driver, name, algorithm).map_err(|reason| {
        let others = told(&all().unwrap_or_default(), algorithm);
        Error::Missing(Missing::new(
            format!("{algorithm} by the driver {name}"),
            format!("{reason}; {others}"),
            "name one of these, or load the module that has it (`tollway cipher devices` tells what a card lacks)",
        ))
    })
}

fn all() -> Result<Vec<Driver>> {
    drivers().map_err(|e| Error::system("reading /proc/crypto", e))
}

fn fitting(driver: Option<Driver>, name: &str, algorithm: &str) -> Result<Driver, String> {
    match driver {
        Some(driver) if driver.algorithm == algorithm => Ok(driver),
        Some(driver) => Err(format!("{name} does {}", driver.algorithm)),
        None => Err("there is no such driver".into()),
    }
}

/// Which drivers there are of an algorithm.
fn told(all: &[Driver], algorithm: &str) -> String {
    let names: Vec<&str> =
        all.iter().filter(|driver| driver.algorithm == algorithm).map(|driver| &*driver.name).collect();
    if names.is_empty() {
        return format!("this kernel has no {algorithm}");
    }
    format!("of {algorithm} this kernel has {}", names.join(", "))
}

/// The drivers behind which there is no crypto device. Those of virtio-crypto and of QuickAssist are known by themselves, also where
/// sysfs is not there to tell of a device.
fn without(devices: &[Device], all: Vec<Driver>) -> Vec<Driver> {
    let of_device = |driver: &Driver| {
        let functions = devices.iter().flat_map(|device| {
            let virtuals = device.sharing.iter().flat_map(|sharing| &sharing.functions);
            std::iter::once(&device.function).chain(virtuals)
        });
        [Kind::Virtio, Kind::Qat].iter().any(|kind| kind.is_by(driver, None))
            || functions.flat_map(|function| &function.algorithms).any(|other| other.name == driver.name)
    };
    all.into_iter().filter(|driver| !of_device(driver)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sriov::Function;
    use super::*;

    fn driver(algorithm: &str, name: &str, module: &str, priority: i32) -> Driver {
        Driver {
            algorithm: algorithm.into(),
            name: name.into(),
            module: module.into(),
            priority,
            asynchronous: false,
        }
    }

    fn by_device(algorithms: Vec<Driver>) -> Device {
        let function = Function {
            address: "0000:3d:00.2".into(),
            vendor: 0x1022,
            device: 0x1456,
            class: 0x10_8000,
            driver: Some("ccp".into()),
            group: None,
            node: None,
            crypto: Some(Kind::Class),
            algorithms,
        };
        Device { function, sharing: None }
    }

    #[test]
    fn what_a_device_does_is_not_the_kernels_own_whatever_its_priority() {
        let code = driver("cbc(aes)", "cbc-aes-aesni", "aesni_intel", 400);
        let ccp = driver("cbc(aes)", "cbc-aes-ccp", "ccp_crypto", 500);
        let all = vec![
            driver("cbc(aes)", "qat_aes_cbc", "intel_qat", 4001),
            driver("cbc(aes)", "virtio_crypto_aes_cbc", "virtio_crypto", 150),
            ccp.clone(),
            code.clone(),
            driver("cbc(aes)", "cbc(aes-generic)", "cbc", 100),
            driver("ctr(aes)", "ctr-aes-aesni", "aesni_intel", 400),
        ];
        let own = |devices: &[Device], all: &[Driver]| {
            of_several(without(devices, all.to_vec()), "cbc(aes)").map(|driver| driver.name)
        };
        assert_eq!(own(&[by_device(vec![ccp])], &all).as_deref(), Some("cbc-aes-aesni"));
        // Of a maker that only the device tells of.
        assert_eq!(own(&[], &all).as_deref(), Some("cbc-aes-ccp"));
        assert_eq!(own(&[], &all[..2]), None);
    }

    #[test]
    fn a_driver_of_another_algorithm_or_of_none_is_refused_with_those_there_are() {
        let code = driver("cbc(aes)", "cbc-aes-aesni", "aesni_intel", 400);
        assert_eq!(fitting(Some(code.clone()), "cbc-aes-aesni", "cbc(aes)"), Ok(code.clone()));
        let other = fitting(Some(code.clone()), "cbc-aes-aesni", "ctr(aes)").unwrap_err();
        assert_eq!(other, "cbc-aes-aesni does cbc(aes)");
        assert!(fitting(None, "cbc-aes-aesnj", "cbc(aes)").unwrap_err().contains("no such driver"));
        let all = [code, driver("cbc(aes)", "cbc(aes-generic)", "cbc", 100)];
        assert_eq!(told(&all, "cbc(aes)"), "of cbc(aes) this kernel has cbc-aes-aesni, cbc(aes-generic)");
        assert_eq!(told(&all, "xts(aes)"), "this kernel has no xts(aes)");
        if std::fs::exists("/proc/crypto").unwrap_or_default() {
            let error = named("cbc-aes-of-nobody", "cbc(aes)").unwrap_err();
            assert!(
                matches!(&error, Error::Missing(missing) if missing.what.contains("of-nobody")),
                "{error}"
            );
        }
    }
}
