//! Packets, from the wire to a verdict or a file: buffers, live sources and generators on cables of their own, filters against other
//! people's, files of every kind.

#[path = "../../../../crates/host/testing/asleep.rs"]
mod asleep;
mod buffer;
mod buffer_orderings;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod generating;
mod in_process;
mod libpcap;
mod live;
mod live_gates;
mod live_trial;
mod live_variants;
mod packet_files;
#[path = "../../../../crates/host/testing/quiet.rs"]
mod quiet;
mod turn;
mod verdicts;
