//! The application over Linux's TCP by io_uring: connections and what arrives at them come by operations that were asked for once
//! (multishot accept and receipt), replies of many connections go by one call of the kernel.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tollway_channel::coroutine::{Driver, Executor, Spawner};
use tollway_channel::linux::kernel::{File, Kernel, Options, Ring};
use tollway_channel::ring::Violation;
use tollway_channel::wait::{Gone, Patience};
use tollway_core::{Error, Result};

use super::super::message::BYTES;
use super::super::stack::MOST_CONNECTIONS;
use super::{Begun, Served, begins};

/// How long a reply of several messages may be, and what arrives at a time, in bytes: 32 messages.
const PIECE: usize = 32 * BYTES;

/// Operations at a time: what arrives and a reply for each connection, connections, and the word to stop.
const OPERATIONS: usize = 2 * MOST_CONNECTIONS + 2;

pub(super) fn serves(
    listener: TcpListener,
    stop: &Arc<OwnedFd>,
    patience: Option<Patience>,
    tell: &Sender<()>,
) -> Result<Served> {
    let options = Options {
        operations: OPERATIONS,
        buffers: MOST_CONNECTIONS,
        bytes: PIECE,
        pieces: MOST_CONNECTIONS,
        piece_bytes: PIECE,
        patience,
        ..Options::default()
    };
    let ring = Ring::open(&options)?;
    let kernel = ring.kernel();
    let stops = stop.try_clone().map_err(|e| Error::system("passing on an eventfd", e))?;
    let (stops, listener) = (kernel.file(stops), kernel.file(listener));
    let state = State::default();
    let mut executor = Executor::new(MOST_CONNECTIONS + 2, ring.rouser());
    let spawner = executor.spawner();
    executor.spawn(0, stopped(&kernel, &stops, &state));
    executor.spawn(0, accepts(&kernel, &listener, spawner, &state));
    begins(tell);
    let mut stopping = Stopping { ring, state: &state };
    // The tasks that are left have nothing to wait for when it is stopped.
    let ran = executor.run(&mut stopping);
    drop(executor);
    match (state.stopped.get(), ran, state.fault.take()) {
        (true, _, None) => Ok(Served { replies: state.replies.get(), waits: stopping.ring.counts().entries }),
        (_, _, Some(fault)) => Err(fault),
        (false, ran, None) => {
            let reason = ran.map_or_else(|stopped| stopped.to_string(), |()| "it ended".into());
            Err(Error::Tenant { tenant: "TCP server".into(), reason })
        }
    }
}

/// What tasks tell their thread.
#[derive(Default)]
struct State {
    stopped: std::cell::Cell<bool>,
    replies: std::cell::Cell<u64>,
    fault: std::cell::Cell<Option<Error>>,
}

/// The ring, until it is stopped.
struct Stopping<'s> {
    ring: Ring,
    state: &'s State,
}

impl Driver for Stopping<'_> {
    fn turn(&mut self) -> std::result::Result<bool, Violation> {
        self.ring.turn()
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> std::result::Result<(), Gone> {
        if self.state.stopped.get() { Err(Gone) } else { self.ring.wait(is_ready) }
    }
}

/// Is over when somebody says so.
async fn stopped(kernel: &Kernel, stops: &File, state: &State) {
    // POLLIN (poll(2)); an error would be that there is no such descriptor.
    let _ = kernel.poll(stops, 1).await;
    state.stopped.set(true);
}

async fn accepts<'s>(kernel: &'s Kernel, listener: &'s File, spawner: Spawner<'s>, state: &'s State) {
    let mut accepting = kernel.accepting(listener);
    while !state.stopped.get() {
        match accepting.next().await {
            Ok(connection) => {
                let stream = TcpStream::from(connection);
                // Where it fails replies come later, and that shows.
                let _ = stream.set_nodelay(true);
                // Where there is no room for one more, it is closed.
                spawner.spawn(0, serves_one(kernel, kernel.file(stream), state));
            }
            // It was given up while it waited (accept(2)).
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                state.fault.set(Some(Error::system("taking a connection", error)));
                state.stopped.set(true);
            }
        }
    }
}

/// Answers what comes over one connection until it ends.
async fn serves_one(kernel: &Kernel, socket: File, state: &State) {
    let (mut receiving, mut begun) = (kernel.receiving(&socket), Begun::new());
    while let Ok(Some(piece)) = receiving.next().await {
        let mut out = kernel.buffer().await;
        let mut length = 0;
        let all = begun.answers(&piece, |reply| {
            out[length..length + BYTES].copy_from_slice(reply);
            length += BYTES;
        });
        drop(piece);
        state.replies.set(state.replies.get() + (length / BYTES) as u64);
        // What was begun and the piece are one message longer than the piece at the most, and end with a message not whole then.
        if !all || (length > 0 && !sends(kernel, &socket, out, length).await) {
            return;
        }
    }
}

/// Sends the beginning of a buffer; whether all of it went.
async fn sends(
    kernel: &Kernel,
    socket: &File,
    mut out: tollway_channel::linux::kernel::Buffer,
    mut length: usize,
) -> bool {
    loop {
        out.set_len(length);
        match kernel.send(socket, out).await {
            Ok((sent, _)) if sent >= length => return true,
            Ok((0, _)) | Err(_) => return false,
            Ok((sent, back)) => {
                out = back;
                out.copy_within(sent..length, 0);
                length -= sent;
            }
        }
    }
}
