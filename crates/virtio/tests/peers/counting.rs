//! A device that fills buffers with a number that grows, and tells what it sees.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use std::os::unix::net::UnixStream;
use tollway_virtio::backend::{Chain, Device, Event, Kicks, Port, Reception, Refused, Stopper};
use tollway_virtio::socket::{Listener, Meeting};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// What the device was told.
#[derive(Debug)]
pub enum Seen {
    Connected,
    Started,
    Stopped(usize),
    Anew,
    Refused(usize, Refused),
    Gone(usize),
}

struct Counting {
    seen: Mutex<Sender<Seen>>,
    kicks: Arc<Kicks>,
}

impl Device for Counting {
    fn event(&self, tenant: usize, event: Event<'_>) {
        let seen = match event {
            Event::Connected => Seen::Connected,
            Event::Started(_) => {
                self.kicks.ring();
                Seen::Started
            }
            Event::Stopped(_) => Seen::Stopped(tenant),
            Event::Anew => Seen::Anew,
            Event::Refused(refused) => Seen::Refused(tenant, refused.clone()),
            Event::Gone => Seen::Gone(tenant),
        };
        let _ = self.seen.lock().unwrap().send(seen);
    }
}

/// A device that runs.
pub struct Served {
    folder: tempfile::TempDir,
    seen: Receiver<Seen>,
    stopper: Stopper,
    stop: Arc<AtomicBool>,
    kicks: Arc<Kicks>,
    threads: Vec<JoinHandle<()>>,
}

impl Served {
    pub fn start(tenants: usize) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let at = |tenant: usize| folder.path().join(format!("{tenant}.sock"));
        let meetings =
            (0..tenants).map(|n| Meeting::Listen(Listener::bind(&at(n), 0o600).unwrap())).collect();
        let (sender, seen) = channel();
        let kicks = Arc::new(Kicks::new().unwrap());
        let device = Arc::new(Counting { seen: Mutex::new(sender), kicks: kicks.clone() });
        let reception = Reception::new(device, kicks.clone(), meetings).unwrap();
        let (ports, stopper) = (reception.ports(), reception.stopper());
        let stop = Arc::new(AtomicBool::new(false));
        let (waited, stopped) = (kicks.clone(), stop.clone());
        let threads = vec![
            thread::spawn(move || reception.run().unwrap()),
            thread::spawn(move || work(&ports, &waited, &stopped)),
        ];
        Served { folder, seen, stopper, stop, kicks, threads }
    }

    pub fn socket(&self, tenant: usize) -> PathBuf {
        self.folder.path().join(format!("{tenant}.sock"))
    }

    pub fn connect(&self, tenant: usize) -> UnixStream {
        UnixStream::connect(self.socket(tenant)).unwrap()
    }

    /// Waits until the device is told something.
    pub fn wait_for<T>(&self, wanted: impl Fn(&Seen) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let seen = self.seen.recv_timeout(left).expect("it was not told");
            if let Some(found) = wanted(&seen) {
                return found;
            }
        }
    }

    /// Ends it; its threads must not have panicked.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.stopper.stop();
        self.kicks.ring();
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

fn work(ports: &[Arc<Port>], kicks: &Kicks, stop: &AtomicBool) {
    let (mut kicked, mut chain, mut number) = (Vec::new(), Chain::default(), 0u8);
    while !stop.load(Ordering::Acquire) {
        kicks.wait(&mut kicked, None).unwrap();
        kicked.clear();
        for port in ports {
            let mut rings = port.rings();
            let Some(ring) = &mut rings[0] else { continue };
            while matches!(ring.take(&mut chain), Ok(true)) {
                number = number.wrapping_add(1);
                let memory = ring.memory().clone();
                let bytes = vec![number; chain.room() as usize];
                if chain.fill(&memory, &bytes).is_err() {
                    break;
                }
                ring.give_back(&chain, chain.written());
                ring.call();
                ring.want_kicks(true);
            }
        }
    }
}
