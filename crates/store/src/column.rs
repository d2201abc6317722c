//! How values lie in columns: times, unsigned numbers, JSON, words.

use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Row, RowIndex};
use serde::Serialize;
use serde::de::{DeserializeOwned, IntoDeserializer};

/// A time as microseconds since 1970, UTC.
pub(crate) fn micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// The time in a column of microseconds.
pub(crate) fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    from_micros(row.get(at)?, at)
}

/// The time in a column of microseconds that may be empty.
pub(crate) fn maybe_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(at)?.map(|us| from_micros(us, at)).transpose()
}

fn from_micros(us: i64, at: usize) -> rusqlite::Result<Timestamp> {
    Timestamp::from_microsecond(us).map_err(|e| unusable(at, Type::Integer, e))
}

/// A value as JSON text.
pub(crate) fn json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

/// The value in a column of JSON text.
pub(crate) fn from_json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str().map_err(|e| unusable(at, Type::Text, e))?;
    serde_json::from_str(text).map_err(|e| unusable(at, Type::Text, e))
}

/// The name of an enum's value, as in its JSON form but without quotes.
pub(crate) fn word<T: Serialize>(value: T) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

/// The one of an enum's names in a column of words.
pub(crate) fn from_word<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str().map_err(|e| unusable(at, Type::Text, e))?;
    T::deserialize(text.into_deserializer()).map_err(|e: serde::de::value::Error| unusable(at, Type::Text, e))
}

/// The 64 bits of an unsigned number in a signed column.
pub(crate) fn unsigned<I: RowIndex>(row: &Row<'_>, at: I) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(i64::cast_unsigned)
}

/// A stored value that none of our code can have written.
pub(crate) fn unusable(at: usize, kind: Type, why: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, kind, Box::new(why))
}

/// A word that is not one of those that a column takes.
#[derive(Debug)]
pub(crate) struct UnknownWord(pub(crate) String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a word that stands there", self.0)
    }
}

impl Error for UnknownWord {}
