//! One running QEMU: its process, what it says, its clock, and the ports to its agents.

use std::io::Error as IoError;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tollway_core::{Error, Result};
use tollway_host::clock::RunClock;

use super::clock::GuestClock;
use super::console::Console;
use crate::Agent;
use crate::agent::{ITSELF, hello};
use crate::connection::Connection;
use crate::protocol::{Answer, Hello, Reply};

/// How often a process is asked whether it has ended.
const ASK: Duration = Duration::from_millis(2);

/// A guest, as it and its agents share it.
pub(crate) struct Machine {
    /// How errors call it.
    name: String,
    pid: Pid,
    process: Mutex<Child>,
    /// It was killed, though it may take a moment to end.
    killed: AtomicBool,
    console: Console,
    clock: Mutex<GuestClock>,
    /// The guest powers off when this closes, whoever closes it.
    lifeline: UnixStream,
    ports: Vec<Port>,
}

/// A port of its virtio-serial device.
struct Port {
    socket: UnixStream,
    state: Mutex<State>,
}

/// What is known of the agent process on a port that nobody uses.
enum State {
    /// It is new, and has said this if it has been heard yet. These bytes were read beyond that.
    Fresh { hello: Option<Hello>, read: Vec<u8> },
    /// It was told to end; its answer, and the hello of the next one, are still to come behind these bytes.
    Ending { read: Vec<u8> },
    /// Somebody uses it, or it could not be told to end.
    Taken,
}

impl Machine {
    pub(super) fn new(
        name: String,
        process: Child,
        console: Console,
        lifeline: UnixStream,
        ports: Vec<UnixStream>,
    ) -> Self {
        let fresh =
            |socket| Port { socket, state: Mutex::new(State::Fresh { hello: None, read: Vec::new() }) };
        Machine {
            name,
            pid: Pid::from_child(&process),
            process: Mutex::new(process),
            killed: AtomicBool::new(false),
            console,
            clock: Mutex::new(GuestClock::default()),
            lifeline,
            ports: ports.into_iter().map(fresh).collect(),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    pub(super) fn ports(&self) -> usize {
        self.ports.len()
    }

    pub(crate) fn clock(&self) -> MutexGuard<'_, GuestClock> {
        held(&self.clock)
    }

    /// Waits for the hello of every agent that nobody has taken.
    pub(super) fn wait_for_hellos(&self, deadline: Instant) -> Result<()> {
        for number in 0..self.ports.len() {
            let mut state = held(&self.ports[number].state);
            if matches!(*state, State::Taken) {
                continue;
            }
            let (mut connection, hello) = self.fresh(number, &mut state, deadline)?;
            *state = State::Fresh { hello: Some(hello), read: connection.leftover() };
        }
        Ok(())
    }

    /// A fresh agent process, which is the caller's until it drops it.
    pub(super) fn agent(self: &Arc<Self>, number: usize, deadline: Instant) -> Result<Agent> {
        let Some(port) = self.ports.get(number) else {
            return Err(self.error(format!("it has {} agents, and no number {number}", self.ports.len())));
        };
        let mut state = held(&port.state);
        let (connection, hello) = self.fresh(number, &mut state, deadline)?;
        Ok(Agent::in_guest(connection, hello, self.clone(), number))
    }

    /// Takes the agent of a port, which is not the one that was told to end. Where that fails the machine is killed:
    /// what a port says then can no longer be told apart.
    fn fresh(&self, number: usize, state: &mut State, deadline: Instant) -> Result<(Connection, Hello)> {
        let (heard, read, ending) = match std::mem::replace(state, State::Taken) {
            State::Fresh { hello, read } => (hello, read, false),
            State::Ending { read } => (None, read, true),
            State::Taken => {
                return Err(self.error(format!("agent {number} is in use, or could not be ended")));
            }
        };
        let outcome = self.ports[number]
            .socket
            .try_clone()
            .map_err(|e| e.to_string())
            .map(|socket| Connection::new(socket, read))
            .and_then(|mut connection| {
                if ending {
                    until_ended(&mut connection, deadline)?;
                }
                let hello = match heard {
                    Some(hello) => hello,
                    None => hello(&mut connection, deadline)?,
                };
                fits(&hello, number)?;
                Ok((connection, hello))
            });
        outcome.map_err(|reason| {
            // What it says tells more than how it ended once it is killed.
            self.settle();
            let how = self.ended().map(|status| format!(" ({status})")).unwrap_or_default();
            let error = self.error(format!("agent {number}: {reason}{how}"));
            self.kill();
            error
        })
    }

    /// Takes a port back from an agent that is no longer used.
    pub(crate) fn free(&self, number: usize, read: Vec<u8>, told_to_end: bool) {
        if told_to_end {
            *held(&self.ports[number].state) = State::Ending { read };
        }
    }

    /// An error of this guest, with what it said last.
    pub(crate) fn error(&self, reason: String) -> Error {
        let reason = match self.console.last_lines() {
            Some(lines) => format!("{reason}; its console ends: {lines}"),
            None => reason,
        };
        Error::Tenant { tenant: self.name.clone(), reason }
    }

    /// How QEMU ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        held(&self.process).try_wait().ok().flatten().map(|status| format!("QEMU: {status}"))
    }

    /// Whether nothing more is to be had of it: it has ended, or will in a moment.
    pub(super) fn is_lost(&self) -> bool {
        self.killed.load(Ordering::Relaxed) || self.ended().is_some()
    }

    /// Waits for the end of a process whose ports have closed: it comes a moment later, or where others have the processors some seconds.
    fn settle(&self) {
        let closed =
            |port: &Port| rustix::net::recv(&port.socket, &mut [0; 1], PEEK).is_ok_and(|(n, _)| n == 0);
        if self.ports.iter().any(closed) {
            self.wait(Duration::from_secs(10));
        }
    }

    /// Ends the process at once; its agents will find their ports closed.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        // An error means that it has ended.
        let _ = held(&self.process).kill();
    }

    /// Kills it, and waits until nothing is left.
    pub(super) fn end(&self) {
        let mut process = held(&self.process);
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Whether it ends by itself within that time.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let give_up = Instant::now() + patience;
        while self.ended().is_none() {
            if Instant::now() >= give_up {
                return false;
            }
            sleep(ASK);
        }
        true
    }

    /// Closes our end of the lifeline, which is how a guest is told to power off.
    pub(super) fn hang_up(&self) {
        // One that is closed is what is wanted.
        let _ = self.lifeline.shutdown(Shutdown::Both);
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        // Under the lock, so that the number is still this process's.
        let mut process = held(&self.process);
        match process.try_wait() {
            Ok(None) => kill_process(self.pid, signal).map_err(|e| Error::system("signalling QEMU", e)),
            Ok(Some(status)) => {
                drop(process);
                Err(self.error(format!("it has ended (QEMU: {status})")))
            }
            Err(e) => Err(Error::system("asking for QEMU's end", e)),
        }
    }
}

const PEEK: rustix::net::RecvFlags = rustix::net::RecvFlags::PEEK.union(rustix::net::RecvFlags::DONTWAIT);

/// Reads over what an agent says before it confirms its end.
fn until_ended(connection: &mut Connection, deadline: Instant) -> Result<(), String> {
    let explain = |e: IoError| match e.kind() {
        std::io::ErrorKind::TimedOut => "it did not end in time".into(),
        _ => e.to_string(),
    };
    loop {
        let line = connection.line(deadline).map_err(explain)?.ok_or("it ended before its agent did")?;
        match serde_json::from_slice::<Reply>(&line) {
            Ok(Reply { actor: ITSELF, answer: Answer::Ended }) => return Ok(()),
            Ok(_) => {}
            // One that crashed has been replaced before it could be told to end; its successor ends in its place.
            Err(error) => drop(serde_json::from_slice::<Hello>(&line).map_err(|_| error.to_string())?),
        }
        // Lines that are there already are read however late it is: who never stops talking must not hold us.
        if Instant::now() >= deadline {
            return Err(explain(std::io::ErrorKind::TimedOut.into()));
        }
    }
}

/// Whether an agent can be used: it counts by our clock and sits where we think.
fn fits(hello: &Hello, port: usize) -> Result<(), String> {
    let ours = RunClock::chosen();
    if hello.counts != ours {
        return Err(format!("it counts by {}, this program by {}", hello.counts.name(), ours.name()));
    }
    if hello.port.map(|port| port as usize) != Some(port) {
        return Err(format!("it says that it speaks on port {:?}", hello.port));
    }
    Ok(())
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::Command;

    use crate::eventually::eventually;
    use tollway_core::{Clock, Ticks, Window};

    use super::super::keeper;
    use crate::protocol::{self, Command as To, Request, VERSION};

    /// A machine of which the test is the agent: its process only waits to be killed.
    struct Fake {
        machine: Arc<Machine>,
        inside: UnixStream,
        _lifeline: UnixStream,
        requests: BufReader<UnixStream>,
    }

    impl Fake {
        fn new() -> Self {
            let mut command = Command::new("sleep");
            command.arg("600");
            let process = keeper::start(command, Vec::new()).unwrap();
            let (ours, inside) = UnixStream::pair().unwrap();
            let (lifeline, _lifeline) = UnixStream::pair().unwrap();
            let (console, mut said) = UnixStream::pair().unwrap();
            said.write_all(b"first words\nlast words\n").unwrap();
            let console = Console::new(console).unwrap();
            eventually("it has been read", || {
                console.last_lines().is_some_and(|lines| lines.ends_with("last words"))
            });
            let machine = Arc::new(Machine::new("fake".into(), process, console, lifeline, vec![ours]));
            inside.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let requests = BufReader::new(inside.try_clone().unwrap());
            Fake { machine, inside, _lifeline, requests }
        }

        fn says(&mut self, line: &str) {
            self.inside.write_all(line.as_bytes()).unwrap();
            self.inside.write_all(b"\n").unwrap();
        }

        fn says_hello(&mut self, before: Option<&str>) {
            let hello = Hello { before: before.map(String::from), ..fit() };
            protocol::send(&mut self.inside, &hello).unwrap();
        }

        fn replies(&mut self, actor: u32, answer: Answer) {
            protocol::send(&mut self.inside, &Reply { actor, answer }).unwrap();
        }

        fn hears(&mut self) -> Request {
            let mut line = String::new();
            self.requests.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        }

        fn is_killed(&self) -> bool {
            self.machine.wait(Duration::from_secs(60))
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            self.machine.end();
        }
    }

    fn fit() -> Hello {
        Hello {
            protocol: VERSION,
            program: "0".into(),
            build: String::new(),
            pid: 7,
            counts: RunClock::chosen(),
            clock: 1,
            kernel: "6".into(),
            port: Some(0),
            before: None,
        }
    }

    /// For what does not come.
    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(300)
    }

    /// For what comes.
    fn in_a_minute() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn who_says_something_else_than_hello_is_killed_and_quoted() {
        let text = |hello: Hello| serde_json::to_string(&hello).unwrap();
        let other_clock = match RunClock::chosen() {
            RunClock::Tsc => RunClock::MonotonicRaw,
            RunClock::MonotonicRaw => RunClock::Tsc,
        };
        for (line, why) in [
            ("rubbish".into(), "no agent"),
            ("{}".into(), "no agent"),
            (String::new(), "no agent"),
            ("\u{0}\u{1}\u{7f}".into(), "no agent"),
            (r#"{"protocol":1,"program":"0.1.0","pid":7,"clock":5}"#.into(), "make agent"),
            (format!(r#"{{"protocol":{VERSION}}}"#), "no agent"),
            (text(Hello { port: Some(1), ..fit() }), "port Some(1)"),
            (text(Hello { port: None, ..fit() }), "port None"),
            (text(Hello { counts: other_clock, ..fit() }), "it counts by"),
        ] {
            let mut fake = Fake::new();
            fake.says(&line);
            let error = fake.machine.wait_for_hellos(in_a_minute()).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("fake"), "{line:?}: {error}");
            assert!(error.contains("first words | last words"), "{line:?}: {error}");
            assert!(fake.is_killed(), "{line:?}");
            assert!(fake.machine.agent(0, soon()).is_err());
        }
    }

    #[test]
    fn who_says_nothing_or_half_is_killed_in_time() {
        for half in ["", "{\"protocol\":2,\"prog"] {
            let mut fake = Fake::new();
            fake.inside.write_all(half.as_bytes()).unwrap();
            let begun = Instant::now();
            let error = fake.machine.agent(0, soon()).err().unwrap().to_string();
            assert!(error.contains("in time"), "{error}");
            // At once, though the process may not have been reaped: who asks next must not be given this one.
            assert!(fake.machine.is_lost());
            assert!(begun.elapsed() < Duration::from_secs(60) && fake.is_killed());
        }
    }

    #[test]
    fn who_ends_says_how() {
        let fake = Fake::new();
        fake.machine.kill();
        fake.inside.shutdown(Shutdown::Both).unwrap();
        let error = fake.machine.wait_for_hellos(in_a_minute()).unwrap_err().to_string();
        assert!(error.contains("signal: 9"), "{error}");
    }

    #[test]
    fn an_agent_that_breaks_the_protocol_costs_its_guest_its_life() {
        type Deed = fn(&mut Fake);
        let deeds: [(Deed, &str); 5] = [
            (|_| {}, "did not answer in time"),
            (|fake| fake.says("rubbish"), "expected value"),
            (|fake| fake.says(r#"{"actor":3,"answer":{"ran":{"cpu_ns":-1}}}"#), "agent 0"),
            (|fake| fake.replies(4, Answer::Made), "actor 4 answered for actor 3"),
            (|fake| protocol::send(&mut fake.inside, &Hello { port: None, ..fit() }).unwrap(), "agent 0"),
        ];
        for (deed, why) in deeds {
            let mut fake = Fake::new();
            fake.says_hello(None);
            let mut agent = fake.machine.agent(0, in_a_minute()).unwrap();
            deed(&mut fake);
            let until = if why.ends_with("in time") { soon() } else { in_a_minute() };
            let error = agent.ask(3, To::Finish, until).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
            assert!(fake.is_killed(), "{why}");
        }
    }

    #[test]
    fn an_agent_that_crashed_is_told_apart_and_its_successor_is_used() {
        let mut fake = Fake::new();
        fake.says_hello(None);
        let mut agent = fake.machine.agent(0, in_a_minute()).unwrap();
        fake.says_hello(Some("signal: 11"));
        let error = agent.ask(3, To::Finish, in_a_minute()).unwrap_err().to_string();
        assert!(error.contains("it ended (signal: 11)"), "{error}");
        assert!(!fake.machine.wait(Duration::from_millis(200)));
        drop(agent);
        assert_eq!(fake.hears().command, To::Finish);
        assert_eq!(fake.hears(), Request { actor: ITSELF, command: To::End });
        // Late words of the old one, then the new one's.
        fake.replies(3, Answer::Made);
        fake.replies(ITSELF, Answer::Ended);
        protocol::send(&mut fake.inside, &Hello { pid: 9, ..fit() }).unwrap();
        assert_eq!(fake.machine.agent(0, in_a_minute()).unwrap().hello().pid, 9);
    }

    #[test]
    fn an_agent_that_does_not_end_is_not_waited_for_without_end() {
        let mut fake = Fake::new();
        fake.says_hello(None);
        drop(fake.machine.agent(0, in_a_minute()).unwrap());
        let error = fake.machine.agent(0, soon()).err().unwrap().to_string();
        assert!(error.contains("did not end in time"), "{error}");
        assert!(fake.is_killed());
    }

    #[test]
    fn a_port_has_one_agent_at_a_time() {
        let mut fake = Fake::new();
        fake.says_hello(None);
        let _agent = fake.machine.agent(0, in_a_minute()).unwrap();
        let error = fake.machine.agent(0, soon()).err().unwrap().to_string();
        assert!(error.contains("in use"), "{error}");
        assert!(fake.machine.agent(1, soon()).err().unwrap().to_string().contains("no number 1"));
    }

    /// Answers the questions for a clock with what `theirs` makes of this machine's.
    fn asked_for_clock(mut fake: Fake, theirs: fn(Ticks) -> Ticks) -> Fake {
        loop {
            match fake.hears().command {
                To::Clock => {
                    let now = RunClock::chosen().now();
                    fake.replies(ITSELF, Answer::Clock(theirs(now)));
                }
                _ => return fake,
            }
        }
    }

    #[test]
    fn windows_are_told_in_the_guests_clock() {
        let mut fake = Fake::new();
        fake.says_hello(None);
        let mut agent = fake.machine.agent(0, in_a_minute()).unwrap();
        let window =
            Window { warm: 1 << 50, open: (1 << 50) + 10, close: (1 << 50) + 20, batch: 3, planted: 4 };
        assert!(agent.send(1, To::Run(window)).unwrap_err().to_string().contains("not known"));
        let answering = std::thread::spawn(|| asked_for_clock(fake, |ours| ours.wrapping_sub(1 << 40)));
        agent.synchronise().unwrap();
        agent.send(1, To::Finish).unwrap();
        let mut fake = answering.join().unwrap();
        agent.send(1, To::Run(window)).unwrap();
        let To::Run(told) = fake.hears().command else { panic!() };
        let expected = (1 << 50) - (1 << 40);
        assert!(told.warm.abs_diff(expected) <= agent.uncertainty(), "{told:?}");
        assert_eq!((told.open - told.warm, told.close - told.warm, told.batch), (10, 20, 3));
    }

    #[test]
    fn a_clock_of_another_rate_is_refused() {
        let mut fake = Fake::new();
        fake.says_hello(None);
        let mut agent = fake.machine.agent(0, in_a_minute()).unwrap();
        let answering = std::thread::spawn(|| asked_for_clock(fake, |ours| ours / 2));
        let mut error = String::new();
        eventually("the rates are compared", || {
            error = agent.synchronise().err().map(|error| error.to_string()).unwrap_or_default();
            !error.is_empty()
        });
        assert!(error.contains("rate"), "{error}");
        agent.send(1, To::Finish).unwrap();
        drop(answering.join().unwrap());
    }
}
