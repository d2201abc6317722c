//! Advice as a person reads it.

use tollway_report::columns::{Align, Cell, Table};
use tollway_report::number::{count, percent, plain};
use tollway_stats::Interval;

use super::apply::{Outcome, Tried};
use super::capacity::{Limit, Predicted, price_of_wake_up};
use super::choice::{Advice, Change, Worth};
use super::measured::{LeftOut, Measured};
use super::setup::{Asked, size_word, source_word};

/// The advice itself, for a terminal of that many columns.
pub fn advice(asked: &Asked, run: i64, measured: &Measured, advice: &Advice, width: Option<usize>) -> String {
    let mut text = head(asked, run, measured);
    text.push('\n');
    text += &sources(asked, measured, advice, width);
    text.push('\n');
    text += &verdict(asked, measured, advice);
    if !advice.changes.is_empty() {
        text.push('\n');
        text += &changes(asked, advice, width);
    }
    text
}

fn head(asked: &Asked, run: i64, measured: &Measured) -> String {
    let rate =
        asked.rate.map_or("as many frames as possible".into(), |rate| format!("{} frames/s", count(rate)));
    let mut wants = vec![format!("{rate} of {} bytes", asked.size + 4)];
    if asked.filter != "none" {
        wants.push(format!("filter {}", asked.filter));
    }
    wants.push(format!("{} cycles of work on each", asked.work));
    if !asked.stall.is_zero() {
        wants.push(format!("stalls of {} ms", asked.stall.as_millis()));
    }
    let mut text = format!(
        "Advice for {}\nmeasured on a cable of its own (run {run}); a thread that always wants a processor gets {} of it\n",
        wants.join(", "),
        share(&measured.share)
    );
    if measured.share.estimate < 0.9 {
        text += "other programs take processor time here: stop them for better advice\n";
    }
    text
}

fn share(of: &Interval) -> String {
    format!("{} [{}, {}]", percent(of.estimate), percent(of.lo), percent(of.hi))
}

fn sources(asked: &Asked, measured: &Measured, advice: &Advice, width: Option<usize>) -> String {
    let mut aligns = vec![Align::Right; 9];
    (aligns[0], aligns[8]) = (Align::Left, Align::Left);
    let mut table = Table::new(aligns);
    let cells = |texts: [String; 9]| texts.map(Cell::plain);
    table.row(cells([
        "source".into(),
        format!("c at {}/s", count(asked.light_rate())),
        "a read".into(),
        "c at full".into(),
        "core takes".into(),
        "buffer".into(),
        "sender".into(),
        "without loss".into(),
        "95 % interval".into(),
    ]));
    for predicted in &advice.sources {
        let setup = predicted.setup;
        let Some(way) = measured.way(setup.kind, setup.immediate, setup.buffer) else { continue };
        let rate = |of: &Interval| count(of.estimate);
        table.row(cells([
            source_word(setup.kind).into(),
            count(way.light.cycles.estimate),
            plain(way.light.packets_a_read),
            count(way.full.cycles.estimate),
            rate(&predicted.processor),
            rate(&predicted.buffer),
            rate(&predicted.sender),
            rate(&predicted.rate),
            ends(&predicted.rate),
        ]));
    }
    for LeftOut { kind, immediate, why } in &measured.left_out {
        let read = if *immediate { ", each packet at once" } else { "" };
        table.across(0, Cell::plain(format!("{}{read}: not measured: {why}", source_word(*kind))));
    }
    let mut text = table.render(width);
    text += &format!(
        "c: cycles a packet without the application's work; a read: packets it brings; then frames/s, predicted for one core \
         and {} with that work{}\n",
        size_word(advice.best.setup.buffer),
        if asked.stall.is_zero() { "" } else { " and stalls" }
    );
    if advice.sources.iter().any(|p| !asked.allows(p.setup.kind)) {
        text +=
            "xdp takes frames away from the machine's own network stack: it is advised with --bypass only\n";
    }
    text
}

fn verdict(asked: &Asked, measured: &Measured, advice: &Advice) -> String {
    let mut text = String::new();
    let best = &advice.best;
    text += &format!("advised  {}\n         {}\n", best.setup, promise(best));
    if let Some(rate) = asked.rate {
        text += &format!("         {}\n", margin(rate, best));
    }
    if let Some((_, room)) = measured.rooms.iter().find(|(kind, _)| *kind == best.setup.kind) {
        text += &format!(
            "         the buffer holds {} frames, {} bytes each; nobody read for up to {} ms here, stalls come on top\n",
            count(room.frames(best.setup.buffer)),
            plain(room.bytes),
            plain(measured.pause.hi * 1e3)
        );
    }
    let light = |immediate| measured.way(best.setup.kind, immediate, best.setup.buffer).map(|w| &w.light);
    if let (Some(batched), Some(at_once)) = (light(false), light(true)) {
        text += &match price_of_wake_up(batched, at_once) {
            Some((wake_up, _)) => format!(
                "         a wake-up costs it {} cycles; immediate mode has one for {} packets at {}/s\n",
                count(wake_up),
                plain(at_once.packets_a_read),
                count(asked.light_rate())
            ),
            None => "         what a wake-up costs it cannot be told from what was measured\n".to_string(),
        };
    }
    if best.setup.cores > 1 {
        text += "         more than one core is reckoned, not tried: flows must share out evenly\n";
    }
    match &advice.now {
        Some(now) => text += &format!("now      {}\n         {}\n", now.setup, promise(now)),
        None => text += &format!("now      {}: it could not be measured\n", asked.now),
    }
    text
}

fn promise(predicted: &Predicted) -> String {
    let by = match predicted.limit {
        Limit::Sender => format!(
            "what the sender gives here; the capture may take {}/s",
            count(predicted.processor.estimate.min(predicted.buffer.estimate))
        ),
        limit => format!("then the {} is at its end", limit.words()),
    };
    format!(
        "predicted without loss up to {}/s {}: {by}; {} cycles a packet {}",
        count(predicted.rate.estimate),
        ends(&predicted.rate),
        count(predicted.cycles.estimate),
        ends(&predicted.cycles)
    )
}

fn margin(rate: f64, best: &Predicted) -> String {
    let times = best.rate.estimate / rate;
    if best.rate.lo >= rate {
        format!("that is {} times the {}/s asked for", plain(times), count(rate))
    } else if best.rate.estimate >= rate {
        format!(
            "that is {} times the {}/s asked for, but the interval reaches below it",
            plain(times),
            count(rate)
        )
    } else {
        format!("that is not enough for the {}/s asked for: {}", count(rate), percent(times))
    }
}

fn changes(asked: &Asked, advice: &Advice, width: Option<usize>) -> String {
    let mut table = Table::new(vec![
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Left,
    ]);
    let cells = |texts: [String; 7]| texts.map(Cell::plain);
    table.row(cells([
        "change, in this order".into(),
        "from → to".into(),
        "c/packet".into(),
        "without loss".into(),
        "gain".into(),
        "95 % interval".into(),
        "worth it".into(),
    ]));
    for (at, change) in advice.changes.iter().enumerate() {
        let Change { what, from, to, after, gain, worth, .. } = change;
        table.row(cells([
            format!("{}. {}", at + 1, what.words()),
            format!("{from} → {to}"),
            count(after.cycles.estimate),
            format!("{}/s", count(after.rate.estimate)),
            format!("×{:.2}", gain.estimate),
            format!("[{:.2}, {:.2}]", gain.lo, gain.hi),
            match worth {
                Worth::Yes => "yes",
                Worth::WithTheOthers => "with the others",
                Worth::NotSeparable => "not separable",
                Worth::No => "no",
            }
            .into(),
        ]));
    }
    let by = match asked.rate {
        None => "the gain is in the rate without loss",
        Some(_) => {
            "the gain is in the rate without loss as far as it is needed, beyond that in cycles a packet"
        }
    };
    format!("{}each after those before it; {by}\n", table.render(width))
}

/// Predicted against measured.
pub fn applied(run: i64, tried: &[Tried], width: Option<usize>) -> String {
    let mut text =
        format!("\nApplied (run {run}; the predictions were in the store before the first trial)\n");
    for tried in tried {
        text += &way(tried, width);
    }
    text
}

fn way(tried: &Tried, width: Option<usize>) -> String {
    let predicted = &tried.predicted;
    let mut table = Table::new(vec![Align::Right; 5]);
    let cells = |texts: [String; 5]| texts.map(Cell::plain);
    table.row(cells([
        "    asked".into(),
        "carried".into(),
        "without loss".into(),
        "kept up".into(),
        "dropped".into(),
    ]));
    for rate in &tried.rates {
        let asked = if rate.asked == 0 { "full".into() } else { format!("{}/s", count(rate.asked as f64)) };
        table.row(cells([
            format!("    {asked}"),
            format!("{}/s", count(rate.carried)),
            format!("{} of {}", rate.without_loss, rate.trials),
            format!("{} of {}", rate.kept_up, rate.trials),
            rate.dropped.to_string(),
        ]));
    }
    let measured = match (tried.without_loss, tried.with_loss) {
        (Some(without), None) => format!("no loss up to what the sender gives ({}/s)", count(without)),
        (Some(without), Some(with)) => format!("no loss at {}/s, loss at {}/s", count(without), count(with)),
        (None, Some(with)) => format!("loss at {}/s already", count(with)),
        (None, None) => "nothing was measured".into(),
    };
    let mut text = format!(
        "  {}\n    largest rate without loss: predicted {}/s {}, measured: {measured}: {}\n",
        predicted.setup,
        count(predicted.rate.estimate),
        ends(&predicted.rate),
        outcome(tried.outcome)
    );
    if let (Some(cycles), Some(foretold), Some(grade)) =
        (&tried.cycles, &tried.cycles_predicted, &tried.grade)
    {
        let word = match grade.outcome {
            tollway_store::Outcome::Holds => "holds",
            tollway_store::Outcome::Missed => "missed",
            tollway_store::Outcome::SaysNothing => "says nothing",
        };
        text += &format!(
            "    cycles a packet there: predicted {} {}, measured {} {}: {word}\n",
            count(foretold.estimate),
            ends(foretold),
            count(cycles.estimate),
            ends(cycles)
        );
    }
    text + &table.render(width)
}

fn outcome(of: Outcome) -> &'static str {
    match of {
        Outcome::Holds => "holds",
        Outcome::Missed => "missed",
        Outcome::NotReached => "not contradicted, but the sender did not reach it",
        Outcome::SaysNothing => "says nothing: its interval is too wide",
        Outcome::NotTried => "not tried to its end",
    }
}

fn ends(of: &Interval) -> String {
    format!("[{}, {}]", count(of.lo), count(of.hi))
}
