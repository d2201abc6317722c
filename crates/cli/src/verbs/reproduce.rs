//! `tollway reproduce`: what has become of what was published, measured here and now.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tollway_core::{Claims, Error, Preset, Registry};
use tollway_report::{Reproduction, RunReport};
use tollway_store::{RunId, RunState, Store};

use super::history;
use super::work::{self, Measured, Work};
use crate::args::{Arguments, Reproduce};
use crate::exit::Ending;
use crate::laboratory;
use crate::output;

/// The claims of each path that has some.
type ByPath = Vec<(String, Claims)>;

/// Runs the presets that test claims, judges them and writes the page.
pub fn reproduce(arguments: &Arguments, options: &Reproduce) -> Result<Ending> {
    let registry = tollway_all::registry();
    let claims = chosen(&registry, &options.claims)?;
    // A page of some claims does not take the place of that of all.
    let page = match &options.page {
        None if options.claims.is_empty() => Some(PathBuf::from("REPRODUCTION.md")),
        page => page.clone(),
    };
    page.as_deref().map_or(Ok(()), output::check_writable)?;
    if !options.of.is_empty() {
        let store = history::existing(&arguments.store)?;
        let runs: Vec<RunId> = options.of.iter().copied().map(RunId).collect();
        show(arguments, page.as_deref(), &store, &runs, &claims)?;
        return Ok(Ending::Done);
    }
    let lab = laboratory::lab(&registry)?;
    let work = Work {
        title: format!("reproduce {}", options.claims.join(" ")).trim_end().into(),
        presets: presets(&registry, &claims)?,
        only: Vec::new(),
        resume: options.resume,
        together: false,
        budgeted: false,
        pages: page.iter().cloned().collect(),
    };
    let Some((store, ended)) = work::carry_out(arguments, &options.repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    if let Some(file) = &options.repeats.export {
        work::export_measured(file, &RunReport::from_store(&store, ended.run)?)?;
    }
    if ended.state == RunState::Complete {
        show(arguments, page.as_deref(), &store, &[ended.run], &claims)?;
    } else {
        output::tell("not all was measured: no claim is judged; `tollway reproduce --resume` goes on");
    }
    Ok(work::ending(&ended, &options.repeats))
}

/// Judges the claims of a run that has gone on; `tollway reproduce --of` writes a page.
pub fn resumed(run: &Measured<'_>, options: &Reproduce) -> Result<Ending> {
    let claims = chosen(run.registry, &options.claims)?;
    show(run.arguments, None, run.store, &[run.ended.run], &claims)?;
    Ok(run.ending())
}

fn show(
    arguments: &Arguments,
    page: Option<&Path>,
    store: &Store,
    runs: &[RunId],
    claims: &[(String, Claims)],
) -> Result<()> {
    let of_runs = of_runs(store, runs, claims)?;
    let reproduction = Reproduction::from_store(store, runs, &of_runs)?;
    if let Some(page) = page {
        output::write(page, &reproduction.markdown())?;
    }
    if arguments.json {
        return output::json(reproduction.document());
    }
    let mut text = String::new();
    for run in runs {
        text += RunReport::from_store(store, *run)?.head(output::width()).trim_end();
        text += "\n\n";
    }
    text += &reproduction.terminal(output::width());
    text += &page.map(|page| format!("{} · ", page.display())).unwrap_or_default();
    let numbers: Vec<String> = runs.iter().map(RunId::to_string).collect();
    output::text(&format!("{text}run {}", numbers.join(" and ")))?;
    Ok(())
}

/// The claims that a person named, by their names or those of their paths; all where none is named.
fn chosen(registry: &Registry, names: &[String]) -> Result<ByPath> {
    let mut known = Vec::new();
    let mut chosen = ByPath::new();
    for path in &registry.paths {
        let mut claims = tollway_lab::claims(path)?;
        known.extend(claims.claim.iter().map(|c| format!("{}.{}", path.name, c.id)));
        claims.claim.retain(|c| {
            names.is_empty()
                || names.iter().any(|n| *n == path.name || *n == format!("{}.{}", path.name, c.id))
        });
        if !claims.claim.is_empty() {
            chosen.push((path.name.to_string(), claims));
        }
    }
    let is_known =
        |name: &&String| known.contains(name) || known.iter().any(|k| k.split('.').next() == Some(name));
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(chosen),
        Some(name) => Err(Error::Input {
            place: format!("claim `{name}`"),
            reason: "there is none of that name, nor a path with claims".into(),
            remedy: format!("there are: {}", known.join(", ")),
        }
        .into()),
    }
}

/// The presets that test these claims, each once.
fn presets(registry: &Registry, claims: &[(String, Claims)]) -> Result<Vec<Preset>> {
    let mut presets: Vec<Preset> = Vec::new();
    for (path, of_path) in claims {
        for claim in of_path.claim.iter().filter(|c| c.relation.is_some()) {
            if !presets.iter().any(|p| p.preset.path == *path && p.preset.name == claim.preset) {
                presets.push(laboratory::preset(registry, path, &claim.preset)?);
            }
        }
    }
    if presets.is_empty() {
        return Err(Error::Input {
            place: "claims".into(),
            reason: "none of them can be tested on any machine that Tollway knows of".into(),
            remedy: "`tollway list claims` says why; name others".into(),
        }
        .into());
    }
    Ok(presets)
}

/// Those of the claims that one of these runs has measured everything for, and those that nothing can be measured for.
fn of_runs(store: &Store, runs: &[RunId], claims: &[(String, Claims)]) -> Result<ByPath> {
    let mut points = Vec::new();
    for run in runs {
        store.run(*run)?;
        points.push(store.points(*run)?);
    }
    let mut kept = ByPath::new();
    for (path, of_path) in claims {
        if !points.iter().flatten().any(|p| p.spec.path == *path) {
            continue;
        }
        let mut of_path = of_path.clone();
        of_path.claim.retain(|claim| {
            let quantities = claim.quantities();
            points.iter().any(|points| {
                let measured = |q: &&tollway_core::Quantity| {
                    points.iter().any(|p| {
                        p.spec.path == *path && p.spec.variant == q.variant && p.spec.params == q.point
                    })
                };
                quantities.iter().all(measured)
            })
        });
        kept.push((path.clone(), of_path));
    }
    if kept.iter().all(|(_, c)| c.claim.iter().all(|c| c.relation.is_none())) {
        let numbers: Vec<String> = runs.iter().map(RunId::to_string).collect();
        return Err(Error::Input {
            place: format!("run {}", numbers.join(" and ")),
            reason: "nothing was measured there that a claim is about".into(),
            remedy: "`tollway reproduce` measures what they need".into(),
        }
        .into());
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use tollway_report::document::ClaimVerdict;

    use super::*;

    #[test]
    fn claims_are_named_by_path_or_name_and_the_rest_is_refused() {
        let registry = tollway_all::registry();
        let all = chosen(&registry, &[]).unwrap();
        assert!(all.iter().any(|(path, claims)| path == "capture" && claims.claim.len() > 10));
        let one = chosen(&registry, &["capture.timestamp".into()]).unwrap();
        assert_eq!((one.len(), one[0].1.claim.len()), (1, 1));
        assert_eq!(chosen(&registry, &["capture".into()]).unwrap()[0], all[0]);
        let error = chosen(&registry, &["capture.nonsense".into()]).unwrap_err().to_string();
        assert!(error.contains("capture.timestamp"), "{error}");
        assert!(chosen(&registry, &["null".into()]).is_err());
        let untestable = chosen(&registry, &["capture.driver-is-half-of-the-rest".into()]).unwrap();
        assert!(presets(&registry, &untestable).unwrap_err().to_string().contains("name others"));
    }

    /// A claim whose points its preset does not have could never be judged.
    #[test]
    fn every_claim_is_about_points_of_its_preset_and_gates_of_its_points() {
        let registry = tollway_all::registry();
        for (name, claims) in chosen(&registry, &[]).unwrap() {
            for claim in &claims.claim {
                let preset = laboratory::preset(&registry, &name, &claim.preset).unwrap();
                let selection = tollway_lab::point::Selection { presets: vec![preset], only: Vec::new() };
                let points = tollway_lab::point::points(&registry, &selection).unwrap();
                for quantity in claim.quantities() {
                    let point = points
                        .iter()
                        .find(|p| p.variant == quantity.variant && p.params == quantity.point)
                        .unwrap_or_else(|| panic!("{}: {} {}", claim.id, quantity.variant, quantity.point));
                    let gates = quantity.gates.iter().chain(&quantity.without).chain(&quantity.visit);
                    for gate in gates {
                        let found = point.plan.gates.iter().find(|g| g.name == *gate);
                        assert!(found.is_some_and(|g| g.toll.is_some()), "{}: gate `{gate}`", claim.id);
                    }
                }
            }
        }
    }

    /// The page that is checked in has been made with the claims as they stand; which figures and verdicts they have is the
    /// machine's that it names.
    #[test]
    fn the_page_has_every_claim_and_says_where_it_is_from() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../REPRODUCTION.md");
        let page = plain(&std::fs::read_to_string(page).unwrap());
        let anew = "`tollway reproduce` makes REPRODUCTION.md anew";
        let known: Vec<&str> = ClaimVerdict::ALL.iter().map(|verdict| verdict.title()).collect();
        let mut expected = Vec::new();
        for (name, claims) in chosen(&tollway_all::registry(), &[]).unwrap() {
            assert!(page.contains(&format!("\n## {name}\n")), "{name} has no section: {anew}");
            for claim in &claims.claim {
                let id = format!("{name}.{}", claim.id);
                assert!(page.contains(&format!("**{id}** {}", claim.says)), "{id} is not told: {anew}");
                expected.push((id, claim.published.clone()));
            }
            for condition in &claims.conditions {
                assert!(page.contains(&format!("\n- {condition}\n")), "{name}: {condition}: {anew}");
            }
        }
        let mut found = Vec::new();
        for line in page.lines().filter(|line| line.starts_with("| ") && line.contains('.')) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            if let [id, published, _, _, _, verdict] = cells[..] {
                assert!(known.contains(&verdict), "{id} has the verdict `{verdict}`");
                found.push((id.to_string(), published.to_string()));
            }
        }
        assert_eq!(found, expected, "{anew}");
        assert!(expected.len() > 40);
        for part in ["\n    tollway reproduce", "\nMachine: ", " trials, ", "| all | "] {
            assert!(page.contains(part), "`{part}` is not there: {anew}");
        }
    }

    /// The text of a page of Markdown, without what keeps it from being markup.
    fn plain(page: &str) -> String {
        let mut out = String::with_capacity(page.len());
        let mut rest = page.chars();
        while let Some(c) = rest.next() {
            out.extend(if c == '\\' { rest.next() } else { Some(c) });
        }
        out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }
}
