//! The answer as text: formula and simulation side by side, then how it was simulated and whether they agree.

use anstyle::Style;
use tollway_model::Unit;
use tollway_report::columns::{Align, Cell, Table, printable};

use super::agreement::Judgement;
use super::document::{FigureDocument, SimulationDocument};
use crate::figure;

/// Figures of more parts than this are left to --json and --export.
const LINES: usize = 120;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// For a terminal of that many columns, or unwrapped.
pub fn text(document: &SimulationDocument, width: Option<usize>) -> String {
    let mut table =
        Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left]);
    if !document.title.is_empty() {
        table.across(0, Cell::styled(printable(&document.title), BOLD));
    }
    // A column for each way that there is an answer of.
    let has = |pick: fn(&FigureDocument) -> Option<f64>| document.figures.values().any(|f| pick(f).is_some());
    let (by_formula, by_chain) = (has(|figure| figure.formula), has(|figure| figure.chain));
    let only = |wanted: bool, text: String| if wanted { text } else { String::new() };
    let heads = ["", if by_formula { "formula" } else { "" }, if by_chain { "chain" } else { "" }];
    let heads = [heads, ["simulated", "95 % interval", ""]].concat();
    let heads = heads.into_iter();
    table.row(heads.map(|text| Cell::styled(text, DIM)).collect::<Vec<_>>());
    for (name, unit) in document.order.iter().take(LINES) {
        let figure = &document.figures[name];
        let texts = texts(figure, *unit);
        let mark = match figure.verdict.as_deref() {
            Some("differs") => "≠",
            Some("beside") => "~",
            // Without an interval it was not rarity: there were too few replications.
            Some("not-judged") if document.not_judged.is_some() => "short",
            Some("not-judged") if hangs(document, name) => "short",
            Some("not-judged") if figure.low.is_some() => "rare",
            _ => "",
        };
        let (formula, chain) = (only(by_formula, texts.formula), only(by_chain, texts.chain));
        let cells = [format!("  {name}"), formula, chain, texts.simulated, texts.interval, mark.into()];
        table.row(cells.map(Cell::plain));
    }
    if document.order.len() > LINES {
        let more = document.order.len() - LINES;
        table.across(2, Cell::plain(format!("and {more} more figures: --json or --export has them")));
    }
    for line in closing(document) {
        table.across(0, Cell::plain(line));
    }
    table.render(width)
}

/// Whether too little was seen of what the figure hangs on.
fn hangs(document: &SimulationDocument, name: &str) -> bool {
    document.short.iter().flat_map(|short| &short.figures).any(|begin| name.starts_with(begin))
}

/// A figure's values, all in one unit and with the decimals that its interval is worth.
struct Texts {
    formula: String,
    chain: String,
    simulated: String,
    interval: String,
}

fn texts(figure: &FigureDocument, unit: Unit) -> Texts {
    let (Some(value), Some(low), Some(high)) = (figure.simulated, figure.low, figure.high) else {
        let text = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| figure::text(value, unit));
        return Texts {
            formula: text(figure.formula),
            chain: text(figure.chain),
            simulated: text(figure.simulated),
            interval: String::new(),
        };
    };
    let exact = figure.formula.or(figure.chain).filter(|exact| exact.is_finite()).unwrap_or(value);
    let scale = figure::Scale::of(value, 0.5 * (high - low), exact, unit);
    let exactly = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| scale.full(value));
    Texts {
        formula: exactly(figure.formula),
        chain: exactly(figure.chain),
        simulated: scale.full(value),
        interval: format!("{} – {}", scale.bare(low), scale.bare(high)),
    }
}

/// How it was done, and what to think of it.
fn closing(document: &SimulationDocument) -> Vec<String> {
    let run = &document.simulation;
    let count = |n: u64| figure::text(n as f64, Unit::Count);
    let mut lines = Vec::new();
    match &document.formula {
        None => lines.push("formula: none in the catalogue for this system".into()),
        Some(formula) => lines.push(match &formula.problem {
            None => format!("formula: {}", formula.command),
            Some(problem) => format!("formula: {}: {problem}", formula.command),
        }),
    }
    lines.push(match (&document.chain.states, &document.chain.problem) {
        (Some(states), _) => {
            let apart = document.chain.from_formula;
            let apart = apart
                .map(|share| format!(", from the formula by {share:.0e} of a figure at most"))
                .unwrap_or_default();
            format!("chain: {} states{apart}", count(*states as u64))
        }
        (None, problem) => format!("chain: none: {}", problem.as_deref().unwrap_or_default()),
    });
    let engine = match run.engine.as_str() {
        "lindley" => "Lindley's recursion",
        _ => "event by event",
    };
    let stopped = match (run.stopped_by.as_str(), run.precision) {
        ("precision", _) => " · stopped: precise enough".into(),
        ("interruption", _) => " · stopped: interrupted; this is what was simulated until then".into(),
        (_, Some(precision)) => {
            format!(" · NOT as precise as ±{} %: give it more --customers", precision * 100.0)
        }
        _ => String::new(),
    };
    let replications = match run.replications {
        1 => "1 replication: no intervals of quantiles".into(),
        many => format!("{many} replications"),
    };
    lines.push(format!(
        "simulation: {engine} · {}, {} customers in all, {} of each left out as warm-up · seed {} · {} on {} \
         threads, {}{stopped}",
        replications,
        count(run.customers),
        count(run.warm_up),
        run.seed,
        figure::text(run.seconds, Unit::Seconds),
        run.threads,
        figure::text(run.customers as f64 / run.seconds.max(1e-9), Unit::PerSecond),
    ));
    let broken: Vec<&str> =
        document.invariants.iter().filter(|law| !law.holds).map(|law| law.name.as_str()).collect();
    lines.push(match &broken[..] {
        [] => format!("laws: all {} hold", document.invariants.len()),
        broken => format!("laws: these do not hold: {}", broken.join(", ")),
    });
    let (within, beside, differ) = (
        document.count(Judgement::Within),
        document.count(Judgement::Beside),
        document.count(Judgement::Differs),
    );
    let exact =
        if document.formula.as_ref().is_some_and(|f| f.problem.is_none()) { "formula" } else { "chain" };
    if let Some(reason) = &document.not_judged {
        lines.push(format!("not judged: {reason}"));
    }
    for short in document.short.iter().filter(|_| document.not_judged.is_none()) {
        let figures: Vec<String> = short.figures.iter().map(|begin| format!("{begin}*")).collect();
        lines.push(format!("not judged: {}: {}", figures.join(", "), short.reason));
    }
    if within + beside + differ > 0 {
        lines.push(if differ == 0 {
            format!(
                "agrees with the {exact}: {within} of {} intervals have its value, and none differs by more than chance \
                 and 0.5 %",
                within + beside
            )
        } else {
            format!("DIFFERS from the {exact} in {differ} of {} figures (≠)", within + beside + differ)
        });
    }
    lines
}

/// A line for each figure, base units, empty where there is none.
pub fn csv(document: &SimulationDocument) -> String {
    let head = ["figure", "unit", "formula", "chain", "simulated", "low", "high", "confidence", "verdict"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for (name, _) in &document.order {
        let figure = &document.figures[name];
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        lines.push(vec![
            name.clone(),
            figure.unit.clone(),
            number(figure.formula),
            number(figure.chain),
            number(figure.simulated),
            number(figure.low),
            number(figure.high),
            number(figure.confidence),
            figure.verdict.clone().unwrap_or_default(),
        ]);
    }
    tollway_report::csv_lines(lines)
}

/// A table for a page of text.
pub fn markdown(document: &SimulationDocument) -> String {
    let mut out =
        String::from("| figure | formula | chain | simulated | 95 % interval |\n|---|---:|---:|---:|---|\n");
    for (name, unit) in &document.order {
        let texts = texts(&document.figures[name], *unit);
        out += &format!(
            "| {name} | {} | {} | {} | {} |\n",
            texts.formula, texts.chain, texts.simulated, texts.interval
        );
    }
    out.push('\n');
    closing(document).iter().for_each(|line| out += &format!("- {line}\n"));
    out
}
