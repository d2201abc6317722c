//! A file that a service is told everything by.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use tollway_core::{Error, Result};

/// The longest file, in bytes: some ten thousand tenants.
const LONGEST: u64 = 1 << 20;

/// Its text.
///
/// # Errors
/// [`Error::Input`] if it cannot be read, or is too long.
pub fn read(path: &Path) -> Result<String> {
    let refused =
        |e: io::Error| wrong(&path.display().to_string(), e.to_string(), "name a file that can be read");
    text(path).map_err(refused)
}

/// What a text says in TOML that stands at `place`; `example` is a file that has every word.
///
/// # Errors
/// [`Error::Input`] if it says something else.
pub fn parse<Written: DeserializeOwned>(text: &str, place: &str, example: &str) -> Result<Written> {
    let remedy = format!("{example} has every word");
    toml::from_str(text).map_err(|e| wrong(place, e.to_string().trim_end(), &remedy))
}

/// What is wrong with what is asked for at `place`.
pub fn wrong(place: &str, reason: impl Into<String>, remedy: &str) -> Error {
    Error::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }
}

/// What is no regular file could have one wait for it, while signals are not looked at.
fn text(path: &Path) -> io::Result<String> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    if file.take(LONGEST + 1).read_to_string(&mut text)? as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_that_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        std::fs::write(&path, vec![b'#'; LONGEST as usize]).unwrap();
        assert_eq!(read(&path).unwrap().len(), LONGEST as usize);
        std::fs::write(&path, vec![b'#'; LONGEST as usize + 1]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("longer than 1 MiB"));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("UTF-8"));
        assert!(read(folder.path()).unwrap_err().to_string().contains("no regular file"));
        assert!(read(&folder.path().join("none")).unwrap_err().to_string().contains("name a file"));
    }
}
