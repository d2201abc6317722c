//! Whole numbers, also as people write large ones: TOML reads `1e6` as a number with a fraction, which it has not.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// The largest number up to which every whole one is a double of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A whole number.
struct Whole<T>(T);

impl<'de, T: TryFrom<u64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<T>(PhantomData<T>);
        impl<T: TryFrom<u64>> Number<T> {
            fn fits<E: de::Error>(&self, value: u64, written: Unexpected) -> Result<Whole<T>, E> {
                T::try_from(value).map(Whole).map_err(|_| E::invalid_value(written, self))
            }
        }
        impl<T: TryFrom<u64>> Visitor<'_> for Number<T> {
            type Value = Whole<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number of at most {}", u64::MAX >> (64 - 8 * size_of::<T>()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Whole<T>, E> {
                self.fits(value, Unexpected::Unsigned(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Whole<T>, E> {
                let written = Unexpected::Signed(value);
                u64::try_from(value)
                    .map_err(|_| E::invalid_value(written, &self))
                    .and_then(|whole| self.fits(whole, written))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Whole<T>, E> {
                let written = Unexpected::Float(value);
                match value.fract() == 0.0 && (0.0..=EXACT).contains(&value) {
                    true => self.fits(value as u64, written),
                    false => Err(E::invalid_value(written, &self)),
                }
            }
        }
        deserializer.deserialize_any(Number(PhantomData))
    }
}

/// One number.
pub(super) fn number<'de, T: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}

/// A number that may be left out.
pub(super) fn number_or_none<'de, T: TryFrom<u64>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    number(deserializer).map(Some)
}

/// Numbers with their probabilities.
pub(super) fn with_shares<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, f64)>, D::Error> {
    let pairs: Vec<(Whole<u32>, f64)> = Vec::deserialize(deserializer)?;
    Ok(pairs.into_iter().map(|(Whole(size), share)| (size, share)).collect())
}

#[cfg(test)]
mod tests {
    use crate::spec::Spec;

    fn read(stop: &str, batch: &str) -> crate::Result<Spec> {
        Spec::from_toml(&format!(
            "[[source]]\nname = 'a'\ninterarrival = 'constant(1)'\nbatch = {batch}\n[[station]]\nname = 's'\n\
             service = 'constant(1us)'\ncapacity = 1e5\n[stop]\ncustomers = {stop}\n"
        ))
    }

    #[test]
    fn with_an_exponent_or_without() {
        for (written, customers) in [("10000", 10_000), ("1e4", 10_000), ("2.5e3", 2500), ("1_000", 1000)] {
            let spec = read(written, "[[1e1, 1.0]]").unwrap();
            assert_eq!((spec.stop.customers, &spec.sources[0].batch[..]), (customers, &[(10, 1.0)][..]));
            assert_eq!(spec.stations[0].capacity, Some(100_000));
        }
    }

    #[test]
    fn what_is_none_is_refused_at_its_place() {
        let at_most = "expected a whole number of at most";
        for (stop, batch, place) in [
            ("2.5", "[[1, 1.0]]", "line 10, column 13: "),
            ("-1", "[[1, 1.0]]", "line 10, column 13: "),
            ("nan", "[[1, 1.0]]", "line 10, column 13: "),
            ("inf", "[[1, 1.0]]", "line 10, column 13: "),
            ("\"many\"", "[[1, 1.0]]", "line 10, column 13: "),
            ("1", "[[5e9, 1.0]]", "line 4, column "),
        ] {
            let told = read(stop, batch).unwrap_err().to_string();
            assert!(told.contains(place) && told.contains(at_most), "{told}");
        }
    }
}
