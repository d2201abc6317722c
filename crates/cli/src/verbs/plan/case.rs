//! A case on the command line: `per request: mg1 service=constant(11us) cpu:=11us*throughput`.

use tollway_model::{ModelError, Result};

/// One variant as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// What a person calls it.
    pub name: String,
    /// The model's name in the catalogue.
    pub model: String,
    /// What is given to it.
    pub given: Vec<(String, String)>,
    /// Figures of its own, as `NAME=SUM`.
    pub figures: Vec<String>,
}

impl Case {
    /// Reads `NAME: MODEL KEY=VALUE … FIGURE:=SUM …`; the name may be left out.
    pub fn read(text: &str) -> Result<Case> {
        let words = words(text);
        let first_pair = words.iter().position(|word| word.contains('=')).unwrap_or(words.len());
        let (head, pairs) = words.split_at(first_pair);
        let head = head.join(" ");
        let (name, model) = match head.rsplit_once(':') {
            Some((name, model)) => (name.trim(), model.trim()),
            None => (head.trim(), head.trim()),
        };
        if model.is_empty() || model.contains(' ') || name.is_empty() {
            return Err(ModelError::parameter(
                format!("--case `{text}`"),
                "it does not begin with a name and a model",
                "write it like 'four devices: mmc mu=10k/s servers=4'",
            ));
        }
        let mut case = Case { name: name.into(), model: model.into(), ..Case::default() };
        for word in pairs {
            match word.split_once(":=") {
                Some((figure, sum)) => case.figures.push(format!("{figure}={sum}")),
                None => case.given.push(pair(word)?),
            }
        }
        Ok(case)
    }
}

/// `KEY=VALUE` as its two parts.
pub fn pair(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        ModelError::parameter(format!("`{text}`"), "it has no `=`", "write KEY=VALUE, like mu=10k/s")
    })?;
    Ok((key.trim().into(), value.trim().into()))
}

/// The words of a text: blanks within parentheses, and those after a `,` or `;`, do not part them.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0;
    for c in text.trim().chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        let word = words.last_mut().expect("it begins with one");
        if !c.is_whitespace() {
            word.push(c);
        } else if depth <= 0 && !word.ends_with([',', ';']) && !word.is_empty() {
            words.push(String::new());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn cases_as_people_write_them() {
        let case = Case::read("per request: mg1 service=erlang(4, 3us) cpu:=11us*throughput").unwrap();
        assert_eq!((case.name.as_str(), case.model.as_str()), ("per request", "mg1"));
        assert_eq!(case.given, pairs(&[("service", "erlang(4,3us)")]));
        assert_eq!(case.figures, ["cpu=11us*throughput"]);
        let case = Case::read("cloud lambdas=1/s, 2/s devices=4").unwrap();
        assert_eq!((case.name.as_str(), case.model.as_str()), ("cloud", "cloud"));
        assert_eq!(case.given, pairs(&[("lambdas", "1/s,2/s"), ("devices", "4")]));
    }

    #[test]
    fn what_is_no_case_is_told() {
        for bad in ["", "x:", "a b", "mu=3", "name: two words mu=3"] {
            assert!(Case::read(bad).unwrap_err().to_string().starts_with("--case"), "{bad}");
        }
        assert!(Case::read("mm1 mu=3 lambda").unwrap_err().to_string().contains("KEY=VALUE"));
    }
}
