//! The answer of another program, as a JSON document: what it warns of may stand before it and after it.

use serde::de::DeserializeOwned;

/// The first document of that form that begins a line; what comes after it is not looked at.
///
/// # Errors
/// There is none: why the last that begins a line is no such document.
pub(crate) fn document_in<T: DeserializeOwned>(said: &str) -> serde_json::Result<T> {
    // Nested ones do not begin a line: programs that break lines indent what is within.
    let begins = said.match_indices('{').filter(|(at, _)| *at == 0 || said.as_bytes()[at - 1] == b'\n');
    let mut refused = None;
    for (at, _) in begins {
        match serde_json::Deserializer::from_str(&said[at..]).into_iter().next() {
            Some(Ok(document)) => return Ok(document),
            Some(Err(error)) => refused = Some(error),
            None => {}
        }
    }
    refused.map_or_else(|| serde_json::from_str(""), Err)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Small {
        number: u64,
    }

    #[test]
    fn a_document_is_found_among_other_lines_and_nothing_else_is_taken_for_one() {
        let document = "{\n  \"within\": {\"number\": 1},\n  \"number\": 7\n}";
        for said in [
            document.to_string(),
            format!("a note\n{document}"),
            format!("{{a note}}\n{document}\nand {{ another\n{{"),
            format!("{document}{document}"),
        ] {
            assert_eq!(document_in::<Small>(&said).unwrap(), Small { number: 7 }, "{said}");
        }
        for said in ["", "a note", "{", "{}", "a note {\"number\": 7}", " {\"number\": 7}"] {
            assert!(document_in::<Small>(said).is_err(), "{said}");
        }
    }
}
