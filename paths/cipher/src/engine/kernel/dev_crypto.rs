//! /dev/crypto: what programs asked for ciphers by before AF_ALG, and what the study's requests went through. Linux has it by a
//! module that is not its own (cryptodev-linux).

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tollway_core::Missing;

/// Whether the machine whose files are below that root has it.
///
/// # Errors
/// It has not.
pub fn check(root: &Path) -> Result<(), Missing> {
    let lacking = |reason: String| {
        let remedy =
            "build and load the module cryptodev (cryptodev-linux), which this kernel does not bring along";
        Err(Missing::new("/dev/crypto", reason, remedy))
    };
    match fs::metadata(root.join("dev/crypto")) {
        Ok(found) if found.file_type().is_char_device() => Ok(()),
        Ok(_) => lacking("what is there is no character device".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => lacking("there is no such file".into()),
        Err(error) => lacking(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_device_is_one() {
        let root = tempfile::tempdir().unwrap();
        let told = check(root.path()).unwrap_err();
        assert!(told.reason.contains("no such file") && told.remedy.contains("cryptodev"), "{told}");
        fs::create_dir(root.path().join("dev")).unwrap();
        fs::write(root.path().join("dev/crypto"), "").unwrap();
        assert!(check(root.path()).unwrap_err().reason.contains("no character device"));
        fs::remove_file(root.path().join("dev/crypto")).unwrap();
        std::os::unix::fs::symlink("/dev/null", root.path().join("dev/crypto")).unwrap();
        assert_eq!(check(root.path()), Ok(()));
    }
}
