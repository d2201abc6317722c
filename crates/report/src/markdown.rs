//! A run and a comparison as Markdown, for an issue or a wiki.

use tollway_core::TenantKind;

use crate::card;
use crate::compare::words;
use crate::document::{ComparisonDocument, RunDocument, SampleKind};
use crate::host_against_guest::{kind_title, legend, ratio_words, setbacks};
use crate::number::{count, interval, percent, ratio, share_of, time};
use crate::price_list::{Group, by_boundary, groups};

pub(crate) fn run(document: &RunDocument) -> String {
    let (run, quality) = (&document.run, &document.quality);
    let mut out = format!("# Run {}: {}\n\n", run.id, escaped(&run.title));
    out += &format!(
        "{} · {} · Tollway {} · seed {} · machine {} · {} points, {} trials ({} quiet)\n",
        run.started.strftime("%Y-%m-%d %H:%M UTC"),
        escaped(&run.state),
        escaped(&run.version),
        run.seed,
        escaped(&document.machine.id),
        document.points.len(),
        quality.trials,
        share_of(quality.quiet, quality.trials),
    );
    if let Some(noisy) = quality.noisy() {
        out += &format!("\n**{}**\n", escaped(&noisy));
    }
    if !document.remarks.is_empty() {
        out += "\n## What is remarkable here\n\n";
        for (i, remark) in document.remarks.iter().enumerate() {
            out += &format!("{}. {}\n", i + 1, escaped(&remark.text));
        }
    }
    out += &crate::headline::markdown(document);
    for group in groups(document) {
        out += &format!("\n## {}\n\n", escaped(&group.title));
        if !group.priced.is_empty() {
            out += "| crossing | median | 95 % interval | p99 | cycles | trials | quiet |\n";
            out += "|---|--:|--:|--:|--:|--:|--:|\n";
        }
        for point in &group.priced {
            let quiet = point.quiet_share.map_or("–".into(), percent);
            let [median, span, cycles] = match &point.median {
                Some(m) => [time(m.ns.estimate), interval(&m.ns), count(m.ticks.estimate)],
                None => ["–"; 3].map(String::from),
            };
            let p99 = match (&point.p99, point.samples) {
                (None, _) => "–".into(),
                (Some(p99), SampleKind::Operations) => time(p99.ns.estimate),
                (Some(p99), SampleKind::Batches) => format!("{} (batches)", time(p99.ns.estimate)),
            };
            let title = escaped(&point.label());
            let trials = point.trials;
            out += &format!("| {title} | {median} | {span} | {p99} | {cycles} | {trials} | {quiet} |\n");
        }
        out += &setbacks_of(&group);
    }
    out + &card::markdown::section(document)
        + &host_against_guest(document)
        + &tenants(document)
        + &classes(document)
        + &counts(document)
}

/// What failed and what was skipped of a group.
pub(crate) fn setbacks_of(group: &Group<'_>) -> String {
    let mut out = String::new();
    let setbacks = !group.failed.is_empty() || !group.skipped.is_empty();
    if setbacks && !group.priced.is_empty() {
        out.push('\n');
    }
    for point in &group.failed {
        let error = point.error.as_deref().unwrap_or_default();
        out += &format!("- {}: **failed**: {}\n", escaped(&point.label()), escaped(error));
    }
    for (missing, points) in &group.skipped {
        let titles: Vec<String> = points.iter().map(|p| escaped(&p.label())).collect();
        out += &format!(
            "- {}: **skipped**: {}: {} → {}\n",
            titles.join("; "),
            escaped(&missing.what),
            escaped(&missing.reason),
            escaped(&missing.remedy)
        );
    }
    out
}

/// What the same crossings cost in this machine and in its guests; empty where that was not measured.
fn host_against_guest(document: &RunDocument) -> String {
    let Some(found) = &document.host_against_guest else { return String::new() };
    let others: Vec<TenantKind> =
        found.tenants.iter().copied().filter(|kind| *kind != TenantKind::Process).collect();
    let mut out = String::from("\n## Host against guest\n\n| crossing | process |");
    for kind in &others {
        out += &format!(" {} | to process | verdict |", kind_title(*kind, &document.guests));
    }
    out += "\n|---|--:|";
    out += &"--:|--:|---|".repeat(others.len());
    out.push('\n');
    for crossing in &found.crossings {
        let cell = |kind| crossing.in_tenant(kind);
        let median = |kind| cell(kind).and_then(|c| c.median).map_or("–".into(), |m| time(m.ns.estimate));
        out += &format!("| {} | {} |", escaped(&crossing.label()), median(TenantKind::Process));
        for kind in &others {
            let (ratio, verdict) = match cell(*kind).and_then(ratio_words) {
                Some(words) => (words.text, words.verdict),
                None => ("–".into(), "–"),
            };
            out += &format!(" {} | {} | {verdict} |", median(*kind), escaped(&ratio));
        }
        out.push('\n');
    }
    out += &format!("\n{}\n", escaped(&legend(found)));
    for note in &found.notes {
        out += &format!("\n{}\n", escaped(note));
    }
    let setbacks = setbacks(found);
    if !setbacks.is_empty() {
        out.push('\n');
    }
    for setback in setbacks {
        out += &format!("- {}\n", escaped(&setback));
    }
    out
}

/// How long each class took; empty where there are no classes.
fn classes(document: &RunDocument) -> String {
    let points = crate::classes::rows(document);
    if points.is_empty() {
        return String::new();
    }
    let heads = crate::classes::HEADS.join(" | ");
    let mut out = format!(
        "\n## {}\n\n| crossing | class | {heads} |\n|---|---|--:|--:|--:|--:|\n",
        crate::classes::TITLE
    );
    for (title, rows) in points {
        for crate::classes::ClassRow { name, cells } in rows {
            out += &format!("| {} | {} | {} |\n", escaped(&title), escaped(&name), cells.join(" | "));
        }
    }
    out
}

/// What actors counted; empty where there is nothing to tell.
fn counts(document: &RunDocument) -> String {
    let rows = crate::counted::rows(document);
    if rows.is_empty() {
        return String::new();
    }
    let lines = rows.iter().map(|(title, counts)| format!("- {}: {}\n", escaped(title), escaped(counts)));
    format!("\n## {}\n\n{}", crate::counted::TITLE, lines.collect::<String>())
}

/// What each tenant got; empty where there is nothing to tell.
fn tenants(document: &RunDocument) -> String {
    let rows = crate::tenants::rows(document);
    if rows.is_empty() {
        return String::new();
    }
    let [title, heads @ ..] = crate::tenants::HEADS;
    let mut out =
        format!("\n## {title}\n\n| crossing | {} |\n|---|---|--:|--:|--:|--:|--:|\n", heads.join(" | "));
    for row in rows {
        let cells = [row.title, row.tenants, row.share, row.own, row.rate, row.total, row.fairness];
        out += &format!("| {} |\n", cells.map(|c| escaped(&c)).join(" | "));
    }
    out + &format!("\n{}\n", crate::tenants::LEGEND)
}

pub(crate) fn comparison(document: &ComparisonDocument) -> String {
    let (a, b) = (escaped(&document.a.label), escaped(&document.b.label));
    let mut out = format!("# {b} against {a}, {}\n\n{}\n", document.pairing, words::tally(document));
    for (title, figures) in by_boundary(&document.figures) {
        out += &format!(
            "\n## {}\n\n| figure | {a} | {b} | {b} / {a} | 95 % interval | verdict |\n",
            escaped(&title)
        );
        out += "|---|--:|--:|--:|--:|---|\n";
        for figure in figures {
            let [a, b] = words::quoted(figure);
            let (estimate, span) = match &figure.ratio {
                Some(found) => ratio(&found.b_over_a),
                None => ("–".into(), "–".into()),
            };
            out += &format!(
                "| {} | {a} | {b} | {estimate} | {} | {} |\n",
                escaped(&figure.title),
                escaped(&span),
                escaped(&words::verdict_text(figure))
            );
        }
    }
    for figure in &document.figures {
        if let Some(why) = words::unlike_its_columns(figure) {
            out += &format!("\n- {}: {}\n", escaped(&figure.title), escaped(&why));
        }
    }
    out += &format!("\n{}\n", words::criteria(document));
    for note in &document.notes {
        out += &format!("\n{}\n", escaped(note));
    }
    for only in &document.only {
        out += &format!("\n- only in {}: {}", escaped(&only.side), escaped(&only.title));
    }
    if !document.only.is_empty() {
        out.push('\n');
    }
    if !document.machine_differences.is_empty() {
        out += &format!("\n## The machines differ\n\n| field | {a} | {b} |\n|---|---|---|\n");
        for d in &document.machine_differences {
            let value = |v: &serde_json::Value| escaped(&v.to_string());
            out += &format!("| {} | {} | {} |\n", escaped(&d.field), value(&d.a), value(&d.b));
        }
    }
    out
}

/// Text that came from elsewhere, so that it neither breaks a table nor becomes markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn text_from_elsewhere_is_only_text() {
        assert_eq!(escaped("a|b\n<img src=x>"), "a\\|b &lt;img src=x&gt;");
    }
}
