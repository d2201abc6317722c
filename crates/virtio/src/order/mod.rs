//! Whose turn it is, on whatever clock the caller has: by fair shares, by arrival or by rank, with limits.
//!
//! **Fair shares** are start-time fair queueing. Every tenant has a *start tag*: what its turns have cost, divided by its weight. What that is, the caller says: bytes, or time.
//! Whoever wants something and has the smallest tag is next, and is given at most a quantum; then its tag grows by what that cost. *Virtual time* is the tag of
//! the last that was chosen. A tenant that wanted nothing for a while comes back with a tag no smaller than virtual time:
//! it has saved nothing up, and owes nothing. So the server never rests while anybody who may have something wants it, and an
//! idle tenant's share goes to the others in proportion to their weights.
//!
//! **Bound.** Let two tenants f and g want something throughout a stretch of time, unlimited, with weights w and one
//! worker. Then what their turns in it cost, C, differs by no more than the dearest turn D of each:
//!
//! |C(f) / w(f) − C(g) / w(g)| ≤ D(f) / w(f) + D(g) / w(g).
//!
//! (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM 1996, theorem 1. It holds however fast or slowly
//! the server is, which is why this discipline and no other: its rate is anybody's guess.) With several
//! workers turns overlap, and whoever is being served is passed by. For k workers, and two tenants of
//! weight 1 that want a quantum or more each time, simulations never exceed k + 1 quanta in the place of one; it is no theorem. A tenant
//! whose memory is slow to take bytes is passed by for longer, and keeps at most eight quanta of what it missed.
//!
//! **By arrival** the tenant is next that has wanted something for the longest time, **by rank** of those with the lowest rank
//! the one that has: who asks for much gets much, and keeps others waiting. They are there to be compared with.
//!
//! **Limits.** A tenant with a token bucket is passed over while it has no tokens, and comes back like one that was
//! idle.

use crate::Bucket;

/// Who of those that want something is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// Each gets its share.
    #[default]
    Fair,
    /// First come, first served.
    Arrival,
    /// The lowest rank, and among equals the first that came.
    Rank,
}

/// What a tenant is entitled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its part is its weight over the weights of all who want something. 0 is taken as 1.
    pub weight: u32,
    /// Its rank, 0 being the first, where ranks count.
    pub rank: u8,
    /// The most that it gets in a second, and at once, in units of what is given.
    pub limit: Option<(u64, u64)>,
}

impl Default for Share {
    /// Weight 1, the first rank, no limit.
    fn default() -> Self {
        Share { weight: 1, rank: 0, limit: None }
    }
}

/// A turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose.
    pub tenant: usize,
    /// The most that it may have; at least one.
    pub most: usize,
}

/// What a tenant had to wait, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Turns that it had.
    pub turns: u64,
    /// From wanting something to its turn, all of them together, without what it was limited.
    pub total: u64,
    /// The longest of these.
    pub longest: u64,
    /// How long it wanted something and had no tokens.
    pub limited: u64,
}

impl Waits {
    /// Those here, and those there.
    pub fn and(self, other: Waits) -> Waits {
        Waits {
            turns: self.turns + other.turns,
            total: self.total + other.total,
            longest: self.longest.max(other.longest),
            limited: self.limited + other.limited,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Wants something since then.
    Waiting(u64),
    /// Wants something, and has had no tokens since then.
    Limited(u64),
    /// It is its turn. `again`: it was said meanwhile that it wants something.
    Served {
        again: bool,
    },
}

#[derive(Clone, Debug)]
struct Account {
    weight: u32,
    rank: u8,
    bucket: Option<Bucket>,
    state: State,
    /// Its start tag while it wants something; else the tag at which its last turn ended.
    tag: u128,
    /// What it is known to want.
    wanted: usize,
    waits: Waits,
}

/// The scheduler. Times are nanoseconds of a clock that never goes back.
///
/// Looking for the next one takes time in proportion to the number of tenants, which is in the hundreds at most.
#[derive(Clone, Debug)]
pub struct Order {
    discipline: Discipline,
    quantum: usize,
    turn: usize,
    virtual_time: u128,
    accounts: Vec<Account>,
}

/// What costs 1, for a tenant of weight 1, in units of tags: so fine that divisions by weights lose next to nothing.
const ONE: u128 = 1 << 32;

/// How many whole turns a tenant may lag behind virtual time while it is being served.
const KEPT: u128 = 8;

impl Order {
    /// With turns of at most `quantum` (0 is taken as 1), which cost `turn` when they are as long.
    pub fn new(discipline: Discipline, quantum: usize, turn: usize, shares: &[Share], now: u64) -> Order {
        let accounts = shares.iter().map(|share| Account {
            weight: share.weight.max(1),
            rank: share.rank,
            bucket: share.limit.map(|(rate, burst)| Bucket::new(rate, burst, now)),
            state: State::Idle,
            tag: 0,
            wanted: 1,
            waits: Waits::default(),
        });
        Order { discipline, quantum: quantum.max(1), turn, virtual_time: 0, accounts: accounts.collect() }
    }

    /// Changes what a tenant is entitled to from now on.
    pub fn change(&mut self, tenant: usize, share: Share, now: u64) {
        let account = &mut self.accounts[tenant];
        (account.weight, account.rank) = (share.weight.max(1), share.rank);
        match (&mut account.bucket, share.limit) {
            (Some(bucket), Some((rate, burst))) => bucket.change(rate, burst, now),
            (bucket, limit) => *bucket = limit.map(|(rate, burst)| Bucket::new(rate, burst, now)),
        }
    }

    /// A tenant goes, to another order that it goes on in; the tokens that it takes along: it saves up nothing by going.
    pub fn leaves(&mut self, tenant: usize, now: u64) -> Option<Bucket> {
        let account = &mut self.accounts[tenant];
        match account.state {
            State::Limited(since) => account.waits.limited += now.saturating_sub(since),
            State::Waiting(since) => account.waits.total += now.saturating_sub(since),
            State::Idle | State::Served { .. } => {}
        }
        account.state = State::Idle;
        account.bucket.clone()
    }

    /// A tenant comes out of another order, with its tokens.
    pub fn comes_with(&mut self, tenant: usize, tokens: Option<Bucket>) {
        self.accounts[tenant].bucket = tokens;
    }

    /// A tenant wants something.
    pub fn want(&mut self, tenant: usize, now: u64) {
        let virtual_time = self.virtual_time;
        let account = &mut self.accounts[tenant];
        match &mut account.state {
            State::Idle => {
                account.tag = account.tag.max(virtual_time);
                account.state = State::Waiting(now);
            }
            State::Served { again } => *again = true,
            State::Waiting(_) | State::Limited(_) => {}
        }
    }

    /// Whose turn it is, with at most `most` (at least one). It has the turn until [`Order::done`].
    pub fn next(&mut self, most: usize, now: u64) -> Option<Grant> {
        self.look(now);
        let waiting = self.accounts.iter().enumerate().filter_map(|(tenant, account)| match account.state {
            State::Waiting(since) => Some((tenant, account, since)),
            _ => None,
        });
        let first = match self.discipline {
            Discipline::Fair => waiting.min_by_key(|(_, account, _)| account.tag),
            Discipline::Arrival => waiting.min_by_key(|(_, _, since)| *since),
            Discipline::Rank => waiting.min_by_key(|(_, account, since)| (account.rank, *since)),
        };
        let (tenant, _, since) = first?;
        let account = &mut self.accounts[tenant];
        let tokens = account.bucket.as_mut().map_or(u64::MAX, |bucket| bucket.level(now));
        let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
        let most = self.quantum.min(most).min(tokens).max(1);
        let waited = now.saturating_sub(since);
        account.waits.turns += 1;
        account.waits.total += waited;
        account.waits.longest = account.waits.longest.max(waited);
        account.state = State::Served { again: false };
        self.virtual_time = self.virtual_time.max(account.tag);
        Some(Grant { tenant, most })
    }

    /// A turn is over: the tenant took `used` of what is limited, which cost `cost`, and is known to want so much more.
    /// None: it wants no more.
    pub fn done(&mut self, tenant: usize, used: usize, cost: usize, more: Option<u64>, now: u64) {
        let (quantum, turn) = (self.quantum, self.turn);
        let virtual_time = self.virtual_time;
        let account = &mut self.accounts[tenant];
        let State::Served { again } = account.state else { return };
        account.tag += cost as u128 * ONE / u128::from(account.weight);
        if let Some(bucket) = &mut account.bucket {
            bucket.take(used as u64);
        }
        account.wanted = usize::try_from(more.unwrap_or(1)).unwrap_or(usize::MAX).clamp(1, quantum);
        if more.is_some() || again {
            account.tag = account.tag.max(virtual_time.saturating_sub(KEPT * turn as u128 * ONE));
            account.state = State::Waiting(now);
        } else {
            account.state = State::Idle;
            if self.accounts.iter().all(|account| account.state == State::Idle) {
                // The end of a busy period: nobody carries anything over into the next.
                let last = self.accounts.iter().map(|account| account.tag).max();
                self.virtual_time = last.unwrap_or_default().max(virtual_time);
            }
        }
    }

    /// When there is something to do without anybody wanting more: now, when a limited tenant has tokens again, or not
    /// at all.
    pub fn due(&mut self, now: u64) -> Option<u64> {
        self.look(now);
        let mut first = None;
        for account in &mut self.accounts {
            let at = match (account.state, &mut account.bucket) {
                (State::Waiting(_), _) => now,
                (State::Limited(_), Some(bucket)) => bucket.ready_at(account.wanted as u64, now),
                _ => continue,
            };
            first = Some(first.map_or(at, |other: u64| other.min(at)));
        }
        first
    }

    /// What a tenant had to wait so far.
    pub fn waits(&self, tenant: usize, now: u64) -> Waits {
        let account = &self.accounts[tenant];
        let mut waits = account.waits;
        if let State::Limited(since) = account.state {
            waits.limited += now.saturating_sub(since);
        }
        waits
    }

    /// Moves tenants between waiting for their turn and waiting for tokens.
    fn look(&mut self, now: u64) {
        for account in &mut self.accounts {
            let ready = account
                .bucket
                .as_mut()
                .is_none_or(|bucket| bucket.ready_at(account.wanted as u64, now) <= now);
            match account.state {
                State::Waiting(since) if !ready => {
                    account.waits.total += now.saturating_sub(since);
                    account.state = State::Limited(now);
                }
                State::Limited(since) if ready => {
                    account.waits.limited += now.saturating_sub(since);
                    account.tag = account.tag.max(self.virtual_time);
                    account.state = State::Waiting(now);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
