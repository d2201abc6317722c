//! Which of the kernel's drivers AF_ALG asks, where some are named: a card's beside the kernel's own code, in turns.

use tollway_cipher::engine::kernel;
use tollway_cipher::engine::suite::Named;
use tollway_core::{Error, Missing, Result};

use super::kernel::{mode, name};
use crate::args::bench::Word;

/// What the named drivers do of what is measured.
#[derive(Default)]
pub(super) struct Drivers {
    /// Ciphers, each with a driver that does it.
    does: Vec<(&'static str, String)>,
    any: bool,
    /// What they do not.
    pub(super) lacking: Vec<Missing>,
}

impl Drivers {
    /// Of these names. A driver does one algorithm alone, so it need not do all of what is measured.
    ///
    /// # Errors
    /// One is not there, or does nothing of it.
    pub(super) fn named(names: &[String], ciphers: &[&'static Named]) -> Result<Drivers> {
        let mut drivers = Drivers { any: !names.is_empty(), ..Drivers::default() };
        for driver in names {
            let (mut does, mut lacking) = (Vec::new(), Vec::new());
            for cipher in ciphers {
                let Ok(mode) = mode(cipher, Word::AfAlg) else { continue };
                match kernel::named(driver, name(mode)) {
                    Ok(_) => does.push((cipher.name, driver.clone())),
                    Err(Error::Missing(missing)) => lacking.push(missing),
                    Err(error) => return Err(error),
                }
            }
            if does.is_empty() {
                return Err(lacking.into_iter().next().map_or_else(|| nothing(driver), Error::Missing));
            }
            drivers.does.extend(does);
            drivers.lacking.extend(lacking);
        }
        drivers.lacking.dedup();
        Ok(drivers)
    }

    /// Those that are asked for a cipher; `None` is the one that the kernel prefers.
    pub(super) fn of(&self, cipher: &Named) -> Vec<Option<String>> {
        if !self.any {
            return vec![None];
        }
        let ours = self.does.iter().filter(|(name, _)| *name == cipher.name);
        ours.map(|(_, driver)| Some(driver.clone())).collect()
    }
}

/// Nothing that is measured is asked of the kernel at all.
fn nothing(driver: &str) -> Error {
    Error::Input {
        place: format!("--driver {driver}"),
        reason: "no cipher is measured that the kernel is asked for".into(),
        remedy: "take one in CBC, CTR or XTS".into(),
    }
}

#[cfg(test)]
mod tests {
    use tollway_host::af_alg::AfAlg;
    use tollway_host::requirement::skip_test;

    use super::*;

    fn ciphers(names: &[&str]) -> Vec<&'static Named> {
        names.iter().map(|name| Named::find(name).unwrap()).collect()
    }

    #[test]
    fn where_none_is_named_the_kernel_chooses_and_one_that_is_not_there_is_refused() {
        let cipher = ciphers(&["aes-128-cbc"]);
        assert_eq!(Drivers::named(&[], &cipher).unwrap().of(cipher[0]), [None]);
        let name = ["cbc-aes-of-nobody".to_owned()];
        let error = Drivers::named(&name, &ciphers(&["sha256"])).err().unwrap();
        assert!(error.to_string().starts_with("--driver cbc-aes-of-nobody: no cipher"), "{error}");
        if std::fs::exists("/proc/crypto").unwrap_or_default() {
            let error = Drivers::named(&name, &cipher).err().unwrap();
            assert!(matches!(&error, Error::Missing(missing) if !missing.remedy.is_empty()), "{error}");
            assert!(error.to_string().contains("there is no such driver"), "{error}");
        }
    }

    #[test]
    fn a_driver_is_asked_for_what_it_does_and_the_rest_is_named() {
        if let Err(missing) = AfAlg::check() {
            return skip_test(&["af-alg"], &missing);
        }
        let own = kernel::own("cbc(aes)").unwrap().name;
        let all = ciphers(&["aes-128-cbc", "aes-128-ctr", "sha256"]);
        let drivers = Drivers::named(std::slice::from_ref(&own), &all).unwrap();
        assert_eq!((drivers.of(all[0]), drivers.of(all[1])), (vec![Some(own)], vec![]));
        assert_eq!(drivers.lacking.len(), 1);
        assert!(drivers.lacking[0].what.starts_with("ctr(aes) by the driver "), "{:?}", drivers.lacking);
    }
}
