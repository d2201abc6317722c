//! `af-alg`: the kernel does the cipher for the program, by its own code or by a guest's virtio-crypto device.

use tollway_core::{
    Actor, Address, Axis, Error, GuestDevice, GuestSpec, Missing, Params, Place, Plan, Recorder, Requirement,
    Result, Role, Tally, TenantKind, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};

use super::load::{IV, Load};
use super::texts::Texts;
use crate::engine::kernel::{AfAlg, drivers};
use crate::engine::suite::{Algorithm, CipherMode, Direction};
use crate::params;

const CALLER: &str = "caller";

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
        let mut role = Role::measured(CALLER).tenant(tenant);
        let mut requires = Vec::new();
        let mut guests = Vec::new();
        if tenant == TenantKind::LinuxGuest {
            requires.push(Requirement::LinuxGuest);
            role.requires.push(Requirement::AfAlg);
            // With the device come the modules by which a program reaches the kernel's own code, too.
            guests.push(GuestSpec { devices: vec![GuestDevice::Crypto], ..GuestSpec::default() });
        } else if virtio {
            return Err(Error::Input {
                place: "axis `driver`, value `virtio`".into(),
                reason: "which device this machine has is not Tollway's to choose".into(),
                remedy: "take tenant=linux-guest, which is given one".into(),
            });
        } else {
            requires.push(Requirement::AfAlg);
        }
        Ok(Plan {
            operation: "request".into(),
            roles: vec![role],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires,
            guests,
        })
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = load(params)?;
        let (algorithm, name) = driver(&load, params.word("driver")? == "virtio")?;
        let cipher = AfAlg::open(&name, load.key())
            .map_err(|e| Error::system(format!("opening {algorithm} by {name}"), e))?;
        let result = vec![0; load.result()];
        Ok(Box::new(Caller { texts: Texts::of(&load)?, cipher, result, wrong: 0, done: 0 }))
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

struct Caller {
    texts: Texts,
    cipher: AfAlg,
    result: Vec<u8>,
    wrong: u64,
    done: u64,
}

impl Work for &mut Caller {
    #[inline]
    fn once(&mut self) {
        let turn = (self.done & 1) as usize;
        self.done += 1;
        let done = self.cipher.run(Direction::Encrypt, &IV, &self.texts.sources[turn], &mut self.result);
        self.wrong += u64::from(done.is_err() || self.result != self.texts.results[turn]);
    }
}

impl Actor for Caller {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.wrong) {
            (0, _) => Err(Error::Wrong("nothing was done".into())),
            (_, 0) => Ok(()),
            (done, wrong) => {
                Err(Error::Wrong(format!("of {done} results {wrong} were not what they had to be")))
            }
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
