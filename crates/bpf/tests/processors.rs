//! Maps in which each processor has a value of its own, also where /sys shows fewer processors than the
//! kernel has.

use std::io;
use std::process::{Command, Stdio};

use tollway_bpf::{Map, MapKind, possible_cpus};
use tollway_host::requirement::skip_test;

/// How many processors this process may run on: no more than the kernel has.
fn seen() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

/// Nothing where this process may make no maps.
fn may() -> bool {
    match Map::new(MapKind::ArrayOnEach, 4, 8, 1) {
        Ok(_) => true,
        Err(error) => {
            skip_test(&["bpf"], &format!("making a map: {error}"));
            false
        }
    }
}

/// As many values as the kernel has are read and set, whatever their length.
fn has_a_value_for_each_processor() -> io::Result<()> {
    for kind in [MapKind::ArrayOnEach, MapKind::HashOnEach] {
        for length in [1, 8, 20] {
            let map = Map::new(kind, 4, length, 3)?;
            let key = 1u32.to_ne_bytes();
            map.set_on_each(&key, &vec![1; length])?;
            let value = map.get(&key)?.unwrap();
            let each = length.next_multiple_of(8);
            assert!(value.len() >= seen() * each, "{} bytes", value.len());
            for one in value.chunks(each) {
                assert_eq!((&one[..length], one.len()), (&vec![1; length][..], each));
            }
            let mut read = Vec::new();
            map.for_each(|at, all| {
                if at == key {
                    read = all.to_vec()
                }
            })?;
            assert!(kind == MapKind::ArrayOnEach || read == value);
        }
    }
    assert!(possible_cpus() >= seen());
    Ok(())
}

#[test]
fn each_processor_has_a_value() {
    if may() {
        has_a_value_for_each_processor().unwrap();
    }
}

/// Sized by what /sys says, a buffer was written beyond: in a container that is shown one processor, by seven
/// values on a machine of eight.
#[test]
fn each_processor_has_a_value_where_fewer_are_shown() {
    if !may() {
        return;
    }
    // SAFETY: a system call without an address.
    if unsafe { libc::geteuid() } != 0 {
        return skip_test(&["root"], &"a mount namespace needs root");
    }
    let folder = std::env::temp_dir().join(format!("tollway-processors-{}", std::process::id()));
    for shown in ["0\n", ""] {
        std::fs::write(&folder, shown).unwrap();
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "sh",
            "-c",
            "mount --bind \"$0\" /sys/devices/system/cpu/possible && exec \"$@\"",
        ]);
        command.arg(&folder).arg(std::env::current_exe().unwrap()).stdin(Stdio::null());
        command.args(["--ignored", "--exact", "is_shown_fewer", "--nocapture"]);
        let done = command.output().expect("unshare(1) of util-linux");
        let said =
            [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(done.status.success() && said.contains("1 passed"), "{}: {said}", done.status);
    }
    std::fs::remove_file(folder).unwrap();
}

#[test]
#[ignore = "is started where /sys shows fewer processors by the one before"]
fn is_shown_fewer() {
    let shown = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    assert!(matches!(shown.trim(), "0" | ""), "{shown}");
    has_a_value_for_each_processor().unwrap();
}
