//! A network with a stack and an application at its server's end, and what this machine must have for it.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use tollway_channel::linux::plain::Way;
use tollway_core::Requirement;
use tollway_host::descriptor::{connect, listen_anonymously};
use tollway_host::requirement::{check, skip_test};
use tollway_ipc::engine::tcp::{
    Answered, Application, Client, Counts, Network, Running, Speaker, Stack, Style,
};

use crate::eventually::eventually;

/// Every way in which the stack can ask.
pub const STYLES: [Style; 3] =
    [Style::Asynchronous, Style::Synchronous(Way::Seqpacket), Style::Synchronous(Way::Handoff)];

/// How long a call of the kernel may wait for what must happen: only a hang takes as long, however busy the machine is.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(120);

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

/// A connection, as soon as a place listens: that of one that has just ended may not yet.
pub fn connected(network: &Network) -> TcpStream {
    let mut stream = None;
    let connects = || {
        eventually("a place for a connection", || {
            match TcpStream::connect_timeout(&Network::APPLICATION.into(), HANG_TIMEOUT) {
                Ok(made) => stream = Some(made),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}"),
            }
            stream.is_some()
        });
    };
    network.client().run(connects).unwrap();
    let stream = stream.unwrap();
    stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    stream
}

/// Has a client go on until each connection has had so many replies; how many each had.
pub fn answers(client: &mut Client, connections: usize, replies: u64) -> Vec<u64> {
    answers_while(client, connections, |answered| answered < replies)
}

/// The same for as long as that is so of how many replies a connection has had.
pub fn answers_while(
    client: &mut Client,
    connections: usize,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Vec<u64> {
    let mut answered = vec![0u64; connections];
    let told = |reply: Answered| {
        answered[reply.connection] += 1;
        goes_on(answered[reply.connection])
    };
    client.run(told).unwrap();
    answered
}
