//! The network between client and server: two namespaces without names and a veth pair between them, gone with the process that made
//! them.

use std::net::{Ipv4Addr, SocketAddrV4};

use tollway_core::Result;
use tollway_wire::{
    End, Interface, Namespace, WireError, leave_checksums_to_device, set_address, set_up, veth_pair,
};

/// Addresses for examples, which no machine has (TEST-NET-1; RFC 5737, section 3).
const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// Bits that all of them have in common.
pub(super) const PREFIX: u8 = 24;

/// The port of the application: that of echo (RFC 862).
const PORT: u16 = 7;

const CLIENTS_END: &str = "client";
const SERVERS_END: &str = "server";

/// Two namespaces with a cable between them. The client's end has an address; who is to have the server's is said when it is made.
#[derive(Debug)]
pub struct Network {
    client: Namespace,
    server: Namespace,
}

/// Who speaks TCP at the server's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A program, by whole frames. Linux itself has no address there, and drops what comes as meant for somebody else: it is for another
    /// hardware address ([`Network::HARDWARE`]).
    Program,
    /// Linux.
    Linux,
}

impl Network {
    /// The hardware address of a program's network stack: locally administered (IEEE 802, section 8.4), and not the interface's own.
    pub const HARDWARE: [u8; 6] = [2, 0, 0, 0, 0, 2];

    /// Where the application is reached.
    pub const APPLICATION: SocketAddrV4 = SocketAddrV4::new(SERVER, PORT);

    /// A network of its own.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Error::Missing) if this process may make no namespaces.
    pub fn new(speaker: Speaker) -> Result<Network> {
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        client.run(|| {
            veth_pair(&End::new(CLIENTS_END), &End::new(SERVERS_END).within(&server))?;
            leave_checksums_to_device(CLIENTS_END, false)?;
            set_address(CLIENTS_END, CLIENT, PREFIX)?;
            set_up(CLIENTS_END, true)
        })??;
        server.run(|| {
            if speaker == Speaker::Linux {
                leave_checksums_to_device(SERVERS_END, false)?;
                set_address(SERVERS_END, SERVER, PREFIX)?;
            }
            set_up(SERVERS_END, true)
        })??;
        Ok(Network { client, server })
    }

    /// Where the client is.
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// Where the server is.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Does something in the server's namespace with its end of the cable, on a thread that is gone afterwards.
    pub(super) fn at_server<T: Send>(
        &self,
        does: impl FnOnce(&Interface) -> Result<T, WireError> + Send,
    ) -> Result<T> {
        Ok(self.server.run(|| does(&Interface::named(SERVERS_END)?))??)
    }
}
