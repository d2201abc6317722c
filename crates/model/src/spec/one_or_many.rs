//! Values that are one text or a table (or list) of several: read by what stands there, so that an error is about that
//! and not about every form it might have had.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::parts::TraceText;
use super::{ByClass, Routes};
use crate::quantity::texts;

impl<'de> Deserialize<'de> for ByClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Services;
        impl<'de> Visitor<'de> for Services {
            type Value = ByClass;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a distribution such as \"exponential(3us)\", or one for each class")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByClass, E> {
                text.parse().map(ByClass::All).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ByClass, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(ByClass::Each)
            }
        }
        deserializer.deserialize_any(Services)
    }
}

impl<'de> Deserialize<'de> for Routes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Destinations;
        impl<'de> Visitor<'de> for Destinations {
            type Value = Routes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of a part, or parts with their shares such as { disk = 0.3, exit = 0.7 }",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Routes, E> {
                Ok(Routes::Always(text.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Routes, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Routes::Shares)
            }
        }
        deserializer.deserialize_any(Destinations)
    }
}

impl<'de> Deserialize<'de> for TraceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Trace;
        impl<'de> Visitor<'de> for Trace {
            type Value = TraceText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of gaps such as [\"10us\", \"12us\"], or the name of a file with one gap a line",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TraceText, E> {
                Ok(TraceText::File(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<TraceText, A::Error> {
                texts::times::deserialize(SeqAccessDeserializer::new(seq)).map(TraceText::Gaps)
            }
        }
        deserializer.deserialize_any(Trace)
    }
}
