//! `tollway bill`: what an operation of a path costs, gate by gate, against what it costs end to end.

use std::path::Path as FilePath;

use anyhow::Result;
use tollway_capture_tool::args::profile::Profile;
use tollway_core::{
    Axis, Case, Error, OneOrMany, Params, Path, Plan, Preset, PresetHead, Registry, Requirement, TrialSpec,
    Value, Variant,
};
use tollway_lab::Ended;
use tollway_program_tool::command::is_program;
use tollway_report::RunReport;
use tollway_store::{RunId, RunState};

use super::work::{self, Work};
use super::{history, program_bill};
use crate::args::{Arguments, Bill, Repeats};
use crate::exit::Ending;
use crate::laboratory;
use crate::output;

/// How a bill's points are tried where nothing else is said: blocks enough for an interval that tells 5 % apart.
const TRIAL: TrialSpec = TrialSpec { window_ms: 20.0, warmup_ms: 3.0, runs: 12, repeats: 2 };

/// Where one role waits for another, batches and sleeps take longer to come round.
const TRIAL_OF_SEVERAL: TrialSpec = TrialSpec { window_ms: 100.0, warmup_ms: 10.0, ..TRIAL };

/// Measures tolls and paths in the same blocks and prints the bills.
pub fn bill(arguments: &Arguments, options: &Bill) -> Result<Ending> {
    if options.program.is_asked() {
        return program_bill::bill(arguments, options);
    }
    let pages: Vec<_> = options.output.iter().chain(&options.program.html).cloned().collect();
    pages.iter().try_for_each(|file| output::check_writable(file))?;
    let Some(path) = &options.path else {
        return stored(arguments, options, options.of.unwrap_or_default());
    };
    refuse_quiet(options, &format!("bill of the path {path}"))?;
    let registry = tollway_all::registry();
    let preset = preset(path_of(&registry, path)?, &options.variant, &options.settings)?;
    let lab = laboratory::lab(&registry)?;
    let title = format!("bill {path}");
    let work = Work {
        title,
        presets: vec![preset],
        only: Vec::new(),
        resume: false,
        together: true,
        budgeted: false,
        pages,
    };
    let Some((store, ended)) = work::carry_out(arguments, &options.repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    let report = RunReport::from_store(&store, ended.run)?;
    if let Some(file) = &options.repeats.export {
        work::export_measured(file, &report)?;
    }
    page(&report, options)?;
    show_measured(arguments, &options.repeats, options.output.as_deref(), (&report, &ended))
}

/// The path of that name. What is none may be a program that was to stand behind `--`.
fn path_of<'r>(registry: &'r Registry, name: &str) -> Result<&'r Path> {
    registry.path(name).map_err(|error| match error {
        Error::Input { place, reason, remedy } if is_program(name) => Error::Input {
            place,
            reason,
            remedy: format!("`tollway bill -- {name}` bills the program {name}; of paths {remedy}"),
        }
        .into(),
        error => error.into(),
    })
}

/// Prints the bills of a run that was measured for them, or writes them to that file.
pub fn show_measured(
    arguments: &Arguments,
    repeats: &Repeats,
    file: Option<&FilePath>,
    (report, ended): (&RunReport, &Ended),
) -> Result<Ending> {
    if report.document().bills.is_empty() && !arguments.json {
        // What was skipped or failed says why.
        output::text(&report.terminal(output::width()))?;
        output::tell("no bill: nothing that passes gates was measured");
        return Ok(work::ending(ended, repeats));
    }
    show(arguments, report, file)?;
    if ended.state == RunState::Complete && report.document().bills.iter().any(|b| b.closes == Some(false)) {
        return Ok(Ending::CheckFailed);
    }
    Ok(work::ending(ended, repeats))
}

/// `tollway capture profile`: the bills of the capture path drawn, with what a sampling profiler saw.
pub fn profile(arguments: &Arguments, options: &Profile) -> Result<Ending> {
    let registry = tollway_all::registry();
    output::check_writable(&options.page)?;
    let repeats = Repeats {
        runs: options.runs,
        warmup: None,
        time: options.time.map(f64::from),
        seed: options.seed,
        dry_run: options.dry_run,
        strict: false,
        export: None,
    };
    let mut preset = preset(registry.path("capture")?, &options.design, &options.settings)?;
    for name in &options.design {
        let axes = registry.path("capture")?.variant(name)?.axes();
        if !axes.iter().any(|axis| axis.name == Axis::PROFILE) {
            return Err(Error::Input {
                place: format!("design `{name}`"),
                reason: "it is no design of the path in one process, which alone can be sampled".into(),
                remedy: format!("`tollway bill capture --variant {name}` has its bill"),
            }
            .into());
        }
    }
    if options.samples > 0 {
        let samples = [0, u64::from(options.samples)].map(Value::Int);
        preset.axes.0.insert(Axis::PROFILE.into(), OneOrMany::Many(samples.into()));
    }
    let lab = laboratory::lab(&registry)?;
    let title = "profile of capture".into();
    let work = Work {
        title,
        presets: vec![preset],
        only: Vec::new(),
        resume: false,
        together: true,
        budgeted: false,
        pages: vec![options.page.clone()],
    };
    let Some((store, ended)) = work::carry_out(arguments, &repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    let report = RunReport::from_store(&store, ended.run)?;
    let is_written = work::write_page(&options.page, &report, || Ok(report.html_of_bills()?))?;
    show_drawn(arguments, &report, is_written.then_some(&*options.page))?;
    Ok(work::ending(&ended, &repeats))
}

/// Prints the bills of a run, drawn and in full, and names their page where there is one.
pub fn show_drawn(arguments: &Arguments, report: &RunReport, page: Option<&std::path::Path>) -> Result<()> {
    if arguments.json {
        return output::json(report.document());
    }
    let (head, drawn) = (report.head(output::width()), report.drawn(output::width()));
    let bills = report.bills(output::width());
    let page = page.map(|page| format!("{} · ", page.display())).unwrap_or_default();
    let run = report.document().run.id;
    Ok(output::text(&format!("{}\n\n{drawn}\n{bills}\n{page}run {run}", head.trim_end()))?)
}

/// Prints the bills of a run of the store.
fn stored(arguments: &Arguments, options: &Bill, run: i64) -> Result<Ending> {
    let store = history::existing(&arguments.store)?;
    if let Some(ending) = program_bill::stored(arguments, options, &store, RunId(run))? {
        return Ok(ending);
    }
    let report = RunReport::from_store(&store, RunId(run))?;
    if report.document().bills.is_empty() {
        return Err(Error::Input {
            place: format!("run {run}"),
            reason: "it has no bill: none of its points passes gates whose tolls it has".into(),
            remedy:
                "`tollway bill PATH` and `tollway bill -- COMMAND` make one; `tollway history` lists the runs"
                    .into(),
        }
        .into());
    }
    refuse_quiet(options, &format!("run {run}"))?;
    page(&report, options)?;
    show(arguments, &report, options.output.as_deref())?;
    Ok(Ending::Done)
}

/// Writes the bills as a page, where one is wanted.
fn page(report: &RunReport, options: &Bill) -> Result<()> {
    let page = options.program.html.as_ref();
    page.map_or(Ok(()), |file| work::write_page(file, report, || Ok(report.html_of_bills()?)).map(drop))
}

/// The sum alone is a line of a program's bill.
fn refuse_quiet(options: &Bill, of: &str) -> Result<()> {
    if !options.quiet {
        return Ok(());
    }
    Err(Error::Input {
        place: "--quiet".into(),
        reason: format!("the {of} has a sum for each of its designs"),
        remedy: "leave it out".into(),
    }
    .into())
}

fn show(arguments: &Arguments, report: &RunReport, file: Option<&FilePath>) -> Result<()> {
    if let (true, Some(file)) = (arguments.json, file) {
        return work::write_page(file, report, || Ok(report.json()?)).map(drop);
    }
    if arguments.json {
        return output::json(report.document());
    }
    let text = |width| format!("{}\n\n{}", report.head(width).trim_end(), report.bills(width));
    match file {
        Some(file) => work::write_page(file, report, || Ok(text(None))).map(drop),
        None => Ok(output::text(&text(output::width()))?),
    }
}

/// The points of a bill as a preset.
fn preset(path: &Path, variants: &[String], settings: &[(String, String)]) -> Result<Preset> {
    let refused = |place: String, reason: &str, remedy: String| {
        Err(Error::Input { place, reason: reason.into(), remedy }.into())
    };
    let list = format!("`tollway list {}` names them", path.name);
    let has = |axis: &String| path.variants.iter().any(|v| v.axes().iter().any(|a| a.name == axis));
    if let Some((axis, _)) = settings.iter().find(|(axis, _)| !has(axis)) {
        return refused(format!("axis `{axis}`"), "no variant of this path has such an axis", list);
    }
    let variants = match variants {
        [] => with_gates(path, settings),
        some => some.to_vec(),
    };
    if variants.is_empty() {
        if settings.is_empty() {
            let remedy = format!("`tollway measure {}` measures them", path.name);
            let place = format!("path `{}`", path.name);
            return refused(place, "none of its variants passes gates: each is a toll itself", remedy);
        }
        let reason = "none of its variants that run anywhere passes gates and has these axes";
        return refused(format!("path `{}`", path.name), reason, format!("name one with --variant; {list}"));
    }
    for name in &variants {
        let variant = path.variant(name)?;
        let plan = Params::new().complete(&variant.axes()).and_then(|params| variant.plan(&params));
        if plan.is_ok_and(|plan| plan.provides.is_some()) {
            let remedy = format!("`tollway measure {} --only {name}` measures it", path.name);
            return refused(format!("variant `{name}`"), "it is a toll itself, so it has no bill", remedy);
        }
    }
    let trial =
        if variants.iter().any(|name| has_several_roles(path, name)) { TRIAL_OF_SEVERAL } else { TRIAL };
    let mut axes = Case::default();
    axes.0.insert("variant".into(), OneOrMany::Many(variants.into_iter().map(Value::Text).collect()));
    for (axis, value) in settings {
        axes.0.insert(axis.clone(), OneOrMany::One(value_of(value)));
    }
    Ok(Preset {
        preset: PresetHead { name: "bill".into(), path: path.name.into(), ..PresetHead::default() },
        axes,
        trial,
        ..Preset::default()
    })
}

fn has_several_roles(path: &Path, variant: &str) -> bool {
    let plan = path.variant(variant).and_then(|v| v.plan(&Params::new().complete(&v.axes())?));
    plan.is_ok_and(|plan| plan.roles.len() > 1)
}

/// The variants that run anywhere, all of whose gates have tolls and that have all axes that were named; others are shown
/// when they are asked for by name.
fn with_gates(path: &Path, settings: &[(String, String)]) -> Vec<String> {
    let fits = |variant: &&dyn Variant| {
        let axes = variant.axes();
        let has = |name: &String| axes.iter().any(|axis| axis.name == name);
        let params = Params::new().complete(&axes);
        let plan = params.and_then(|params| variant.plan(&params));
        let explained = |plan: Plan| {
            // An instruction that a processor lacks, or a second core, is told when the point is skipped.
            plan.provides.is_none()
                && plan
                    .requires
                    .iter()
                    .all(|needed| matches!(needed, Requirement::Cpu(_) | Requirement::Cores(_)))
                && !plan.gates.is_empty()
                && plan.gates.iter().all(|gate| gate.toll.is_some())
        };
        plan.is_ok_and(explained) && settings.iter().all(|(name, _)| has(name))
    };
    path.variants.iter().map(|v| &**v).filter(fits).map(|variant| variant.name().to_string()).collect()
}

fn value_of(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Value::Int(whole),
        (_, Ok(real)) => Value::Real(real),
        _ => Value::Text(text.into()),
    }
}
