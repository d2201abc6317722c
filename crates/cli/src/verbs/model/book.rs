//! MODELS.md: the catalogue as a book. Every figure in it is worked out when it is generated.

use anyhow::Result;
use tollway_model::catalogue::{self, Model};
use tollway_model::{Solution, Unit};

use super::card;
use crate::figure;

/// Columns of the page.
const WIDTH: usize = 118;

/// One row of what assumptions cost.
struct Assumption {
    assumed: &'static str,
    model: &'static str,
    parameters: &'static [(&'static str, &'static str)],
}

/// The same load under different assumptions.
const ASSUMPTIONS: &[Assumption] = &[
    Assumption {
        assumed: "services all alike",
        model: "md1",
        parameters: &[("lambda", "8000"), ("service", "100us")],
    },
    Assumption {
        assumed: "services exponential",
        model: "mm1",
        parameters: &[("lambda", "8000"), ("mu", "10000")],
    },
    Assumption {
        assumed: "most services short, some long (cv² 4)",
        model: "mg1",
        parameters: &[("lambda", "8000"), ("service", "hyperexponential(0.9, 59.175us, 0.1, 467.425us)")],
    },
    Assumption {
        assumed: "gaps all alike, services exponential",
        model: "gim1",
        parameters: &[("interarrival", "constant(125us)"), ("mu", "10000")],
    },
    Assumption {
        assumed: "arrivals in bursts (2 and 14 thousand a second, 10 ms each)",
        model: "mmpp-m1",
        parameters: &[("rates", "2000,14000"), ("stays", "10ms,10ms"), ("mu", "10000")],
    },
    Assumption {
        assumed: "requests come four at a time",
        model: "mxm1",
        parameters: &[("lambda", "2000"), ("mu", "10000"), ("batch", "4,1")],
    },
    Assumption {
        assumed: "the server is shared by all at once",
        model: "mg1-ps",
        parameters: &[("lambda", "8000"), ("service", "exponential(100us)")],
    },
    Assumption {
        assumed: "the server is woken for eight at once",
        model: "n-policy",
        parameters: &[("lambda", "8000"), ("service", "exponential(100us)"), ("count", "8")],
    },
    Assumption {
        assumed: "the server looks every millisecond while it is idle",
        model: "vacations",
        parameters: &[("lambda", "8000"), ("service", "exponential(100us)"), ("vacation", "constant(1ms)")],
    },
];

/// The whole page.
pub fn book() -> Result<String> {
    let mut out = include_str!("preface.md").replace("TABLE", assumptions()?.trim_end());
    let mut family = None;
    for model in catalogue::all() {
        if family.replace(model.family) != Some(model.family) {
            out += &format!("\n## {}\n", capital(model.family.title()));
        }
        out += &entry(model)?;
    }
    Ok(out)
}

fn assumptions() -> Result<String> {
    let mut out =
        String::from("| assumed | model | mean response | p99 of the response |\n|---|---|---:|---:|\n");
    for Assumption { assumed, model: name, parameters } in ASSUMPTIONS {
        let model = catalogue::find(name).expect("a model of the catalogue");
        let solution = model.solve(&model.given(parameters.iter().copied())?)?;
        let time =
            |name: &str| solution.get(name).map_or_else(|| "–".into(), |x| figure::text(x, Unit::Seconds));
        out += &format!("| {assumed} | `{name}` | {} | {} |\n", time("response.mean"), time("response.p99"));
    }
    Ok(out)
}

/// One model.
fn entry(model: &Model) -> Result<String> {
    let mut out = format!("\n### {}: {}\n\n{}.\n\n", model.name, model.title, capital(model.summary));
    for (what, text) in [
        ("Formula", model.formula),
        ("Assumes", model.assumptions),
        ("Holds", model.holds),
        ("Source", model.source),
    ] {
        out += &wrapped(&format!("- **{what}**: {}", text.replace('|', "\\|")), "  ");
    }
    let parameters: Vec<String> = model
        .parameters
        .iter()
        .map(|p| {
            let default = p.default.map(|text| format!("; default {text}")).unwrap_or_default();
            format!("`{}` {} ({}{default})", p.name, p.means, p.kind.says())
        })
        .collect();
    out += &wrapped(&format!("- **Asked with**: {}", parameters.join(", ")), "  ");
    let given = model.given(model.parameters.iter().map(|p| (p.name, p.example)))?;
    out += &format!("\n    $ {}\n", card::example(model));
    out += &wrapped(&format!("    {}", in_a_line(&model.solve(&given)?)), "    ");
    Ok(out)
}

/// Figures with `·` between them.
fn in_a_line(solution: &Solution) -> String {
    let figures = solution.metrics().iter();
    // A no-break space holds a figure and its name together.
    let texts =
        figures.map(|m| format!("{} {}", m.name, figure::text(m.value, m.unit)).replace(' ', "\u{a0}"));
    texts.collect::<Vec<_>>().join(" · ")
}

/// Wrapped at spaces, further lines indented; no-break spaces become plain ones.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.into()),
        }
    }
    lines.join("\n").replace('\u{a0}', " ") + "\n"
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
