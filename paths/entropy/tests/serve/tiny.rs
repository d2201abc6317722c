//! A tenant that asks by single bytes takes the worker's time and next to none of its bytes: it is no more than a tenant.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tollway_entropy::engine::serve::Server;
use tollway_entropy::engine::source::Getrandom;
use tollway_virtio::frontend::{Frontend, Options};

use super::pause::pause;
use super::player::serve;

/// Keeps its queue full of buffers of that size, in a thread of its own, until it is dropped.
struct Greedy {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Greedy {
    fn start(socket: &Path, buffers: u16, bytes: u32) -> Greedy {
        let options = Options { buffers, buffer_bytes: bytes, ..Options::default() };
        let mut frontend = Frontend::connect(socket, &options).unwrap();
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let ask = move || {
            for buffer in 0..buffers {
                frontend.offer(buffer, bytes).unwrap();
            }
            frontend.kick();
            while !stopped.load(Ordering::Relaxed) {
                let Some(used) = frontend.wait(Duration::from_millis(20)).unwrap() else { continue };
                assert_eq!(used.bytes, bytes);
                frontend.offer(used.buffer, bytes).unwrap();
                frontend.kick();
            }
        };
        Greedy { stop, thread: Some(thread::spawn(ask)) }
    }
}

impl Drop for Greedy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

/// Bytes a second of the first tenant.
fn rate(server: &Server) -> f64 {
    pause(Duration::from_millis(100));
    let before = server.status();
    pause(Duration::from_millis(500));
    let after = server.status();
    let bytes = after.tenants[0].counts.bytes - before.tenants[0].counts.bytes;
    bytes as f64 / (after.seconds - before.seconds)
}

#[test]
fn who_asks_by_single_bytes_leaves_others_their_share() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &["victim", "other"], vec![Box::new(Getrandom::default())]);
    let at = |name: &str| folder.path().join(format!("{name}.sock"));
    let _victim = Greedy::start(&at("victim"), 64, 4096);
    let (mut like, mut tiny) = (0.0f64, 0.0f64);
    // Turn by turn, as whatever else this machine does comes and goes.
    for _ in 0..3 {
        let other = Greedy::start(&at("other"), 64, 4096);
        like += rate(&server);
        drop(other);
        let other = Greedy::start(&at("other"), 1024, 1);
        tiny += rate(&server);
        drop(other);
    }
    let status = server.status();
    println!("{:.1} MB/s beside a like one, {:.1} beside single bytes; {status:?}", like / 3e6, tiny / 3e6);
    assert!(status.tenants[1].counts.requests > 1000, "it has not asked");
    // Where only bytes are charged the victim has a hundredth.
    assert!(tiny >= 0.2 * like, "{tiny} of {like}");
}
