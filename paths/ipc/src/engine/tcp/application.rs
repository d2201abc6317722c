//! The application: a TCP server that knows no TCP. Another process has the connections; here come requests, each with the number of its
//! connection, and replies go back.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tollway_channel::coroutine::{Executor, Incoming};
use tollway_channel::linux::{Limits, Server, Shared, plain};
use tollway_channel::wait::Patience;
use tollway_core::{Error, Result};
use tollway_host::descriptor::accept;

use super::message::{BYTES, answer};
use super::stack::{MOST_CONNECTIONS, Style};

/// How long it may take to end after the stack has.
const SOON: Duration = Duration::from_secs(10);

/// An application that waits for a stack's links and serves each until its other end is gone.
pub struct Application {
    listener: UnixListener,
    over: Receiver<()>,
    thread: JoinHandle<Result<u64>>,
}

impl Application {
    /// Serves the stack that connects to that socket, by so many links ([`Style::links`]).
    ///
    /// # Errors
    /// [`Error::System`] if a thread cannot be had.
    pub fn start(
        listener: UnixListener,
        style: Style,
        links: usize,
        patience: Option<Patience>,
    ) -> Result<Application> {
        let failed = |e| Error::system("starting the application", e);
        let listens = listener.try_clone().map_err(failed)?;
        let (lasts, over) = sync_channel(0);
        let thread = Builder::new()
            .name("application".into())
            .spawn(move || {
                let _lasts = lasts;
                match style {
                    Style::Asynchronous => rings(accept(&listens)?, patience),
                    Style::Synchronous(_) => threads(&listens, links, patience),
                }
            })
            .map_err(failed)?;
        Ok(Application { listener, over, thread })
    }

    /// Whether it has ended: the stack is gone, or it never came.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Serves until the stack is gone, for as long as that may be. How often the stack was woken, a call of the kernel each.
    ///
    /// # Errors
    /// If the stack broke the rules.
    pub fn served(self) -> Result<u64> {
        joined(self.thread)
    }

    /// Waits until the stack is gone, which it is about to be. How often the stack was woken, a call of the kernel each.
    ///
    /// # Errors
    /// If the stack broke the rules, or is still there after ten seconds.
    pub fn end(self) -> Result<u64> {
        // If the stack never came, nobody is waited for any longer.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        match self.over.recv_timeout(SOON) {
            Err(RecvTimeoutError::Timeout) => {
                Err(trouble(format!("the stack was still there after {SOON:?}")))
            }
            _ => joined(self.thread),
        }
    }
}

fn joined(thread: JoinHandle<Result<u64>>) -> Result<u64> {
    thread.join().unwrap_or_else(|_| Err(trouble("it panicked".into())))
}

/// By rings: one thread, in which a task answers each request as it comes.
fn rings(link: UnixStream, patience: Option<Patience>) -> Result<u64> {
    let limits = Limits { slots: MOST_CONNECTIONS, bytes: BYTES, patience, ..Limits::default() };
    let (incoming, mut dispatcher) = Server::over(link, &limits)?.into_incoming();
    let mut executor = Executor::new(1, dispatcher.rouser());
    executor.spawn(0, answers(&incoming));
    let ran = executor.run(&mut dispatcher);
    ran.map(|()| dispatcher.counts().notices).map_err(|stopped| trouble(stopped.to_string()))
}

async fn answers(incoming: &Incoming<Shared>) {
    let (mut request, mut reply) = ([0; BYTES], [0; BYTES]);
    while let Some(came) = incoming.next().await {
        let (says, bytes) = (came.tag(), incoming.read(&came, &mut request));
        let bytes = answer(&request[..bytes], &mut reply);
        incoming.answer(came, says, &reply[..bytes]);
    }
}

/// By synchronous requests: a thread for each link.
fn threads(listener: &UnixListener, links: usize, patience: Option<Patience>) -> Result<u64> {
    let limits = plain::Limits { bytes: BYTES, patience };
    let served = (0..links).map(|number| {
        let link = accept(listener)?;
        let mut server = plain::Server::over(link, &limits)?;
        Builder::new()
            .name(format!("application {number}"))
            .spawn(move || {
                let served = server.serve(|says, request, reply| (says, answer(request, reply)));
                served.map(|()| server.counts().notices)
            })
            .map_err(|e| Error::system("starting a thread of the application", e))
    });
    let threads: Vec<_> = served.collect::<Result<_>>()?;
    let mut notices = 0;
    for thread in threads {
        match thread.join() {
            Ok(Ok(more)) => notices += more,
            Ok(Err(failed)) => return Err(trouble(failed.to_string())),
            Err(_) => return Err(trouble("a thread panicked".into())),
        }
    }
    Ok(notices)
}

fn trouble(reason: String) -> Error {
    Error::Tenant { tenant: "application".into(), reason }
}
