//! The role of the network stack: at work from when it is ready until its client has done.

use tollway_channel::wait::Patience;
use tollway_core::{Actor, Address, Error, Place, Placement, Recorder, Result, Tally, Window};
use tollway_host::descriptor;

use super::super::counted::{Before, NOTICES};
use super::meeting::{Awaited, awaits};
use super::{SENDING, SLEEPING, STACK, WAKING};
use crate::engine::tcp::{Counts, Itself, Network, Running, Speaker, Stack, Style};
use crate::setting::Setting;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answering {
    /// The application, in another process on the stack's core or another one.
    Application(Style, Placement),
    /// The stack: there is none.
    Stack(Itself),
}

impl Answering {
    /// How long a stack looks before it gives its core away. Frames come from another core, one before the other has been looked for in vain: who waits
    /// besides for somebody who needs that core would look on, and keep him from answering, until no client has anything more to say. So it does not look
    /// where the application has its core, or only threads of its own answer. Those that ask an application on another core have the same patience, and look
    /// for its replies.
    fn patience(self) -> Option<Patience> {
        match self {
            Answering::Application(_, Placement::Same) | Answering::Stack(Itself::Threads) => {
                Some(Patience { spin: 0, ..Patience::measured() })
            }
            Answering::Application(_, Placement::Across) | Answering::Stack(Itself::Tasks) => None,
        }
    }
}

pub(super) struct StackActor {
    answering: Answering,
    connections: usize,
    ready: Option<(Running, Awaited)>,
    /// For as long as its client may be in it.
    network: Option<Network>,
    counts: Counts,
    tally: Tally,
}

impl StackActor {
    pub(super) fn new(answering: Answering, connections: usize) -> StackActor {
        let (counts, tally) = (Counts::default(), Tally::default());
        StackActor { answering, connections, ready: None, network: None, counts, tally }
    }
}

impl Actor for StackActor {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        if let Answering::Application(style, _) = self.answering {
            // Each link is kept besides, to be shut.
            Setting::of_connections(style, self.connections).has_descriptors(1)?;
        }
        let network = Network::new(Speaker::Program)?;
        let stack = Stack::open(&network, self.connections)?;
        let patience = self.answering.patience();
        let running = match (self.answering, place.peers.last()) {
            (Answering::Stack(itself), _) => Running::alone(stack, itself, patience)?,
            (Answering::Application(style, _), Some(Address(application))) => {
                let application = application.clone();
                Running::start(stack, style, move || descriptor::connect(&application), patience)?
            }
            (Answering::Application(..), None) => {
                let reason = "it was told of no application".into();
                return Err(Error::Tenant { tenant: STACK.into(), reason });
            }
        };
        let (awaited, address) = awaits(&network)?;
        self.ready = Some((running, awaited));
        self.network = Some(network);
        Ok(address)
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let Some((running, awaited)) = self.ready.take() else { return Ok(()) };
        let before = Before::now();
        awaited.until_it_has_done()?;
        let used = before.since();
        self.counts = running.stop()?;
        let Counts { received, sent, send_calls, late, malformed, sleeps, notices, .. } = self.counts;
        let tally = Tally::default()
            .visited(SENDING, send_calls)
            .visited(SLEEPING, sleeps)
            .visited(WAKING, notices)
            .counter(NOTICES, notices)
            .counter(format!("{STACK}_{NOTICES}"), notices)
            .counter("stack_sleeps", sleeps)
            .counter("stack_frames_received", received)
            .counter("stack_frames_sent", sent)
            .counter("stack_send_calls", send_calls)
            .counter("stack_replies_late", late)
            .counter("stack_replies_malformed", malformed);
        self.tally = used.counted(tally, STACK);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let Counts { requests, replies, late, malformed, .. } = self.counts;
        if requests > 0 && requests == replies && late + malformed == 0 {
            return Ok(());
        }
        Err(Error::Wrong(format!(
            "of {requests} requests {replies} were answered in time, {late} late, {malformed} by what is no reply"
        )))
    }

    fn tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}
