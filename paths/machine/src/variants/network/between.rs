//! Where server and client are, and how the client finds the server.

use std::env;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

use tollway_core::{
    Address, Axis, Domain, Error, Params, Place, Plan, Requirement, Result, TenantKind, Value,
};
use tollway_wire::Namespace;

use crate::engine::network::Network;
use crate::surroundings;

/// The environment variable of a guest with the address of its end of the wire: `52:54:00:00:00:01/10.128.0.1/24`.
const WIRE: &str = "TOLLWAY_WIRE_0";

/// The host's loopback as a guest sees it (QEMU's documentation, "Using the user mode network stack").
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// What is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// Nothing: both speak to their own machine.
    Loopback,
    /// A cable from one namespace to another.
    Namespaces,
    /// Two nodes that pass packets on.
    TwoNodes,
    /// A wire from one guest to another.
    Guests,
    /// What QEMU has between a guest, where the client is, and its host.
    Host,
}

const WORDS: [(&str, Between); 5] = [
    ("loopback", Between::Loopback),
    ("namespaces", Between::Namespaces),
    ("two-nodes", Between::TwoNodes),
    ("guests", Between::Guests),
    ("host", Between::Host),
];

pub(super) fn axis() -> Axis {
    Axis {
        name: "between",
        about: "what is between server and client: loopback; a cable between two namespaces, or two nodes with a namespace each; a wire between two \
                Linux guests, or the way from one to its host",
        domain: Domain::Words(&["loopback", "namespaces", "two-nodes", "guests", "host"]),
        default: Value::Text("loopback".into()),
    }
}

impl Between {
    pub(super) fn of(params: &Params) -> Result<Between> {
        let word = params.word("between")?;
        let between = WORDS.iter().find(|(w, _)| *w == word).map(|(_, between)| *between);
        let refused = |reason: &str, remedy: &str| Error::Input {
            place: format!("axis `between`, value `{word}`"),
            reason: reason.into(),
            remedy: remedy.into(),
        };
        let in_guest = params.tenant()? == TenantKind::LinuxGuest;
        match between {
            None => Err(refused("there is none of that name", "see what the axis takes")),
            Some(Between::Guests | Between::Host) if !in_guest => {
                Err(refused("no guest is there", "set `tenant` to linux-guest"))
            }
            Some(Between::Namespaces | Between::TwoNodes) if in_guest => {
                Err(refused("namespaces are made on this machine", "leave `tenant` out, or take guests"))
            }
            Some(between) => Ok(between),
        }
    }

    /// The plan of a server and a client that are so far apart.
    pub(super) fn settled(self, mut plan: Plan, params: &Params) -> Result<Plan> {
        match self {
            Between::Loopback => plan.requires.push(Requirement::Loopback),
            Between::Namespaces | Between::TwoNodes => plan.requires.push(Requirement::NetworkNamespaces),
            Between::Guests => return surroundings::wired(plan, params),
            Between::Host => return surroundings::with_host(plan, params),
        }
        surroundings::settled(plan, params, None)
    }
}

/// Where both are, for titles.
pub(super) fn told(params: &Params) -> Option<&'static str> {
    Some(match Between::of(params).ok()? {
        Between::Loopback => "loopback",
        Between::Namespaces => "one node",
        Between::TwoNodes => "two nodes",
        Between::Guests => "guest to guest",
        Between::Host => "guest to host",
    })
}

/// Where the server is: it holds the network.
pub(super) struct Site {
    network: Option<Network>,
    ip: Ipv4Addr,
}

impl Site {
    /// Makes the network, if one is to be made, and moves this thread to the server's end of it.
    pub(super) fn of(between: Between) -> Result<Site> {
        let network = match between {
            Between::Namespaces => Network::on_one_node()?,
            Between::TwoNodes => Network::on_two_nodes()?,
            Between::Loopback | Between::Host => return Ok(Site { network: None, ip: Ipv4Addr::LOCALHOST }),
            Between::Guests => return Ok(Site { network: None, ip: on_the_wire()? }),
        };
        network.server().enter()?;
        Ok(Site { ip: network.address(), network: Some(network) })
    }

    /// The server's address there.
    pub(super) fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// What the client has to know, who serves at that port: where, and the descriptor of its own namespace.
    pub(super) fn address(&self, at: SocketAddrV4) -> Address {
        Address(match &self.network {
            None => at.to_string(),
            Some(network) => {
                format!("{at} {} {}", std::process::id(), network.client().as_fd().as_raw_fd())
            }
        })
    }
}

/// Where the client finds the server; moves this thread to the client's end.
pub(super) fn found(between: Between, place: &Place) -> Result<SocketAddrV4> {
    let wrong = || Error::Wrong(format!("{:?} is no address of a server", place.peers));
    let mut words = place.peers.first().ok_or_else(wrong)?.0.split(' ');
    let address: SocketAddrV4 = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
    if let (Some(process), Some(number)) = (words.next(), words.next()) {
        Namespace::at(&format!("/proc/{process}/fd/{number}"))?.enter()?;
    }
    Ok(match between {
        Between::Host => SocketAddrV4::new(HOST, address.port()),
        _ => address,
    })
}

fn on_the_wire() -> Result<Ipv4Addr> {
    let told = env::var(WIRE).unwrap_or_default();
    let ip = told.split('/').nth(1).and_then(|word| word.parse().ok());
    ip.ok_or_else(|| Error::system("finding this guest's end of the wire", format!("{WIRE} is `{told}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_axis_is_known() {
        let Domain::Words(words) = axis().domain else { panic!("it takes words") };
        assert_eq!(words.to_vec(), WORDS.map(|(word, _)| word));
    }
}
