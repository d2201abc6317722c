//! The kernel's ciphers, by AF_ALG and by /dev/crypto: one request of a task at a time, as their calls wait.

use std::io;

use tollway_cipher::engine::kernel::{DevCrypto, preferred};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction, Named};
use tollway_core::{Clock, Error, Missing, Recorder, Result, Ticks, Window};
use tollway_host::af_alg::AfAlg;
use tollway_host::clock::{self, RunClock};
use tollway_load::wait_until;

use super::round::Round;
use super::texts::{self, Texts};
use crate::args::bench::Word;

/// The mode of a cipher that the kernel is asked for.
///
/// # Errors
/// It is not asked for such here.
pub(super) fn mode(named: &Named, by: Word) -> Result<CipherMode, Missing> {
    match named.algorithm {
        Algorithm::Cipher(mode, _) => Ok(mode),
        _ => Err(Missing::new(
            format!("{} by {}", named.name, by.name()),
            "the kernel is asked for ciphers in CBC, CTR and XTS only here",
            "measure those",
        )),
    }
}

/// The longest request of AF_ALG: what a socket holds without a reader. Where there are no such sockets it is
/// of no matter.
pub(super) fn longest() -> usize {
    AfAlg::longest().unwrap_or_default()
}

/// Why requests of these sizes are not measured by AF_ALG, of which a socket takes `longest` bytes.
pub(super) fn too_long(named: &Named, sizes: &[usize], longest: usize) -> Missing {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    Missing::new(
        format!("{} of {} B by af-alg", named.name, sizes.join(" and ")),
        format!("a socket takes {longest} bytes at once (net.core.wmem_default)"),
        "let requests be shorter, or ask by /dev/crypto where there is one",
    )
}

/// What the kernel calls a mode of AES.
pub(super) fn name(mode: CipherMode) -> &'static str {
    match mode {
        CipherMode::Cbc => "cbc(aes)",
        CipherMode::Ctr => "ctr(aes)",
        CipherMode::Xts => "xts(aes)",
    }
}

/// A cipher of the kernel's, with its key.
enum Cipher {
    AfAlg(AfAlg),
    DevCrypto(DevCrypto),
}

impl Cipher {
    fn open(by: Word, driver: Option<&str>, mode: CipherMode, key: &[u8]) -> io::Result<Cipher> {
        match by {
            Word::DevCrypto => DevCrypto::open(mode, key).map(Cipher::DevCrypto),
            _ => AfAlg::open(driver.unwrap_or(name(mode)), key).map(Cipher::AfAlg),
        }
    }

    fn run(&mut self, iv: &[u8; 16], source: &[u8], result: &mut [u8]) -> io::Result<()> {
        match self {
            Cipher::AfAlg(socket) => socket.encrypt(iv, source, result),
            Cipher::DevCrypto(device) => device.run(Direction::Encrypt, iv, source, result),
        }
    }

    /// The driver that does it, if that is told.
    fn driver(&self, mode: CipherMode) -> Option<String> {
        match self {
            Cipher::AfAlg(_) => preferred(name(mode)).map(|driver| driver.name),
            Cipher::DevCrypto(device) => device.driver().ok(),
        }
    }
}

/// A task that asks the kernel.
pub(super) struct Caller<'t> {
    cipher: Cipher,
    driver: Option<String>,
    iv: [u8; 16],
    texts: &'t Texts,
    source: Vec<u8>,
    result: Vec<u8>,
    turn: bool,
}

impl<'t> Caller<'t> {
    /// One that asks for these texts; where a driver is named, AF_ALG asks that one.
    ///
    /// # Errors
    /// The kernel has no such cipher.
    pub(super) fn new(by: Word, driver: Option<&str>, named: &Named, texts: &'t Texts) -> Result<Caller<'t>> {
        let mode = mode(named, by).map_err(Error::Missing)?;
        let cipher =
            Cipher::open(by, driver, mode, &texts::key(named)).map_err(|error| match error.kind() {
                // AF_ALG and /dev/crypto each say so in a word of their own.
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => Error::Missing(Missing::new(
                    format!("{} by {}", named.name, by.name()),
                    format!("this kernel has no {} ({error})", name(mode)),
                    "load the module that has it (modprobe ctr, modprobe xts)",
                )),
                _ => Error::system(format!("asking the kernel for {}", name(mode)), error),
            })?;
        let driver = driver.map(Into::into).or_else(|| cipher.driver(mode));
        let iv =
            texts::iv(named).try_into().map_err(|_| Error::Wrong("an IV of a cipher has 16 bytes".into()))?;
        let (source, result) = (texts.sources[0].clone(), texts.results[0].clone());
        Ok(Caller { cipher, driver, iv, texts, source, result, turn: false })
    }

    fn ask(&mut self) -> Result<()> {
        self.turn = !self.turn;
        self.source.copy_from_slice(&self.texts.sources[usize::from(self.turn)]);
        let done = self.cipher.run(&self.iv, &self.source, &mut self.result);
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
        Ok(Round { rate: done as f64 / seconds, latency: recorder.spread(), driver: self.driver })
    }
}
