//! The kernel's ciphers by AF_ALG: one request of a task at a time, as its calls wait.

use tollway_cipher::engine::kernel::AfAlg;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction, Named};
use tollway_core::{Clock, Error, Missing, Recorder, Result, Ticks, Window};
use tollway_host::clock::{self, RunClock};
use tollway_load::wait_until;

use super::round::Round;
use super::texts::{self, Texts};

/// What the kernel calls a cipher.
///
/// # Errors
/// Its sockets are not used for such here.
pub(super) fn name(named: &Named) -> Result<&'static str, Missing> {
    match named.algorithm {
        Algorithm::Cipher(CipherMode::Cbc, _) => Ok("cbc(aes)"),
        Algorithm::Cipher(CipherMode::Ctr, _) => Ok("ctr(aes)"),
        Algorithm::Cipher(CipherMode::Xts, _) => Ok("xts(aes)"),
        _ => Err(Missing::new(
            format!("{} by af-alg", named.name),
            "its sockets are used for ciphers in CBC, CTR and XTS only here",
            "measure those",
        )),
    }
}

/// The longest request: what a socket holds without a reader (`ALG_MAX_PAGES`, crypto/if_alg.h).
pub(super) const MOST: usize = 16 * 4096;

/// A task that asks the kernel.
pub(super) struct Caller<'t> {
    cipher: AfAlg,
    iv: [u8; 16],
    texts: &'t Texts,
    source: Vec<u8>,
    result: Vec<u8>,
    turn: bool,
}

impl<'t> Caller<'t> {
    /// One that asks for these texts.
    ///
    /// # Errors
    /// The kernel has no such cipher.
    pub(super) fn new(named: &Named, texts: &'t Texts) -> Result<Caller<'t>> {
        let name = name(named).map_err(Error::Missing)?;
        let cipher = AfAlg::open(name, &texts::key(named))
            .map_err(|e| Error::system(format!("asking the kernel for {name}"), e))?;
        let iv =
            texts::iv(named).try_into().map_err(|_| Error::Wrong("an IV of a cipher has 16 bytes".into()))?;
        let (source, result) = (texts.sources[0].clone(), texts.results[0].clone());
        Ok(Caller { cipher, iv, texts, source, result, turn: false })
    }

    fn ask(&mut self) -> Result<()> {
        self.turn = !self.turn;
        self.source.copy_from_slice(&self.texts.sources[usize::from(self.turn)]);
        let done = self.cipher.run(Direction::Encrypt, &self.iv, &self.source, &mut self.result);
        done.map_err(|e| Error::system("asking the kernel to encrypt", e))
    }

    /// Asks again and again in the window.
    ///
    /// # Errors
    /// A result is wrong, or the kernel refuses.
    pub(super) fn run(mut self, window: &Window) -> Result<Round> {
        for _ in 0..2 {
            self.ask()?;
            self.texts.check(self.turn, &self.result)?;
        }
        let (clock, mut recorder) = (RunClock::chosen(), Recorder::new());
        wait_until(clock, window.warm);
        let (mut done, mut opened): (u64, Option<Ticks>) = (0, None);
        let seconds = loop {
            let began = clock.now();
            match opened {
                Some(opened) if began >= window.close && done > 0 => {
                    break (began - opened) as f64 / clock::hz()?;
                }
                None if began >= window.open => opened = Some(began),
                _ => {}
            }
            self.ask()?;
            if opened.is_some() {
                recorder.sample(clock.now().saturating_sub(began));
                done += 1;
            }
        };
        self.texts.check(self.turn, &self.result)?;
        Ok(Round { rate: done as f64 / seconds, latency: recorder.spread() })
    }
}
