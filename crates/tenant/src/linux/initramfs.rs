//! A guest's first file system, made in memory: the agent as /init, and the modules it has to load.
//!
//! The format is cpio's "newc", which the kernel unpacks (its Documentation/driver-api/early-userspace/
//! buffer-format.rst). Not compressed: unpacking would be done by the guest, at a tenth of the host's speed under TCG.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cpio::newc::{Builder, trailer};
use tollway_core::{Error, Result};

use super::modules;

/// The folder of the modules, and the file in it with their names in the order in which they are loaded; the agent
/// reads both (`tollway_agent::init`).
const MODULES: &str = "modules";
const ORDER: &str = "order";

/// Mode bits of cpio's header: a regular file, executable or not, and a folder (inode(7)).
const EXECUTABLE: u32 = 0o100_755;
const PLAIN: u32 = 0o100_644;
const FOLDER: u32 = 0o040_755;

/// The file system as bytes. Modules are loaded in the order given.
pub(super) fn make(agent: &Path, modules: &[PathBuf]) -> Result<Vec<u8>> {
    let read = |path: &Path| {
        fs::read(path).map_err(|e| Error::system(format!("reading {} for a guest", path.display()), e))
    };
    let mut files = vec![("init".to_owned(), EXECUTABLE, read(agent)?), (MODULES.into(), FOLDER, Vec::new())];
    let mut order = String::new();
    for module in modules {
        let (name, content) = modules::content(module)?;
        files.push((format!("{MODULES}/{name}"), PLAIN, content));
        order += &name;
        order.push('\n');
    }
    files.push((format!("{MODULES}/{ORDER}"), PLAIN, order.into_bytes()));
    write(&files).map_err(|e| Error::system("packing a guest's first file system", e))
}

fn write(files: &[(String, u32, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    for (number, (name, mode, content)) in files.iter().enumerate() {
        // Files with the same inode number would be taken for links of each other.
        let header = Builder::new(name).ino(number as u32 + 1).mode(*mode).nlink(1);
        let mut writer = header.write(packed, content.len() as u32);
        writer.write_all(content)?;
        packed = writer.finish()?;
    }
    trailer(packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use std::io::Read;

    #[test]
    fn what_is_packed_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["agent", "b.ko", "a.ko"].iter().map(|n| folder.path().join(n)).collect();
        for path in &paths {
            fs::write(path, format!("\x7fELF {}", path.display())).unwrap();
        }
        let packed = make(&paths[0], &paths[1..]).unwrap();
        let mut rest = &packed[..];
        let mut found = Vec::new();
        loop {
            let mut reader = Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            rest = reader.finish().unwrap();
            found.push((name, mode, content));
        }
        let path = |at: usize| format!("\x7fELF {}", paths[at].display());
        let expected = [
            ("init", EXECUTABLE, path(0)),
            ("modules", FOLDER, String::new()),
            ("modules/b.ko", PLAIN, path(1)),
            ("modules/a.ko", PLAIN, path(2)),
            ("modules/order", PLAIN, "b.ko\na.ko\n".into()),
        ];
        assert_eq!(found, expected.map(|(name, mode, content)| (name.to_owned(), mode, content)));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = make(Path::new("/nowhere/agent"), &[]).unwrap_err();
        assert!(error.to_string().contains("/nowhere/agent"), "{error}");
    }
}
