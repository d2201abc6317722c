//! `tollway run`: the main job, from doctor to page.

use anyhow::Result;

use super::resumed;
use super::work::{self, Measured, Work};
use crate::args::{Arguments, Run};
use crate::exit::Ending;
use crate::laboratory;
use crate::output;

/// Examines the machine, measures the quick presets of the paths, reports.
pub fn run(arguments: &Arguments, options: &Run) -> Result<Ending> {
    let registry = tollway_all::registry();
    let paths: Vec<String> = match &options.paths[..] {
        [] => registry.paths.iter().map(|p| p.name.to_string()).collect(),
        some => some.to_vec(),
    };
    let presets =
        paths.iter().map(|p| laboratory::preset(&registry, p, "quick")).collect::<Result<Vec<_>>>()?;
    output::check_writable(&options.html)?;
    output::tell(super::doctor::brief(&super::doctor::examine(false)).trim_end());
    let lab = laboratory::lab(&registry)?;
    let work = Work {
        title: format!("run {}", paths.join(" ")),
        presets,
        only: Vec::new(),
        resume: options.resume,
        together: false,
        budgeted: true,
        pages: vec![options.html.clone()],
    };
    let Some((store, ended)) = work::carry_out(arguments, &options.repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    let measured = Measured::of(arguments, &options.repeats, &registry, (&store, &ended))?;
    let ending = if options.resume { resumed::show(&measured, true)? } else { show(&measured)? };
    let is_written = work::write_page(&options.html, &measured.report, || Ok(measured.report.html()?))?;
    if !arguments.json {
        let earlier = store.runs()?.into_iter().map(|r| r.id).find(|id| *id < ended.run);
        let compare = earlier
            .map(|id| format!(" · compare with the run before: tollway compare {id} {}", ended.run))
            .unwrap_or_default();
        let page = if is_written { format!("{} · ", options.html.display()) } else { String::new() };
        output::text(&format!(
            "{page}{} (run {}) · all of it here: tollway report {}{compare}",
            arguments.store.display(),
            ended.run,
            ended.run
        ))?;
    }
    Ok(ending)
}

/// Prints what a person is to see of a run of all paths, or the whole document.
pub fn show(measured: &Measured<'_>) -> Result<Ending> {
    let Measured { arguments, repeats, report, .. } = measured;
    if let Some(file) = &repeats.export {
        work::export_measured(file, report)?;
    }
    if arguments.json {
        output::json(report.document())?;
    } else {
        output::text(&report.summary(output::width()))?;
    }
    Ok(measured.ending())
}
