//! Paths by which calls look for files.

use std::ops::Add;

/// Bytes of a path that are looked at, with the 0 at its end.
pub(crate) const LOOKED_AT: usize = 256;

/// Paths that were looked at, of calls that go by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// How many.
    pub paths: u64,
    /// Names that they have together: the kernel looks for each in the folder of the one before.
    pub names: u64,
}

impl Paths {
    /// This path, up to a 0.
    pub(crate) fn of(path: &[u8]) -> Paths {
        Paths { paths: 1, names: names(path) }
    }

    pub(crate) fn less(self, earlier: Paths) -> Paths {
        Paths {
            paths: self.paths.saturating_sub(earlier.paths),
            names: self.names.saturating_sub(earlier.names),
        }
    }
}

impl Add for Paths {
    type Output = Paths;

    fn add(self, other: Paths) -> Paths {
        Paths { paths: self.paths + other.paths, names: self.names + other.names }
    }
}

/// Names of a path, up to a 0: what is between slashes. `.` and `..` are looked for as others are, and what is between two slashes in a
/// row, or behind the last one, is none.
fn names(path: &[u8]) -> u64 {
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_is_between_slashes() {
        let of = |path: &str| names(path.as_bytes());
        assert_eq!((of("a"), of("a/b/c"), of("/a"), of("/usr/lib/x")), (1, 3, 1, 3));
        assert_eq!((of("//a///b"), of("a/"), of("/a//"), of("/"), of("//"), of("")), (2, 1, 1, 0, 0, 0));
        assert_eq!((of("./a"), of("../a"), of("a/./b/.."), of("..."), of(".")), (2, 2, 4, 1, 1));
        assert_eq!(of("a/b\0/c"), 2);
    }
}
