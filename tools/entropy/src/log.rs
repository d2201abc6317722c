//! What happens, as lines on standard error: `time=… event=… source=… reason="…"`.

use std::io::{self, Write};

/// Writes one line.
pub fn say(event: &str, fields: &[(&str, &str)]) {
    let mut line = format!("time={:.3} event={event}", jiff::Timestamp::now());
    for (name, value) in fields {
        line.push_str(&format!(" {name}={}", quoted(value)));
    }
    // Nobody is left to tell where standard error is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

/// A value as one word: what somebody else wrote must not look like another field or line.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !value.is_empty() && value.chars().all(plain) { value.into() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_one_word_each() {
        assert_eq!(quoted("/run/a.sock"), "/run/a.sock");
        assert_eq!(quoted("two words\nevent=other"), r#""two words\nevent=other""#);
        assert_eq!(quoted(""), r#""""#);
    }
}
