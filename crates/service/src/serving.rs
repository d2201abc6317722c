//! From the start of a service to its end: it says that it is ready, answers who asks for its state, reads its configuration again
//! when a signal asks for that, and ends when one says so.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use serde_json::{Value, json};
use tollway_core::Error;
use tollway_virtio::socket::Listener;

use crate::log::say;
use crate::peer::Peer;
use crate::{Signals, status};

/// A service that runs.
pub trait Service {
    /// What it answers who asks for its state.
    type State: Serialize;

    /// After what time it is looked at although nothing has happened; None: not before something has.
    const LOOK: Option<Timespec> = None;

    /// Looks whether it can go on: whenever something has happened, as when a [`Waker`](crate::Waker) was used.
    ///
    /// # Errors
    /// It cannot.
    fn look(&mut self) -> Result<()>;

    /// Reads its configuration again and takes over what may change; what is different besides, and needs a new start.
    ///
    /// # Errors
    /// What is wrong with it; then nothing changes.
    fn reload(&mut self, config: &Path) -> Result<Vec<&'static str>>;

    /// Its state.
    fn state(&self) -> Self::State;
}

/// Serves until a signal ends it; its state is answered at `status`, and `config` is the file that it is told everything by, if there is
/// one.
///
/// # Errors
/// It cannot go on.
pub fn serve<S: Service>(
    service: &mut S,
    signals: &Signals,
    config: Option<&Path>,
    status: Option<&Listener>,
) -> Result<()> {
    let ended = loop {
        let mut watched = vec![PollFd::new(signals, PollFlags::IN)];
        watched.extend(status.map(|listener| PollFd::new(listener, PollFlags::IN)));
        match poll(&mut watched, S::LOOK.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => break Err(Error::system("waiting for signals", error).into()),
        }
        signals.drain();
        if signals.end() {
            break Ok(());
        }
        if let Err(error) = service.look() {
            break Err(error);
        }
        if signals.take_asked() {
            match config.map(|file| service.reload(file)) {
                None => say("reload", &[("reason", "there is no --config to read again")]),
                Some(Err(error)) => say("reload-refused", &[("reason", &format!("{error:#}"))]),
                Some(Ok(kept)) if kept.is_empty() => say("reloaded", &[("needs-a-new-start", "nothing")]),
                Some(Ok(kept)) => say("reloaded", &[("needs-a-new-start", &kept.join(", "))]),
            }
        }
        if let Some(listener) = status {
            status::answer(listener, || service.state());
        }
    };
    say("stopping", &[]);
    ended
}

/// Says in one line that those can connect who are called `whom`. In JSON it says so much `more`.
///
/// # Errors
/// Standard output is closed.
pub fn say_ready<'a>(
    json: bool,
    whom: &str,
    peers: impl IntoIterator<Item = &'a Peer>,
    status: Option<&Path>,
    more: &[(&str, String)],
) -> Result<()> {
    let at = |path: &Path| path.display().to_string();
    let peers = peers.into_iter().map(|peer| (peer.name.clone(), at(&peer.socket)));
    let line = if json {
        let peers = peers.map(|(name, socket)| (name, socket.into())).collect();
        let mut line = json!({ "ready": true, whom: Value::Object(peers), "status": status.map(at) });
        for (name, value) in more {
            line[*name] = value.as_str().into();
        }
        line.to_string()
    } else {
        let peers: Vec<String> = peers.map(|(name, socket)| format!("{name} at {socket}")).collect();
        let status = status.map_or("no status".into(), |path| format!("status at {}", at(path)));
        format!("ready: {}; {status}", peers.join(", "))
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

/// Has this process as many descriptors as it may: a machine takes a dozen, and the usual limit is 1024.
pub fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Then there are as many as there are.
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use anyhow::bail;
    use rustix::process::{Signal, getpid, kill_process};
    use signal_hook::consts::SIGHUP;

    use super::*;

    /// A service that tells what it was asked, and cannot go on when it is told so.
    struct Told {
        asked: Sender<PathBuf>,
        over: Receiver<()>,
    }

    impl Service for Told {
        type State = u32;

        fn look(&mut self) -> Result<()> {
            if self.over.try_recv().is_ok() {
                bail!("it is over");
            }
            Ok(())
        }

        fn reload(&mut self, config: &Path) -> Result<Vec<&'static str>> {
            self.asked.send(config.into())?;
            Ok(Vec::new())
        }

        fn state(&self) -> u32 {
            42
        }
    }

    #[test]
    fn it_goes_on_until_it_cannot_or_is_told_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.sock");
        let listener = Listener::bind(&path, 0o600).unwrap();
        let ((asked, asks), (end, over), (ended, ends)) = (channel(), channel(), channel());
        let signals = Signals::new(SIGHUP).unwrap();
        let waker = signals.waker().unwrap();
        let signal = |signal| kill_process(getpid(), signal).unwrap();
        thread::scope(|scope| {
            let mut service = Told { asked, over };
            let (signals, listener) = (&signals, &listener);
            let served = scope.spawn(move || {
                let mut serve = || serve(&mut service, signals, Some("serve.toml".as_ref()), Some(listener));
                ended.send(serve().unwrap_err().to_string()).unwrap();
                serve().unwrap();
            });
            let answer = || {
                let mut text = String::new();
                let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
                io::Read::read_to_string(&mut stream, &mut text).unwrap();
                text
            };
            assert_eq!(answer(), "42\n");
            signal(Signal::HUP);
            assert_eq!(asks.recv().unwrap(), PathBuf::from("serve.toml"));
            // Nothing else would have it look.
            end.send(()).unwrap();
            waker.wake();
            assert_eq!(ends.recv().unwrap(), "it is over");
            assert_eq!(answer(), "42\n", "it goes on");
            signal(Signal::TERM);
            served.join().unwrap();
        });
    }
}
