//! The connection to a keeper on another host: one client of ssh, which carries the words of the keeper and of all its
//! agents. Each agent's are handed on by a pair of sockets, so that its coordinator speaks to it as to any other.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};

use super::address::Address;
use super::trouble::{Heard, NO_CLIENT};
use super::words::{self, KEEPER, OPENING, Order, Word};
use super::{script, trouble};
use crate::protocol::LONGEST_LINE;

/// The environment variable that names another client than `ssh`, with options: words for a shell, as GIT_SSH_COMMAND.
pub const CLIENT: &str = "TOLLWAY_SSH";

/// What the client is told besides: it asks for nothing, gives up on a host that does not answer or falls
/// silent, shares no connection with others, has nothing of this machine reached from there, and runs no
/// command but ours, whatever the user's configuration has for that host (ssh_config(5)). `LogLevel` is the
/// default: a client that is quiet tells no reason.
const OPTIONS: [&str; 13] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=3",
    "ServerAliveCountMax=3",
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "Tunnel=no",
    "LogLevel=INFO",
];

/// Runs the client that WORDS name. What else of a configuration could keep our command from being run or
/// heard is known since OpenSSH 8.7; an older client refuses what it does not know, so it is asked what it
/// is.
const CLIENT_SCRIPT: &str = r#"first() { client=$1; }; first WORDS;
command -v "$client" >/dev/null 2>&1 || { echo "NO_CLIENT $client" >&2; exit 127; };
newer=; case $("$client" -V 2>&1 </dev/null) in OpenSSH_8.[789]*|OpenSSH_9*|OpenSSH_[1-9][0-9]*)
newer="-o SessionType=default -o StdinNull=no -o ForkAfterAuthentication=no";; esac;
exec WORDS $newer "$@""#;

/// How long the connection, the copy and the keeper's start may take.
const OPENED: Duration = Duration::from_secs(300);

/// How long an order's answer may take; probes of requirements are the longest.
const ANSWERED: Duration = Duration::from_secs(20);

/// How long an agent's coordinator may take to read what its agent said, before that is no longer handed on.
const TAKEN: Duration = Duration::from_secs(5);

/// How long the client may take to end when nothing more is said.
const ENDED: Duration = Duration::from_secs(10);

/// Lines that a login may print before the keeper says hello.
const PRINTED: usize = 1000;

/// What is kept of what the client and programs there say on standard error, in bytes.
const SAID: usize = 8 << 10;

/// A connection.
pub(super) struct Link {
    name: String,
    to: Mutex<Option<ChildStdin>>,
    client: Mutex<Child>,
    said: Mutex<Vec<u8>>,
    /// The last that a login printed on standard output before any hello: a shell that refuses may say so
    /// there.
    printed: Mutex<String>,
    /// The sockets by which agents' words are handed on.
    agents: Mutex<HashMap<u32, Arc<UnixStream>>>,
    /// How those ended that have.
    ended: Mutex<HashMap<u32, String>>,
    lost: Mutex<Option<String>>,
    /// One order at a time.
    answers: Mutex<Receiver<Word>>,
}

pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Reaches the host, has this agent run there as a keeper, and waits for its hello, which is returned as it came.
    ///
    /// # Errors
    /// [`Error::Missing`] with what keeps the agent from running there, and the remedy.
    pub(super) fn open(address: &Address, agent: &Path) -> Result<(Arc<Link>, Vec<u8>)> {
        let doing = |e| Error::system(format!("reading {}", agent.display()), e);
        let program = fs::read(agent).map_err(doing)?;
        let mut client = client(address, &script::command(program.len() as u64)?)
            .spawn()
            .map_err(|e| Error::system("starting the client of ssh", e))?;
        let (to, from, errors) = (client.stdin.take(), client.stdout.take(), client.stderr.take());
        let (tell, answers) = channel();
        let link = Arc::new(Link {
            name: address.to_string(),
            to: Mutex::new(to),
            client: Mutex::new(client),
            said: Mutex::default(),
            printed: Mutex::default(),
            agents: Mutex::default(),
            ended: Mutex::default(),
            lost: Mutex::default(),
            answers: Mutex::new(answers),
        });
        let (open, opened) = channel();
        let complaining = errors.map(|errors| {
            let link = link.clone();
            thread::spawn(move || link.keep_what_is_said(errors))
        });
        if let Some(from) = from {
            let link = link.clone();
            thread::spawn(move || {
                let why = link.listen(BufReader::new(from), &open, &tell);
                link.is_lost(why, || complaining.as_ref().is_none_or(thread::JoinHandle::is_finished));
            });
        }
        // Where it is not taken the client says why.
        let copied = thread::spawn({
            let link = link.clone();
            move || held(&link.to).as_mut().is_some_and(|to| to.write_all(&program).is_ok())
        });
        let hello = match opened.recv_timeout(OPENED) {
            Ok(hello) => hello,
            Err(late) => {
                link.end_client(if late == RecvTimeoutError::Timeout { Duration::ZERO } else { ENDED });
                let ended = match late {
                    RecvTimeoutError::Timeout => format!("nothing came in {} s", OPENED.as_secs()),
                    RecvTimeoutError::Disconnected => link.how_client_ended(),
                };
                // What it said last is there once the thread that listens is done.
                until(|| link.why_lost().is_some());
                let said = String::from_utf8_lossy(&held(&link.said)).into_owned();
                let heard = Heard { said: &said, printed: &held(&link.printed), ended: &ended };
                return Err(Error::Missing(trouble::before_hello(address, &client_words(), &heard)));
            }
        };
        if !copied.join().unwrap_or_default() {
            return Err(link.error("it said hello before it was there".into()));
        }
        thread::spawn({
            let link = Arc::downgrade(&link);
            move || {
                while let Some(link) = link.upgrade() {
                    if link.order(&Order::Beat).is_err() {
                        return;
                    }
                    drop(link);
                    thread::sleep(words::BEAT);
                }
            }
        });
        Ok((link, hello))
    }

    /// Has an agent's words handed on between this socket and the connection, until either closes.
    pub(super) fn hand_on(self: &Arc<Self>, number: u32, socket: UnixStream, start: &Order) -> Result<()> {
        let doing = |e| Error::system("handing on what agents say", e);
        socket.set_write_timeout(Some(TAKEN)).map_err(doing)?;
        let socket = Arc::new(socket);
        held(&self.agents).insert(number, socket.clone());
        self.order(start)?;
        let link = self.clone();
        let hand_on = move || {
            let mut from = BufReader::new(&*socket);
            while let Ok(Some(line)) = words::line(&mut from) {
                if link.say(number, &line).is_err() {
                    break;
                }
            }
            // Where this fails all agents there end.
            let _ = link.order(&Order::Stop(number));
        };
        thread::Builder::new().name(format!("agent {number}")).spawn(hand_on).map(drop).map_err(doing)
    }

    /// Gives an order that nothing is answered to.
    pub(super) fn order(&self, order: &Order) -> Result<()> {
        let line = serde_json::to_vec(order).map_err(|e| Error::system("writing an order", e))?;
        self.say(KEEPER, &line)
    }

    /// Gives an order and waits for its answer.
    pub(super) fn ask(&self, order: &Order) -> Result<Word> {
        let answers = held(&self.answers);
        self.order(order)?;
        match answers.recv_timeout(ANSWERED) {
            Ok(word) => Ok(word),
            Err(RecvTimeoutError::Disconnected) => Err(self.error("it ended".into())),
            Err(RecvTimeoutError::Timeout) => {
                // A late answer would be taken for that of another order.
                Err(self.give_up(format!("nothing was heard from there in {} s", ANSWERED.as_secs())))
            }
        }
    }

    /// Ends the connection for this reason.
    pub(super) fn give_up(&self, reason: String) -> Error {
        held(&self.lost).get_or_insert(reason.clone());
        self.end_client(Duration::ZERO);
        self.error(reason)
    }

    /// Nobody asks after this agent any longer.
    pub(super) fn forget(&self, number: u32) {
        held(&self.agents).remove(&number);
        held(&self.ended).remove(&number);
    }

    /// How an agent ended; `None` where it has not.
    pub(super) fn how_ended(&self, number: u32) -> Option<String> {
        held(&self.ended).get(&number).cloned()
    }

    /// Why there is no connection any longer.
    pub(super) fn why_lost(&self) -> Option<String> {
        held(&self.lost).clone()
    }

    /// The error of this host; why the connection was lost says more than what was found because of it.
    pub(super) fn error(&self, reason: String) -> Error {
        let reason = match self.why_lost() {
            Some(lost) => format!("the connection was lost: {lost}"),
            None => reason,
        };
        Error::Tenant { tenant: self.name.clone(), reason }
    }

    /// Says no more: the keeper ends, and with it the client, which is waited for.
    pub(super) fn close(&self) {
        held(&self.lost).get_or_insert_with(|| "it was closed".into());
        drop(held(&self.to).take());
        self.end_client(ENDED);
    }

    fn say(&self, number: u32, line: &[u8]) -> Result<()> {
        let said = match held(&self.to).as_mut() {
            Some(to) => words::say(to, number, line).map_err(|e| e.to_string()),
            None => Err("it was closed".into()),
        };
        said.map_err(|reason| {
            // The thread that listens is about to hear the end, and why.
            until(|| self.why_lost().is_some());
            self.error(reason)
        })
    }

    /// Hands on what comes, until it ends; returns why.
    fn listen(
        &self,
        mut from: BufReader<ChildStdout>,
        open: &Sender<Vec<u8>>,
        tell: &Sender<Word>,
    ) -> String {
        let hello = hello(&mut from, |line| *held(&self.printed) = line);
        match hello.map(|hello| open.send(hello)) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return "it came too late".into(),
            Err(reason) => {
                if !reason.is_empty() {
                    *held(&self.printed) = reason.clone();
                }
                return reason;
            }
        }
        loop {
            let (number, line) = match words::heard(&mut from) {
                Ok(Some(heard)) => heard,
                Ok(None) => return String::new(),
                Err(error) => {
                    // Nothing that comes after this could be told apart.
                    self.end_client(Duration::ZERO);
                    return error.to_string();
                }
            };
            if number != KEEPER {
                self.hand_to(number, line);
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(Word::Ended { number, how }) => {
                    if held(&self.agents).contains_key(&number) {
                        held(&self.ended).insert(number, how);
                        self.hang_up(number);
                    }
                }
                Ok(word) => {
                    if tell.send(word).is_err() {
                        return String::new();
                    }
                }
                Err(error) => {
                    self.end_client(Duration::ZERO);
                    return format!("it says what this program does not know: {error}");
                }
            }
        }
    }

    fn hand_to(&self, number: u32, mut line: Vec<u8>) {
        let Some(socket) = held(&self.agents).get(&number).cloned() else { return };
        line.push(b'\n');
        if (&*socket).write_all(&line).is_err() {
            self.hang_up(number);
        }
    }

    fn hang_up(&self, number: u32) {
        if let Some(socket) = held(&self.agents).get(&number) {
            // Then it is closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Takes down why the connection ended, once all was read that was said of it, and lets all that wait hear of it.
    fn is_lost(&self, why: String, all_is_read: impl Fn() -> bool) {
        self.end_client(ENDED);
        until(all_is_read);
        let said = String::from_utf8_lossy(&held(&self.said)).into_owned();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(String::from);
        let reason = match (why.is_empty(), last) {
            (false, _) => why,
            (true, Some(last)) => last,
            (true, None) => format!("ssh ended ({})", self.how_client_ended()),
        };
        held(&self.lost).get_or_insert(reason);
        let numbers: Vec<u32> = held(&self.agents).keys().copied().collect();
        numbers.into_iter().for_each(|number| self.hang_up(number));
    }

    fn keep_what_is_said(&self, mut errors: ChildStderr) {
        let mut some = [0; 1024];
        loop {
            match errors.read(&mut some) {
                Ok(0) => return,
                Ok(read) => {
                    let mut said = held(&self.said);
                    said.extend_from_slice(&some[..read]);
                    let beyond = said.len().saturating_sub(SAID);
                    said.drain(..beyond);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Waits so long for the client to end; then it is killed.
    fn end_client(&self, patience: Duration) {
        let give_up = Instant::now() + patience;
        loop {
            let mut client = held(&self.client);
            match client.try_wait() {
                Ok(None) if Instant::now() < give_up => {}
                Ok(None) => {
                    // An error means that it has ended just now.
                    let _ = client.kill();
                    let _ = client.wait();
                    return;
                }
                _ => return,
            }
            drop(client);
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn how_client_ended(&self) -> String {
        match held(&self.client).try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "it has not ended".into(),
        }
    }
}

/// Waits until this is so, but not for long.
fn until(it_is_so: impl Fn() -> bool) {
    let give_up = Instant::now() + ENDED;
    while !it_is_so() && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The client and its options as the user has them.
fn client_words() -> String {
    env::var(CLIENT).ok().filter(|words| !words.trim().is_empty()).unwrap_or_else(|| "ssh".into())
}

/// The client of ssh with this command for the host's shell.
fn client(address: &Address, command: &str) -> Command {
    let script = CLIENT_SCRIPT.replace("NO_CLIENT", NO_CLIENT).replace("WORDS", &client_words());
    let mut client = Command::new("sh");
    client.arg("-c").arg(script).arg("sh").args(["-T", "-x", "-a"]);
    for option in OPTIONS {
        client.args(["-o", option]);
    }
    if let Some(port) = address.port() {
        client.args(["-p", &port.to_string()]);
    }
    client.args(["--", &address.destination(), command]);
    // Ctrl-C is for the coordinator, which lets the running trial end.
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    client
}

/// The keeper's hello, behind whatever the login prints, each line of which is handed to `printed`.
fn hello(from: &mut impl BufRead, mut printed: impl FnMut(String)) -> Result<Vec<u8>, String> {
    for _ in 0..PRINTED {
        let mut line = Vec::new();
        from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|e| e.to_string())?;
        let is_whole = line.pop_if(|last| *last == b'\n').is_some();
        match line.strip_prefix(OPENING.as_bytes()) {
            Some(hello) if is_whole => return Ok(hello.to_vec()),
            _ if line.len() as u64 == LONGEST_LINE => return Err("a line is too long".into()),
            Some(_) => return Err("the line was cut short".into()),
            None => {
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                if !text.is_empty() {
                    printed(text);
                }
            }
        }
        if !is_whole {
            return Err(String::new());
        }
    }
    Err(format!("it prints more than {PRINTED} lines at login"))
}
