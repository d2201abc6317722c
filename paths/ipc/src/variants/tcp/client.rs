//! The role of the client: it has one message on its way over each connection for as long as the window is open, and times every one.

use std::os::unix::net::UnixStream;

use tollway_core::{Actor, Address, Clock, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_load::{delay, wait_until};

use super::super::CLIENT;
use super::super::counted::Before;
use super::little::Little;
use super::meeting::meets;
use crate::engine::tcp::{Answered, Client, Network};

pub(super) struct ClientActor {
    connections: usize,
    ready: Option<(Client, UnixStream)>,
    /// None where nothing was answered in the window.
    little: Option<Little>,
    answered: u64,
    tally: Tally,
}

impl ClientActor {
    pub(super) fn new(connections: usize) -> ClientActor {
        ClientActor { connections, ready: None, little: None, answered: 0, tally: Tally::default() }
    }
}

impl Actor for ClientActor {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let (namespace, lasts) = meets(place)?;
        let client = Client::connect(&namespace, Network::APPLICATION, self.connections)?;
        self.ready = Some((client, lasts));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((mut client, lasts)) = self.ready.take() else { return Ok(()) };
        let clock = RunClock::chosen();
        let (mut answered, mut in_window) = (0, false);
        recorder.set_batch(1);
        wait_until(clock, window.warm);
        // One that got no processor in time has a shorter window.
        let open = clock.now().max(window.open);
        let length = window.close.saturating_sub(open);
        let mut little = Little::new(self.connections, length);
        let before = Before::now();
        let is_open = |at| (open..window.close).contains(&at);
        let ran = client.run(|Answered { asked, mut came, .. }| {
            if window.planted > 0 {
                delay(window.planted);
                came = clock.now();
            }
            answered += 1;
            let took = came - asked;
            little.took(took, is_open(asked), is_open(came));
            in_window |= is_open(came);
            // A machine that was busy with something else is waited for: without a sample there is no trial.
            if is_open(came) || (!in_window && came >= window.close) {
                recorder.sample(took);
            }
            came < window.close
        });
        let used = before.since();
        drop((client, lasts));
        ran?;
        self.little = in_window.then_some(little);
        self.answered = answered;
        let messages = recorder.total().0;
        let window = (length as f64 / hz()? * 1e9) as u64;
        let tally = Tally::default()
            .counter("operations", answered)
            .counter("messages", messages)
            .counter("window_ns", window);
        self.tally = used.counted(tally, CLIENT);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match self.little {
            _ if self.answered == 0 => Err(Error::Wrong("no message was answered".into())),
            Some(little) => little.holds(),
            None => Ok(()),
        }
    }

    fn tally(&mut self) -> Tally {
        let tally = std::mem::take(&mut self.tally);
        match self.little {
            Some(little) => little.counted(tally),
            None => tally,
        }
    }
}
