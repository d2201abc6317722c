//! What makes a point of the path another point: what a trace holds, and not its name alone.

use std::fs;

use tollway_core::{Params, Registry};
use tollway_lab::point::{Selection, named, parse_preset};

#[test]
fn a_trace_that_changes_under_its_name_makes_another_point() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let name = file.path().to_str().unwrap();
    let preset = format!(
        "[preset]\nname = \"t\"\npath = \"cipher\"\nabout = \"\"\n[trial]\nwindow_ms = 5.0\nwarmup_ms = 1.0\nruns = 2\nrepeats = 1\n\
         [[case]]\nvariant = \"busy\"\narrivals = \"trace\"\ntrace = \"{name}\"\n"
    );
    let registry = Registry { paths: vec![tollway_cipher::path()] };
    let planned = || -> Params {
        let presets = vec![parse_preset("t", &preset).unwrap()];
        let selection = Selection { presets, only: Vec::new() };
        let points = named(&registry, &selection).unwrap();
        assert_eq!(points.len(), 1);
        // Whoever reads a title sees that there may be others of that name.
        assert!(points[0].title().contains("#sha256:"), "{}", points[0].title());
        points[0].params.clone()
    };
    fs::write(&file, "0,64\n1,64\n").unwrap();
    let before = planned();
    assert_eq!(planned(), before);
    fs::write(&file, "0,64\n2,64\n").unwrap();
    assert_ne!(planned(), before);
    // Nobody plays the one in the other's place.
    let variant = registry.path("cipher").unwrap().variant("busy").unwrap();
    let told = variant.actor("tenant", &before).err().unwrap().to_string();
    assert!(told.contains("does not hold what it did"), "{told}");
}
