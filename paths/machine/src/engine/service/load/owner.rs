//! A client's mind: which users it owns, what it asks for next, and what must be answered.
//!
//! Nobody else changes its users, so it knows exactly what a query has to bring; of a list it knows which of its own must be there and
//! which must not.

use std::collections::VecDeque;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::connection::{Answer, Request};
use crate::engine::service::user::{Draft, User};

/// The most users that a client owns: one more is not created, but one deleted.
const MOST: usize = 32;

/// How many that were deleted it keeps in mind.
const GONE: usize = 8;

/// Users of one list.
const PAGE: usize = 10;

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A new user.
    Create,
    /// One user.
    Query,
    /// A user's new name and mail.
    Update,
    /// A user's end.
    Delete,
    /// Some users in a row.
    List,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Create, Kind::Query, Kind::Update, Kind::Delete, Kind::List];

    /// Of a hundred requests so many are of each kind, in the order of [`ALL`](Kind::ALL): as many are created as deleted.
    pub const SHARES: [u32; 5] = [15, 40, 25, 15, 5];

    /// The name in presets and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Create => "create",
            Kind::Query => "query",
            Kind::Update => "update",
            Kind::Delete => "delete",
            Kind::List => "list",
        }
    }

    fn of_share(mut share: u32) -> Kind {
        for (kind, of) in Kind::ALL.into_iter().zip(Kind::SHARES) {
            if share < of {
                return kind;
            }
            share -= of;
        }
        Kind::Query
    }
}

/// What was asked, as far as the answer is to be held against it.
#[derive(Clone, Debug)]
enum Asked {
    Create(Draft),
    Query(usize),
    /// One that was deleted.
    Gone(i64),
    Update(usize, Draft),
    Delete(usize),
    /// Beginning with one's own.
    List(usize),
}

pub(super) struct Owner {
    number: usize,
    serial: u64,
    users: Vec<User>,
    gone: VecDeque<i64>,
    random: StdRng,
    asked: Option<Asked>,
}

impl Owner {
    pub(super) fn new(number: usize, seed: u64) -> Owner {
        let random = StdRng::seed_from_u64(seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Owner { number, serial: 0, users: Vec::new(), gone: VecDeque::new(), random, asked: None }
    }

    pub(super) fn users(&self) -> &[User] {
        &self.users
    }

    /// A value between 0 and 1, of a client's own randomness.
    pub(super) fn random(&mut self) -> f64 {
        self.random.random()
    }

    fn draft(&mut self) -> Draft {
        self.serial += 1;
        let (number, serial) = (self.number, self.serial);
        Draft {
            name: format!("Käthe \"{serial}\" of {number}"),
            mail: format!("user-{serial}@client-{number}.example.org"),
        }
    }

    /// The next request.
    pub(super) fn next(&mut self) -> Request {
        let kind = match Kind::of_share(self.random.random_range(0..100)) {
            _ if self.users.is_empty() => Kind::Create,
            Kind::Create if self.users.len() >= MOST => Kind::Delete,
            kind => kind,
        };
        let one = self.random.random_range(0..self.users.len().max(1));
        let asked = match kind {
            Kind::Create => Asked::Create(self.draft()),
            Kind::Query if !self.gone.is_empty() && self.random.random_range(0..8) == 0 => {
                Asked::Gone(self.gone[self.random.random_range(0..self.gone.len())])
            }
            Kind::Query => Asked::Query(one),
            Kind::Update => Asked::Update(one, self.draft()),
            Kind::Delete => Asked::Delete(one),
            Kind::List => Asked::List(one),
        };
        let user = |one: usize| format!("/users/{}", self.users[one].id);
        // A draft is two texts, which are always JSON.
        let json = |draft: &Draft| serde_json::to_vec(draft).unwrap_or_default();
        let (method, target, body) = match &asked {
            Asked::Create(draft) => ("POST", "/users".into(), Some(json(draft))),
            Asked::Query(one) => ("GET", user(*one), None),
            Asked::Gone(id) => ("GET", format!("/users/{id}"), None),
            Asked::Update(one, draft) => ("PUT", user(*one), Some(json(draft))),
            Asked::Delete(one) => ("DELETE", user(*one), None),
            Asked::List(one) => {
                ("GET", format!("/users?after={}&limit={PAGE}", self.users[*one].id - 1), None)
            }
        };
        self.asked = Some(asked);
        Request { method, target, body }
    }

    /// Holds the answer against what must be there; says of what kind the request was, or what is wrong.
    pub(super) fn check(&mut self, answer: &Answer) -> Result<Kind, String> {
        let Some(asked) = self.asked.take() else { return Err("an answer to no question".into()) };
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        let wrong = |asked: &Asked| format!("{asked:?} was answered by {} {said}", answer.status);
        let user = || serde_json::from_slice::<User>(&answer.body).ok();
        match (&asked, answer.status) {
            (Asked::Create(draft), 201) => match user().filter(|user| is(user, draft)) {
                Some(user) if user.created == user.changed && self.is_new(user.id) => self.users.push(user),
                _ => return Err(wrong(&asked)),
            },
            (Asked::Query(one), 200) if user().as_ref() == Some(&self.users[*one]) => {}
            (Asked::Gone(_), 404) => {}
            (Asked::Update(one, draft), 200) => match user().filter(|user| is(user, draft)) {
                Some(user) if follows(&user, &self.users[*one]) => self.users[*one] = user,
                _ => return Err(wrong(&asked)),
            },
            (Asked::Delete(one), 204) => {
                let user = self.users.swap_remove(*one);
                self.gone.push_back(user.id);
                if self.gone.len() > GONE {
                    self.gone.pop_front();
                }
            }
            (Asked::List(one), 200) => {
                let users: Option<Vec<User>> = serde_json::from_slice(&answer.body).ok();
                let first = self.users[*one].id;
                users.filter(|users| self.agrees(first, users)).ok_or_else(|| wrong(&asked))?;
            }
            _ => return Err(wrong(&asked)),
        }
        Ok(match asked {
            Asked::Create(_) => Kind::Create,
            Asked::Query(_) | Asked::Gone(_) => Kind::Query,
            Asked::Update(..) => Kind::Update,
            Asked::Delete(_) => Kind::Delete,
            Asked::List(_) => Kind::List,
        })
    }

    fn is_new(&self, id: i64) -> bool {
        self.users.iter().all(|user| user.id != id) && !self.gone.contains(&id)
    }

    /// Whether a list of `first` and those after it is right, as far as this client can tell: rising, of its own users exactly those
    /// that are in this stretch, and none that is gone.
    fn agrees(&self, first: i64, users: &[User]) -> bool {
        let (Some(begin), Some(end)) = (users.first(), users.last()) else { return false };
        let end = if users.len() < PAGE { i64::MAX } else { end.id };
        let own = self.users.iter().filter(|user| (first..=end).contains(&user.id));
        begin.id == first
            && users.len() <= PAGE
            && users.is_sorted_by(|a, b| a.id < b.id)
            && users.iter().all(|user| !self.gone.contains(&user.id))
            && own.clone().all(|own| users.contains(own))
    }
}

fn is(user: &User, draft: &Draft) -> bool {
    user.name == draft.name && user.mail == draft.mail
}

/// Whether one can be what the other has become.
fn follows(now: &User, before: &User) -> bool {
    now.id == before.id && now.created == before.created && now.changed >= before.changed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A service that is right, but for what `spoil` makes of its answers.
    struct Fake {
        users: BTreeMap<i64, User>,
        next: i64,
    }

    impl Fake {
        fn answer(&mut self, request: &Request) -> Answer {
            let json = |status, user: &User| Answer { status, body: serde_json::to_vec(user).unwrap() };
            let draft = request.body.as_ref().map(|body| serde_json::from_slice::<Draft>(body).unwrap());
            let id = request.target.strip_prefix("/users/").and_then(|id| id.parse::<i64>().ok());
            match (request.method, id, draft) {
                ("POST", None, Some(Draft { name, mail })) => {
                    self.next += 1;
                    let user = User { id: self.next, name, mail, created: 7, changed: 7 };
                    self.users.insert(user.id, user.clone());
                    json(201, &user)
                }
                ("PUT", Some(id), Some(Draft { name, mail })) => {
                    let user = self.users.get_mut(&id).unwrap();
                    *user = User { name, mail, changed: user.changed + 1, ..user.clone() };
                    json(200, user)
                }
                ("GET", Some(id), None) => match self.users.get(&id) {
                    Some(user) => json(200, user),
                    None => Answer { status: 404, body: Vec::new() },
                },
                ("DELETE", Some(id), None) => {
                    self.users.remove(&id).unwrap();
                    Answer { status: 204, body: Vec::new() }
                }
                ("GET", None, None) => {
                    let after = request.target.strip_prefix("/users?after=").unwrap();
                    let after: i64 = after.strip_suffix("&limit=10").unwrap().parse().unwrap();
                    let page: Vec<&User> = self.users.range(after + 1..).map(|(_, u)| u).take(10).collect();
                    Answer { status: 200, body: serde_json::to_vec(&page).unwrap() }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// So many requests of each kind, or what was wrong first.
    fn play(rounds: usize, mut spoil: impl FnMut(&Request, &mut Answer)) -> Result<[u32; 5], String> {
        let mut fake = Fake { users: BTreeMap::new(), next: 0 };
        let mut owners = [Owner::new(0, 5), Owner::new(1, 5)];
        let mut counts = [0; 5];
        for _ in 0..rounds {
            for owner in &mut owners {
                let request = owner.next();
                let mut answer = fake.answer(&request);
                spoil(&request, &mut answer);
                counts[owner.check(&answer)? as usize] += 1;
            }
        }
        let owned: usize = owners.iter().map(|owner| owner.users().len()).sum();
        assert_eq!(owned, fake.users.len());
        Ok(counts)
    }

    #[test]
    fn every_kind_comes_in_its_share_and_what_is_right_is_held_to_be() {
        let counts = play(5000, |_, _| {}).unwrap();
        for (count, share) in counts.iter().zip(Kind::SHARES) {
            let percent = f64::from(*count) / 100.0;
            assert!((percent - f64::from(share)).abs() < 5.0, "{counts:?}");
        }
    }

    #[test]
    fn what_is_wrong_in_any_answer_is_found() {
        let replaced = |answer: &mut Answer, what: &str, by: &str| {
            answer.body = String::from_utf8_lossy(&answer.body).replacen(what, by, 1).into_bytes();
        };
        // An old value, a lost user, one that came back, a status of its own, a name that was mangled, a list out of order.
        let mut last = BTreeMap::new();
        assert!(
            play(500, |request, answer| {
                if request.method == "GET" && request.target.starts_with("/users/") && answer.status == 200 {
                    let first = last.entry(request.target.clone()).or_insert_with(|| answer.body.clone());
                    answer.body.clone_from(first);
                }
            })
            .is_err()
        );
        type Spoil = fn(&Request, &mut Answer) -> bool;
        let cases: [(Spoil, u16, &str, &str); 5] = [
            (|r, a| r.method == "GET" && r.target.starts_with("/users/") && a.status == 200, 404, "", ""),
            (|r, a| r.method == "GET" && a.status == 404, 200, "", ""),
            (|r, _| r.method == "DELETE", 404, "", ""),
            (|r, _| r.method == "POST", 201, "K\u{e4}the", "K\u{fffd}the"),
            (|r, _| r.target.contains('?'), 200, "\"id\":", "\"id\":1"),
        ];
        for (number, (spoilt, status, what, by)) in cases.into_iter().enumerate() {
            let outcome = play(500, |request, answer| {
                if spoilt(request, answer) {
                    answer.status = status;
                    replaced(answer, what, by);
                }
            });
            assert!(outcome.is_err(), "{number}");
        }
    }
}
