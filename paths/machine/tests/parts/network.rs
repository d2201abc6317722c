//! The network: both ends against each other and against others that lie, go or say nothing; iperf3; and the variants in threads.

mod datagrams;
mod iperf3;
mod requests;
mod rogue;
mod streams;
mod trials;
mod vanishing;

use tollway_core::Requirement;
use tollway_host::requirement::test_has;

fn may_make_namespaces() -> bool {
    test_has(&[(Requirement::NetworkNamespaces, "netns")])
}
