//! A mode as data: how a guest is made, and what of its host is set while it is measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tollway_core::{Error, Params, Result, Value};
use tollway_lab::side::{Setting, Side};

/// The modes that come with the program: file name and text.
const SHIPPED: [(&str, &str); 2] = [
    ("high-performance", include_str!("../modes/high-performance.toml")),
    ("balanced", include_str!("../modes/balanced.toml")),
];

/// The longest file that is read as a mode, in bytes.
const LONGEST: u64 = 1 << 16;

/// A mode.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// Name and purpose.
    pub mode: Head,
    /// How a guest is made: values of the axes of the parts of the suite.
    #[serde(default)]
    pub guest: BTreeMap<String, Value>,
    /// What is set on the host before each trial, and put back: files under /sys and /proc/sys, and what is written to them.
    #[serde(default)]
    pub host: BTreeMap<PathBuf, String>,
    /// What it stands for and is not.
    #[serde(default)]
    pub deviation: Vec<Deviation>,
}

/// What a mode is called and what it is for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// One line.
    #[serde(default)]
    pub about: String,
}

/// Where a mode differs from what it stands for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// What it is there.
    pub from: String,
    /// What it is here.
    pub here: String,
}

impl Mode {
    /// The modes that come with the program.
    ///
    /// # Errors
    /// None: a test reads them all.
    pub fn shipped() -> Result<Vec<Mode>> {
        SHIPPED.iter().map(|(name, text)| Mode::read(name, text)).collect()
    }

    /// The mode of that name, else that of the file of that name.
    ///
    /// # Errors
    /// Where there is neither, or the file holds no mode.
    pub fn find(name: &str) -> Result<Mode> {
        if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Mode::read(name, text);
        }
        let refused = |reason: String| Error::Input {
            place: format!("mode `{name}`"),
            reason,
            remedy: format!(
                "name one of {}, or a TOML file as docs/machine.md shows",
                SHIPPED.map(|(name, _)| name).join(", ")
            ),
        };
        let about = fs::metadata(Path::new(name)).map_err(|e| refused(e.to_string()))?;
        if !about.is_file() || about.len() > LONGEST {
            return Err(refused("it is no file, or one too long for a mode".into()));
        }
        Mode::read(name, &fs::read_to_string(name).map_err(|e| refused(e.to_string()))?)
    }

    /// Reads a mode.
    ///
    /// # Errors
    /// Names the line, as the TOML reader tells it.
    fn read(place: &str, text: &str) -> Result<Mode> {
        let refused = |reason: String| Error::Input {
            place: format!("mode `{place}`"),
            reason,
            remedy: "docs/machine.md shows what a mode contains".into(),
        };
        let mode: Mode = toml::from_str(text).map_err(|e| refused(e.to_string().trim_end().into()))?;
        if mode.mode.name.trim().is_empty() {
            return Err(refused("it has no name".into()));
        }
        if let Some(file) = mode.host.keys().find(|file| !mode.setting(file).is_of_the_kernel()) {
            return Err(refused(format!(
                "{} is no setting of the kernel: /sys and /proc/sys have these",
                file.display()
            )));
        }
        Ok(mode)
    }

    fn setting(&self, file: &Path) -> Setting {
        Setting { file: file.into(), value: self.host.get(file).cloned().unwrap_or_default() }
    }

    /// The mode as a side of a comparison, whose label is its name. Without `guests` only what it sets on the host is of it.
    pub fn side(&self, guests: bool) -> Side {
        let own = self.guest.iter().filter(|_| guests);
        let axes = own.fold(Params::new(), |axes, (name, value)| axes.with(name.clone(), value.clone()));
        let settings = self.host.keys().map(|file| self.setting(file)).collect();
        Side { about: self.mode.about.clone(), axes, settings, ..Side::as_it_is(self.mode.name.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_can_be_read_and_differs() {
        let modes = Mode::shipped().unwrap();
        for ((name, _), mode) in SHIPPED.iter().zip(&modes) {
            assert_eq!((&mode.mode.name[..], mode.mode.about.is_empty()), (*name, false));
        }
        assert_eq!(modes[1].side(true).axes.get("disk"), Some(&Value::Text("luks".into())));
        assert_eq!(modes[1].side(false).axes, Params::new());
    }

    #[test]
    fn what_is_no_mode_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        for (text, said) in [
            ("[mode]\nname = \"\"\n", "no name"),
            ("[mode]\nname = \"x\"\n[gust]\ndisk = \"raw\"\n", "gust"),
            ("[mode]\nname = \"x\"\n[host]\n\"/etc/passwd\" = \"x\"\n", "/etc/passwd"),
            ("[mode]\nname = \"x\"\n[host]\n\"/sys/../etc/passwd\" = \"x\"\n", "/sys/../etc/passwd"),
        ] {
            let file = folder.path().join("mode.toml");
            fs::write(&file, text).unwrap();
            let error = Mode::find(file.to_str().unwrap()).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("mode.toml"), "{error}");
        }
        let error = Mode::find("fast").unwrap_err().to_string();
        assert!(error.contains("`fast`") && error.contains("high-performance, balanced"), "{error}");
        let error = Mode::find("/dev/zero").unwrap_err().to_string();
        assert!(error.contains("no file"), "{error}");
    }
}
