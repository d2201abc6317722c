//! Who talks to whom: groups of flows, each so many addresses by so many ports of one transport.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::GenerateError;

/// What is above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP (RFC 768).
    Udp,
    /// TCP segments with ACK and PSH (RFC 9293). They belong to no connection.
    Tcp,
    /// Echo requests (RFC 792, RFC 4443); source and destination port are identifier and sequence number.
    Icmp,
}

/// Addresses in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Addresses {
    /// The first of them.
    pub first: IpAddr,
    /// How many there are, at least 1.
    pub count: u32,
}

impl Addresses {
    /// The lower 32 bits of the first.
    pub(super) fn low(&self) -> u32 {
        match self.first {
            IpAddr::V4(address) => address.to_bits(),
            IpAddr::V6(address) => address.to_bits() as u32,
        }
    }
}

/// Ports in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// The first of them.
    pub first: u16,
    /// How many there are, at least 1.
    pub count: u32,
}

impl Ports {
    /// One port.
    pub fn one(port: u16) -> Ports {
        Ports { first: port, count: 1 }
    }
}

/// Flows of one kind. A frame of a group has any of its addresses and any of its ports, all alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its share of the frames, relative to the other groups' weights.
    pub weight: f64,
    /// What is above IP.
    pub transport: Transport,
    /// Where its frames say they come from.
    pub sources: Addresses,
    /// Where they say they go.
    pub destinations: Addresses,
    /// Ports they say they come from.
    pub source_ports: Ports,
    /// Ports they say they go to.
    pub destination_ports: Ports,
}

impl Group {
    /// One flow: from port 49152 (the first dynamic one, RFC 6335, section 6) of the first of the addresses that are set
    /// aside for benchmarks to port 9 (discard, RFC 863) of a second one. 198.18.0.0/15 (RFC 2544, C.2.2).
    pub fn v4(transport: Transport) -> Group {
        let address = |second| Addresses { first: Ipv4Addr::new(198, second, 0, 1).into(), count: 1 };
        Group {
            weight: 1.0,
            transport,
            sources: address(18),
            destinations: address(19),
            source_ports: Ports::one(49152),
            destination_ports: Ports::one(9),
        }
    }

    /// The same over IPv6: 2001:2::/48 (RFC 5180, section 8).
    pub fn v6(transport: Transport) -> Group {
        let address =
            |third| Addresses { first: Ipv6Addr::new(0x2001, 2, 0, third, 0, 0, 0, 1).into(), count: 1 };
        Group { sources: address(0), destinations: address(1), ..Group::v4(transport) }
    }

    /// So many sources and so many destinations.
    pub fn addresses(mut self, sources: u32, destinations: u32) -> Group {
        (self.sources.count, self.destinations.count) = (sources, destinations);
        self
    }

    /// Ports they come from and ports they go to.
    pub fn ports(mut self, source: Ports, destination: Ports) -> Group {
        (self.source_ports, self.destination_ports) = (source, destination);
        self
    }

    /// With this weight.
    pub fn weighing(mut self, weight: f64) -> Group {
        self.weight = weight;
        self
    }

    pub(super) fn is_v6(&self) -> bool {
        self.sources.first.is_ipv6()
    }

    pub(super) fn check(&self) -> Result<(), GenerateError> {
        let refuse = |reason: &str, remedy: &str| {
            let place = format!(
                "the {:?} flows from {} to {}",
                self.transport, self.sources.first, self.destinations.first
            );
            Err(GenerateError::input(place, reason, remedy))
        };
        if self.sources.first.is_ipv4() != self.destinations.first.is_ipv4() {
            return refuse("one end is IPv4 and the other IPv6", "give both ends the same version");
        }
        for addresses in [&self.sources, &self.destinations] {
            if addresses.count == 0 || addresses.low().checked_add(addresses.count - 1).is_none() {
                return refuse(
                    "their addresses are none, or more than the lower 32 bits hold",
                    "give 1 or more, and a first address with room above it",
                );
            }
        }
        for ports in [&self.source_ports, &self.destination_ports] {
            if ports.count == 0 || u32::from(ports.first) + ports.count > 1 << 16 {
                return refuse(
                    "their ports are none, or go beyond 65535",
                    "give 1 or more, and fewer than that",
                );
            }
        }
        Ok(())
    }
}

/// Groups of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows(pub Vec<Group>);

impl Flows {
    /// Two sets of groups, so that the first one's make this share of the frames (0 to 1), whatever their weights add up to.
    ///
    /// # Errors
    /// If it is no share, or one of them is needed and has no weight.
    pub fn with_share(share: f64, wanted: Vec<Group>, others: Vec<Group>) -> Result<Flows, GenerateError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(GenerateError::input(
                "the share of frames that match",
                format!("{share} is none"),
                "give 0 to 1",
            ));
        }
        let scaled = |groups: Vec<Group>, share: f64| -> Result<Vec<Group>, GenerateError> {
            let total: f64 = groups.iter().map(|group| group.weight).sum();
            if share == 0.0 {
                return Ok(Vec::new());
            }
            if !(total > 0.0 && total.is_finite()) {
                return Err(GenerateError::input(
                    format!("flows for {share} of the frames"),
                    format!("their weights add up to {total}"),
                    "give weights from 0 up, one of them above 0",
                ));
            }
            Ok(groups.into_iter().map(|g| Group { weight: g.weight / total * share, ..g }).collect())
        };
        let mut groups = scaled(wanted, share)?;
        groups.extend(scaled(others, 1.0 - share)?);
        Ok(Flows(groups))
    }

    /// This share of the frames matches `tcp port 80 or tcp port 443`: TCP to these ports. The rest is TCP and UDP to
    /// ports from 5000 to 5999. 256 sources, 16 destinations, 1000 source ports.
    ///
    /// # Errors
    /// If it is no share.
    pub fn web(share: f64) -> Result<Flows, GenerateError> {
        let from = Ports { first: 49152, count: 1000 };
        let group = |transport, to| Group::v4(transport).addresses(256, 16).ports(from, to);
        let elsewhere = Ports { first: 5000, count: 1000 };
        Flows::with_share(
            share,
            [80, 443].map(|port| group(Transport::Tcp, Ports::one(port))).into(),
            [Transport::Tcp, Transport::Udp].map(|transport| group(transport, elsewhere)).into(),
        )
    }
}

impl From<Group> for Flows {
    fn from(group: Group) -> Flows {
        Flows(vec![group])
    }
}
