//! `af-alg`: the kernel does the cipher for the program, by its own code or by a guest's virtio-crypto device.

use tollway_core::{
    Actor, Axis, Error, GuestDevice, GuestSpec, Missing, Params, Plan, Requirement, Result, TenantKind,
    Variant,
};

use super::caller::{self, Called, Caller};
use super::load::{IV, Load};
use super::texts::Texts;
use crate::engine::kernel::{AfAlg, drivers};
use crate::engine::suite::{Algorithm, CipherMode, Direction};
use crate::params;

/// The kernel.
pub(super) struct Kernel;

impl Variant for Kernel {
    fn name(&self) -> &str {
        "af-alg"
    }

    fn about(&self) -> &str {
        "no card: the kernel does it, by a socket of family AF_ALG, here or in a guest"
    }

    fn caveats(&self) -> &str {
        "Two system calls a request; the kernel copies the bytes in and out. The program compares each result. In a guest that QEMU \
         translates, the kernel's own code is translated, too; `virtio` is done by QEMU itself, outside of the guest."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            params::kernel_cipher(),
            params::kernel_size(),
            params::driver(),
            TenantKind::axis(&["process", "linux-guest"]),
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        load(params)?;
        let (tenant, virtio) = (params.tenant()?, params.word("driver")? == "virtio");
        let mut plan = caller::plan("request", None);
        if tenant == TenantKind::LinuxGuest {
            plan.requires.push(Requirement::LinuxGuest);
            // With the device come the modules by which a program reaches the kernel's own code, too.
            plan.guests.push(GuestSpec { devices: vec![GuestDevice::Crypto], ..GuestSpec::default() });
            for role in &mut plan.roles {
                role.tenant = tenant;
                role.requires.push(Requirement::AfAlg);
            }
        } else if virtio {
            return Err(Error::Input {
                place: "axis `driver`, value `virtio`".into(),
                reason: "which device this machine has is not Tollway's to choose".into(),
                remedy: "take tenant=linux-guest, which is given one".into(),
            });
        } else {
            plan.requires.push(Requirement::AfAlg);
        }
        Ok(plan)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = load(params)?;
        let (algorithm, name) = driver(&load, params.word("driver")? == "virtio")?;
        let cipher = AfAlg::open(&name, load.key())
            .map_err(|e| Error::system(format!("opening {algorithm} by {name}"), e))?;
        let result = vec![0; load.result()];
        Ok(Caller::of(Ciphering { texts: Texts::of(&load)?, cipher, result, wrong: 0 }))
    }
}

fn load(params: &Params) -> Result<Load> {
    Load::of(&params.clone().with("depth", 1))
}

/// The kernel's name of the algorithm, and of the driver that does it: of its own that with the highest priority.
///
/// # Errors
/// There is none.
fn driver(load: &Load, virtio: bool) -> Result<(&'static str, String)> {
    let algorithm = match load.named.algorithm {
        Algorithm::Cipher(CipherMode::Ctr, _) => "ctr(aes)",
        _ => "cbc(aes)",
    };
    let all = drivers().map_err(|e| Error::system("reading /proc/crypto", e))?;
    let fits = |driver: &&crate::engine::kernel::Driver| {
        driver.algorithm == algorithm && driver.name.starts_with("virtio_crypto") == virtio
    };
    match all.iter().filter(fits).max_by_key(|driver| driver.priority) {
        Some(driver) => Ok((algorithm, driver.name.clone())),
        // The kernel's own may have to be made of its parts first: it is when it is asked for.
        None if !virtio => Ok((algorithm, algorithm.into())),
        None => Err(Error::Missing(Missing::new(
            format!("{algorithm} by virtio-crypto"),
            "/proc/crypto has no such driver",
            "take cipher=aes-128-cbc: Linux's driver does CBC alone",
        ))),
    }
}

struct Ciphering {
    texts: Texts,
    cipher: AfAlg,
    result: Vec<u8>,
    wrong: u64,
}

impl Called for Ciphering {
    #[inline]
    fn once(&mut self, turn: usize) {
        let done = self.cipher.run(Direction::Encrypt, &IV, &self.texts.sources[turn], &mut self.result);
        self.wrong += u64::from(done.is_err() || self.result != self.texts.results[turn]);
    }

    fn wrong(&self) -> u64 {
        self.wrong
    }
}
