//! A trace as somebody uses it who plays it again: when each request came, and how many bytes it had.

use std::io::BufRead;

use super::clock_steps::Steps;
use super::column::{Quantity, Wanted};
use super::reader::Table;
use crate::{ModelError, Result};

/// Columns that a player knows.
const PLAYED: Wanted = Wanted {
    quantities: &[Quantity::Arrival, Quantity::Gap, Quantity::Bytes],
    unnamed: &[Quantity::Arrival, Quantity::Bytes],
    otherwise: "",
};

/// Requests in the order in which they came.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// When each came, in seconds after the first; there is one at least.
    pub starts: Vec<f64>,
    /// Seconds after which the first comes again, more than 0: after the last by the gap that it came after, or by one like the
    /// others.
    pub period: f64,
    /// How many bytes each had, where that was written.
    pub bytes: Option<Vec<u32>>,
}

impl Requests {
    /// Reads a column `arrival` or `gap`, and `bytes` where there are any; others are passed over. Columns without names are
    /// arrivals, in seconds of any clock, and bytes.
    ///
    /// # Errors
    /// On a line or column that cannot be used, with its place and what to do; where no time passes.
    pub fn read(input: impl BufRead) -> Result<Requests> {
        let refused = |reason: &str, remedy: &str| Err(ModelError::parameter("trace", reason, remedy));
        let mut table = Table::read(input, &PLAYED, None)?;
        if !table.is_in_order() {
            if let Some(refused) = Steps::of(&table).refused(&table) {
                return Err(refused);
            }
            if table.guessed {
                let reason = "its numbers have no name, and are not in order as arrivals would be";
                return refused(reason, "put a header before them, like gap_us,bytes");
            }
            let rows = 0..table.times.values().next().map_or(0, Vec::len);
            table.sort(rows);
        }
        let (starts, period) = match (table.times.get(&Quantity::Arrival), table.times.get(&Quantity::Gap)) {
            (Some(_), Some(_)) => return refused("it has both arrivals and gaps", "leave one out"),
            (Some(arrivals), None) => by_arrivals(arrivals),
            (None, gaps) => by_gaps(gaps.map_or(&[], Vec::as_slice)),
        };
        if starts.is_empty() {
            return refused("it has a header but no request", "give a line for each");
        }
        if period <= 0.0 {
            let reason = "no time passes from its first request to its last";
            return refused(reason, "give requests of different moments");
        }
        Ok(Requests { starts, period, bytes: (!table.bytes.is_empty()).then_some(table.bytes) })
    }
}

fn by_arrivals(arrivals: &[f64]) -> (Vec<f64>, f64) {
    let starts: Vec<f64> = arrivals.iter().map(|at| at - arrivals[0]).collect();
    let n = starts.len() as f64;
    let period = starts.last().filter(|_| n > 1.0).map_or(0.0, |last| last * n / (n - 1.0));
    (starts, period)
}

fn by_gaps(gaps: &[f64]) -> (Vec<f64>, f64) {
    let mut now = 0.0;
    let mut ended = |gap: &f64| {
        now += gap;
        now
    };
    let ends: Vec<f64> = gaps.iter().map(&mut ended).collect();
    let first = gaps.first().copied().unwrap_or_default();
    (ends.iter().map(|end| end - first).collect(), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Requests> {
        Requests::read(text.as_bytes())
    }

    #[test]
    fn columns_are_found_by_their_names_or_by_their_places() {
        let plain = read(
            "# seconds, bytes\n1700000000.000000100,100\n\n1700000000.000000300,16\n1700000000.0000005, 17\n",
        )
        .unwrap();
        assert_eq!((&plain.starts[..], &plain.bytes), (&[0.0, 200e-9, 400e-9][..], &Some(vec![100, 16, 17])));
        // Two gaps for three requests: after the last there is one like them.
        assert!((plain.period - 600e-9).abs() < 1e-18);
        let named = "colour;bytes;arrival_ns\nred;100;1700000000000000100\nred;16;1700000000000000300\n\
                     blue;17;1700000000000000500\n";
        assert_eq!(read(named).unwrap(), plain);
        let gaps = read("gap_us\n10\n20.5\n1e1\n").unwrap();
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-18;
        assert!(gaps.starts.iter().zip([0.0, 20.5e-6, 30.5e-6]).all(|(a, b)| near(*a, b)), "{gaps:?}");
        assert!(near(gaps.period, 40.5e-6) && gaps.bytes.is_none(), "{gaps:?}");
    }

    #[test]
    fn lines_out_of_order_are_sorted_with_their_bytes() {
        let sorted = read("arrival,bytes\n3,30\n1,10\n2,20\n").unwrap();
        assert_eq!((sorted.starts, sorted.bytes), (vec![0.0, 1.0, 2.0], Some(vec![10, 20, 30])));
    }

    #[test]
    fn what_cannot_be_played_names_its_place() {
        for (text, place) in [
            ("", "trace: it is empty"),
            ("colour,bytes\nred,1\n", "header: `colour,bytes` has no column that is known"),
            ("service\n1\n", "header: `service` has no column that is known"),
            ("arrival,gap\n1,1\n", "trace: it has both arrivals and gaps"),
            ("arrival,size,bytes\n1,1,1\n", "header: two columns are the bytes; leave one out"),
            ("1,2,3\n4,5,6\n", "line 1: its 3 columns have no names; put a header before it"),
            ("arrival\n", "trace: it has a header but no request"),
            ("5\n", "trace: no time passes"),
            ("5\n5\n", "trace: no time passes"),
            ("gap\n0\n0\n", "trace: no time passes"),
            ("2\n1\n", "trace: its numbers have no name"),
            ("1\n\nx\n", "line 3, column arrival: `x` is no number"),
            ("gap\n1\n-1\n", "line 3, column gap: `-1` is negative"),
            ("1,16\n2\n", "line 2: it has 1 column instead of 2"),
            ("1,16\n2,0\n", "line 2, column bytes: `0` is no number of bytes"),
            ("1,16\n2,-5\n", "line 2, column bytes: `-5` is no number of bytes"),
            ("1,16\n2,1.5\n", "line 2, column bytes: `1.5` is no number of bytes"),
        ] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.starts_with(place), "{text:?}: {told}");
        }
    }
}
