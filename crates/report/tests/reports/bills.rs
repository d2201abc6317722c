//! Bills made of made-up trials, whose sums are known.

use crate::synthetic::Made;
use crate::synthetic::billed::{BLOCKS, SUM, gates, path, read, run};
use tollway_core::{Crossing, Gate, TollKey, Visits};
use tollway_report::RunReport;
use tollway_report::document::BillDocument;
use tollway_store::PointSpec;

fn bills(paths: &[(PointSpec, f64)]) -> (Vec<BillDocument>, RunReport) {
    let mut made = Made::new();
    let run = run(&mut made, paths);
    let report = RunReport::from_store(&made.store, run).unwrap();
    (report.document().bills.clone(), report)
}

#[test]
fn gates_add_up_and_the_machine_s_moods_leave_nothing_unexplained() {
    let (bills, report) = bills(&[(path("before", gates()), SUM)]);
    let bill = &bills[0];
    // The mean over blocks of both moods.
    let mood = (1.0 + 1.33) / 2.0;
    assert!((bill.sum.unwrap().ticks.estimate - SUM * mood).abs() < 0.5, "{bill:?}");
    assert!(bill.unexplained.unwrap().ticks.estimate.abs() < 0.5);
    assert!(bill.resolution_ticks.unwrap() < 0.5, "paired by block: {:?}", bill.resolution_ticks);
    assert_eq!(bill.closes, Some(true));
    let gate = |name: &str| bill.gates.iter().find(|g| g.name == name).unwrap();
    assert_eq!((gate("wake").visits, gate("wake").counted), (Some(0.25), true));
    assert!((gate("copy 2").cost.unwrap().ticks.estimate - 17.0 * mood).abs() < 0.05);
    assert!((gate("call").share.unwrap() - 3.0 / SUM).abs() < 1e-4);
    for width in [None, Some(100), Some(60)] {
        let text = report.terminal(width);
        assert!(text.contains("#0.250") && text.contains("1/100") && text.contains("closes"), "{text}");
    }
}

#[test]
fn what_no_gate_owns_is_unexplained() {
    let (bills, _) = bills(&[(path("before", gates()), SUM + 100.0)]);
    let rest = bills[0].unexplained.unwrap().ticks;
    assert!((rest.estimate - 116.5).abs() < 0.5, "{rest:?}");
    assert_eq!(bills[0].closes, Some(false));
}

#[test]
fn a_gate_that_is_not_known_is_said_to_be_and_the_bill_does_not_claim_to_close() {
    let mut gates = gates();
    gates.push(Gate::counted("kernel", "path"));
    gates.push(Gate::new("mystery", "path", TollKey::of(Crossing::Pipe)));
    let (bills, report) = bills(&[(path("before", gates), SUM)]);
    assert_eq!(bills[0].closes, None);
    let unknown: Vec<_> = bills[0].gates.iter().filter_map(|g| g.unknown.as_deref()).collect();
    assert!(unknown[0].contains("not counted") && unknown[1].contains("no toll `pipe`"), "{unknown:?}");
    assert!(report.bills(Some(100)).contains("mystery: unknown: the run has no toll `pipe`"));
}

#[test]
fn what_another_role_pays_is_listed_apart_and_no_part_of_the_sum() {
    let mut gates = gates();
    gates.insert(0, Gate::new("send", "generator", read(8400)).apart());
    gates.insert(1, Gate::new("tap", "generator", read(84)).knock_out(read(8400)).apart());
    gates.insert(2, Gate::counted("adapter", "generator").apart());
    let (bills, report) = bills(&[(path("before", gates), SUM)]);
    let bill = &bills[0];
    let mood = (1.0 + 1.33) / 2.0;
    assert!((bill.sum.unwrap().ticks.estimate - SUM * mood).abs() < 0.5, "{bill:?}");
    assert_eq!((bill.closes, bill.gates.len()), (Some(true), 4), "nothing that is apart decides");
    let rows: Vec<_> = bill.apart.iter().map(|g| (g.name.as_str(), g.knock_out, g.share)).collect();
    assert_eq!(rows, [("send", false, None), ("tap", true, None), ("adapter", false, None)]);
    assert!((bill.apart[1].cost.unwrap().ticks.estimate + 1700.0 * mood).abs() < 1.0);
    let text = report.bills(Some(100));
    let lines: Vec<&str> = text.lines().collect();
    let at =
        |what: &str| lines.iter().position(|l| l.contains(what)).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("unexplained") < at("paid by the generator, not in the sum"));
    assert!(
        at("paid by the generator") < at("tap (knock-out)") && lines[at("tap (")].contains('−'),
        "{text}"
    );
    assert!(text.contains("knock-out: what is saved by switching it off"), "{text}");
    let page = report.html().unwrap();
    for says in ["paid by the generator, not in the sum", "tap (knock-out)", "knock-out: what is saved"] {
        assert!(page.contains(says), "{says}");
    }
}

#[test]
fn a_knock_out_never_makes_a_bill_close() {
    // The wake is known only by what the read costs with it and without: the figures would add up.
    let mut gates = gates();
    gates[3] =
        Gate::new("wake", "path", read(8400)).knock_out(read(84)).visits(Visits::Fixed(1000.0 / 1700.0));
    let (bills, report) = bills(&[(path("before", gates), SUM)]);
    let bill = &bills[0];
    assert_eq!(bill.closes, None);
    let mood = (1.0 + 1.33) / 2.0;
    assert!((bill.sum.unwrap().ticks.estimate - 50.0 * mood).abs() < 0.5);
    assert!((bill.unexplained.unwrap().ticks.estimate - 1000.0 * mood).abs() < 0.5, "{bill:?}");
    let wake = bill.gates.iter().find(|g| g.name == "wake").unwrap();
    assert!(wake.knock_out && (wake.cost.unwrap().ticks.estimate - 1000.0 * mood).abs() < 0.5);
    assert!(report.terminal(Some(100)).contains("not every gate was measured alone"));
}

#[test]
fn a_path_none_of_whose_tolls_were_to_be_measured_has_no_bill() {
    let gates = vec![Gate::new("mystery", "path", TollKey::of(Crossing::Pipe))];
    let (bills, _) = bills(&[(path("before", gates), SUM)]);
    assert!(bills.is_empty(), "{bills:?}");
}

#[test]
fn a_change_is_predicted_from_its_gates_and_held_against_what_it_saved() {
    let faster: Vec<Gate> = gates().into_iter().filter(|g| g.name != "wake").collect();
    let honest = path("awake", faster.clone());
    let boastful = path("hasty", faster);
    let (_, report) =
        bills(&[(path("before", gates()), SUM), (honest, SUM - 1000.0), (boastful, SUM - 700.0)]);
    let changes = &report.document().changes;
    assert_eq!(changes.len(), 2);
    assert!((changes[0].predicted.ticks.estimate - 1165.0).abs() < 1.0, "{changes:?}");
    assert_eq!((changes[0].holds, changes[1].holds, changes[0].frozen), (true, false, false));
    assert!((changes[0].share - 1000.0 / SUM).abs() < 1e-3);
    assert!(report.terminal(Some(100)).contains("awake instead of before"));
}

/// What somebody looked at costs more: the bill is of what nobody looked at, and has the profile of the other.
#[test]
fn a_profile_goes_to_the_bill_that_it_does_not_disturb() {
    let point = |profile: u64| {
        let mut spec = path("before", gates());
        spec.params.set("profile", profile);
        spec
    };
    let (alone, _) = bills(&[(point(2000), SUM + 50.0)]);
    assert_eq!(alone.len(), 1);
    assert_eq!(alone[0].profile.as_ref().map(|p| p.samples), Some(u64::from(BLOCKS) * 100));
    let (both, report) = bills(&[(point(0), SUM), (point(2000), SUM + 50.0)]);
    assert_eq!(both.len(), 1);
    assert!(both[0].unexplained.unwrap().ticks.estimate.abs() < 0.5);
    let part = &both[0].profile.as_ref().unwrap().parts[0];
    assert_eq!((part.gates.join(","), part.share.estimate), ("call,copy 2".into(), 0.25));
    // (3 + 17) of 1050.
    assert!((part.billed.unwrap() - 20.0 / SUM).abs() < 1e-4, "{part:?}");
    assert!(report.drawn(Some(80)).contains("wake"), "{}", report.drawn(Some(80)));
    assert!(report.html().unwrap().contains("Sampled while it ran, 1200 times"));
}
