//! `af-alg`: the kernel does the cipher for the program, by its own code, by a guest's virtio-crypto device, which QEMU serves itself
//! or has the card serve, or by a driver that is named.

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
use crate::engine::kernel::{self, drivers};
use crate::engine::suite::{Algorithm, CipherMode};
use crate::params;

use served::Served;

/// The names in presets, of the path and of this.
const PATH: &str = "cipher";
const NAME: &str = "af-alg";

/// By what the kernel does it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Driver<'p> {
    /// Its own code.
    Kernel,
    /// A device that QEMU serves itself.
    Virtio,
    /// A device that the card serves, which looks for requests for so many microseconds before it sleeps.
    Card { spin: u64 },
    /// Whatever has that name in /proc/crypto.
    Named(&'p str),
}

/// The most bytes of a name (`salg_name`, linux/if_alg.h, which ends with a zero).
const LONGEST_NAME: usize = 63;

impl Driver<'_> {
    fn of(params: &Params) -> Result<Driver<'_>> {
        match (params.word("driver")?, params.int("spin")?) {
            ("card", spin) => Ok(Driver::Card { spin }),
            (_, 1..) => Err(Error::Input {
                place: "axis `spin`".into(),
                reason: "there is no card that would look".into(),
                remedy: "take driver=card, or leave it out".into(),
            }),
            ("virtio", _) => Ok(Driver::Virtio),
            ("kernel", _) => Ok(Driver::Kernel),
            (name, _) if is_name(name) => Ok(Driver::Named(name)),
            (other, _) => Err(Error::Input {
                place: format!("axis `driver`, value `{other}`"),
                reason: "no driver has such a name".into(),
                remedy: "take kernel, virtio, card, or a driver's name as it stands in /proc/crypto".into(),
            }),
        }
    }

    /// What a guest is given. With the device come the modules by which a program reaches the kernel's own code, too.
    fn device(self) -> GuestDevice {
        match self {
            Driver::Kernel | Driver::Virtio | Driver::Named(_) => GuestDevice::Crypto,
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

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
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
        "Two system calls a request; the kernel copies the bytes in and out. The program compares each result. `kernel` leaves out \
         drivers of crypto devices, which are measured by their names. In a guest that QEMU \
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
        } else if matches!(driver, Driver::Virtio | Driver::Card { .. }) {
            return Err(Error::Input {
                place: format!("axis `driver`, value `{}`", params.word("driver")?),
                reason: "which device this machine has is not Tollway's to choose".into(),
                remedy: "take tenant=linux-guest, which is given one, or the name that a driver here has in /proc/crypto"
                    .into(),
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
        let algorithm = algorithm(&load);
        let name = name(algorithm, Driver::of(params)?)?;
        let cipher = AfAlg::open(&name, load.key())
            .map_err(|e| Error::system(format!("opening {algorithm} by {name}"), e))?;
        let result = vec![0; load.result()];
        Ok(Caller::of(Ciphering { texts: Texts::of(&load)?, cipher, result, wrong: 0 }))
    }
}

pub(super) fn load(params: &Params) -> Result<Load> {
    Load::of(&params.clone().with("depth", 1))
}

/// The kernel's name of the algorithm.
fn algorithm(load: &Load) -> &'static str {
    match load.named.algorithm {
        Algorithm::Cipher(CipherMode::Ctr, _) => "ctr(aes)",
        _ => "cbc(aes)",
    }
}

/// The name of the driver that does it, which must be there.
///
/// # Errors
/// [`Error::Missing`] if it is not.
fn name(algorithm: &str, driver: Driver<'_>) -> Result<String> {
    match driver {
        Driver::Kernel => Ok(kernel::own(algorithm)?.name),
        Driver::Named(name) => Ok(kernel::named(name, algorithm)?.name),
        Driver::Virtio | Driver::Card { .. } => {
            let all = drivers().map_err(|e| Error::system("reading /proc/crypto", e))?;
            let virtio = all
                .into_iter()
                .find(|driver| driver.algorithm == algorithm && driver.name.starts_with("virtio_crypto"));
            virtio.map(|driver| driver.name).ok_or_else(|| {
                Error::Missing(Missing::new(
                    format!("{algorithm} by virtio-crypto"),
                    "/proc/crypto has no such driver",
                    "take cipher=aes-128-cbc: Linux's driver does CBC alone",
                ))
            })
        }
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
