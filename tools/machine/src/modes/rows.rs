//! The rows of a comparison of two modes: which they are, and what a person calls them.

use tollway_core::{Error, OneOrMany, Params, Preset, Registry, Result, Value};
use tollway_lab::Request;
use tollway_lab::point::Point;
use tollway_lab::side::Side;

use super::{Asked, laboratory};
use crate::suite::{IN_GUESTS, QUICK};
use crate::{PATH, suite};

/// The preset of QEMU's disks without a guest.
const WITHOUT_A_GUEST: &str = "modes-host";

/// The axis that says how the host keeps a guest's disk, and its words for one that is encrypted, and one that is not.
pub(super) const DISK: &str = "disk";
pub(super) const ENCRYPTED: &str = "luks";
pub(super) const PLAIN: &str = "raw";

/// A row, and what a person calls it.
pub(super) struct Titled {
    pub(super) variant: String,
    pub(super) params: Params,
    pub(super) title: String,
}

/// The rows, on both sides, until they are known narrowly.
///
/// # Errors
/// Where no row is left, or a mode sets what no row has.
pub(super) fn request(asked: &Asked<'_>, registry: &Registry) -> Result<Request> {
    let title = format!("machine modes {} {}", asked.modes[0].mode.name, asked.modes[1].mode.name);
    let sides = sides(asked);
    let request = Request {
        sides: sides.to_vec(),
        narrow: Some(asked.options.until / 100.0),
        ..laboratory(title, presets(asked, registry)?, asked.options)
    };
    // What a mode sets and a row does not take is told before there is a store.
    let points = request.points(registry)?;
    for (side, mode) in sides.iter().zip(&asked.modes) {
        for point in &points {
            point.on(side, registry)?;
        }
        for (axis, _) in side.axes.iter() {
            let takes_it = |point: &Point| {
                point.variant(registry).is_ok_and(|variant| variant.axes().iter().any(|own| own.name == axis))
            };
            if !points.iter().any(takes_it) {
                return Err(Error::Input {
                    place: format!("mode `{}`, [guest], `{axis}`", mode.mode.name),
                    reason: "no row that is compared has such an axis".into(),
                    remedy: format!(
                        "`tollway list {PATH}` shows the axes; `--part` may leave out the rows that have it"
                    ),
                });
            }
        }
    }
    Ok(request)
}

fn sides(asked: &Asked<'_>) -> [Side; 2] {
    [0, 1].map(|side| asked.modes[side].side(!asked.options.host))
}

fn presets(asked: &Asked<'_>, registry: &Registry) -> Result<Vec<Preset>> {
    let options = asked.options;
    let path = registry.path(PATH)?;
    suite::without_crossings(&options.part, "two modes")?;
    let of = |name: &str| -> Result<Preset> {
        let rows = suite::preset(registry, PATH, name)?;
        let mut cases = Vec::new();
        for (variant, params) in suite::points(&rows, path, &options.part)? {
            let mut case = suite::case(&variant, &params);
            let takes_it = suite::words(&path.variant(&variant)?.axes(), suite::BUSINESS).is_some();
            if options.business && takes_it && name != WITHOUT_A_GUEST {
                case.0.insert(suite::BUSINESS.into(), OneOrMany::One(Value::from("service")));
            }
            cases.push(case);
        }
        let mut rows = suite::choice(rows, cases);
        rows.trial.runs = options.repeats.runs.unwrap_or(rows.trial.runs);
        Ok(rows)
    };
    let mut presets = vec![of(if options.host { QUICK } else { IN_GUESTS })?];
    let [a, b] = sides(asked).map(|side| is_encrypted(&side.axes));
    // Where both encrypt, or neither, there is nothing to be seen without a guest. Parts that it has nothing of, it is not asked for.
    if a != b
        && let Ok(rows) = of(WITHOUT_A_GUEST)
    {
        presets.push(rows);
    }
    Ok(presets)
}

/// Whether the host encrypts the disk.
pub(super) fn is_encrypted(params: &Params) -> bool {
    params.get(DISK) == Some(&Value::from(ENCRYPTED))
}

/// What the rows are called, without what differs between the modes.
pub(super) fn titles(asked: &Asked<'_>, registry: &Registry) -> Result<Vec<Titled>> {
    let points = laboratory(String::new(), presets(asked, registry)?, asked.options).points(registry)?;
    let axes: Vec<String> =
        sides(asked).iter().flat_map(|side| side.axes.iter().map(|(name, _)| name.to_owned())).collect();
    Ok(points
        .into_iter()
        .map(|point| Titled {
            // As machines and as crossings say it.
            title: point.title().replace(", in a Linux guest", "").replace(", Linux guest", ""),
            params: axes.iter().fold(point.params, |params, axis| params.without(axis)),
            variant: point.variant,
        })
        .collect())
}

/// The title of a point of either side.
pub(super) fn title<'t>(
    titles: &'t [Titled],
    variant: &str,
    at: impl Fn(&str) -> Option<Value>,
) -> Option<&'t str> {
    let is_it = |titled: &&Titled| {
        titled.variant == variant
            && titled.params.iter().all(|(axis, value)| at(axis).as_ref() == Some(value))
    };
    titles.iter().find(is_it).map(|titled| &*titled.title)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Machine, Modes, What};
    use crate::mode::Mode;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        machine: Machine,
    }

    fn options(words: &[&str]) -> Modes {
        let line = ["tollway", "modes", "high-performance", "balanced"];
        match Line::parse_from(line.iter().chain(words)).machine.what {
            What::Modes(options) => options,
            What::Suite(_) => panic!("it is no suite"),
        }
    }

    fn with<T>(words: &[&str], then: impl Fn(&Asked<'_>, &Registry) -> T) -> T {
        let options = options(words);
        let modes = <[Mode; 2]>::try_from(Mode::shipped().unwrap()).unwrap();
        then(&Asked { modes, options: &options }, &tollway_all::registry())
    }

    fn variants(words: &[&str]) -> Vec<String> {
        with(words, |asked, registry| {
            let points = request(asked, registry).unwrap().points(registry).unwrap();
            points.into_iter().map(|point| point.variant).collect()
        })
    }

    #[test]
    fn rows_are_those_of_the_parts_and_what_encrypts_is_seen_without_a_guest_too() {
        let all = variants(&[]);
        assert!(
            ["events", "stream", "disk", "image", "tcp-streams", "service"]
                .iter()
                .all(|name| all.iter().any(|v| v == name)),
            "{all:?}"
        );
        assert!(
            variants(&["--part", "disk"]).iter().all(|name| ["disk", "fsync", "image"].contains(&&**name))
        );
        let memory = variants(&["--part", "memory"]);
        assert!(memory.iter().all(|name| ["stream", "latency", "faults"].contains(&&**name)), "{memory:?}");
        // On this machine itself there is no disk of a guest.
        assert!(!variants(&["--host"]).iter().any(|name| name == "image"));
    }

    #[test]
    fn a_title_says_nothing_of_what_the_modes_differ_in() {
        with(&["--business"], |asked, registry| {
            let titles = titles(asked, registry).unwrap();
            let request = request(asked, registry).unwrap();
            let points = request.points(registry).unwrap();
            assert_eq!(titles.len(), points.len());
            for point in points {
                let [a, b] = [0, 1].map(|side| {
                    let point = point.on(&request.sides[side], registry).unwrap();
                    title(&titles, &point.variant, |axis| point.params.get(axis).cloned()).unwrap()
                });
                assert_eq!(a, b);
                assert!(
                    !["luks", "Linux guest", "disk=", "pages=", "checks="]
                        .iter()
                        .any(|word| a.contains(word)),
                    "{a}"
                );
            }
        });
    }

    #[test]
    fn what_a_mode_sets_and_no_row_has_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fast.toml");
        for (guest, said) in
            [("dsik = \"raw\"", "`dsik`"), ("disk = \"qcow3\"", "`disk`"), ("memory = 1", "`memory`")]
        {
            std::fs::write(&file, format!("[mode]\nname = \"fast\"\n[guest]\n{guest}\n")).unwrap();
            let options = options(&[]);
            let modes = [Mode::find("balanced").unwrap(), Mode::find(file.to_str().unwrap()).unwrap()];
            let error = request(&Asked { modes, options: &options }, &tollway_all::registry())
                .unwrap_err()
                .to_string();
            assert!(error.contains(said) && error.contains("fast"), "{error}");
        }
    }
}
