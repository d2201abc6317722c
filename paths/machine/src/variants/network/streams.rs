//! `tcp-streams`: how much TCP carries from client to server, told by who receives it.

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
use crate::engine::network::iperf3::{self, Traffic};
use crate::engine::network::streams::{Moved, Sender, Shape, receive};
use crate::{params, surroundings};

/// MiB a second at which a full buffer is emptied at the least.
const SLOWEST: u64 = 32;

pub(super) struct TcpStreams;

fn shape(params: &Params) -> Result<Shape> {
    let mib = params.int("buffer")? as usize;
    Ok(Shape {
        streams: params.int("streams")? as usize,
        block: params.int("block")? as usize,
        buffer: (mib > 0).then_some(mib << 20),
    })
}

impl Variant for TcpStreams {
    fn name(&self) -> &str {
        "tcp-streams"
    }

    fn about(&self) -> &str {
        "streams of TCP from client to server, as fast as they go"
    }

    fn caveats(&self) -> &str {
        with_common_caveats!(
            "A sample is the time from one block to the next, whichever stream it is of; the rate is that of blocks received. One thread at each end has all \
             streams. Of each block the number and a few bytes are looked at, of one in 1024 all; iperf3 looks at none. iperf3 runs for whole \
             seconds and tells one figure for all of it, from its start on."
        )
    }

    fn axes(&self) -> Vec<Axis> {
        super::axes([
            Axis {
                name: "streams",
                about: "streams at a time",
                domain: Domain::Whole(1, 8),
                default: Value::Int(1),
            },
            Axis {
                name: "block",
                about: "bytes handed over at a time",
                domain: Domain::Whole(1 << 10, 16 << 20),
                default: Value::Int(Shape::USUAL.block as u64),
            },
            Axis {
                name: "buffer",
                about: "MiB of the sockets' buffers, which bound TCP's window; 0: the kernel's own, which grow with need",
                domain: Domain::Whole(0, 1024),
                default: Value::Int(0),
            },
            params::by(&["tollway", "iperf3"]),
        ])
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let shape = shape(params)?;
        let mut plan = super::plan(params, format!("{} KiB received", shape.block as f64 / 1024.0), SERVER)?;
        if surroundings::by_a_tool(params)? {
            if shape.buffer.is_some_and(|bytes| bytes > iperf3::LARGEST_BUFFER) {
                return Err(Error::Input {
                    place: "axis `buffer`".into(),
                    reason: "iperf3 takes no more than 512 MiB".into(),
                    remedy: "give less, or leave `by` out".into(),
                });
            }
            if shape.block > iperf3::LARGEST_BLOCK {
                return Err(Error::Input {
                    place: "axis `block`".into(),
                    reason: "iperf3 hands over no more than 1 MiB at a time".into(),
                    remedy: "give less, or leave `by` out".into(),
                });
            }
            plan.requires.push(iperf3::required());
        }
        Ok(plan)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let streams = match params.int("streams").ok()? {
            1 => "TCP stream".to_string(),
            many => format!("{many} TCP streams"),
        };
        let block = match params.int("block").ok()? {
            usual if usual == Shape::USUAL.block as u64 => String::new(),
            bytes => format!(", blocks of {}", surroundings::size(bytes)),
        };
        let buffer = match params.int("buffer").ok()? {
            0 => String::new(),
            mib => format!(", buffers of {}", surroundings::size(mib << 20)),
        };
        surroundings::titled(format!("{streams}, {}{block}{buffer}", told(params)?), params)
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        let block = params.int("block").unwrap_or_default();
        vec![Yield { unit: Unit::Bits, each: block as f64 * 8.0 }]
    }

    fn patience(&self, params: &Params) -> Duration {
        // What both ends' buffers hold is received after the window.
        Duration::from_secs(2 * params.int("buffer").unwrap_or_default() / SLOWEST)
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (between, shape, tool) = (Between::of(params)?, shape(params)?, surroundings::by_a_tool(params)?);
        let traffic = Traffic::Streams(shape);
        Ok(match (role, tool) {
            (SERVER, false) => Box::new(Receiving { between, shape, ready: None, received: None }),
            (CLIENT, false) => Box::new(Sending { between, shape, ready: None, sent: None }),
            (SERVER, true) => Box::new(ToolServer::new(between, traffic)),
            (CLIENT, true) => Box::new(ToolClient::new(between, traffic)),
            _ => return Err(no_such_role(role, self.name())),
        })
    }
}

struct Receiving {
    between: Between,
    shape: Shape,
    ready: Option<(Site, Listener)>,
    received: Option<Moved>,
}

impl Actor for Receiving {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let site = Site::of(self.between)?;
        let listener = Listener::at(site.ip())?;
        self.shape.buffer.map_or(Ok(()), |bytes| listener.receive_into(bytes))?;
        let address = site.address(listener.address());
        self.ready = Some((site, listener));
        Ok(address)
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let (_, listener) = self.ready.as_ref().ok_or_else(|| not_ready(SERVER))?;
        let mut arrivals = Arrivals::new(window, recorder);
        self.received = Some(receive(listener, &self.shape, || arrivals.another())?);
        arrivals.done();
        // One block is followed by the next: together they took as long as they were under way.
        recorder.took(recorder.total().1);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        // Content and count have been looked at: who received something else has none.
        outcome(&self.received).map(drop)
    }

    fn tally(&mut self) -> Tally {
        let received = self.received.unwrap_or_default();
        Tally::default()
            .counter("received_bytes", received.bytes)
            .gauge("receive_buffer_bytes", received.buffer)
    }
}

struct Sending {
    between: Between,
    shape: Shape,
    ready: Option<Sender>,
    sent: Option<Moved>,
}

impl Actor for Sending {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.ready = Some(Sender::come(found(self.between, place)?, &self.shape)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, _: &mut Recorder) -> Result<()> {
        let (clock, mut sender) = (RunClock::chosen(), self.ready.take().ok_or_else(|| not_ready(CLIENT))?);
        wait_until(clock, window.warm);
        sender.send(|| clock.now() < window.close)?;
        self.sent = Some(sender.finish()?);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        outcome(&self.sent).map(drop)
    }

    fn tally(&mut self) -> Tally {
        let sent = self.sent.unwrap_or_default();
        Tally::default()
            .counter("sent_bytes", sent.bytes)
            .gauge("send_buffer_bytes", sent.buffer)
            .counter("segments_sent_again", sent.again)
    }
}
