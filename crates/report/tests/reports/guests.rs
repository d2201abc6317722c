//! A run in this machine and in its guests: what is compared with what, what is said of it, what each tenant got.

use crate::synthetic;
use crate::synthetic::Made;
use crate::synthetic::guests::{facts, host_and_guests, point_of};
use tollway_core::{Accelerator, Crossing, GuestFacts, KvmKind, LinuxGuestFacts, TenantKind};
use tollway_report::RunReport;
use tollway_report::document::{HostAgainstGuestDocument, RunDocument, VerdictDocument};

fn document() -> RunDocument {
    let mut made = Made::new();
    let run = host_and_guests(&mut made.store);
    RunReport::from_store(&made.store, run).unwrap().document().clone()
}

fn table(document: &RunDocument) -> &HostAgainstGuestDocument {
    document.host_against_guest.as_ref().unwrap()
}

#[test]
fn a_run_in_one_kind_of_tenant_has_no_such_table() {
    let mut made = Made::new();
    let run = synthetic::price_list(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    assert_eq!(report.document().host_against_guest, None);
    assert!(report.document().points.iter().all(|p| p.tenants.is_none()));
    for text in [report.terminal(Some(120)), report.markdown(), report.html().unwrap()] {
        assert!(!text.contains("Host against guest") && !text.contains("each tenant got"));
    }
}

#[test]
fn ratios_are_paired_by_block_and_judged_together() {
    let document = document();
    let table = table(&document);
    assert_eq!(table.tenants, [TenantKind::Process, TenantKind::MicroGuest, TenantKind::LinuxGuest]);
    let cell = |crossing: Crossing, tenant| {
        let row = table.crossings.iter().find(|c| c.variant == crossing.name() && c.toll.is_some()).unwrap();
        row.measured.iter().find(|m| m.tenant == tenant).unwrap_or_else(|| panic!("{row:?}"))
    };
    // The machine drifts by a tenth from block to block, which widens every median; a paired ratio does not see it.
    let ratio = |crossing, tenant| cell(crossing, tenant).to_host.unwrap();
    let call = ratio(Crossing::EmptyCall, TenantKind::MicroGuest);
    assert_eq!(call.verdict, VerdictDocument::Same);
    assert!((call.b_over_a.estimate - 1.0).abs() < 0.01 && call.b_over_a.hi < 1.02, "{call:?}");
    let alone = cell(Crossing::EmptyCall, TenantKind::Process).median.unwrap();
    assert!(alone.ns.hi / alone.ns.lo > 1.2, "{alone:?}");
    let dearer = ratio(Crossing::Getppid, TenantKind::LinuxGuest);
    assert_eq!(dearer.verdict, VerdictDocument::Worse);
    assert!(dearer.b_over_a.lo < 19.0 && 19.0 < dearer.b_over_a.hi, "{dearer:?}");
    assert!(dearer.q_different >= dearer.p_different);
    // A process is what the others are compared with.
    let host = cell(Crossing::Getppid, TenantKind::Process);
    assert!(host.to_host.is_none() && host.why.is_none() && host.median.is_some());
}

#[test]
fn what_has_no_figure_says_why() {
    let document = document();
    let without: Vec<(&str, &str)> = table(&document)
        .crossings
        .iter()
        .flat_map(|c| c.measured.iter().filter_map(|m| Some((c.variant.as_str(), m.why.as_deref()?))))
        .collect();
    assert_eq!(without.len(), 2, "{without:?}");
    assert!(without.iter().any(|(v, why)| *v == "io-uring-nop" && why.contains("→ name a kernel")));
    assert!(without.iter().any(|(_, why)| why.starts_with("failed: tenant caller")));
    let mut made = Made::new();
    let run = host_and_guests(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    for text in [report.terminal(None), report.markdown(), report.html().unwrap()] {
        assert!(
            text.contains("name a kernel that has it") && text.contains("its guest ended before it answered")
        );
    }
}

#[test]
fn the_price_list_has_this_machines_prices() {
    let mut made = Made::new();
    let run = host_and_guests(&mut made.store);
    let [here, there] = [TenantKind::Process, TenantKind::LinuxGuest]
        .map(|tenant| point_of(&made.store, run, Crossing::Getppid, tenant));
    let exit = point_of(&made.store, run, Crossing::ExitPort, TenantKind::Process);
    let page = RunReport::from_store(&made.store, run).unwrap().html().unwrap();
    let row = |point| page.contains(&format!("<tr id=\"p{point}\""));
    assert!(row(here) && !row(there));
    assert!(row(exit), "what is measured in a guest only stays");
}

#[test]
fn the_kind_of_guest_says_what_the_figures_mean() {
    let notes = |facts: &GuestFacts| {
        let mut made = Made::new();
        let run = host_and_guests(&mut made.store);
        made.store.note_guests(run, facts).unwrap();
        let report = RunReport::from_store(&made.store, run).unwrap();
        table(report.document()).notes.join("\n")
    };
    let translated = notes(&facts());
    assert!(translated.contains("prices of emulation, not of hardware virtualisation"), "{translated}");
    assert!(translated.contains("Why: Linux did not boot under KVM"), "{translated}");
    assert!(translated.contains("without hardware beneath it"), "{translated}");
    let linux = LinuxGuestFacts { accelerator: Accelerator::Kvm, ..facts().linux_guests.unwrap() };
    let hardware = GuestFacts { micro_guests: Some(KvmKind::Vmx), linux_guests: Some(linux) };
    let hardware = notes(&hardware);
    assert!(hardware.contains("Intel VMX") && hardware.contains("the price of virtualisation"), "{hardware}");
    assert!(!hardware.contains("emulation"), "{hardware}");
    let unknown = notes(&GuestFacts::default());
    assert!(unknown.contains("was not recorded: nobody can say"), "{unknown}");
}

#[test]
fn each_tenant_of_a_crowd_is_told_of() {
    let document = document();
    let crowd = document
        .points
        .iter()
        .filter_map(|p| p.tenants.as_ref())
        .find(|t| t.measured == 60 && t.tenant == Some(TenantKind::MicroGuest))
        .unwrap();
    assert_eq!(crowd.actors.len(), 60);
    let share = crowd.share.unwrap();
    assert!(share.min < share.median && share.median < share.max, "{share:?}");
    assert!((share.median * 30.0 - 1.0).abs() < 0.02, "{share:?}");
    // Together they do what two processors can.
    let total = crowd.total_rate.unwrap();
    let of_one = synthetic::HZ / 80.0;
    assert!((total.estimate / of_one / 2.0 - 1.0).abs() < 0.02, "{total:?}");
    let fairness = crowd.fastest_over_slowest.unwrap();
    assert!(1.03 < fairness.lo && fairness.lo <= fairness.estimate && fairness.hi < 1.15, "{fairness:?}");
    assert_eq!((crowd.own_share, crowd.starved_trials), (None, 0), "a micro-guest has nobody to reckon");
    // The guest thinks that it ran all the time; the host knows better.
    let linux = document.points.iter().filter_map(|p| p.tenants.as_ref());
    let linux = linux.clone().find(|t| t.tenant == Some(TenantKind::LinuxGuest)).unwrap();
    assert!(linux.share.unwrap().median < 0.94 && linux.own_share.unwrap().median > 0.96, "{linux:?}");
    assert_eq!(linux.fastest_over_slowest, None, "one alone is neither fast nor slow");
}

#[test]
fn a_tenant_that_got_nothing_is_no_ratio() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("starved", &[])).unwrap();
    let key = tollway_core::TollKey::of(Crossing::Rdrand);
    let id = made.store.add_points(run, &[synthetic::toll(key)]).unwrap()[0];
    let mut noise = synthetic::Noise::seeded(1);
    for block in 0..4 {
        let actor = |number, ops| tollway_core::ActorRecord {
            role: "caller".into(),
            number,
            tenant: Some(TenantKind::Process),
            window_ns: Some(1000),
            ops: Some(ops),
            ..Default::default()
        };
        let actors = vec![actor(0, 10), actor(1, if block == 2 { 0 } else { 9 })];
        let trial = synthetic::Behaviour::calm(80.0).trial(&mut noise, 1.0, block, block);
        made.store.record_trial(id, &tollway_store::NewTrial { actors, ..trial }).unwrap();
    }
    let report = RunReport::from_store(&made.store, run).unwrap();
    let tenants = report.document().points[0].tenants.as_ref().unwrap();
    assert_eq!((tenants.fastest_over_slowest, tenants.starved_trials), (None, 1));
    assert!(report.terminal(None).contains("one got nothing in a trial"));
}

#[test]
fn remarks_tell_what_is_free_and_what_is_dearest() {
    let document = document();
    let said =
        |rule: &str| document.remarks.iter().find(|r| r.rule == rule).map(|r| r.text.as_str()).unwrap();
    assert!(
        said("dearest-in-guests").contains("a Linux guest (TCG) makes system call (getppid) dearest: 18.7 ×")
    );
    let free = said("free-in-guests");
    assert!(free.starts_with("A micro-guest leaves 3 of 5 crossings at the price of this machine"), "{free}");
}
