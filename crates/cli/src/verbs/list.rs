//! `tollway list`: what there is to measure.

use anyhow::Result;
use serde_json::json;
use tollway_core::{Crossing, Domain, Metric, Path, Registry};

use crate::args::{Arguments, List};
use crate::exit::Ending;
use crate::output;

/// Lists paths, or one path's variants with their axes and presets.
pub fn list(arguments: &Arguments, options: &List) -> Result<Ending> {
    let registry = tollway_all::registry();
    match options.what.as_deref() {
        None => paths(arguments, &registry)?,
        Some("tolls") => tolls(arguments)?,
        Some("claims") => claims(arguments, &registry)?,
        Some(name) => variants(arguments, registry.path(name)?)?,
    }
    Ok(Ending::Done)
}

fn paths(arguments: &Arguments, registry: &Registry) -> Result<()> {
    if arguments.json {
        let paths: Vec<_> = registry
            .paths
            .iter()
            .map(|p| json!({ "path": p.name, "question": p.question, "variants": p.variants.len() }))
            .collect();
        return output::json(&json!({ "schema_version": 1, "paths": paths }));
    }
    let mut text = String::new();
    for path in &registry.paths {
        let presets: Vec<_> = path.presets.iter().map(|(name, _)| *name).collect();
        text += &format!("{:10}  {}\n", path.name, path.question);
        text += &format!("{:10}  {} variants · presets: {}\n", "", path.variants.len(), presets.join(", "));
    }
    text += "tollway list PATH shows the variants of a path, tollway list tolls every crossing that has a price, tollway list \
             claims what was published.\n";
    Ok(output::text(&text)?)
}

fn tolls(arguments: &Arguments) -> Result<()> {
    if arguments.json {
        let all: Vec<_> = Crossing::ALL
            .iter()
            .map(|c| json!({ "crossing": c.name(), "title": c.title(), "boundary": c.boundary() }))
            .collect();
        return output::json(&json!({ "schema_version": 1, "crossings": all }));
    }
    let lines: Vec<String> = Crossing::ALL
        .iter()
        .map(|c| format!("{:18}  {:18}  {}\n", c.name(), c.boundary().title(), c.title()))
        .collect();
    Ok(output::text(&lines.concat())?)
}

/// What was published, and what would test it.
fn claims(arguments: &Arguments, registry: &Registry) -> Result<()> {
    let (mut all, mut text) = (Vec::new(), String::new());
    for path in &registry.paths {
        for claim in tollway_lab::claims(path)?.claim {
            let id = format!("{}.{}", path.name, claim.id);
            let untestable = match &claim.metric {
                Metric::None(why) => Some(why),
                _ => None,
            };
            text += &format!("{id}  (published: {})\n    {}\n", claim.published, claim.says);
            text += &match untestable {
                None => format!("    preset {}; expected: {}\n", claim.preset, claim.expected),
                Some(why) => format!("    not testable: {why}\n"),
            };
            all.push(json!({
                "claim": id, "says": claim.says, "source": claim.source, "provenance": claim.provenance.title(),
                "published": claim.published, "expected": claim.expected, "preset": claim.preset,
                "untestable": untestable,
            }));
        }
    }
    if arguments.json {
        return output::json(&json!({ "schema_version": 1, "claims": all }));
    }
    Ok(output::text(&text)?)
}

fn variants(arguments: &Arguments, path: &Path) -> Result<()> {
    if arguments.json {
        let variants: Vec<_> = path
            .variants
            .iter()
            .map(|v| {
                let axes: Vec<_> = v
                    .axes()
                    .iter()
                    .map(|a| json!({ "axis": a.name, "about": a.about, "values": domain(&a.domain), "default": a.default }))
                    .collect();
                json!({ "variant": v.name(), "about": v.about(), "caveats": v.caveats(), "axes": axes })
            })
            .collect();
        let presets: Vec<_> = path.presets.iter().map(|(name, _)| *name).collect();
        return output::json(&json!({
            "schema_version": 1, "path": path.name, "question": path.question, "presets": presets, "variants": variants
        }));
    }
    let mut text = format!("{}: {}\n", path.name, path.question);
    for (name, _) in path.presets {
        text += &format!("  preset  {name}\n");
    }
    for variant in &path.variants {
        text += &format!("  {:20} {}\n", variant.name(), variant.about());
        for axis in variant.axes() {
            text += &format!(
                "  {:20}   {}: {} (default {}; {})\n",
                "",
                axis.name,
                domain(&axis.domain),
                axis.default,
                axis.about
            );
        }
        if !variant.caveats().is_empty() {
            text += &format!("  {:20}   note: {}\n", "", variant.caveats());
        }
    }
    Ok(output::text(&text)?)
}

fn domain(domain: &Domain) -> String {
    match domain {
        Domain::Words(words) => words.join(" | "),
        Domain::Whole(lo, hi) => format!("{lo} … {hi}"),
        Domain::Real(lo, hi) => format!("{lo} … {hi}"),
        Domain::Text(form) => (*form).into(),
    }
}
