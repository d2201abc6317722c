//! The catalogue as a list, and one model's card.

use anyhow::Result;
use serde_json::json;
use tollway_model::catalogue::{self, Model};
use tollway_report::columns::{Align, Cell, Table};

use crate::output;

/// Lists every model, by family.
pub fn catalogue(as_json: bool) -> Result<()> {
    let all = catalogue::all();
    if as_json {
        let models: Vec<_> = all.iter().map(|model| described(model)).collect();
        return output::json(&json!({ "schema_version": 1, "models": models }));
    }
    let mut table = Table::new([Align::Left, Align::Left, Align::Left]);
    let mut family = None;
    for model in all {
        if family.replace(model.family) != Some(model.family) {
            table.across(0, Cell::plain(model.family.title()));
        }
        table.row([
            Cell::plain(format!("  {}", model.name)),
            Cell::plain(model.title),
            Cell::plain(model.summary),
        ]);
    }
    table.across(
        0,
        Cell::plain("tollway model NAME shows a model's formula, assumptions, source and parameters."),
    );
    Ok(output::text(&table.render(output::width()))?)
}

/// Shows one model.
pub fn card(model: &Model, as_json: bool) -> Result<()> {
    if as_json {
        let mut card = described(model);
        card["schema_version"] = json!(1);
        return output::json(&card);
    }
    let width = output::width();
    let mut table = Table::new(Vec::new());
    table.across(0, Cell::plain(format!("{} · {}: {}", model.name, model.title, model.summary)));
    for (what, text) in [
        ("formula", model.formula),
        ("assumes", model.assumptions),
        ("holds", model.holds),
        ("source", model.source),
    ] {
        table.across(2, Cell::plain(format!("{what:8} {text}")));
    }
    if let Some(figures) = figures(model) {
        table.across(2, Cell::plain(format!("{:8} {}", "figures", figures.join(", "))));
    }
    table.blank();
    let mut parameters = Table::new([Align::Left, Align::Left, Align::Left, Align::Left]);
    for parameter in model.parameters {
        let default = parameter.default.map(|text| format!("default {text}")).unwrap_or_default();
        parameters.row([
            Cell::plain(format!("  {}={}", parameter.name, parameter.example)),
            Cell::plain(parameter.means),
            Cell::plain(parameter.kind.says()),
            Cell::plain(default),
        ]);
    }
    let text = format!("{}{}\n  $ {}\n", table.render(width), parameters.render(width), example(model));
    Ok(output::text(&text)?)
}

/// The command that asks the model its own examples.
pub fn example(model: &Model) -> String {
    let pairs = model.parameters.iter().map(|p| quoted(&format!("{}={}", p.name, p.example)));
    let words: Vec<String> =
        ["tollway".into(), "model".into(), model.name.into()].into_iter().chain(pairs).collect();
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=./,:%_+-".contains(c);
    if word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The names of the figures that it gives at its own examples.
fn figures(model: &Model) -> Option<Vec<String>> {
    let given = model.given(model.parameters.iter().map(|p| (p.name, p.example))).ok()?;
    let solution = model.solve(&given).ok()?;
    Some(solution.metrics().iter().map(|metric| metric.name.clone().into_owned()).collect())
}

fn described(model: &Model) -> serde_json::Value {
    let parameters: Vec<_> = model
        .parameters
        .iter()
        .map(|p| {
            json!({ "name": p.name, "is": p.kind.says(), "means": p.means, "default": p.default, "example": p.example })
        })
        .collect();
    json!({
        "model": model.name, "title": model.title, "family": model.family.title(), "summary": model.summary,
        "formula": model.formula, "assumptions": model.assumptions, "holds": model.holds, "source": model.source,
        "parameters": parameters, "example": example(model),
    })
}
