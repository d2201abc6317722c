//! Processes of this very program that play a part: a tenant, or the server.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tollway_entropy::engine::serve::{Options as ServeOptions, Server, Tenant};
use tollway_entropy::engine::source::Source;
use tollway_virtio::frontend::{Frontend, Options};
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

use super::eventually::eventually;
use super::numbered::{Numbered, number};
use super::pause::pause;

const ROLE: &str = "TOLLWAY_TEST_ROLE";
const PLACE: &str = "TOLLWAY_TEST_PLACE";

/// How long anything may take: only a hang takes as long.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A process that plays a part, until it is dropped.
pub struct Player {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Player {
    /// Starts one: `greedy`, `modest` or `server`, at a socket or in a folder.
    pub fn start(role: &str, place: &Path) -> Player {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "player::plays_a_part", "--ignored", "--nocapture", "--quiet"])
            .env(ROLE, role)
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Player { child, said }
    }

    /// Waits until it says a word; what comes after it in that line.
    pub fn hear(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "it ended without saying `{word}`");
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Tells it a line.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends it as nothing can be prepared for.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test of its own: what [`Player::start`] starts.
#[test]
#[ignore = "the tests of this file start it, as a process of their own"]
fn plays_a_part() {
    let Ok(role) = env::var(ROLE) else { return };
    let place = env::var_os(PLACE).unwrap();
    let place = Path::new(&place);
    let (sender, told) = mpsc::channel();
    thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    match role.as_str() {
        "greedy" => greedy(place, &told),
        "modest" => modest(place, &told),
        "server" => server(place, &told),
        other => panic!("{other}"),
    }
}

/// A tenant's books: every word that it got.
struct Books {
    file: File,
    words: u64,
}

impl Books {
    fn new(socket: &Path) -> Books {
        Books {
            file: File::options().append(true).create(true).open(socket.with_extension("words")).unwrap(),
            words: 0,
        }
    }

    /// Takes what is in a buffer, all of it words of the source; wipes it, so that what is there later is new.
    fn take(&mut self, frontend: &Frontend, buffer: u16, bytes: u32) {
        let mut content = vec![0; bytes as usize];
        frontend.copy(buffer, &mut content);
        for word in content.as_chunks::<8>().0 {
            let word = u64::from_ne_bytes(*word);
            assert!(number(word).is_some(), "{word:#x} is no word of the source");
        }
        self.file.write_all(&content).unwrap();
        self.words += u64::from(bytes) / 8;
        frontend.write(buffer, &vec![0; bytes as usize]);
    }
}

/// All words that the tenants of these sockets got.
pub fn words(sockets: &[impl AsRef<Path>]) -> Vec<u64> {
    let mut all = Vec::new();
    for socket in sockets {
        let mut content = Vec::new();
        File::open(socket.as_ref().with_extension("words")).unwrap().read_to_end(&mut content).unwrap();
        all.extend(content.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)));
    }
    all
}

/// Wants as much as it can get, until it is told `rest`; then waits for the next word. If the server goes, it connects
/// anew and tells what it lost.
fn greedy(socket: &Path, told: &mpsc::Receiver<String>) {
    let options = Options { buffers: 64, buffer_bytes: 4096, ..Options::default() };
    let mut frontend = Frontend::connect(socket, &options).unwrap();
    let mut books = Books::new(socket);
    for buffer in 0..options.buffers {
        frontend.offer(buffer, options.buffer_bytes).unwrap();
    }
    frontend.kick();
    println!("ready");
    loop {
        match told.try_recv() {
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return,
            Ok(word) if word == "rest" => {
                while frontend.in_flight() > 0 {
                    if let Some(used) = frontend.wait(PATIENCE).unwrap() {
                        books.take(&frontend, used.buffer, used.bytes);
                    }
                }
                println!("rested {}", books.words);
                let Ok(_) = told.recv() else { return };
                for buffer in 0..options.buffers {
                    frontend.offer(buffer, options.buffer_bytes).unwrap();
                }
                frontend.kick();
                println!("ready");
            }
            Ok(word) => panic!("{word}"),
        }
        match frontend.wait(Duration::from_millis(20)) {
            Ok(Some(used)) => {
                assert_eq!(used.bytes, options.buffer_bytes, "a buffer that is not full");
                books.take(&frontend, used.buffer, used.bytes);
                frontend.offer(used.buffer, options.buffer_bytes).unwrap();
                frontend.kick();
            }
            Ok(None) => {}
            Err(error) => {
                println!("lost the server: {error}");
                let lost = again(&mut frontend);
                // A part of each may have been written; none of it counts.
                for buffer in &lost {
                    frontend.write(*buffer, &[0; 4096]);
                }
                for buffer in 0..options.buffers {
                    frontend.offer(buffer, options.buffer_bytes).unwrap();
                }
                frontend.kick();
                println!("reconnected {}", lost.len());
            }
        }
    }
}

fn again(frontend: &mut Frontend) -> Vec<u16> {
    let mut lost = Vec::new();
    eventually("the next server takes it", || match frontend.reconnect() {
        Ok(buffers) => {
            lost = buffers;
            true
        }
        Err(_) => false,
    });
    lost
}

/// Wants 64 bytes every millisecond, as a Linux guest's driver asks. Says every 100 how many milliseconds the slowest took.
fn modest(socket: &Path, told: &mpsc::Receiver<String>) {
    let options = Options { buffers: 1, buffer_bytes: 64, ..Options::default() };
    let mut frontend = Frontend::connect(socket, &options).unwrap();
    let mut books = Books::new(socket);
    println!("ready");
    let begun = Instant::now();
    let mut slowest = Duration::ZERO;
    for round in 1.. {
        if matches!(told.try_recv(), Err(mpsc::TryRecvError::Disconnected)) {
            return;
        }
        let asked = Instant::now();
        frontend.offer(0, 64).unwrap();
        frontend.kick();
        let used = frontend.wait(PATIENCE).unwrap().expect("nothing came");
        slowest = slowest.max(asked.elapsed());
        books.take(&frontend, used.buffer, used.bytes);
        if round % 100 == 0 {
            println!("round {round} {}", slowest.as_secs_f64() * 1e3);
            slowest = Duration::ZERO;
        }
        let next = begun + Duration::from_millis(round);
        pause(next.saturating_duration_since(Instant::now()));
    }
}

/// A server of two tenants, `a.sock` and `b.sock` in a folder, whose words begin where a file says.
fn server(folder: &Path, told: &mpsc::Receiver<String>) {
    let _server = serve(folder, &["a", "b"], vec![Box::new(Numbered::starting(RATE, first_word(folder)))]);
    println!("ready");
    while told.recv().is_ok() {}
}

/// Bytes a second of a server that is a process.
const RATE: u64 = 8_000_000;

/// Each server that is started in a folder begins with other words.
fn first_word(folder: &Path) -> u64 {
    let mut file = File::options().append(true).create(true).open(folder.join("starts")).unwrap();
    file.write_all(b".").unwrap();
    file.metadata().unwrap().len() << 32
}

/// Tenants of these names, all alike, at sockets in a folder.
pub fn tenants(folder: &Path, names: &[&str]) -> Vec<Tenant> {
    let tenant = |name: &&str| Tenant {
        name: (*name).into(),
        meeting: Meeting::Listen(Listener::bind(&folder.join(format!("{name}.sock")), 0o600).unwrap()),
        share: Share::default(),
    };
    names.iter().map(tenant).collect()
}

/// A server for them.
pub fn serve(folder: &Path, names: &[&str], sources: Vec<Box<dyn Source>>) -> Server {
    let tell = |told| println!("{told:?}");
    Server::start(tenants(folder, names), sources, ServeOptions::default(), tell).unwrap()
}
