//! `dev-crypto`: the kernel does the cipher for the program by /dev/crypto, which the study's requests went through.

use std::path::Path;

use tollway_core::{Actor, Axis, Error, Params, Plan, Result, Variant};

use super::af_alg;
use super::caller::{self, Called, Caller};
use super::load::IV;
use super::texts::Texts;
use crate::engine::kernel;
use crate::engine::suite::{Algorithm, CipherMode, Direction};
use crate::params;

/// The kernel, by /dev/crypto.
pub(super) struct DevCrypto;

impl Variant for DevCrypto {
    fn name(&self) -> &str {
        "dev-crypto"
    }

    fn about(&self) -> &str {
        "no card: the kernel does it, by /dev/crypto of the module cryptodev-linux"
    }

    fn caveats(&self) -> &str {
        "One system call a request, by whichever driver the kernel prefers, a card's if it has one. The module has the driver work on \
         the program's own memory where it can. The program compares each result."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::kernel_cipher(), params::size()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        af_alg::load(params)?;
        Ok(caller::plan("request", None))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        kernel::DevCrypto::check(Path::new("/")).map_err(Error::Missing)?;
        let load = af_alg::load(params)?;
        let mode = match load.named.algorithm {
            Algorithm::Cipher(mode, _) => mode,
            _ => CipherMode::Cbc,
        };
        let cipher = kernel::DevCrypto::open(mode, load.key())
            .map_err(|e| Error::system(format!("opening {} by /dev/crypto", load.named.name), e))?;
        let result = vec![0; load.result()];
        Ok(Caller::of(Ciphering { texts: Texts::of(&load)?, cipher, result, wrong: 0 }))
    }
}

struct Ciphering {
    texts: Texts,
    cipher: kernel::DevCrypto,
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
