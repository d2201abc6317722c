//! What of the suite is measured: the presets' points, by parts, by who measures, with the business load or without.

use tollway_core::{
    Axis, Case, Domain, Error, OneOrMany, Params, Path, Preset, Registry, Result, Value, Variant,
};
use tollway_lab::point::parse_preset;

use crate::PATH;
use crate::args::{Business, By, Part, Suite};

/// Under which heading of the score card the rows of a part stand.
const HEADINGS: [(Part, &str); 5] = [
    (Part::Cpu, "Processor"),
    (Part::Memory, "Memory"),
    (Part::Disk, "Disk"),
    (Part::Network, "Network"),
    (Part::Service, "Service"),
];

/// The quick presets of other paths that are a part of the suite, and how their variants begin; empty: all of them.
const CROSSINGS: [(&str, &str); 4] = [("entropy", ""), ("cipher", ""), ("crossings", "exit-"), ("ipc", "")];

/// Presets of the path: the suite in small, here and in Linux guests.
pub(crate) const QUICK: &str = "quick";
pub(crate) const IN_GUESTS: &str = "modes";

/// The axes that say who measures, with the word for this program, and what goes on meanwhile.
const BY: &str = "by";
const OURS: &str = "tollway";
pub(crate) const BUSINESS: &str = "business";

/// The presets of what was asked for.
///
/// # Errors
/// Where nothing is left of it.
pub fn presets(options: &Suite, registry: &Registry) -> Result<Vec<Preset>> {
    if options.guest {
        without_crossings(&options.part, "guests")?;
    }
    let own = match (options.guest, options.quick) {
        (true, _) => {
            let mut rows = preset(registry, PATH, IN_GUESTS)?;
            rows.trial.runs = preset(registry, PATH, QUICK)?.trial.runs;
            rows
        }
        (false, true) => preset(registry, PATH, QUICK)?,
        (false, false) => preset(registry, PATH, "suite")?,
    };
    let path = registry.path(PATH)?;
    let business: &[&str] = match options.business {
        Business::Without => &["none"],
        Business::With => &["service"],
        Business::Both => &["none", "service"],
    };
    let mut cases = Vec::new();
    for (name, params) in measured(points(&own, path, &options.part)?, path, options.by)? {
        let mut case = case(&name, &params);
        if options.business != Business::Without && words(&path.variant(&name)?.axes(), BUSINESS).is_some() {
            case.0.insert(BUSINESS.into(), many(business));
        }
        cases.push(case);
    }
    let mut presets = vec![choice(own, cases)];
    presets.retain(|preset| !preset.case.is_empty());
    if !options.guest && (options.part.is_empty() || options.part.contains(&Part::Crossings)) {
        for (path, begins) in CROSSINGS {
            let quick = preset(registry, path, "quick")?;
            let of_it = |(variant, _): &(String, Params)| variant.starts_with(begins);
            let cases = quick.points().into_iter().filter(of_it).map(|(v, p)| case(&v, &p)).collect();
            presets.push(choice(quick, cases));
        }
    }
    Ok(presets)
}

/// Refuses crossings among these parts: the presets of other paths are for this machine.
pub(crate) fn without_crossings(parts: &[Part], measured: &str) -> Result<()> {
    if !parts.contains(&Part::Crossings) {
        return Ok(());
    }
    Err(Error::Input {
        place: "--part, `crossings`".into(),
        reason: format!("{measured} have none: they are of the presets of other paths, on this machine"),
        remedy: "leave it out; `tollway machine suite --part crossings` measures them here".into(),
    })
}

/// A preset of a path.
pub(crate) fn preset(registry: &Registry, path: &str, name: &str) -> Result<Preset> {
    parse_preset(&format!("{path}/{name}"), registry.path(path)?.preset(name)?)
}

/// The points of a preset that belong to these parts; all, where none is named.
pub(crate) fn points(preset: &Preset, path: &Path, parts: &[Part]) -> Result<Vec<(String, Params)>> {
    let headings = HEADINGS.iter().filter(|(part, _)| parts.contains(part));
    let headings: Vec<&str> = headings.map(|(_, heading)| *heading).collect();
    let wanted = |variant: &str| {
        parts.is_empty() || tollway_report::part(PATH, variant).is_some_and(|part| headings.contains(&part))
    };
    let points: Vec<_> = preset.points().into_iter().filter(|(variant, _)| wanted(variant)).collect();
    if points.is_empty() && !parts.contains(&Part::Crossings) {
        return Err(Error::Input {
            place: format!("--part, preset `{}` of path {}", preset.preset.name, path.name),
            reason: "it has nothing of these parts".into(),
            remedy: "name other parts, or none for all".into(),
        });
    }
    Ok(points)
}

/// A preset with these of its points. What it names as telling most may not be among them, and what it may take is for all.
pub(crate) fn choice(mut preset: Preset, cases: Vec<Case>) -> Preset {
    preset.preset.budget_s = None;
    preset.headline.clear();
    preset.axes = Case::default();
    preset.case = cases;
    preset
}

/// A point as a case of a preset.
pub(crate) fn case(variant: &str, params: &Params) -> Case {
    let mut case = Case::default();
    for (axis, value) in params.iter() {
        case.0.insert(axis.into(), OneOrMany::One(value.clone()));
    }
    case.0.insert("variant".into(), OneOrMany::One(Value::Text(variant.into())));
    case
}

fn many(words: &[&str]) -> OneOrMany {
    OneOrMany::Many(words.iter().map(|word| Value::from(*word)).collect())
}

/// The words that an axis takes, where a variant has it.
pub(crate) fn words<'a>(axes: &'a [Axis], name: &str) -> Option<&'a [&'static str]> {
    axes.iter().find(|axis| axis.name == name).and_then(|axis| match axis.domain {
        Domain::Words(words) => Some(words),
        _ => None,
    })
}

/// Who of those that can is to measure: this program is the first of them. Where no tool can, it is this program in any case.
fn who(by: By, words: &[&'static str]) -> Vec<&'static str> {
    let tools = words.get(1..).unwrap_or_default();
    match by {
        By::Tools if !tools.is_empty() => tools.to_vec(),
        By::Both => words.to_vec(),
        By::Tools | By::Tollway => words.iter().take(1).copied().collect(),
    }
}

/// The points as those who are asked for measure them: each row once, and none is lost. What a preset itself says of who measures goes before what
/// is made of it. A tool that refuses an axis that only this program has measures the like without it, unless that is a row already; what no tool can
/// measure this program does.
fn measured(points: Vec<(String, Params)>, path: &Path, by: By) -> Result<Vec<(String, Params)>> {
    let mut rows = Rows { path, titles: Vec::new(), rows: Vec::new() };
    let asked = |variant: &dyn Variant| words(&variant.axes(), BY).map(|words| who(by, words));
    for (at, (name, params)) in points.iter().enumerate() {
        let asked = asked(path.variant(name)?);
        let said = params.word(BY).unwrap_or(OURS);
        if asked.is_none_or(|asked| asked.contains(&said)) {
            rows.add(at, name, params.clone())?;
        }
    }
    for (at, (name, params)) in points.iter().enumerate() {
        let variant = path.variant(name)?;
        for by in asked(variant).unwrap_or_default() {
            let (is_new, is_whole) = match taken(variant, params, by) {
                Some((taken, is_whole)) => (rows.add(at, name, taken)?, is_whole),
                None => (false, false),
            };
            if !is_new && !is_whole {
                rows.add(at, name, params.clone().with(BY, OURS))?;
            }
        }
    }
    rows.rows.sort_by_key(|(at, ..)| *at);
    Ok(rows.rows.into_iter().map(|(_, name, params)| (name, params)).collect())
}

/// Rows of different titles, with the places of the points that they are made of.
struct Rows<'p> {
    path: &'p Path,
    titles: Vec<String>,
    rows: Vec<(usize, String, Params)>,
}

impl Rows<'_> {
    /// Whether there was none of that title.
    fn add(&mut self, at: usize, name: &str, params: Params) -> Result<bool> {
        let variant = self.path.variant(name)?;
        let whole = params.clone().complete(&variant.axes()).and_then(|whole| variant.pinned(whole))?;
        let title = variant.title(&whole).unwrap_or_else(|| format!("{name} {whole}"));
        let is_new = !self.titles.contains(&title);
        if is_new {
            self.titles.push(title);
            self.rows.push((at, name.into(), params));
        }
        Ok(is_new)
    }
}

/// A point as this one measures it, and whether that is all of it: without one of its axes where it is refused with it. `None` where there is nothing
/// like it.
fn taken(variant: &dyn Variant, params: &Params, by: &str) -> Option<(Params, bool)> {
    let but = |left_out: Option<&str>| {
        let kept = params.iter().filter(|(axis, _)| Some(*axis) != left_out);
        let kept = kept.fold(Params::new(), |all, (axis, value)| all.with(axis, value.clone())).with(BY, by);
        let whole = kept.clone().complete(&variant.axes()).and_then(|whole| variant.pinned(whole));
        let refused = matches!(whole.and_then(|whole| variant.plan(&whole)), Err(Error::Input { .. }));
        (!refused).then_some((kept, left_out.is_none()))
    };
    but(None).or_else(|| params.iter().find_map(|(axis, _)| but(Some(axis))))
}

#[cfg(test)]
mod tests {
    use tollway_lab::point::{Point, Selection, named};

    use super::*;

    fn suite(part: Vec<Part>, by: By, business: Business) -> Result<Vec<Preset>> {
        of_size(true, part, by, business)
    }

    fn of_size(quick: bool, part: Vec<Part>, by: By, business: Business) -> Result<Vec<Preset>> {
        let repeats = crate::args::Repeats { runs: None, time: None, seed: 1, dry_run: false, strict: false };
        let options = Suite { part, quick, guest: false, by, business, on: None, html: None, repeats };
        presets(&options, &tollway_all::registry())
    }

    /// Whoever measures, with the business or without, no point is one that its variant refuses.
    #[test]
    fn everything_that_can_be_asked_for_can_be_measured() {
        let registry = tollway_all::registry();
        for quick in [true, false] {
            for by in [By::Tollway, By::Tools, By::Both] {
                for business in [Business::Without, Business::With, Business::Both] {
                    let presets = of_size(quick, Vec::new(), by, business).unwrap();
                    let selection = Selection { presets, only: Vec::new() };
                    let points = named(&registry, &selection).unwrap();
                    let stream = |kernel: &str| {
                        let is_it = |point: &&Point| {
                            point.params.get(BY) == Some(&Value::from("stream"))
                                && point.params.get("kernel") == Some(&Value::from(kernel))
                        };
                        points.iter().filter(is_it).count()
                    };
                    let expected = by != By::Tollway;
                    assert_eq!(stream("triad") > 0, expected, "{quick} {by:?} {business:?}");
                }
            }
        }
    }

    #[test]
    fn every_variant_of_the_path_is_of_a_part() {
        let registry = tollway_all::registry();
        for variant in &registry.path(PATH).unwrap().variants {
            let part = tollway_report::part(PATH, variant.name());
            let is_a_price = variant.name() == "luks";
            assert!(
                is_a_price || HEADINGS.iter().any(|(_, heading)| part == Some(heading)),
                "{}",
                variant.name()
            );
        }
    }

    #[test]
    fn in_a_guest_every_row_is_a_guests() {
        let repeats = crate::args::Repeats { runs: None, time: None, seed: 1, dry_run: false, strict: false };
        let (part, by, business) = (Vec::new(), By::Tollway, Business::Without);
        let options = Suite { part, quick: false, guest: true, by, business, on: None, html: None, repeats };
        let registry = tollway_all::registry();
        let presets = presets(&options, &registry).unwrap();
        let points = named(&registry, &Selection { presets, only: Vec::new() }).unwrap();
        assert!(points.iter().all(|point| point.title().contains("in a Linux guest")));
        for (_, heading) in HEADINGS {
            let is_there = |point: &Point| tollway_report::part(PATH, &point.variant) == Some(heading);
            assert!(points.iter().any(is_there), "nothing of {heading}");
        }
        assert!(points.iter().all(|point| point.spec.runs <= 8), "{:?}", points[0].spec);
    }

    /// Whoever measures: each row is there once, and what a preset says of who measures it stays.
    #[test]
    fn no_row_is_lost_and_none_is_there_twice() {
        let registry = tollway_all::registry();
        let rows = |quick, by| -> Vec<Point> {
            let mut presets = of_size(quick, Vec::new(), by, Business::Without).unwrap();
            presets.truncate(1);
            named(&registry, &Selection { presets, only: Vec::new() }).unwrap()
        };
        for quick in [true, false] {
            let ours = rows(quick, By::Tollway);
            assert!(
                ours.iter().all(|point| point.params.get(BY).is_none_or(|by| *by == Value::from("tollway")))
            );
            for by in [By::Tollway, By::Tools, By::Both] {
                let points = rows(quick, by);
                let mut titles: Vec<String> = points.iter().map(Point::title).collect();
                titles.sort();
                let doubled = titles.windows(2).find(|pair| pair[0] == pair[1]);
                assert_eq!(doubled, None, "{quick} {by:?}");
                let least = if by == By::Both { ours.len() + 1 } else { ours.len() };
                assert!(points.len() >= least, "{quick} {by:?}: {} of {least}", points.len());
                for point in points.iter().filter(|point| point.variant == "primes" && !quick) {
                    let by_python = point.params.get(BY) == Some(&Value::from("python3"));
                    let seconds: u64 = if by_python { 20 } else { 600 };
                    assert_eq!(point.params.get("box"), Some(&Value::from(seconds)), "{}", point.title());
                }
            }
        }
    }

    #[test]
    fn parts_tools_and_load_are_what_was_asked_for() {
        let all = suite(Vec::new(), By::Tollway, Business::Without).unwrap();
        assert_eq!(all.len(), 1 + CROSSINGS.len());
        let [only] = &suite(vec![Part::Memory], By::Both, Business::Both).unwrap()[..] else { panic!() };
        let stream = |(variant, params): &&(String, Params)| {
            variant == "stream" && params.get(BY) == Some(&Value::from("stream"))
        };
        assert!(only.points().iter().filter(stream).count() > 0);
        assert!(
            only.points()
                .iter()
                .all(|(variant, _)| ["stream", "latency", "faults"].contains(&variant.as_str()))
        );
        let with = |(_, params): &&(String, Params)| params.get(BUSINESS) == Some(&Value::from("service"));
        assert_eq!(2 * only.points().iter().filter(with).count(), only.points().len());
    }
}
