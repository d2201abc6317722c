//! Whose turn it is: start-time fair queueing, with limits, on whatever clock the caller has.
//!
//! Every tenant has a *start tag*: what its turns have cost, divided by its weight. A turn costs the bytes that it brought,
//! or what the worker could have drawn in the time that it took to hand them out, if that is more: who asks by single
//! bytes takes time and no bytes. Where the source is slow, time costs little. Whoever wants bytes and has the
//! smallest tag is next, and is given at most a quantum; then its tag grows by what that cost. *Virtual time* is the tag of
//! the last that was chosen. A tenant that wanted nothing for a while comes back with a tag no smaller than virtual time:
//! it has saved nothing up, and owes nothing. So the server never rests while anybody who may have something wants it, and an
//! idle tenant's share goes to the others in proportion to their weights.
//!
//! **Bound.** Let two tenants f and g want bytes throughout a stretch of time, unlimited, with weights w and one
//! worker. Then what their turns in it cost, C, differs by no more than the dearest turn D of each:
//!
//! |C(f) / w(f) − C(g) / w(g)| ≤ D(f) / w(f) + D(g) / w(g).
//!
//! Of those whose turns take less time than it takes to draw as much, as those of usual guests do, C is the bytes that
//! they got, and D a quantum. No turn of a [`Server`](super::Server) costs more than sixteen quanta.
//!
//! (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM 1996, theorem 1. It holds however fast or slowly
//! the source gives, which is why this discipline and no other: a generator's rate is anybody's guess.) With several
//! workers turns overlap while bytes are copied, and whoever is being served is passed by. For k workers, and two tenants of
//! weight 1 that want a quantum or more each time, simulations never exceed k + 1 quanta in the place of one; it is no theorem. A tenant
//! whose memory is slow to take bytes is passed by for longer, and keeps at most eight quanta of what it missed.
//!
//! **Limits.** A tenant with a token bucket is passed over while it has no tokens, and comes back like one that was
//! idle.

use tollway_virtio::Bucket;

/// What a tenant is entitled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its part is its weight over the weights of all who want something. 0 is taken as 1.
    pub weight: u32,
    /// The most that it gets in a second, and at once, in bytes.
    pub limit: Option<(u64, u64)>,
}

impl Default for Share {
    /// Weight 1, no limit.
    fn default() -> Self {
        Share { weight: 1, limit: None }
    }
}

/// A turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose.
    pub tenant: usize,
    /// The most that it may have, in bytes; at least one.
    pub bytes: usize,
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
    bucket: Option<Bucket>,
    state: State,
    /// Its start tag while it wants something; else the tag at which its last turn ended.
    tag: u128,
    /// Bytes that it is known to want.
    wanted: usize,
    waits: Waits,
}

/// The scheduler. Times are nanoseconds of a clock that never goes back.
///
/// Looking for the next one takes time in proportion to the number of tenants, which is in the hundreds at most.
#[derive(Clone, Debug)]
pub struct Fair {
    quantum: usize,
    virtual_time: u128,
    accounts: Vec<Account>,
}

/// A byte for a tenant of weight 1, in units of tags: so fine that divisions by weights lose next to nothing.
const BYTE: u128 = 1 << 32;

/// How many quanta a tenant may lag behind virtual time while it is being served.
const KEPT: u128 = 8;

impl Fair {
    /// With turns of at most `quantum` bytes (0 is taken as 1).
    pub fn new(quantum: usize, shares: &[Share], now: u64) -> Fair {
        let accounts = shares.iter().map(|share| Account {
            weight: share.weight.max(1),
            bucket: share.limit.map(|(rate, burst)| Bucket::new(rate, burst, now)),
            state: State::Idle,
            tag: 0,
            wanted: 1,
            waits: Waits::default(),
        });
        Fair { quantum: quantum.max(1), virtual_time: 0, accounts: accounts.collect() }
    }

    /// Changes what a tenant is entitled to from now on.
    pub fn change(&mut self, tenant: usize, share: Share, now: u64) {
        let account = &mut self.accounts[tenant];
        account.weight = share.weight.max(1);
        match (&mut account.bucket, share.limit) {
            (Some(bucket), Some((rate, burst))) => bucket.change(rate, burst, now),
            (bucket, limit) => *bucket = limit.map(|(rate, burst)| Bucket::new(rate, burst, now)),
        }
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

    /// Whose turn it is, with at most `most` bytes (at least one). It has the turn until [`Fair::done`].
    pub fn next(&mut self, most: usize, now: u64) -> Option<Grant> {
        self.look(now);
        let waiting = |(_, account): &(usize, &Account)| matches!(account.state, State::Waiting(_));
        let first = self.accounts.iter().enumerate().filter(waiting).min_by_key(|(_, account)| account.tag);
        let (tenant, _) = first?;
        let account = &mut self.accounts[tenant];
        let State::Waiting(since) = account.state else { return None };
        let tokens = account.bucket.as_mut().map_or(u64::MAX, |bucket| bucket.level(now));
        let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
        let bytes = self.quantum.min(most).min(tokens).max(1);
        let waited = now.saturating_sub(since);
        account.waits.turns += 1;
        account.waits.total += waited;
        account.waits.longest = account.waits.longest.max(waited);
        account.state = State::Served { again: false };
        self.virtual_time = self.virtual_time.max(account.tag);
        Some(Grant { tenant, bytes })
    }

    /// A turn is over: the tenant took `used` bytes, which cost as much as `cost` bytes, and is known to want so many more.
    /// None: it wants no more.
    pub fn done(&mut self, tenant: usize, used: usize, cost: usize, more: Option<u64>, now: u64) {
        let quantum = self.quantum;
        let virtual_time = self.virtual_time;
        let account = &mut self.accounts[tenant];
        let State::Served { again } = account.state else { return };
        account.tag += cost as u128 * BYTE / u128::from(account.weight);
        if let Some(bucket) = &mut account.bucket {
            bucket.take(used as u64);
        }
        account.wanted = usize::try_from(more.unwrap_or(1)).unwrap_or(usize::MAX).clamp(1, quantum);
        if more.is_some() || again {
            account.tag = account.tag.max(virtual_time.saturating_sub(KEPT * quantum as u128 * BYTE));
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
