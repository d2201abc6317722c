//! Quantities as a person writes them: `3us`, `1000/s`, `10k/s`, `0.8`. Inside, seconds and per second.

use crate::{ModelError, Result};

/// What a number is of; base units throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Seconds squared.
    SecondsSquared,
    /// Per second.
    PerSecond,
    /// Customers, interrupts, servers.
    Count,
    /// A share of the whole, 0 to 1.
    Share,
    /// A pure number.
    Ratio,
    /// Whatever the user's figures are in (tolls, bills, crossovers).
    AsGiven,
}

/// Suffixes and the power of ten of their size in seconds.
const TIMES: [(&str, i32); 5] = [("ns", -9), ("us", -6), ("µs", -6), ("ms", -3), ("s", 0)];

/// Suffixes and the power of ten of their size in events per second.
const RATES: [(&str, i32); 4] = [("k/s", 3), ("M/s", 6), ("G/s", 9), ("/s", 0)];

/// A time: `3us`, `1.5ms`, `2s`; without a unit, seconds. Answers in seconds.
pub fn time(name: &str, text: &str) -> Result<f64> {
    let minutes = text.trim().strip_suffix("min").and_then(|text| with_suffix(text, &[]));
    let time = minutes.map(|minutes| 60.0 * minutes).or_else(|| with_suffix(text, &TIMES));
    time.filter(|time| !is_minus_nothing(*time)).ok_or_else(|| {
        ModelError::parameter(name, format!("`{text}` is no time"), "write it like 3us, 1.5ms or 2s")
    })
}

/// A rate: `1000/s`, `10k/s`, `2M/s`; without a unit, per second. Answers per second.
pub fn rate(name: &str, text: &str) -> Result<f64> {
    with_suffix(text, &RATES).filter(|rate| !is_minus_nothing(*rate)).ok_or_else(|| {
        ModelError::parameter(name, format!("`{text}` is no rate"), "write it like 1000/s or 10k/s")
    })
}

/// A number without a unit; `80%` is 0.8.
pub fn number(name: &str, text: &str) -> Result<f64> {
    with_suffix(text, &[("%", -2)]).filter(|number| !is_minus_nothing(*number)).ok_or_else(|| {
        ModelError::parameter(name, format!("`{text}` is no number"), "write it like 0.8 or 16")
    })
}

/// A whole number: `16`, `1_000`, `1e6`; also `2.5e3`, which is whole. `None` where it is none, or too large to be sure.
pub fn whole(text: &str) -> Option<u64> {
    let digits: String = text.trim().split('_').collect();
    let apart = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit()) && part.ends_with(|c: char| c.is_ascii_digit())
    };
    if text.contains('_') && !text.trim().split('_').all(apart) {
        return None;
    }
    digits.parse().ok().or_else(|| {
        let value: f64 = digits.parse().ok()?;
        // Beyond, not every whole number has a double of its own.
        let is_count = value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value);
        (is_count && !is_minus_nothing(value)).then_some(value as u64)
    })
}

/// Whether it is −0, which no quantity is: an order of a negative one, or a slip.
fn is_minus_nothing(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

fn with_suffix(text: &str, suffixes: &[(&str, i32)]) -> Option<f64> {
    let text = text.trim();
    let (digits, power) = suffixes
        .iter()
        .find_map(|(suffix, power)| text.strip_suffix(suffix).map(|rest| (rest.trim_end(), *power)))
        .unwrap_or((text, 0));
    // The power goes into the number before it is rounded: 100us is 0.0001, not 9.999999999999999e-5.
    let value: f64 = match power {
        0 => digits.parse().ok()?,
        _ if digits.contains(['e', 'E']) => digits.parse::<f64>().ok()? * 10f64.powi(power),
        _ => format!("{digits}e{power}").parse().ok()?,
    };
    value.is_finite().then_some(value)
}

/// Quantities in documents, for serde's `with`: read from such a text or from a plain number in base units, written as
/// a plain number.
pub mod texts {
    use serde::{Deserialize, Deserializer};

    /// A number in base units, or a text with a unit.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }

    impl Written {
        fn read(self, read: fn(&str, &str) -> crate::Result<f64>) -> crate::Result<f64> {
            match self {
                Written::Number(value) if super::is_minus_nothing(value) => read("quantity", "-0"),
                Written::Number(value) => Ok(value),
                Written::Text(text) => read("quantity", &text),
            }
        }
    }

    macro_rules! one {
        ($name:ident, $read:path, $what:literal) => {
            #[doc = $what]
            pub mod $name {
                use serde::{Deserialize, Deserializer, Serializer};

                /// Writes it as a number in base units.
                ///
                /// # Errors
                /// As the serializer does.
                pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_f64(*value)
                }

                /// Reads a text or a number in base units.
                ///
                /// # Errors
                /// When it is neither.
                pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
                    super::Written::deserialize(deserializer)?.read($read).map_err(serde::de::Error::custom)
                }
            }
        };
    }

    macro_rules! optional {
        ($name:ident, $read:path, $what:literal) => {
            #[doc = $what]
            pub mod $name {
                use serde::{Deserialize, Deserializer, Serialize, Serializer};

                /// Writes it as a number in base units.
                ///
                /// # Errors
                /// As the serializer does.
                pub fn serialize<S: Serializer>(
                    value: &Option<f64>,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    value.serialize(serializer)
                }

                /// Reads a text or a number in base units.
                ///
                /// # Errors
                /// When it is neither.
                pub fn deserialize<'de, D: Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Option<f64>, D::Error> {
                    Option::<super::Written>::deserialize(deserializer)?
                        .map(|written| written.read($read))
                        .transpose()
                        .map_err(serde::de::Error::custom)
                }
            }
        };
    }

    macro_rules! several {
        ($name:ident, $read:path, $what:literal) => {
            #[doc = $what]
            pub mod $name {
                use serde::{Deserializer, Serialize, Serializer};

                /// Writes them as numbers in base units.
                ///
                /// # Errors
                /// As the serializer does.
                pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
                    values.serialize(serializer)
                }

                /// Reads texts or numbers in base units.
                ///
                /// # Errors
                /// When one is neither.
                pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
                    super::list(deserializer, $read)
                }
            }
        };
    }

    one!(time, crate::quantity::time, "A time.");
    optional!(time_or_none, crate::quantity::time, "A time that may be left out.");
    optional!(rate_or_none, crate::quantity::rate, "A rate that may be left out.");
    several!(times, crate::quantity::time, "Several times.");
    several!(rates, crate::quantity::rate, "Several rates.");

    fn list<'de, D: Deserializer<'de>>(
        deserializer: D,
        read: fn(&str, &str) -> crate::Result<f64>,
    ) -> Result<Vec<f64>, D::Error> {
        let written = Vec::<Written>::deserialize(deserializer)?;
        written
            .into_iter()
            .map(|w| w.read(read))
            .collect::<crate::Result<_>>()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!(time("t", "3us").unwrap(), 3e-6);
        assert_eq!(time("t", "100us").unwrap(), 1e-4);
        assert_eq!(time("t", "2 min").unwrap(), 120.0);
        assert_eq!(time("t", " 1.5 ms ").unwrap(), 1.5e-3);
        assert_eq!(time("t", "2").unwrap(), 2.0);
        assert_eq!(rate("r", "10k/s").unwrap(), 10_000.0);
        assert_eq!(rate("r", "1000").unwrap(), 1000.0);
        assert_eq!(number("n", "80%").unwrap(), 0.8);
    }

    #[test]
    fn counts_as_people_write_them() {
        for (text, value) in
            [("16", 16), (" 1_000 ", 1000), ("1e6", 1_000_000), ("2.5e3", 2500), ("1E3", 1000), ("4.0", 4)]
        {
            assert_eq!(whole(text), Some(value), "{text}");
        }
        assert_eq!(whole("18446744073709551615"), Some(u64::MAX));
        for bad in
            ["", "1.5", "-1", "1e-1", "1e17", "_1", "1_", "1__0", "1_e3", "_", "NaN", "inf", "ten", "1,000"]
        {
            assert_eq!(whole(bad), None, "{bad}");
        }
    }

    #[test]
    fn minus_nothing_is_no_quantity() {
        for bad in ["-0", "-0.0", "-0us", "-0e3", " -0 ms", "-0min"] {
            assert!(time("service", bad).is_err(), "{bad}");
        }
        assert!(rate("lambda", "-0/s").is_err() && rate("lambda", "-0k/s").is_err());
        assert!(number("share", "-0").is_err() && number("share", "-0%").is_err());
        assert_eq!((whole("-0"), whole("-0.0"), whole("0")), (None, None, Some(0)));
        assert_eq!((time("think", "0").unwrap(), number("drift", "-0.5").unwrap()), (0.0, -0.5));
    }

    #[test]
    fn what_is_no_quantity_names_its_parameter() {
        for bad in ["", "us", "min", "3 parsecs", "infus", "NaN", "inf", "1e999"] {
            let told = time("service", bad).unwrap_err().to_string();
            assert!(told.starts_with("service: "), "{told}");
        }
    }
}
