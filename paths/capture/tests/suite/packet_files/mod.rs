//! Capture files, read, copied and written: against the documents, other people's programs, damage and any bytes.

mod copied;
mod damaged;
mod fuzzed;
mod harness;
mod made;
mod oracle;
mod reading;
mod written;
