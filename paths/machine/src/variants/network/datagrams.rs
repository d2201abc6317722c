//! `udp-datagrams`: what arrives of datagrams that are sent at a rate, told by who receives it.

use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Clock, Domain, Error, Params, Place, Plan, Recorder, Result, Tally, Unit, Value,
    Variant, Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_load::wait_until;

use super::arrivals::Arrivals;
use super::between::{Between, Site, found, told};
use super::tool::{ToolClient, ToolServer};
use super::{CLIENT, SERVER, no_such_role, not_ready, outcome, with_common_caveats};
use crate::engine::network::Listener;
use crate::engine::network::datagrams::{HEADER, MOST, Received, Receiver, Sender, Sent};
use crate::engine::network::iperf3::{self, Traffic};
use crate::{params, surroundings};

/// Bytes of a datagram that fills a packet of Ethernet, or nearly.
const USUAL: u64 = 1460;

pub(super) struct UdpDatagrams;

/// Bits of content a second.
fn rate(params: &Params) -> Result<u64> {
    Ok(params.int("rate")? * 1_000_000)
}

impl Variant for UdpDatagrams {
    fn name(&self) -> &str {
        "udp-datagrams"
    }

    fn about(&self) -> &str {
        "datagrams of UDP from client to server at a rate: what arrives, what is lost, how evenly"
    }

    fn caveats(&self) -> &str {
        with_common_caveats!(
            "A sample is the time from one arrival to the next. What is lost is known by numbers, and counted with the warm-up; jitter is that of RFC 3550, \
             section 6.4.1, at the end, by the times at which both programs had a datagram in hand. Datagrams are sent at regular times, and at once where that has \
             passed: how late is told. iperf3 sends in bursts of a millisecond, runs for whole seconds, and tells one figure for all of it."
        )
    }

    fn axes(&self) -> Vec<Axis> {
        super::axes([
            Axis {
                name: "rate",
                about: "millions of bits of content sent in a second",
                domain: Domain::Whole(1, 100_000),
                default: Value::Int(1000),
            },
            Axis {
                name: "size",
                about: "bytes of a datagram's content",
                domain: Domain::Whole(HEADER as u64, MOST as u64),
                default: Value::Int(USUAL),
            },
            params::by(&["tollway", "iperf3"]),
        ])
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let operation = format!("datagram of {} B received", params.int("size")?);
        let mut plan = super::plan(params, operation, SERVER)?;
        if surroundings::by_a_tool(params)? {
            plan.requires.push(iperf3::required());
        }
        Ok(plan)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let size = match params.int("size").ok()? {
            USUAL => String::new(),
            bytes => format!(", {}", surroundings::size(bytes)),
        };
        let what = format!("UDP at {} Mbit/s, {}{size}", params.int("rate").ok()?, told(params)?);
        surroundings::titled(what, params)
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        let size = params.int("size").unwrap_or_default();
        vec![Yield { unit: Unit::Bits, each: size as f64 * 8.0 }, Yield::one(Unit::Packets)]
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (between, bytes, rate) = (Between::of(params)?, params.int("size")? as usize, rate(params)?);
        let traffic = Traffic::Datagrams { bytes, rate };
        Ok(match (role, surroundings::by_a_tool(params)?) {
            (SERVER, false) => Box::new(Receiving { between, bytes, ready: None, received: None }),
            (CLIENT, false) => {
                let gap = Duration::from_secs_f64(bytes as f64 * 8.0 / rate as f64);
                Box::new(Sending { between, bytes, gap, ready: None, sent: None })
            }
            (SERVER, true) => Box::new(ToolServer::new(between, traffic)),
            (CLIENT, true) => Box::new(ToolClient::new(between, traffic)),
            _ => return Err(no_such_role(role, self.name())),
        })
    }
}

struct Receiving {
    between: Between,
    bytes: usize,
    ready: Option<(Site, Receiver)>,
    received: Option<Received>,
}

impl Actor for Receiving {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let site = Site::of(self.between)?;
        let receiver = Receiver::at(Listener::at(site.ip())?, self.bytes)?;
        let address = site.address(receiver.listener().address());
        self.ready = Some((site, receiver));
        Ok(address)
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let (_, receiver) = self.ready.as_ref().ok_or_else(|| not_ready(SERVER))?;
        let mut arrivals = Arrivals::new(window, recorder);
        self.received = Some(receiver.receive(|| arrivals.another())?);
        arrivals.done();
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match outcome(&self.received)? {
            Received { numbers, sent, .. } if numbers.different() == 0 => {
                Err(Error::Wrong(format!("of {sent} datagrams none arrived")))
            }
            _ => Ok(()),
        }
    }

    fn tally(&mut self) -> Tally {
        let Some(received) = &self.received else { return Tally::default() };
        Tally::default()
            .counter("received_datagrams", received.numbers.different())
            .counter("lost_datagrams", received.lost())
            .counter("late_datagrams", received.numbers.late())
            .counter("doubled_datagrams", received.numbers.doubled())
            .gauge("jitter_ns", received.jitter.nanoseconds() as u64)
    }
}

struct Sending {
    between: Between,
    bytes: usize,
    gap: Duration,
    ready: Option<Sender>,
    sent: Option<Sent>,
}

impl Actor for Sending {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.ready = Some(Sender::come(found(self.between, place)?, self.bytes)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, _: &mut Recorder) -> Result<()> {
        let (clock, mut sender) = (RunClock::chosen(), self.ready.take().ok_or_else(|| not_ready(CLIENT))?);
        wait_until(clock, window.warm);
        sender.send(self.gap, || clock.now() < window.close)?;
        self.sent = Some(sender.finish()?);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        outcome(&self.sent).map(drop)
    }

    fn tally(&mut self) -> Tally {
        let Some(sent) = &self.sent else { return Tally::default() };
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        Tally::default()
            .counter("sent_datagrams", sent.datagrams)
            .gauge("sent_late_mean_ns", nanoseconds(sent.late.sum) / sent.datagrams.max(1))
            .gauge("sent_late_worst_ns", nanoseconds(sent.late.worst))
    }
}
