//! `af-alg`: the kernel does the cipher for the program, by its own code or by a guest's virtio-crypto device, which QEMU serves
//! itself or has the card serve.

mod served;

use std::time::Duration;

use tollway_core::{
    Actor, Axis, Error, GuestDevice, GuestSpec, Missing, Params, Plan, Requirement, Result, Server,
    TenantKind, Variant,
};
use tollway_host::af_alg::AfAlg;

use super::CARD;
use super::caller::{self, Called, Caller};
use super::load::{IV, Load};
use super::texts::Texts;
use crate::engine::kernel::drivers;
use crate::engine::suite::{Algorithm, CipherMode};
use crate::params;

use served::Served;

/// The names in presets, of the path and of this.
const PATH: &str = "cipher";
const NAME: &str = "af-alg";

/// By what the kernel does it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Driver {
    /// Its own code.
    Kernel,
    /// A device that QEMU serves itself.
    Virtio,
    /// A device that the card serves, which looks for requests for so many microseconds before it sleeps.
    Card { spin: u64 },
}

impl Driver {
    fn of(params: &Params) -> Result<Driver> {
        match (params.word("driver")?, params.int("spin")?) {
            ("card", spin) => Ok(Driver::Card { spin }),
            (_, 1..) => Err(Error::Input {
                place: "axis `spin`".into(),
                reason: "there is no card that would look".into(),
                remedy: "take driver=card, or leave it out".into(),
            }),
            ("virtio", _) => Ok(Driver::Virtio),
            _ => Ok(Driver::Kernel),
        }
    }

    /// What a guest is given. With the device come the modules by which a program reaches the kernel's own code, too.
    fn device(self) -> GuestDevice {
        match self {
            Driver::Kernel | Driver::Virtio => GuestDevice::Crypto,
            Driver::Card { spin } => GuestDevice::Served {
                kind: "crypto".into(),
                by: Server {
                    path: PATH.into(),
                    variant: NAME.into(),
                    role: CARD.into(),
                    params: Params::new().with("spin", spin),
                },
            },
        }
    }
}

/// The kernel.
pub(super) struct Kernel;

impl Variant for Kernel {
    fn name(&self) -> &str {
        NAME
    }

    fn about(&self) -> &str {
        "no card: the kernel does it, by a socket of family AF_ALG, here or in a guest"
    }

    fn caveats(&self) -> &str {
        "Two system calls a request; the kernel copies the bytes in and out. The program compares each result. In a guest that QEMU \
         translates, the kernel's own code is translated, too; `virtio` is done by QEMU itself and `card` by a process of its own, both \
         outside of the guest, on whichever core the kernel finds for it."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            params::kernel_cipher(),
            params::kernel_size(),
            params::driver(),
            params::card_spin(),
            TenantKind::axis(&["process", "linux-guest"]),
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        load(params)?;
        let (tenant, driver) = (params.tenant()?, Driver::of(params)?);
        let mut plan = caller::plan("request", None);
        if tenant == TenantKind::LinuxGuest {
            plan.requires.push(Requirement::LinuxGuest);
            plan.guests.push(GuestSpec { devices: vec![driver.device()], ..GuestSpec::default() });
            for role in &mut plan.roles {
                role.tenant = tenant;
                role.requires.push(Requirement::AfAlg);
            }
        } else if driver != Driver::Kernel {
            return Err(Error::Input {
                place: format!("axis `driver`, value `{}`", params.word("driver")?),
                reason: "which device this machine has is not Tollway's to choose".into(),
                remedy: "take tenant=linux-guest, which is given one".into(),
            });
        } else {
            plan.requires.push(Requirement::AfAlg);
        }
        Ok(plan)
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        if role == CARD {
            return Ok(Box::new(Served::new(Duration::from_micros(params.int("spin")?))));
        }
        let load = load(params)?;
        let (algorithm, name) = kernels(&load, Driver::of(params)? != Driver::Kernel)?;
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
fn kernels(load: &Load, virtio: bool) -> Result<(&'static str, String)> {
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
        let done = self.cipher.encrypt(&IV, &self.texts.sources[turn], &mut self.result);
        self.wrong += u64::from(done.is_err() || self.result != self.texts.results[turn]);
    }

    fn wrong(&self) -> u64 {
        self.wrong
    }
}
