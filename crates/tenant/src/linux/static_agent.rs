//! Which file is the agent of Linux guests: a static build, since there is no library in them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use tollway_core::Missing;

use crate::{Agent, Executable};

/// The environment variable that names it.
pub const AGENT: &str = "TOLLWAY_AGENT";

const NAME: &str = "tollway-agent";

/// Where `make agent` puts it, from the folder of all targets.
const BUILT: &str = "release";

const REMEDY: &str = "build it with `make agent`, or name one with TOLLWAY_AGENT";

/// The agent: the one that [`AGENT`] names, else one beside this program or where `make agent` puts it. Started once to
/// hear whether it speaks this program's protocol, which takes some milliseconds.
///
/// # Errors
/// [`Missing`] where there is none, or none that fits.
pub fn find() -> Result<PathBuf, Missing> {
    let lacking = |reason: String| Missing::new("the agent of Linux guests", reason, REMEDY);
    let found = match env::var_os(AGENT).filter(|named| !named.is_empty()) {
        Some(named) => {
            let named = PathBuf::from(named);
            is_static(&named).map_err(|why| lacking(format!("{}: {why}", named.display())))?;
            named
        }
        None => {
            let own = env::current_exe().map_err(|e| lacking(format!("where this program is: {e}")))?;
            let candidates = candidates(&own);
            let fit = candidates.iter().find(|path| is_static(path).is_ok());
            fit.cloned().ok_or_else(|| {
                let places: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
                lacking(format!("no static program is at {}", places.join(", ")))
            })?
        }
    };
    let executable = Executable { program: found.clone(), arguments: Vec::new(), environment: Vec::new() };
    match Agent::start(&executable) {
        Ok(_) => Ok(found),
        Err(error) => Err(lacking(error.to_string())),
    }
}

/// Beside the program, and from there up to where cargo keeps a test's program and a target's folder.
fn candidates(own: &Path) -> Vec<PathBuf> {
    let folders = own.ancestors().skip(1).take(3);
    folders.flat_map(|folder| [folder.join(NAME), folder.join(BUILT).join(NAME)]).collect()
}

/// Whether a file is a program of this machine that asks for no interpreter (ELF, "Program Header": PT_INTERP).
pub fn is_static(path: &Path) -> Result<(), String> {
    let elf = fs::read(path).map_err(|e| e.to_string())?;
    let needs_interpreter = || -> Result<bool, object::Error> {
        let header = FileHeader64::<LittleEndian>::parse(&*elf)?;
        let segments = header.program_headers(LittleEndian, &*elf)?;
        Ok(segments.iter().any(|segment| segment.p_type(LittleEndian) == PT_INTERP))
    };
    match needs_interpreter() {
        Err(error) => Err(format!("it is no program of this machine: {error}")),
        Ok(true) => Err("it is no static program: it needs libraries, and a guest has none".into()),
        Ok(false) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_libraries_is_refused() {
        let own = env::current_exe().unwrap();
        assert!(is_static(&own).unwrap_err().contains("libraries"));
        assert!(is_static(Path::new("/proc/self/status")).unwrap_err().contains("no program"));
        assert!(is_static(Path::new("/nowhere")).is_err());
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut");
        fs::write(&cut, &fs::read(&own).unwrap()[..80]).unwrap();
        assert!(is_static(&cut).unwrap_err().contains("no program"));
    }

    #[test]
    fn it_is_looked_for_where_cargo_puts_it() {
        let from = |own: &str| candidates(Path::new(own));
        let built = Path::new("/t/release/tollway-agent");
        for own in ["/t/release/tollway", "/t/debug/deps/guests-0123"] {
            assert!(from(own).iter().any(|c| c == built), "{own}");
        }
        assert_eq!(from("/opt/bin/tollway")[0], Path::new("/opt/bin/tollway-agent"));
    }
}
