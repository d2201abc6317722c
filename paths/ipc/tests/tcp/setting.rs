//! A network with a stack and an application at its server's end, and what this machine must have for it.

use std::time::Duration;

use tollway_channel::linux::plain::Way;
use tollway_core::{Clock, Requirement, Ticks};
use tollway_host::clock::{RunClock, hz};
use tollway_host::descriptor::{connect, listen_anonymously};
use tollway_host::requirement::{check, skip_test};
use tollway_ipc::engine::tcp::{
    Answered, Application, Client, Counts, Network, Running, Speaker, Stack, Style,
};

/// Every way in which the stack can ask.
pub const STYLES: [Style; 3] =
    [Style::Asynchronous, Style::Synchronous(Way::Seqpacket), Style::Synchronous(Way::Handoff)];

/// How long tests wait for what must happen: a machine may be busy.
pub const PATIENT: Duration = Duration::from_secs(20);

/// Whether this process may make namespaces and see frames; says so if not.
pub fn may() -> bool {
    match check(&Requirement::NetworkNamespaces).and_then(|()| check(&Requirement::PacketSockets)) {
        Ok(()) => true,
        Err(missing) => {
            skip_test(&["netns", "packet"], &missing);
            false
        }
    }
}

/// The time in so long, on the run's clock.
pub fn after(time: Duration) -> Ticks {
    RunClock::chosen().now() + (time.as_secs_f64() * hz().unwrap()) as Ticks
}

/// A server at work, all in this process.
pub struct Served {
    pub network: Network,
    pub stack: Running,
    application: Application,
}

impl Served {
    pub fn start(style: Style, connections: usize) -> Served {
        let network = Network::new(Speaker::Program).unwrap();
        let (listener, name) = listen_anonymously().unwrap();
        let application = Application::start(listener, style, style.links(connections), None).unwrap();
        let stack = Stack::open(&network, connections).unwrap();
        let stack = Running::start(stack, style, move || connect(&name), None).unwrap();
        Served { network, stack, application }
    }

    pub fn client(&self, connections: usize) -> Client {
        Client::connect(self.network.client(), Network::APPLICATION, connections).unwrap()
    }

    /// Ends both; what the stack did.
    pub fn end(self) -> Counts {
        let counts = self.stack.stop().unwrap();
        self.application.end().unwrap();
        counts
    }
}

/// For a client: goes on until then, and `told` is told of every reply.
pub fn until(end: Ticks, mut told: impl FnMut(Answered)) -> impl FnMut(Answered) -> bool {
    move |answered| {
        told(answered);
        answered.came < end
    }
}
