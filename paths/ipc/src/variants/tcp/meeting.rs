//! How a client finds the network of who serves it, in another process: by the number of a descriptor there; and by a socket it says, when
//! it closes it, that it has done.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};

use tollway_core::{Address, Error, Place, Result};
use tollway_host::descriptor;
use tollway_wire::Namespace;

use crate::engine::tcp::Network;

/// Where a client is awaited.
pub(super) struct Awaited(UnixListener);

/// Where a client finds both, for as long as this process has the network.
pub(super) fn awaits(network: &Network) -> Result<(Awaited, Address)> {
    let (listener, name) = descriptor::listen_anonymously()?;
    let client = network.client().as_fd().as_raw_fd();
    Ok((Awaited(listener), Address(format!("{} {client} {name}", std::process::id()))))
}

impl Awaited {
    /// Sleeps until the client, which has come by then, has done or is no more.
    pub(super) fn until_it_has_done(&self) -> Result<()> {
        let mut client = descriptor::accept(&self.0)?;
        // It says nothing; an error is an end as well.
        let _ = client.read(&mut [0]);
        Ok(())
    }
}

/// The client's namespace, and the socket to be closed when it has done.
pub(super) fn meets(place: &Place) -> Result<(Namespace, UnixStream)> {
    let wrong = || Error::Wrong(format!("{:?} has no address of a TCP server", place.peers));
    let mut words = place.peers.last().ok_or_else(wrong)?.0.split(' ');
    let mut number = || words.next()?.parse::<u32>().ok();
    let (Some(process), Some(client)) = (number(), number()) else { return Err(wrong()) };
    let name = words.next().ok_or_else(wrong)?;
    Ok((Namespace::at(&format!("/proc/{process}/fd/{client}"))?, descriptor::connect(name)?))
}
