//! Comparisons: what is paired with what, what is refused, and what a gate lets through.

use crate::synthetic;
use crate::synthetic::{Behaviour, Made, Noise};
use jiff::ToSpan;
use tollway_core::{Crossing, Missing, TollKey};
use tollway_report::document::VerdictDocument;
use tollway_report::{Comparison, PageTable, Proof, ReportError, comparison_page};
use tollway_stats::Criteria;
use tollway_store::{PointSpec, PointState, RunId};

fn of_sides(made: &Made, run: RunId) -> Comparison {
    Comparison::of_sides(&made.store, run, ["A", "B"], Criteria::default()).unwrap()
}

#[test]
fn a_slowdown_beyond_the_threshold_is_named() {
    let mut made = Made::new();
    let run = synthetic::sides(&mut made.store, ["A", "B"], |i| if i == 10 { 1.08 } else { 1.0 }, 8);
    let comparison = of_sides(&made, run);
    let titles =
        |threshold| -> Vec<String> { comparison.beyond(threshold).iter().map(|f| f.title.clone()).collect() };
    assert_eq!(titles(0.05), ["system call (getppid)"]);
    assert_eq!(titles(0.12), [""; 0]);
    let found = comparison.document().figures[10].ratio.unwrap();
    assert!(found.b_over_a.lo > 1.05 && found.b_over_a.hi < 1.11 && found.blocks == 8, "{found:?}");
}

#[test]
fn drift_that_both_sides_share_cancels() {
    // The blocks of the made-up run drift by 10 %, its sides differ by less than 1 %.
    let mut made = Made::new();
    let run = synthetic::sides(&mut made.store, ["A", "B"], |_| 1.0, 8);
    let comparison = of_sides(&made, run);
    let calm = &comparison.document().figures[..40];
    assert!(calm.iter().all(|f| f.ratio.unwrap().verdict == VerdictDocument::Same), "{:#?}", calm[0]);
}

#[test]
fn a_missing_trial_does_not_shift_the_pairs() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("a hole", &["A", "B"])).unwrap();
    let of =
        |side: &str| PointSpec { side: Some(side.into()), ..synthetic::toll(TollKey::of(Crossing::Getppid)) };
    let ids = made.store.add_points(run, &[of("A"), of("B")]).unwrap();
    let mut noise = Noise::seeded(5);
    for block in 0..4 {
        for repeat in 0..4u32 {
            // Each pair is twice as slow as the one before: a pair of strangers would show.
            let level = 2f64.powi(repeat.cast_signed());
            for (side, id) in ids.iter().enumerate() {
                if side == 1 && repeat == 1 && block == 2 {
                    continue;
                }
                let behaviour = Behaviour { within: 0.002, ..Behaviour::calm(2000.0) };
                let ordinal = block * 100 + repeat * 2 + side as u32;
                made.store.record_trial(*id, &behaviour.trial(&mut noise, level, block, ordinal)).unwrap();
            }
        }
    }
    let comparison = of_sides(&made, run);
    let figure = &comparison.document().figures[0];
    assert_eq!(figure.trials, [15, 15]);
    assert!((figure.ratio.unwrap().b_over_a.estimate - 1.0).abs() < 0.01, "{figure:?}");
}

/// Both sides cost the same; in so many of five pairs a block the machine was slower, and the last of them
/// lacks its A.
fn with_slow_pairs(made: &mut Made, slow: u32) -> Comparison {
    let run = made.store.begin_run(&synthetic::spec("drift within blocks", &["A", "B"])).unwrap();
    let of =
        |side: &str| PointSpec { side: Some(side.into()), ..synthetic::toll(TollKey::of(Crossing::Getppid)) };
    let ids = made.store.add_points(run, &[of("A"), of("B")]).unwrap();
    let mut noise = Noise::seeded(5);
    for block in 0..8 {
        for repeat in 0..5u32 {
            for (side, id) in ids.iter().enumerate() {
                if side == 0 && repeat == 4 {
                    continue;
                }
                let level = if repeat < 5 - slow { 1.0 } else { 1.3 };
                let behaviour = Behaviour { within: 0.002, ..Behaviour::calm(2000.0) };
                let ordinal = block * 100 + repeat * 2 + side as u32;
                made.store.record_trial(*id, &behaviour.trial(&mut noise, level, block, ordinal)).unwrap();
            }
        }
    }
    of_sides(made, run)
}

/// "183 against 195 ns, 1.000, same": the columns are medians over all trials, and the ratio is of pairs.
#[test]
fn a_ratio_that_its_columns_do_not_have_says_that_it_is_of_pairs_and_shows_theirs() {
    let mut made = Made::new();
    let comparison = with_slow_pairs(&mut made, 3);
    let figure = &comparison.document().figures[0];
    let columns = figure.b.unwrap().ns.estimate / figure.a.unwrap().ns.estimate;
    assert!(columns > 1.1, "the columns differ: {columns}");
    assert_eq!(figure.ratio.unwrap().verdict, VerdictDocument::Same);
    let pairs = figure.pairs.unwrap();
    assert!((0.98..1.0).contains(&pairs.min) && (1.0..1.02).contains(&pairs.max), "{pairs:?}");
    let page = comparison_page(comparison.document(), "page", &[], &[]).unwrap();
    for form in [comparison.terminal(None), comparison.markdown(), page] {
        assert!(form.contains("32 pairs side by side") && form.contains("Ratios are of pairs"), "{form}");
        assert!(form.contains(&format!("{columns:.3}")), "{form}");
    }
    // Where they agree, nothing is said of them; of two runs there are no pairs.
    let agreeing = with_slow_pairs(&mut made, 0).terminal(None);
    assert!(!agreeing.contains("the columns' ratio"), "{agreeing}");
    let run = RunId(comparison.document().a.run);
    let runs = Comparison::of_runs(&made.store, run, run, Criteria::default()).unwrap();
    assert!(runs.document().figures.iter().all(|f| f.pairs.is_none()), "unpaired");
    assert!(!runs.terminal(None).contains("Ratios are of pairs"));
}

#[test]
fn what_has_no_ratio_says_why() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("setbacks", &["A", "B"])).unwrap();
    let of = |side: &str, crossing| PointSpec {
        side: Some(side.into()),
        ..synthetic::toll(TollKey::of(crossing))
    };
    let specs = [
        of("A", Crossing::Rdseed),
        of("B", Crossing::Rdseed),
        of("A", Crossing::Fsync),
        of("B", Crossing::Fsync),
        of("A", Crossing::Pipe),
        of("B", Crossing::Pipe),
        of("A", Crossing::Rdtsc),
    ];
    let ids = made.store.add_points(run, &specs).unwrap();
    let missing = Missing::new("RDSEED", "CPUID says no", "take another processor");
    for id in &ids[0..2] {
        made.store.set_point_state(*id, &PointState::Skipped(missing.clone())).unwrap();
    }
    let mut noise = Noise::seeded(1);
    for (i, id) in ids[2..6].iter().enumerate() {
        let trial = Behaviour::calm(5000.0).trial(&mut noise, 1.0, 0, i as u32);
        made.store.record_trial(*id, &trial).unwrap();
    }
    made.store.set_point_state(ids[3], &PointState::Failed("wrong bytes".into())).unwrap();
    let comparison = of_sides(&made, run);
    let why: Vec<_> = comparison.document().figures.iter().map(|f| f.why.clone().unwrap()).collect();
    assert_eq!(why[0], "skipped: RDSEED: CPUID says no → take another processor");
    assert_eq!(why[1], "B failed: wrong bytes");
    assert!(why[2].contains("2 blocks") && why[2].contains("there is 1"), "{}", why[2]);
    assert_eq!(comparison.document().only[0].side, "A");
    assert!(comparison.terminal(Some(90)).contains("wrong bytes"));
    assert!(comparison.beyond(0.0).is_empty());
}

#[test]
fn a_side_that_is_not_there_is_refused_with_those_that_are() {
    let mut made = Made::new();
    let sided = synthetic::sides(&mut made.store, ["old", "new"], |_| 1.0, 2);
    let error = Comparison::of_sides(&made.store, sided, ["A", "new"], Criteria::default()).unwrap_err();
    assert!(matches!(error, ReportError::NoSide { .. }));
    assert_eq!(error.to_string(), "run 1 has no side `A`; it has old, new");
    assert!(Comparison::of_runs(&made.store, sided, RunId(99), Criteria::default()).is_err());
    let useless = Criteria { margin: 0.0, ..Criteria::default() };
    assert!(matches!(
        Comparison::of_sides(&made.store, sided, ["old", "new"], useless),
        Err(ReportError::Criteria(_))
    ));
}

#[test]
fn clocks_of_different_rates_are_compared_in_seconds() {
    let mut made = Made::new();
    let runs = [1.0, 1.5].map(|faster| {
        let spec = tollway_store::RunSpec {
            hz: synthetic::HZ * faster,
            started: synthetic::start() + 1.hours(),
            machine: format!("machine {faster}"),
            ..synthetic::spec("clock", &[])
        };
        let run = made.store.begin_run(&spec).unwrap();
        let ids = made.store.add_points(run, &[synthetic::toll(TollKey::of(Crossing::Pipe))]).unwrap();
        synthetic::measure(&mut made.store, &[(ids[0], Behaviour::calm(7000.0 * faster))], 8, 1, 3);
        run
    });
    let comparison = Comparison::of_runs(&made.store, runs[0], runs[1], Criteria::default()).unwrap();
    let ratio = comparison.document().figures[0].ratio.unwrap();
    assert!((ratio.b_over_a.estimate - 1.0).abs() < 0.01, "{ratio:?}");
    let notes = comparison.document().notes.join(" ");
    assert!(notes.contains("unpaired") && notes.contains("different machines"), "{notes}");
}

#[test]
fn the_proof_counts_what_was_found_and_what_was_invented() {
    let mut made = Made::new();
    let same = synthetic::sides(&mut made.store, ["A", "B"], |i| if i == 3 { 1.05 } else { 1.0 }, 8);
    let slowed = synthetic::sides(&mut made.store, ["A", "B"], |i| if i == 7 { 1.0 } else { 1.1 }, 8);
    let proof = Proof::of(&of_sides(&made, same), &of_sides(&made, slowed), 0.1);
    assert_eq!((proof.figures, proof.resolving, proof.tried), (44, 42, 42));
    assert_eq!(proof.false_changes, ["time-stamp counter, rdtsc"]);
    assert_eq!((proof.found, proof.missed.as_slice()), (41, &["RDRAND, 64 bits".to_string()][..]));
}

#[test]
fn rates_are_compared_as_rates_also_where_an_axis_differs() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("two modes", &["raw", "luks"])).unwrap();
    let of = |side: &str| PointSpec { side: Some(side.into()), ..synthetic::rated(side) };
    let ids = made.store.add_points(run, &[of("raw"), of("luks")]).unwrap();
    let mut noise = Noise::seeded(3);
    for block in 0..8 {
        for (at, (id, times)) in ids.iter().zip([1.0, 2.0]).enumerate() {
            let behaviour = Behaviour::calm(21_000.0 * times);
            let trial = behaviour.trial(&mut noise, 1.0, block, 2 * block + at as u32);
            made.store.record_trial(*id, &synthetic::one_after_the_other(trial)).unwrap();
        }
    }
    let comparison = Comparison::of_sides(&made.store, run, ["raw", "luks"], Criteria::default()).unwrap();
    let figure = &comparison.document().figures[0];
    let ratio = figure.ratio.unwrap();
    // Twice as long for each block of 4096 bytes: half the rate, which is worse.
    assert!((ratio.b_over_a.estimate - 0.5).abs() < 0.02, "{ratio:?}");
    assert_eq!(ratio.verdict, VerdictDocument::Worse);
    assert_eq!(figure.rates.as_ref().unwrap().unit, "IO/s");
    assert_eq!((comparison.beyond(0.5).len(), comparison.beyond(1.5).len()), (1, 0));
    assert!(comparison.terminal(None).contains("IO/s"));
}

#[test]
fn a_page_has_every_row_with_its_verdict_and_nobody_elses_text_is_markup() {
    let mut made = Made::new();
    let run = synthetic::sides(&mut made.store, ["A", "B"], |i| if i == 10 { 1.08 } else { 1.0 }, 8);
    let comparison = of_sides(&made, run);
    let table = PageTable {
        title: "what <b>else</b>".into(),
        heads: vec!["Row".into(), "What".into()],
        rows: vec![vec!["one".into(), "<script>alert(1)</script>\u{1b}[31m".into()]],
        ..PageTable::default()
    };
    let lead = ["how & why".to_owned()];
    let page = comparison_page(comparison.document(), "A <i>and</i> B", &lead, &[table]).unwrap();
    let rows = comparison.document().figures.len();
    assert_eq!(page.matches("<span class=\"badge").count(), rows);
    assert_eq!(page.matches("<span class=\"badge bad\">worse</span>").count(), 1);
    assert!(
        page.contains("A &lt;i&gt;and&lt;&#x2f;i&gt; B") && page.contains("how &amp; why"),
        "{}",
        &page[..900]
    );
    assert!(page.contains("&lt;script&gt;alert(1)&lt;") && !page.contains('\u{1b}'));
    for banned in ["<script", "<img", "http://", "https://", "url(", "@import", "<link", "src="] {
        assert!(!page.contains(banned), "{banned}");
    }
}
