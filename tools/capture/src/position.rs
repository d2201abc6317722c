//! Where in an expression libpcap stopped understanding it: it says only "syntax error".
//!
//! The longest beginning that some ending would make right is found by trial: what is wrong is the word after it.

use std::ops::Range;

use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{Origin, compile};
use tollway_core::Error;

/// Endings of which one fits after any beginning of an expression.
const ENDINGS: [&str; 14] = [
    "",
    " ip",
    " 1",
    " 1.2.3.4",
    " = 1",
    " 1 = 1",
    "] = 1",
    " 0] = 1",
    " host 1.2.3.4",
    " port 1",
    " 00:00:00:00:00:00",
    " proto 1",
    ") = 1",
    " /8",
];

/// Signs of two characters.
const PAIRS: [&str; 8] = ["!=", "==", "<=", ">=", "<<", ">>", "&&", "||"];

/// More words than this are not tried out.
const MOST: usize = 400;

/// libpcap's answer to an expression, with the place that it is about.
pub fn located(expression: &str, link: LinkType, origin: Origin, reason: String) -> Error {
    let place = if reason.contains("syntax error") {
        Some(first_wrong(expression, |text| compile(text, link, origin, 262_144, false).is_ok()))
    } else {
        named_in(expression, &reason)
    };
    let at = match place {
        Some(place) if place.is_empty() => ", at its end".into(),
        Some(place) => {
            let character = expression[..place.start].chars().count() + 1;
            format!(", at character {character}, `{}`", shortened(&expression[place]))
        }
        None => String::new(),
    };
    Error::Input {
        place: format!("filter `{}`{at}", shortened(expression)),
        reason: format!("libpcap says: {}", reason.trim_start_matches("libpcap error: ")),
        remedy: "see pcap-filter(7) for the language".into(),
    }
}

/// More characters of an expression than this are not told again.
const TOLD: usize = 200;

/// What fits into a message of a text.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

/// The first word that no ending can make right.
fn first_wrong(expression: &str, compiles: impl Fn(&str) -> bool) -> Range<usize> {
    let words = words(expression);
    let end = expression.len()..expression.len();
    if words.len() > MOST {
        return end;
    }
    let mut open = 0usize;
    let can_go_on = |beginning: &str, open: usize| {
        let closed = ")".repeat(open);
        ENDINGS.iter().any(|ending| compiles(&format!("{beginning}{ending}{closed}")))
    };
    for word in words {
        match &expression[word.clone()] {
            "(" => open += 1,
            ")" => open = open.saturating_sub(1),
            _ => {}
        }
        if !can_go_on(&expression[..word.end], open) {
            return word;
        }
    }
    end
}

/// A word of the expression that the answer quotes.
fn named_in(expression: &str, reason: &str) -> Option<Range<usize>> {
    let quoted = reason.split(['\'', '"', '`']).nth(1).filter(|word| !word.is_empty())?;
    let start = expression.find(quoted)?;
    Some(start..start + quoted.len())
}

/// Words, numbers and signs, by where they are.
fn words(expression: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || "._:-\\/".contains(c);
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut joins = false;
    for (at, c) in expression.char_indices() {
        let end = at + c.len_utf8();
        match words.last_mut() {
            _ if c.is_whitespace() => joins = false,
            Some(last) if joins && is_word(c) => last.end = end,
            Some(last) if last.end == at && PAIRS.contains(&&expression[last.start..end]) => last.end = end,
            _ => {
                words.push(at..end);
                joins = is_word(c);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollway_capture::engine::bpf::Uncompiled;

    fn place(expression: &str) -> String {
        match compile(expression, LinkType::ETHERNET, Origin::Live, 262_144, true) {
            Err(Uncompiled::Libpcap { expression, reason }) => {
                located(&expression, LinkType::ETHERNET, Origin::Live, reason).to_string()
            }
            other => panic!("{expression}: {other:?}"),
        }
    }

    #[test]
    fn of_a_long_expression_the_beginning_is_told() {
        let long = format!("{}port x y", "host 1.2.3.4 or ".repeat(2500));
        for (expression, says) in [(long, "`host 1.2.3.4 or "), ("é".repeat(20_000), "`éé")] {
            let error = place(&expression);
            assert!(error.len() < 2000 && error.contains(says) && error.contains('…'), "{error}");
        }
    }

    #[test]
    fn the_word_that_is_wrong_is_named() {
        for (expression, at) in [
            ("tcp prot 80", "at character 5, `prot`"),
            ("tcp port 80 adn udp", "at character 13, `adn`"),
            ("tcp port", "at its end"),
            ("(ip or arp", "at its end"),
            ("ip)", "at character 3, `)`"),
            ("ip[0 = 1", "at character 6, `=`"),
            ("host", "at its end"),
            ("ether[0] & 1 != 0 and and ip", "at character 23, `and`"),
            ("port nosuchservice", "`nosuchservice`"),
        ] {
            let error = place(expression);
            assert!(error.contains(at), "{expression}: {error}");
        }
    }
}
