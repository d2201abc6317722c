//! What every probe answers: the thing, or why it cannot be known. And the little that all probes share.

use std::fs;
use std::path::Path;

use tollway_core::Missing;

/// What a probe found. A thing that cannot be read is [`Missing`], never zero.
pub type Found<T> = Result<T, Missing>;

/// The text of a file of /proc or /sys; a file that is absent or refused is [`Missing`].
pub(crate) fn text(path: impl AsRef<Path>, what: &str, remedy: &str) -> Found<String> {
    let path = path.as_ref();
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(Missing::new(what, format!("{}: {error}", path.display()), remedy)),
    }
}

/// The first line of a file without blanks at its ends, if it can be read and has one.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The folder of /sys that every kernel has, where /sys is mounted.
const SYS: &str = "/sys/devices/system/cpu";

/// Whether the kernel's /sys can be read; where it cannot, as in some containers, nothing follows from a
/// file's absence.
pub(crate) fn sys() -> Found<()> {
    sys_in(Path::new(SYS))
}

fn sys_in(folder: &Path) -> Found<()> {
    let missing = |e| {
        Missing::new(
            "the kernel's /sys",
            format!("{}: {e}; mitigations, caches, governor and frequencies are unknown", folder.display()),
            "mount it (as root: mount -t sysfs sysfs /sys), or let the container have it",
        )
    };
    fs::read_dir(folder).map(drop).map_err(missing)
}

/// The frequency governor of the first processor; `none` where the kernel sets no frequency, `unknown`
/// without /sys.
pub(crate) fn governor() -> String {
    let set = line(format!("{SYS}/cpu0/cpufreq/scaling_governor"));
    set.unwrap_or_else(|| if sys().is_ok() { "none" } else { "unknown" }.into())
}

/// A file that is there but does not read as it should.
pub(crate) fn garbled(what: &str, detail: impl std::fmt::Display) -> Missing {
    Missing::new(
        what,
        format!("its format is not understood: {detail}"),
        "report the file's text and the kernel's version",
    )
}

/// How far a 64-bit counter rose; `None` if it went backwards (a reset, another object under the same name).
pub(crate) fn risen(before: u64, after: u64) -> Option<u64> {
    after.checked_sub(before)
}

/// How far a counter rose that the kernel keeps in 32 bits: it may have wrapped once. `None` if it went backwards
/// otherwise.
pub(crate) fn risen_32(before: u64, after: u64) -> Option<u64> {
    const HALF: u64 = 1 << 31;
    risen(before, after).or_else(|| {
        let wrapped = (after + (1 << 32)).checked_sub(before)?;
        (before < 1 << 32 && wrapped < HALF).then_some(wrapped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_goes_backwards_is_unknown() {
        assert_eq!(risen(5, 9), Some(4));
        assert_eq!(risen(9, 5), None);
    }

    #[test]
    fn a_32_bit_counter_may_wrap_once() {
        assert_eq!(risen_32(u64::from(u32::MAX), 4), Some(5));
        assert_eq!(risen_32(1000, 4), None);
        assert_eq!(risen_32(u64::MAX, 4), None);
    }

    #[test]
    fn machine_without_sys_is_told_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        assert!(sys_in(folder.path()).is_ok());
        let missing = sys_in(&folder.path().join("devices")).unwrap_err().to_string();
        assert!(missing.contains("are unknown") && missing.contains("mount -t sysfs"), "{missing}");
    }

    #[test]
    fn an_absent_file_is_missing_with_its_name() {
        let missing = text("/nowhere/at/all", "a thing", "make it").unwrap_err();
        assert!(missing.reason.contains("/nowhere/at/all"), "{missing}");
        assert_eq!(line("/nowhere/at/all"), None);
    }
}
