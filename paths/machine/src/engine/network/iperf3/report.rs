//! What iperf3 says at its end, as JSON (`-J`; versions 3.1 to 3.19).

use serde::Deserialize;
use tollway_core::{Error, Result};
use tollway_host::program::last_words;

use crate::engine::answer::document_in;

/// What iperf3 counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Bytes of all streams.
    pub bytes: u64,
    /// Seconds in which it counted them.
    pub seconds: f64,
    /// Segments that TCP sent more than once; the sending end knows.
    pub again: u64,
    /// Interarrival jitter, in nanoseconds; the receiving end of UDP knows.
    pub jitter: f64,
    /// Datagrams that were sent, as far as the receiving end knows by their numbers.
    pub datagrams: u64,
    /// Those that were lost.
    pub lost: u64,
}

/// Which end said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Who sent.
    Sender,
    /// Who received.
    Receiver,
}

#[derive(Deserialize)]
struct Said {
    error: Option<String>,
    end: Option<Ended>,
}

#[derive(Deserialize)]
struct Ended {
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum: Option<Sum>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Sum {
    bytes: u64,
    seconds: f64,
    retransmits: u64,
    jitter_ms: f64,
    packets: u64,
    lost_packets: u64,
}

/// Reads it.
///
/// # Errors
/// iperf3 says that it failed, or nothing that is understood.
pub fn read(text: &str, end: End) -> Result<Counted> {
    let failed = |reason: &str| Error::system("running iperf3", reason);
    // What goes wrong before the run is a line of text, also with `-J`.
    let plain = || text.lines().find(|line| line.starts_with("iperf3:"));
    let Ok(said) = document_in::<Said>(text) else {
        let strange = || format!("it says nothing that is understood: {}", last_words(text));
        return Err(failed(&plain().map_or_else(strange, last_words)));
    };
    if let Some(error) = said.error {
        return Err(failed(&last_words(&error)));
    }
    let sum = said.end.and_then(|ended| match end {
        End::Sender => ended.sum_sent.or(ended.sum),
        // Before 3.10 `sum` is all that there is of UDP.
        End::Receiver => ended.sum_received.or(ended.sum),
    });
    match sum {
        Some(sum) if sum.bytes > 0 && sum.seconds > 0.0 => Ok(Counted {
            bytes: sum.bytes,
            seconds: sum.seconds,
            again: sum.retransmits,
            jitter: sum.jitter_ms * 1e6,
            datagrams: sum.packets,
            lost: sum.lost_packets,
        }),
        _ => Err(failed("it says that nothing arrived")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of what 3.12 said, as recorded; streams, which are not read, are left out.
    const STREAMS_SERVER: &str = r#"{"start":{"connected":[],"version":"iperf 3.12"},"intervals":[],"end":{
        "streams":[],
        "sum_sent":{"start":0,"end":1.014896,"seconds":1.014896,"bytes":0,"bits_per_second":0,"sender":false},
        "sum_received":{"start":0,"end":1.014896,"seconds":1.014896,"bytes":2047344640,
            "bits_per_second":16138360107.833708,"sender":false},
        "cpu_utilization_percent":{"host_total":61.212664029969275},"receiver_tcp_congestion":"bbr"}}"#;
    const STREAMS_CLIENT: &str = r#"{"start":{},"intervals":[],"end":{
        "sum_sent":{"start":0,"end":1.006682,"seconds":1.006682,"bytes":2048655360,
            "bits_per_second":16280456867.21328,"retransmits":9,"sender":true},
        "sum_received":{"start":0,"end":1.014896,"seconds":1.014896,"bytes":2047344640,
            "bits_per_second":16138360107.833708,"sender":true}}}"#;
    const DATAGRAMS_SERVER: &str = r#"{"start":{},"intervals":[],"end":{
        "sum":{"start":0,"end":1.000251,"seconds":1.000251,"bytes":0,"bits_per_second":0,
            "jitter_ms":0.010844064135113003,"lost_packets":4730,"packets":42728,"lost_percent":11.07,"sender":false},
        "sum_sent":{"start":0,"end":1.000251,"seconds":1.000251,"bytes":0,"jitter_ms":0,"lost_packets":0,"packets":0},
        "sum_received":{"start":0,"end":1.000251,"seconds":1.000251,"bytes":55477080,
            "bits_per_second":443705269.97723573,"jitter_ms":0.010844064135113003,"lost_packets":4730,
            "packets":42728,"lost_percent":11.070024340011233,"sender":false}}}"#;

    #[test]
    fn what_was_recorded_is_read() {
        let received = read(STREAMS_SERVER, End::Receiver).unwrap();
        assert_eq!((received.bytes, received.seconds), (2_047_344_640, 1.014896));
        let sent = read(STREAMS_CLIENT, End::Sender).unwrap();
        assert_eq!((sent.bytes, sent.again), (2_048_655_360, 9));
        let datagrams = read(DATAGRAMS_SERVER, End::Receiver).unwrap();
        assert_eq!((datagrams.bytes, datagrams.datagrams, datagrams.lost), (55_477_080, 42_728, 4730));
        assert!((datagrams.jitter - 10_844.06).abs() < 0.01);
    }

    #[test]
    fn warnings_before_and_after_are_passed_over() {
        let said =
            format!("warning: UDP block size 65507 exceeds TCP MSS\n{DATAGRAMS_SERVER}\nwarning: {{\n");
        let right = read(DATAGRAMS_SERVER, End::Receiver).unwrap();
        assert_eq!(read(&said, End::Receiver).unwrap(), right);
    }

    #[test]
    fn a_failure_is_told_in_its_own_words() {
        let refused = r#"{"start":{},"intervals":[],"end":{},"error":"unable to connect to server: Connection refused"}"#;
        let said = |text| read(text, End::Sender).unwrap_err().to_string();
        assert!(said(refused).contains("Connection refused"));
        assert!(said("Usage: iperf3\niperf3: parameter error - too large\n").contains("too large"));
        assert!(said("").contains("nothing that is understood"));
        assert!(read(STREAMS_SERVER, End::Sender).unwrap_err().to_string().contains("nothing arrived"));
    }
}
