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

/// The agent: the one that [`AGENT`] names, else the first beside this program or where `make agent` puts it that speaks this
/// program's protocol and is of this build ([`Hello::build`](crate::protocol::Hello); of any where `None` is given). Each
/// candidate is started once to hear that, which takes some milliseconds.
///
/// # Errors
/// [`Missing`] where there is none, or none that fits.
pub fn find(build: Option<&str>) -> Result<PathBuf, Missing> {
    let lacking = |reason: String| Missing::new("the agent of Linux guests", reason, REMEDY);
    if let Some(named) = env::var_os(AGENT).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        is_static(&named).map_err(|why| lacking(format!("{}: {why}", named.display())))?;
        return fits(&named, build).map(|()| named).map_err(lacking);
    }
    let own = env::current_exe().map_err(|e| lacking(format!("where this program is: {e}")))?;
    first_of(&candidates(&own), build).map_err(lacking)
}

/// The first of these files that fits, else why the first that is a static program does not.
///
/// # Errors
/// In words, where none does.
pub fn first_of(candidates: &[PathBuf], build: Option<&str>) -> Result<PathBuf, String> {
    let mut unfit = None;
    for candidate in candidates.iter().filter(|path| is_static(path).is_ok()) {
        match fits(candidate, build) {
            Ok(()) => return Ok(candidate.clone()),
            Err(why) => unfit = unfit.or(Some(why)),
        }
    }
    Err(unfit.unwrap_or_else(|| {
        let places: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
        format!("no static program is at {}", places.join(", "))
    }))
}

/// Whether it is an agent that speaks this program's protocol and measures the same code.
fn fits(agent: &Path, build: Option<&str>) -> Result<(), String> {
    let executable = Executable { program: agent.to_owned(), arguments: Vec::new(), environment: Vec::new() };
    let started = Agent::start(&executable).map_err(|error| error.to_string())?;
    match build {
        Some(build) if started.hello().build != build => {
            Err(format!("{} was built from other sources than this program", agent.display()))
        }
        _ => Ok(()),
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
        // The agent of the tests' own build comes first.
        let with_tests = from("/t/debug/deps/guests-0123");
        let place = |path: &str| with_tests.iter().position(|c| c == Path::new(path)).unwrap();
        assert!(place("/t/debug/tollway-agent") < place("/t/release/tollway-agent"));
        assert_eq!(from("/opt/bin/tollway")[0], Path::new("/opt/bin/tollway-agent"));
    }
}
