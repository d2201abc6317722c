//! Which drivers a kernel has for an algorithm: what /proc/crypto tells.

use std::fs;
use std::io;
use std::path::Path;

/// An algorithm by one driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// The algorithm: `cbc(aes)`.
    pub algorithm: String,
    /// The driver's own name for it: `virtio_crypto_aes_cbc`.
    pub name: String,
    /// The module that it is in, `kernel` if in none.
    pub module: String,
    /// Of several drivers the one with the highest is taken, unless one is named.
    pub priority: i32,
    /// Whether it works while the caller does something else, as hardware does.
    pub asynchronous: bool,
}

/// Those that this kernel has now; modules that are not loaded are not among them.
///
/// # Errors
/// If /proc/crypto cannot be read: the kernel has no ciphers at all then.
pub fn drivers() -> io::Result<Vec<Driver>> {
    drivers_below(Path::new("/"))
}

/// Those of the machine whose files are below that root.
///
/// # Errors
/// As [`drivers`].
pub fn drivers_below(root: &Path) -> io::Result<Vec<Driver>> {
    Ok(parse(&fs::read_to_string(root.join("proc/crypto"))?))
}

/// The driver that this kernel takes for an algorithm, if it has one now.
pub fn preferred(algorithm: &str) -> Option<Driver> {
    of_several(drivers().unwrap_or_default(), algorithm)
}

/// The one with the highest priority; of several the first, which is the one that came last.
pub(super) fn of_several(drivers: Vec<Driver>, algorithm: &str) -> Option<Driver> {
    let ours = drivers.into_iter().filter(|driver| driver.algorithm == algorithm);
    ours.reduce(|best, next| if next.priority > best.priority { next } else { best })
}

fn parse(text: &str) -> Vec<Driver> {
    let entry = |lines: &str| {
        let mut driver = Driver::default();
        for (field, value) in lines.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match field.trim() {
                "name" => driver.algorithm = value.into(),
                "driver" => driver.name = value.into(),
                "module" => driver.module = value.into(),
                "priority" => driver.priority = value.parse().unwrap_or_default(),
                "async" => driver.asynchronous = value == "yes",
                _ => {}
            }
        }
        driver
    };
    text.split("\n\n").map(entry).filter(|driver| !driver.name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_a_driver() {
        let text = "name         : cbc(aes)\ndriver       : virtio_crypto_aes_cbc\nmodule       : virtio_crypto\npriority     : 150\nrefcnt       : 1\n\
                    selftest     : passed\ninternal     : no\ntype         : skcipher\nasync        : yes\nblocksize    : 16\n\n\
                    name         : sha1\ndriver       : sha1-generic\nmodule       : kernel\npriority     : 100\n\n";
        let found = parse(text);
        assert_eq!(found.len(), 2);
        let (cipher, hash) = (&found[0], &found[1]);
        assert_eq!((&*cipher.algorithm, &*cipher.name), ("cbc(aes)", "virtio_crypto_aes_cbc"));
        assert_eq!((&*cipher.module, cipher.priority, cipher.asynchronous), ("virtio_crypto", 150, true));
        assert_eq!((&*hash.name, hash.asynchronous), ("sha1-generic", false));
        assert_eq!(parse(""), []);
    }

    #[test]
    fn the_highest_priority_is_preferred() {
        let driver = |algorithm: &str, name: &str, priority| Driver {
            algorithm: algorithm.into(),
            name: name.into(),
            priority,
            ..Driver::default()
        };
        let all = [
            driver("cbc(aes)", "cbc(aes-generic)", 100),
            driver("cbc(aes)", "cbc-aes-aesni", 400),
            driver("cbc(aes)", "virtio_crypto_aes_cbc", 150),
            driver("xts(aes)", "xts-aes-aesni", 401),
        ];
        assert_eq!(of_several(all.to_vec(), "cbc(aes)").unwrap().name, "cbc-aes-aesni");
        assert_eq!(of_several(all.to_vec(), "ctr(aes)"), None);
    }
}
