//! Traces of arrivals as text: one gap a line, written as times are in a specification (`12us`). Recorded files, which have
//! clocks and columns, are read by [`fit`](crate::fit).

use crate::{ModelError, Result, quantity};

/// Reads the gaps of a trace, in seconds: the first column of each line, as a time (`12us`, or seconds without a unit).
/// Empty lines and lines that begin with `#` do not count, nor does a first line that is a heading.
///
/// # Errors
/// When a line's first column is no time; the line is named.
pub fn gaps(text: &str) -> Result<Vec<f64>> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
    let mut gaps = Vec::new();
    for (nth, (number, line)) in lines.enumerate() {
        let column = line.split([',', ';', '\t']).next().unwrap_or(line).trim_matches('"');
        let name = format!("line {}", number + 1);
        match quantity::time(&name, column) {
            Ok(gap) => gaps.push(gap),
            Err(_) if nth == 0 && column.starts_with(char::is_alphabetic) => {}
            Err(error) => return Err(error),
        }
    }
    if gaps.is_empty() {
        return Err(ModelError::parameter("trace", "it has no gap", "write one gap a line, like 12us"));
    }
    Ok(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_of_each_line() {
        assert_eq!(gaps("gap,size\n# a comment\n\n10us, 3\n2e-5\n").unwrap(), [1e-5, 2e-5]);
    }

    #[test]
    fn what_is_no_gap_names_its_line() {
        let told = gaps("1us\nlong\n").unwrap_err().to_string();
        assert!(told.starts_with("line 2: "), "{told}");
        assert!(gaps("gap\n").is_err());
        assert!(gaps("").is_err());
    }
}
