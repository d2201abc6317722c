//! The systemd units in `examples/systemd`: what they start is there, and services of one kind are shut off alike.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Bench, SHORT};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/systemd")
}

/// What a unit says, without comments: section, setting and value.
fn settings(unit: &Path) -> BTreeSet<(String, String, String)> {
    let (mut section, mut all) = (String::new(), BTreeSet::new());
    for line in fs::read_to_string(unit).unwrap().lines().filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').into();
        } else if let Some((setting, value)) = line.split_once('=') {
            assert!(
                all.insert((section.clone(), setting.into(), value.into())),
                "{}: `{line}` stands there twice",
                unit.display()
            );
        } else {
            assert_eq!(line, "", "{}", unit.display());
        }
    }
    all
}

fn value(of: &BTreeSet<(String, String, String)>, setting: &str) -> String {
    let mut found = of.iter().filter(|(_, name, _)| name == setting);
    let (_, _, value) = found.next().unwrap_or_else(|| panic!("no {setting}"));
    assert!(found.next().is_none(), "several {setting}");
    value.clone()
}

#[test]
fn devices_of_guests_are_shut_off_alike() {
    let own = ["Description", "Documentation", "ExecStart", "RuntimeDirectory"];
    let [cipher, entropy] = ["cipher", "entropy"].map(|path| {
        let mut all = settings(&folder().join(format!("tollway-{path}-serve.service")));
        all.retain(|(_, setting, _)| !own.contains(&setting.as_str()));
        all
    });
    assert!(cipher.len() > 30, "{cipher:?}");
    let differs: Vec<_> = cipher.symmetric_difference(&entropy).collect();
    assert!(differs.is_empty(), "{differs:#?}");
}

#[test]
fn what_units_start_and_name_is_there() {
    let bench = Bench::with(SHORT);
    bench.ends(&["generate", "man", "pages"], 0);
    let units: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(units.len() >= 3, "{units:?}");
    for unit in units {
        let all = settings(&unit);
        let line = value(&all, "ExecStart");
        let words = line.strip_prefix("/usr/bin/tollway ").unwrap_or_else(|| panic!("{line}"));
        let (verbs, options) = words.split_once(" --").unwrap();
        let help: Vec<&str> = verbs.split(' ').chain(["--help"]).collect();
        let (help, _) = bench.ends(&help, 0);
        for option in format!(" --{options}").split(" --").skip(1) {
            let name = format!("--{}", option.split(' ').next().unwrap());
            assert!(help.contains(&name), "{}: {name}: {help}", unit.display());
        }
        let page = format!("tollway-{}", verbs.replace(' ', "-"));
        assert_eq!(value(&all, "Documentation"), format!("man:{page}(1)"));
        assert!(bench.file("pages").join(format!("{page}.1")).exists(), "{page}");
        assert_eq!(unit.file_stem().unwrap().to_str().unwrap(), page);
    }
}
