//! iperf3 as server and client, for whatever it sends.

use std::net::SocketAddrV4;
use std::time::Duration;

use tollway_core::{Actor, Address, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::{self, RunClock};
use tollway_load::wait_until;

use super::between::{Between, Site, found};
use super::{CLIENT, SERVER, not_ready, outcome};
use crate::engine::network::iperf3::{Counted, Server, Traffic, send};
use crate::engine::network::{Listener, PATIENCE};

/// The whole seconds that iperf3 runs for a window.
fn seconds(window: &Window, hz: f64) -> u32 {
    (((window.close - window.open) as f64 / hz).ceil() as u32).max(1)
}

pub(super) struct ToolServer {
    between: Between,
    traffic: Traffic,
    ready: Option<(Site, Server)>,
    received: Option<Counted>,
}

impl ToolServer {
    pub(super) fn new(between: Between, traffic: Traffic) -> Self {
        ToolServer { between, traffic, ready: None, received: None }
    }
}

impl Actor for ToolServer {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let site = Site::of(self.between)?;
        if let Traffic::Streams(shape) = &self.traffic
            && let Some(bytes) = shape.buffer
        {
            // iperf3 does not tell what the kernel grants.
            Listener::at(site.ip())?.receive_into(bytes)?;
        }
        let server = Server::start(site.ip())?;
        let address = site.address(server.address());
        self.ready = Some((site, server));
        Ok(address)
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        // The network stays until the server has ended.
        let (_site, server) = self.ready.take().ok_or_else(|| not_ready(SERVER))?;
        let hz = clock::hz()?;
        let longest = Duration::from_secs(seconds(window, hz).into()) + PATIENCE;
        let received = server.hear(longest)?;
        let (each, ticks) = match &self.traffic {
            Traffic::Streams(shape) => (shape.block, received.seconds * hz),
            Traffic::Datagrams { bytes, .. } => (*bytes, received.seconds * hz),
        };
        recorder.set_batch(u32::try_from(received.bytes / each as u64).unwrap_or(u32::MAX));
        recorder.sample(ticks as u64);
        recorder.took(ticks as u64);
        self.received = Some(received);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        outcome(&self.received).map(drop)
    }

    fn tally(&mut self) -> Tally {
        let Some(received) = &self.received else { return Tally::default() };
        match self.traffic {
            Traffic::Streams(_) => Tally::default().counter("received_bytes", received.bytes),
            Traffic::Datagrams { .. } => Tally::default()
                .counter("received_datagrams", received.datagrams.saturating_sub(received.lost))
                .counter("lost_datagrams", received.lost)
                .gauge("jitter_ns", received.jitter as u64),
        }
    }
}

pub(super) struct ToolClient {
    between: Between,
    traffic: Traffic,
    ready: Option<SocketAddrV4>,
    sent: Option<Counted>,
}

impl ToolClient {
    pub(super) fn new(between: Between, traffic: Traffic) -> Self {
        ToolClient { between, traffic, ready: None, sent: None }
    }
}

impl Actor for ToolClient {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.ready = Some(found(self.between, place)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, _: &mut Recorder) -> Result<()> {
        let server = self.ready.ok_or_else(|| not_ready(CLIENT))?;
        wait_until(RunClock::chosen(), window.warm);
        self.sent = Some(send(server, &self.traffic, seconds(window, clock::hz()?))?);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        outcome(&self.sent).map(drop)
    }

    fn tally(&mut self) -> Tally {
        let Some(sent) = &self.sent else { return Tally::default() };
        match self.traffic {
            Traffic::Streams(_) => {
                Tally::default().counter("sent_bytes", sent.bytes).counter("segments_sent_again", sent.again)
            }
            Traffic::Datagrams { .. } => Tally::default().counter("sent_datagrams", sent.datagrams),
        }
    }
}
