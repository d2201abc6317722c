//! A way of telling, with its settings: `interrupt`, `capped:5000`, `coalesced:8:100us`.

use std::fmt;
use std::str::FromStr;

use tollway_core::Params;

use crate::args::serve::time;

/// Ways, their settings, and the axis that each goes to. The last word says whether the setting is a time.
const WAYS: [(&str, &[(&str, bool)]); 8] = [
    ("interrupt", &[]),
    ("coalesced", &[("count", false), ("hold", true)]),
    ("capped", &[("cap", false)]),
    ("adaptive", &[]),
    ("epoll", &[]),
    ("periodic", &[("period", true)]),
    ("hybrid", &[("spin", true)]),
    ("busy", &[]),
];

/// Caps that are looked through where one is looked for, in interrupts a second.
const CAPS: [&str; 6] = ["capped:1k", "capped:2k", "capped:5k", "capped:10k", "capped:20k", "capped:50k"];

/// A way of telling.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The variant's name.
    pub variant: &'static str,
    /// What was set of its axes.
    pub params: Params,
    /// As it was written.
    text: String,
}

impl Way {
    /// The one that the model is fitted to: nobody is told, and the tenant never sleeps.
    pub fn busy() -> Way {
        Way { variant: "busy", params: Params::default(), text: "busy".into() }
    }

    /// The one of a variant, with these words behind its name.
    ///
    /// # Errors
    /// If there is no such way.
    pub fn told(variant: &str, words: &str) -> tollway_core::Result<Way> {
        let known = WAYS.iter().find(|(known, _)| *known == variant);
        let Some((variant, _)) = known else {
            return Err(tollway_core::Error::Wrong(format!("`{variant}` is no way of telling")));
        };
        Ok(Way { variant, params: Params::default(), text: format!("{variant} {words}").trim_end().into() })
    }

    /// What it stands for where a plan is made: of a cap that was not said, several.
    pub fn looked_through(&self) -> Vec<Way> {
        match self.text.as_str() {
            "capped" => CAPS.iter().filter_map(|way| way.parse().ok()).collect(),
            _ => vec![self.clone()],
        }
    }

    /// Whether its tenant looks without end, so that no other can have its core.
    pub fn keeps_its_core(&self) -> bool {
        self.variant == "busy"
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let Some((variant, settings)) = WAYS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = WAYS.iter().map(|(name, _)| *name).collect();
            return Err(format!("there is no way `{name}`: write one of {}", known.join(", ")));
        };
        let mut params = Params::default();
        let mut left = settings.iter();
        for word in words {
            let Some((axis, is_time)) = left.next() else {
                return Err(format!("`{text}`: `{word}` is one setting too many for `{name}`"));
            };
            let value = if *is_time { time(word)?.as_micros() as u64 } else { number(word)? };
            params = params.with(*axis, value);
        }
        Ok(Way { variant, params, text: text.into() })
    }
}

/// A number, of which thousands may be written as k.
fn number(text: &str) -> Result<u64, String> {
    let (digits, factor) = text.strip_suffix('k').map_or((text, 1), |digits| (digits, 1000));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| format!("`{text}` is no whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_go_to_their_axes() {
        let way: Way = "coalesced:8:100us".parse().unwrap();
        assert_eq!(way.params, Params::default().with("count", 8_u64).with("hold", 100_u64));
        assert_eq!(way.to_string(), "coalesced:8:100us");
        let way: Way = "capped:5k".parse().unwrap();
        assert_eq!(way.params, Params::default().with("cap", 5000_u64));
        assert_eq!("periodic:2ms".parse::<Way>().unwrap().params, Params::default().with("period", 2000_u64));
        assert_eq!("busy".parse::<Way>().unwrap(), Way::busy());
    }

    #[test]
    fn a_cap_that_was_not_said_is_looked_for() {
        let through = |text: &str| -> Vec<String> {
            text.parse::<Way>().unwrap().looked_through().iter().map(Way::to_string).collect()
        };
        assert_eq!(through("capped"), CAPS);
        assert_eq!(through("capped:3k"), ["capped:3k"]);
        assert_eq!(through("epoll"), ["epoll"]);
    }

    #[test]
    fn what_is_no_way_is_refused_by_name() {
        for (text, told) in [
            ("telepathy", "there is no way `telepathy`"),
            ("busy:3", "one setting too many"),
            ("capped:many", "`many` is no whole number"),
            ("hybrid:5", "`5` is no time"),
        ] {
            let error = text.parse::<Way>().unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
