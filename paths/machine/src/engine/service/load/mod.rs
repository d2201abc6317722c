//! Clients that create, query, update, delete and list users without end, from one thread, each over a connection of its own.

mod connection;
mod owner;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use tollway_core::{Clock, Error, Result, Ticks};
use tollway_load::Poisson;

use super::routes::PAGE;
use super::user::User;
use connection::{Answer, Connection, Request};
pub use owner::Kind;
use owner::Owner;

/// How long an answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How the service answers where it fails, and says why (RFC 9110, section 15.6.1).
const FAILED: u16 = 500;

/// The longest sleep: whether to go on is asked after each.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// When requests begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A client begins one when its last has been answered and it has thought for a while: exponential, of this mean, in seconds.
    Closed {
        /// The mean of it; 0 is no while at all.
        think: f64,
    },
    /// So many a second, independent of each other, whichever client is free; where none is they wait, and have begun nevertheless.
    Open {
        /// Requests a second.
        rate: f64,
    },
}

/// A request that was answered, and rightly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// What it was for.
    pub kind: Kind,
    /// When it began, or was to.
    pub begun: Ticks,
    /// When its answer had come.
    pub ended: Ticks,
}

/// The clients.
pub struct Load {
    clients: Vec<Client>,
    epoll: std::os::fd::OwnedFd,
}

struct Client {
    connection: Connection,
    owner: Owner,
    /// When the request that is on its way began.
    begun: Option<Ticks>,
}

impl Load {
    /// So many clients of the server there. What they do is drawn of `seed`.
    ///
    /// # Errors
    /// [`Error::System`] where it takes no connections.
    pub fn connect(server: SocketAddr, clients: usize, seed: u64) -> Result<Load> {
        let refused = |e: io::Error| Error::system(format!("connecting to {server}"), e);
        let watching = |e| Error::system("watching connections", e);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(watching)?;
        let clients = (0..clients.max(1))
            .map(|number| {
                let connection = Connection::open(server).map_err(refused)?;
                let data = epoll::EventData::new_u64(number as u64);
                epoll::add(&epoll, &connection, data, epoll::EventFlags::IN).map_err(watching)?;
                Ok(Client { connection, owner: Owner::new(number, seed), begun: None })
            })
            .collect::<Result<_>>()?;
        Ok(Load { clients, epoll })
    }

    /// Works from now on as long as `goes_on` says, and then waits for what is on its way. `hz` is the rate of the clock. Returns how
    /// late requests were sent, all together: by sleeping too long, and in an open loop by waiting for a client that is free.
    ///
    /// # Errors
    /// [`Error::Wrong`] where an answer is not what it must be, or none comes; [`Error::System`] where the service says that it failed.
    pub fn drive<C: Clock>(
        &mut self,
        clock: C,
        hz: f64,
        pace: Pace,
        seed: u64,
        mut goes_on: impl FnMut(Ticks) -> bool,
        mut done: impl FnMut(Done),
    ) -> Result<Ticks> {
        let mut turns = Turns::begin(pace, self.clients.len(), hz, seed, clock.now());
        let mut events = Vec::with_capacity(self.clients.len());
        let (mut flying, mut late, mut heard) = (0, 0, clock.now());
        loop {
            let open = goes_on(clock.now());
            while open && let Some((number, due)) = turns.due(clock.now()) {
                // A closed loop's request begins when it is sent.
                let sent = clock.now();
                late += sent.saturating_sub(due);
                let begun = if matches!(pace, Pace::Open { .. }) { due } else { sent };
                self.clients[number].ask(begun)?;
                flying += 1;
            }
            if !open && flying == 0 {
                return Ok(late);
            }
            let now = clock.now();
            let wait = turns.next().filter(|_| open).map_or(LONGEST_SLEEP, |due| {
                Duration::from_secs_f64(due.saturating_sub(now) as f64 / hz).min(LONGEST_SLEEP)
            });
            self.wait(&mut events, wait)?;
            for event in events.drain(..) {
                let number = event.data.u64() as usize;
                let client = &mut self.clients[number];
                let Some(answer) = client.connection.receive().map_err(broken)? else { continue };
                let ended = clock.now();
                heard = ended;
                let begun = client.begun.take().ok_or_else(|| Error::Wrong("an answer to nothing".into()))?;
                if answer.status == FAILED {
                    let said = String::from_utf8_lossy(&answer.body);
                    return Err(Error::system("asking the service, which failed", said));
                }
                let kind = client.owner.check(&answer).map_err(Error::Wrong)?;
                flying -= 1;
                done(Done { kind, begun, ended });
                turns.free(number, clock.now(), client.owner.random());
            }
            if flying > 0 && clock.now().saturating_sub(heard) as f64 > PATIENCE.as_secs_f64() * hz {
                return Err(Error::Wrong(format!("{flying} requests were not answered in {PATIENCE:?}")));
            }
            if flying == 0 {
                heard = clock.now();
            }
        }
    }

    fn wait(&self, events: &mut Vec<epoll::Event>, longest: Duration) -> Result<()> {
        let longest =
            Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&longest)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("waiting for answers", error)),
        }
    }

    /// Whether the service has the users of these clients and no others: to be asked when nothing is on its way and nobody else has
    /// used it. Returns how many there are.
    ///
    /// # Errors
    /// [`Error::Wrong`] where it has not.
    pub fn holds(&mut self) -> Result<usize> {
        let owned = self.clients.iter().flat_map(|client| client.owner.users());
        let mut owned: Vec<User> = owned.cloned().collect();
        owned.sort_by_key(|user| user.id);
        let mut kept: Vec<User> = Vec::new();
        loop {
            let after = kept.last().map_or(0, |user| user.id);
            let target = format!("/users?after={after}&limit={PAGE}");
            let answer = self.clients[0].fetch(&Request { method: "GET", target, body: None })?;
            let page: Vec<User> = serde_json::from_slice(&answer.body)
                .map_err(|e| Error::Wrong(format!("a list was answered by {}: {e}", answer.status)))?;
            if page.is_empty() {
                break;
            }
            if page[0].id <= after {
                return Err(Error::Wrong("a list begins before where it was asked to".into()));
            }
            kept.extend(page);
        }
        if kept == owned {
            return Ok(kept.len());
        }
        let odd = kept.iter().find(|user| !owned.contains(user));
        let odd = odd.or_else(|| owned.iter().find(|user| !kept.contains(user)));
        Err(Error::Wrong(format!(
            "the service has {} users, its clients own {}; {odd:?} is not the same with both",
            kept.len(),
            owned.len()
        )))
    }
}

impl Client {
    fn ask(&mut self, begun: Ticks) -> Result<()> {
        let request = self.owner.next();
        self.begun = Some(begun);
        self.connection.send(&request).map_err(broken)
    }

    /// Asks and waits.
    fn fetch(&mut self, request: &Request) -> Result<Answer> {
        self.connection.send(request).map_err(broken)?;
        let longest = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        loop {
            if let Some(answer) = self.connection.receive().map_err(broken)? {
                return Ok(answer);
            }
            let mut readable = [PollFd::new(&self.connection, PollFlags::IN)];
            match poll(&mut readable, Some(&longest)) {
                Ok(0) => return Err(Error::Wrong(format!("no answer came in {PATIENCE:?}"))),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::system("waiting for an answer", error)),
            }
        }
    }
}

fn broken(error: io::Error) -> Error {
    Error::Wrong(format!("a connection to the service broke: {error}"))
}

/// Whose turn it is, and when.
enum Turns {
    /// Clients by the moment at which they have thought enough.
    Closed { think: f64, thinking: BinaryHeap<Reverse<(Ticks, usize)>> },
    /// The moments at which requests begin, and who is free.
    Open { starts: Box<Poisson>, begun: Ticks, next: Ticks, free: Vec<usize> },
}

impl Turns {
    fn begin(pace: Pace, clients: usize, hz: f64, seed: u64, now: Ticks) -> Turns {
        match pace {
            Pace::Closed { think } => {
                let thinking = (0..clients).map(|number| Reverse((now, number))).collect();
                Turns::Closed { think: think * hz, thinking }
            }
            Pace::Open { rate } => {
                let mut starts = Box::new(Poisson::with_mean(hz / rate, seed));
                let next = now.saturating_add(starts.next().unwrap_or(Ticks::MAX));
                Turns::Open { starts, begun: now, next, free: (0..clients).rev().collect() }
            }
        }
    }

    /// A client whose turn it is, and since when.
    fn due(&mut self, now: Ticks) -> Option<(usize, Ticks)> {
        match self {
            Turns::Closed { thinking, .. } => {
                thinking.peek().filter(|Reverse((due, _))| *due <= now)?;
                thinking.pop().map(|Reverse((due, number))| (number, due))
            }
            Turns::Open { starts, begun, next, free } => {
                if *next > now {
                    return None;
                }
                let (number, due) = (free.pop()?, *next);
                *next = begun.saturating_add(starts.next().unwrap_or(Ticks::MAX));
                Some((number, due))
            }
        }
    }

    /// When it is somebody's next.
    fn next(&self) -> Option<Ticks> {
        match self {
            Turns::Closed { thinking, .. } => thinking.peek().map(|Reverse((due, _))| *due),
            Turns::Open { next, free, .. } => (!free.is_empty()).then_some(*next),
        }
    }

    /// A client has its answer. `random` is between 0 and 1.
    fn free(&mut self, number: usize, now: Ticks, random: f64) {
        match self {
            Turns::Closed { think, thinking } => {
                let think = -(1.0 - random).ln() * *think;
                thinking.push(Reverse((now.saturating_add(think as Ticks), number)));
            }
            Turns::Open { free, .. } => free.push(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_thinks_has_no_turn_and_no_two_of_one_client_are_on_their_way() {
        let mut turns = Turns::begin(Pace::Closed { think: 1.0 }, 2, 1000.0, 1, 50);
        assert_eq!((turns.due(50), turns.due(50), turns.due(50)), (Some((0, 50)), Some((1, 50)), None));
        assert_eq!(turns.next(), None);
        // ln 2 of a mean of a thousand ticks.
        turns.free(1, 100, 0.5);
        assert_eq!((turns.due(792), turns.next(), turns.due(793)), (None, Some(793), Some((1, 793))));
    }

    #[test]
    fn in_an_open_loop_requests_begin_when_they_are_to_and_wait_for_who_is_free() {
        let mut turns = Turns::begin(Pace::Open { rate: 10.0 }, 1, 1000.0, 1, 5000);
        let first = turns.next().unwrap();
        assert!(first > 5000 && turns.due(first - 1).is_none());
        assert_eq!(turns.due(first), Some((0, first)));
        // The next is due and nobody is free.
        assert_eq!((turns.due(Ticks::MAX - 1), turns.next()), (None, None));
        turns.free(0, Ticks::MAX - 1, 0.5);
        let (_, second) = turns.due(Ticks::MAX - 1).unwrap();
        assert!(second > first && second < first + 2000, "{first} {second}");
    }
}
