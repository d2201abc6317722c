//! A device of several queues that gives every buffer back with what was in it, reversed; and answers messages of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollway_virtio::backend::{Answer, Chain, Device, Event, Inside, Kicks, Port, Reception, Ring, Stopper};
use tollway_virtio::socket::{Listener, Meeting};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// How many queues it has.
pub const QUEUES: usize = 3;

/// Its messages: one that is answered with its body reversed, and one that has no answer.
pub const ASKED: u32 = 26;
pub const TOLD: u32 = 27;

/// A feature bit of the protocol that it has.
pub const FEATURE: u64 = 1 << 7;

#[derive(Debug, Default)]
pub struct Mirror {
    /// The bodies of the messages that have no answer.
    pub told: Mutex<Vec<Vec<u8>>>,
    /// What happened, by tenant.
    pub events: Mutex<Vec<(usize, String)>>,
    pub kicks: Option<Arc<Kicks>>,
}

impl Device for Mirror {
    fn queues(&self) -> usize {
        QUEUES
    }

    fn protocol_features(&self) -> u64 {
        FEATURE
    }

    fn answer(&self, _tenant: usize, request: u32, body: &[u8]) -> Option<Answer> {
        match request {
            ASKED => Some(Answer::Body(body.iter().rev().copied().collect())),
            TOLD => {
                self.told.lock().unwrap().push(body.to_vec());
                Some(Answer::Done)
            }
            _ => None,
        }
    }

    fn event(&self, tenant: usize, event: Event<'_>) {
        self.events.lock().unwrap().push((tenant, format!("{event:?}")));
        if let (Event::Started(_), Some(kicks)) = (event, &self.kicks) {
            kicks.ring();
        }
    }
}

/// A device of which nobody serves the queues: where its only tenant enters, and its queues.
pub fn idle() -> (Inside, Arc<Port>) {
    let kicks = Arc::new(Kicks::new().unwrap());
    let reception = Reception::new(Arc::new(Mirror::default()), kicks, vec![Meeting::Inside]).unwrap();
    (reception.inside(0).unwrap(), reception.ports().remove(0))
}

/// Serves what is there; how many.
pub fn serve(ring: &mut Ring, chain: &mut Chain) -> usize {
    let mut served = 0;
    while ring.take(chain).unwrap() {
        let mut bytes = vec![0; chain.readable() as usize];
        let memory = ring.memory().clone();
        chain.read(&memory, 0, &mut bytes).unwrap();
        bytes.reverse();
        chain.fill(&memory, &bytes).unwrap();
        ring.give_back(chain, chain.written());
        ring.call();
        served += 1;
    }
    served
}

/// The device with a thread that serves: one tenant at a socket, and one in this process.
pub struct Served {
    folder: tempfile::TempDir,
    pub device: Arc<Mirror>,
    pub inside: Inside,
    stopper: Stopper,
    stop: Arc<AtomicBool>,
    kicks: Arc<Kicks>,
    threads: Vec<JoinHandle<()>>,
}

impl Served {
    pub fn start() -> Served {
        let folder = tempfile::tempdir().unwrap();
        let listener = Listener::bind(&folder.path().join("a.sock"), 0o600).unwrap();
        let kicks = Arc::new(Kicks::new().unwrap());
        let device = Arc::new(Mirror { kicks: Some(kicks.clone()), ..Mirror::default() });
        let reception =
            Reception::new(device.clone(), kicks.clone(), vec![Meeting::Listen(listener), Meeting::Inside])
                .unwrap();
        let (inside, ports) = (reception.inside(1).unwrap(), reception.ports());
        assert!(reception.inside(0).is_none(), "it is at a socket");
        let (stopper, stop) = (reception.stopper(), Arc::new(AtomicBool::new(false)));
        let (waited, stopped) = (kicks.clone(), stop.clone());
        let threads = vec![
            thread::spawn(move || reception.run().unwrap()),
            thread::spawn(move || work(&ports, &waited, &stopped)),
        ];
        Served { folder, device, inside, stopper, stop, kicks, threads }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("a.sock")
    }

    /// Waits until something happened to a tenant.
    pub fn wait_for(&self, tenant: usize, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.device.events.lock().unwrap().iter().any(|(who, what)| *who == tenant && what == wanted) {
            assert!(Instant::now() < deadline, "{wanted}: {:?}", self.device.events);
            thread::yield_now();
        }
    }

    pub fn stop(&mut self) {
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
            self.stop();
        }
    }
}

fn work(ports: &[Arc<Port>], kicks: &Kicks, stop: &AtomicBool) {
    let (mut kicked, mut chain) = (Vec::new(), Chain::default());
    while !stop.load(Ordering::Acquire) {
        kicks.wait(&mut kicked, None).unwrap();
        kicked.clear();
        for port in ports {
            for ring in port.rings().iter_mut().flatten() {
                loop {
                    serve(ring, &mut chain);
                    if !ring.want_kicks(true) {
                        break;
                    }
                }
            }
        }
    }
}
