//! Networks to try it on: namespaces without names with cables between them, gone with who made them. They stand for virtual
//! machines on one host, or on two, whose hosts pass packets on.

use std::net::Ipv4Addr;

use tollway_core::Result;
use tollway_wire::{End, Namespace, add_route, pass_on, set_address, set_up, veth_pair};

/// Bits that the addresses of a network have in common.
const PREFIX: u8 = 24;

/// The addresses of the ends of a cable. Networks for examples, which no machine has (TEST-NET-1 to 3; RFC 5737, section 3).
const FIRST: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const BETWEEN: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)];
const LAST: [Ipv4Addr; 2] = [Ipv4Addr::new(203, 0, 113, 1), Ipv4Addr::new(203, 0, 113, 2)];

/// Two namespaces between which packets go.
#[derive(Debug)]
pub struct Network {
    client: Namespace,
    server: Namespace,
    address: Ipv4Addr,
    /// Held, so that they stay.
    _nodes: Vec<Namespace>,
}

impl Network {
    /// The name of the interface of either end.
    pub const INTERFACE: &'static str = "out";

    /// A cable from one to the other.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Error::Missing) if this process may make no namespaces.
    pub fn on_one_node() -> Result<Network> {
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        lay((&client, Network::INTERFACE), (&server, Network::INTERFACE), FIRST)?;
        Ok(Network { client, server, address: FIRST[1], _nodes: Vec::new() })
    }

    /// A cable from each to a node of its own, and one between the nodes, which pass packets on.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Error::Missing) if this process may make no namespaces.
    pub fn on_two_nodes() -> Result<Network> {
        let [client, near, far, server] =
            [Namespace::new()?, Namespace::new()?, Namespace::new()?, Namespace::new()?];
        lay((&client, Network::INTERFACE), (&near, "client"), FIRST)?;
        lay((&near, "node"), (&far, "node"), BETWEEN)?;
        lay((&far, "server"), (&server, Network::INTERFACE), LAST)?;
        let everywhere = (Ipv4Addr::UNSPECIFIED, 0);
        for (from, by) in [(&client, FIRST[1]), (&near, BETWEEN[1]), (&far, BETWEEN[0]), (&server, LAST[0])] {
            from.run(|| add_route(everywhere.0, everywhere.1, by))??;
        }
        for node in [&near, &far] {
            node.run(pass_on)??;
        }
        Ok(Network { client, server, address: LAST[1], _nodes: vec![near, far] })
    }

    /// Where the client is.
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// Where the server is.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// The server's address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }
}

/// Lays a cable between two namespaces; its ends have these names and addresses.
fn lay(one: (&Namespace, &str), other: (&Namespace, &str), addresses: [Ipv4Addr; 2]) -> Result<()> {
    one.0.run(|| veth_pair(&End::new(one.1), &End::new(other.1).within(other.0)))??;
    for ((namespace, name), address) in [one, other].into_iter().zip(addresses) {
        namespace.run(|| set_address(name, address, PREFIX).and_then(|()| set_up(name, true)))??;
    }
    Ok(())
}
