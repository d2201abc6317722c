//! Every crossing that has a name has a price: each is measured by some point of a path's quick preset, or for one; those
//! that need more than any machine has, by a preset of their own.

use std::collections::BTreeSet;

use tollway_core::{Crossing, Preset};

/// Presets that price crossings.
const PRICING: [&str; 2] = ["quick", "live-gates"];

/// The crossings whose tolls these presets measure, over all paths.
fn priced() -> BTreeSet<Crossing> {
    let mut priced = BTreeSet::new();
    let paths = tollway_all::registry().paths;
    assert!(paths.iter().all(|path| path.preset("quick").is_ok()));
    let presets = paths.iter().flat_map(|path| {
        path.presets.iter().filter(|(name, _)| PRICING.contains(name)).map(move |(_, text)| (path, *text))
    });
    for (path, text) in presets {
        let preset: Preset = toml::from_str(text).unwrap();
        for (name, params) in preset.points() {
            let variant = path.variant(&name).unwrap();
            let params = params.complete(&variant.axes()).unwrap();
            let plan = variant.plan(&params).unwrap();
            // What a point needs is measured with it.
            priced.extend(plan.provides.iter().chain(&plan.needs).map(|key| key.crossing));
        }
    }
    priced
}

#[test]
fn every_crossing_has_a_price() {
    let priced = priced();
    let without: Vec<_> = Crossing::ALL.iter().filter(|c| !priced.contains(c)).map(|c| c.name()).collect();
    assert!(without.is_empty(), "no preset measures: {}", without.join(", "));
}

#[test]
fn every_preset_of_every_path_can_be_planned() {
    for path in tollway_all::registry().paths {
        for (name, text) in path.presets {
            let preset: Preset = toml::from_str(text).unwrap_or_else(|e| panic!("{}/{name}: {e}", path.name));
            assert_eq!((preset.preset.name.as_str(), preset.preset.path.as_str()), (*name, path.name));
            for (variant, params) in preset.points() {
                let variant = path.variant(&variant).unwrap();
                let params = params.complete(&variant.axes()).unwrap();
                variant.plan(&params).unwrap();
            }
        }
    }
}
