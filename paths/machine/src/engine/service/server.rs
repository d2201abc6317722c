//! The server: a thread with a runtime, a listener on loopback, and limits on what anybody may ask of it.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tollway_core::{Error, Result};

use super::database::{Keep, Refused};
use super::routes::Common;

/// The most headers of a request, and bytes of all of them.
const HEADERS: usize = 32;
const HEAD_BYTES: usize = 16 << 10;

/// How long nobody is accepted after that failed, for want of descriptors as a rule.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// What a client may ask for.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once; others wait to be accepted.
    pub connections: u32,
    /// Bytes of a request's body.
    pub body: usize,
    /// How long the head of a request may take to come, from when the last was answered, how long a request may take with its body,
    /// and how long a client may leave answers unread.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 512, body: 4 << 10, patience: Duration::from_secs(10) }
    }
}

/// A server that runs; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<Served>>,
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Answers that it gave.
    pub answers: u64,
    /// Those among them for which its database failed.
    pub failures: u64,
}

impl Server {
    /// Starts one at a free port of loopback, with an empty database.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is no place for the database, [`Error::System`] where it cannot be opened or no port is to be had.
    pub fn start(keep: Keep, limits: Limits) -> Result<Server> {
        let (ready, address) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let body = move || serve(&keep, &limits, &ready, stopped);
        let thread = thread::Builder::new()
            .name("users".into())
            .spawn(body)
            .map_err(|e| Error::system("starting the service's thread", e))?;
        let address = address
            .recv()
            .unwrap_or_else(|_| Err(Error::system("starting the service", "its thread ended at once")))?;
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits so long for its clients to leave, and ends it.
    ///
    /// # Errors
    /// [`Error::Wrong`] where it panicked.
    pub fn stop(mut self, patience: Duration) -> Result<Served> {
        self.end(patience).ok_or_else(|| Error::Wrong("the service panicked".into()))
    }

    fn end(&mut self, patience: Duration) -> Option<Served> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(patience);
        }
        self.thread.take()?.join().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// The server's thread.
fn serve(
    keep: &Keep,
    limits: &Limits,
    ready: &mpsc::Sender<Result<SocketAddr>>,
    stopped: oneshot::Receiver<Duration>,
) -> Served {
    let begun = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::system("starting the service's runtime", e))
        .and_then(|runtime| {
            let opened = runtime.block_on(open(keep, limits))?;
            Ok((runtime, opened))
        });
    let (runtime, (listener, address, common)) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let _ = ready.send(Err(error));
            return Served::default();
        }
    };
    runtime.block_on(async {
        let room = Arc::new(Semaphore::new(limits.connections as usize));
        let accepting = tokio::spawn(accept(listener, common.clone(), room.clone()));
        let _ = ready.send(Ok(address));
        let patience = stopped.await.unwrap_or_default();
        // All the room there is: nobody is left.
        let _ = timeout(patience, room.acquire_many(limits.connections)).await;
        accepting.abort();
        common.users.discard().await;
        Served {
            answers: common.answers.load(Ordering::Relaxed),
            failures: common.failures.load(Ordering::Relaxed),
        }
    })
}

async fn open(keep: &Keep, limits: &Limits) -> Result<(TcpListener, SocketAddr, Arc<Common>)> {
    let users = keep.open().await.map_err(|refused| match refused {
        Refused::Nowhere(missing) => Error::Missing(missing),
        other => Error::system("opening the service's database", other),
    })?;
    let refused = |e| Error::system("listening on loopback", e);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let (answers, failures) = (AtomicU64::new(0), AtomicU64::new(0));
    let Limits { body, patience, .. } = *limits;
    Ok((listener, address, Arc::new(Common { users, patience, body, answers, failures })))
}

/// Takes in connections, as long as there is room.
async fn accept(listener: TcpListener, common: Arc<Common>, room: Arc<Semaphore>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(AFTER_FAILURE).await;
            continue;
        };
        let Ok(place) = room.clone().acquire_owned().await else { return };
        let common = common.clone();
        tokio::spawn(async move {
            if prepare(&stream, common.patience).is_ok() {
                let answer = async |request| Ok::<_, Infallible>(common.answer(request).await);
                // A client that breaks off or breaks the protocol is no trouble of the service's.
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(common.patience)
                    .max_headers(HEADERS)
                    .max_buf_size(HEAD_BYTES)
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
            }
            drop(place);
        });
    }
}

/// No waiting for more to send, and an end to a client that does not read.
fn prepare(stream: &TcpStream, patience: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let patience = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    Ok(sockopt::set_tcp_user_timeout(stream, patience)?)
}
