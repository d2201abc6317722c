//! Whom a service serves, as a person writes it: `NAME=SOCKET,limit=1M,weight=2`, or in a file.
//!
//! What a file says of a peer each service reads by a struct of its own. One for all could only be a part of these (`serde(flatten)`),
//! and then a word that nobody knows would not be refused at its line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tollway_core::Result;
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

use crate::config;

/// Somebody to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Where it is met.
    pub socket: PathBuf,
    /// Whether it listens there, and is called.
    pub connect: bool,
    /// What it is entitled to.
    pub share: Share,
}

/// What a service takes besides: a word's name and value; whether it knows it.
pub type Own<'a> = &'a mut dyn FnMut(&str, &str) -> std::result::Result<bool, String>;

impl Peer {
    /// What is written in one word. `own` takes what only that service knows, whose names are `known`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, known: &str, own: Own<'_>) -> std::result::Result<Peer, String> {
        let (name, rest) = text.split_once('=').ok_or("it has no `=`: write NAME=SOCKET")?;
        let mut words = rest.split(',');
        let socket = words.next().unwrap_or_default();
        let (mut limit, mut burst, mut weight, mut connect) = (None, None, 1, false);
        let mut seen = BTreeSet::new();
        for word in words {
            let key = word.split('=').next().unwrap_or_default();
            if !seen.insert(key) {
                return Err(format!("`{key}` is there twice"));
            }
            if word == "connect" {
                connect = true;
                continue;
            }
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no value"))?;
            match key {
                "limit" => limit = Some(amount(value)?),
                "burst" => burst = Some(amount(value)?),
                "weight" => {
                    let number =
                        value.parse().map_err(|_| format!("`{value}` is no whole number for a weight"))?;
                    weight = number;
                }
                _ if own(key, value)? => {}
                _ => return Err(format!("`{key}` is not known; there are {known}")),
            }
        }
        let share = share(limit, burst, weight)?;
        Ok(Peer { name: name.into(), socket: socket.into(), connect, share })
    }

    /// Where it is met: at a socket made for it, with these permissions, or at its own.
    ///
    /// # Errors
    /// [`Error::Input`](tollway_core::Error::Input) if there can be no such socket.
    pub fn meeting(&self, mode: u32) -> Result<Meeting> {
        if self.connect {
            return Ok(Meeting::Call(self.socket.clone()));
        }
        Listener::bind(&self.socket, mode).map(Meeting::Listen)
    }
}

/// Who is met where, in whatever order.
pub fn places<'a>(peers: impl IntoIterator<Item = &'a Peer>) -> BTreeSet<(&'a str, &'a Path, bool)> {
    peers.into_iter().map(|peer| (&*peer.name, &*peer.socket, peer.connect)).collect()
}

/// What a peer is entitled to; without a burst, a tenth of a second's worth, and 4096 at least.
///
/// # Errors
/// What is wrong with the numbers.
pub fn share(limit: Option<u64>, burst: Option<u64>, weight: u32) -> std::result::Result<Share, String> {
    if !(1..=1_000_000).contains(&weight) {
        return Err(format!("weight {weight}: give 1 to 1,000,000"));
    }
    let limit = match (limit, burst) {
        (None, None) => None,
        (None, Some(_)) => return Err("a burst without a limit means nothing: give a limit".into()),
        (Some(0), _) => return Err("limit 0 serves nobody: leave it out".into()),
        (_, Some(0)) => return Err("burst 0 serves nobody: give 1 at least".into()),
        (Some(limit), burst) => Some((limit, burst.unwrap_or((limit / 10).max(4096)))),
    };
    Ok(Share { weight, limit, ..Share::default() })
}

/// A whole number: with k, M or G for thousands, millions, thousand millions.
///
/// # Errors
/// It is none.
pub fn amount(text: &str) -> std::result::Result<u64, String> {
    let (digits, unit) = match text.chars().last() {
        Some('k') => (&text[..text.len() - 1], 1000),
        Some('M') => (&text[..text.len() - 1], 1_000_000),
        Some('G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    let wrong = || format!("`{text}` is no such number: write 65536, 64k, 10M or 1G");
    number.and_then(|number| number.checked_mul(unit)).ok_or_else(wrong)
}

/// Permissions of sockets, in octal.
///
/// # Errors
/// What is wrong with them.
pub fn mode(text: &str) -> std::result::Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode & !0o777 == 0 && mode & 0o600 == 0o600 => Ok(mode),
        _ => Err(format!("`{text}` are no permissions of a socket: write 600, 660 or 666")),
    }
}

/// Whether all of them can be served at once, with the status at that socket.
///
/// # Errors
/// [`Error::Input`](tollway_core::Error::Input) at `place`.
pub fn check<'a>(
    peers: impl IntoIterator<Item = &'a Peer>,
    status: Option<&'a Path>,
    place: &str,
) -> Result<()> {
    let wrong = |reason: String, remedy: &str| Err(config::wrong(place, reason, remedy));
    let mut names = BTreeSet::new();
    let mut sockets: BTreeSet<&Path> = status.into_iter().collect();
    for Peer { name, socket, .. } in peers {
        let usable =
            !name.is_empty() && name.len() <= 64 && !name.contains(|c: char| c.is_control() || c == '"');
        if !usable {
            return wrong(format!("`{name}` is no name"), "use 1 to 64 ordinary characters");
        }
        if socket.as_os_str().is_empty() {
            return wrong(format!("{name} has no socket"), "write NAME=SOCKET");
        }
        if !names.insert(name) {
            return wrong(format!("two are called {name}"), "rename one");
        }
        if !sockets.insert(socket) {
            return wrong(format!("{} is named twice", socket.display()), "name another socket");
        }
    }
    if names.is_empty() {
        return wrong("there is nobody to serve".into(), "name one at least");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> std::result::Result<Peer, String> {
        Peer::parse(text, "limit, burst, weight and connect", &mut |_, _| Ok(false))
    }

    #[test]
    fn a_peer_is_a_name_a_socket_and_what_it_may_have() {
        let peer = parsed("web=/run/web.sock,limit=1M,weight=3").unwrap();
        assert_eq!((peer.name.as_str(), peer.socket.to_str()), ("web", Some("/run/web.sock")));
        assert_eq!(peer.share, Share { weight: 3, limit: Some((1_000_000, 100_000)), ..Share::default() });
        assert!(!peer.connect);
        let peer = parsed("a=b,connect,limit=64k,burst=1G").unwrap();
        assert!(peer.connect);
        assert_eq!(peer.share.limit, Some((64_000, 1_000_000_000)));
        assert_eq!(parsed("a=b").unwrap().share, Share::default());
        let mut seen = None;
        Peer::parse("a=b,colour=red", "", &mut |key, value| {
            seen = Some((key.to_owned(), value.to_owned()));
            Ok(true)
        })
        .unwrap();
        assert_eq!(seen, Some(("colour".into(), "red".into())));
    }

    #[test]
    fn what_means_nothing_is_refused_with_a_remedy() {
        for (text, told) in [
            ("web", "NAME=SOCKET"),
            ("a=b,limit", "has no value"),
            ("a=b,limit=x", "no such number"),
            ("a=b,limit=99999999999G", "no such number"),
            ("a=b,limit=0", "leave it out"),
            ("a=b,burst=5", "give a limit"),
            ("a=b,limit=5,burst=0", "1 at least"),
            ("a=b,weight=0", "1 to 1,000,000"),
            ("a=b,weight=-1", "no whole number"),
            ("a=b,speed=1", "limit, burst, weight and connect"),
            ("a=b,limit=1,limit=2", "twice"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        assert_eq!((mode("660"), mode("0600")), (Ok(0o660), Ok(0o600)));
        assert!(mode("1777").is_err() && mode("060").is_err() && mode("9").is_err());
    }

    #[test]
    fn those_that_cannot_be_served_at_once_are_refused() {
        let peer = |name: &str, socket: &str| Peer {
            name: name.into(),
            socket: socket.into(),
            connect: false,
            share: Share::default(),
        };
        let told = |peers: &[Peer]| check(peers, Some(Path::new("s")), "here").unwrap_err().to_string();
        assert!(told(&[]).contains("nobody to serve"));
        assert!(told(&[peer("", "a")]).contains("is no name"));
        assert!(told(&[peer("a", "")]).contains("has no socket"));
        assert!(told(&[peer("a", "a"), peer("a", "b")]).contains("two are called a"));
        assert!(told(&[peer("a", "a"), peer("b", "a")]).contains("named twice"));
        assert!(told(&[peer("a", "s")]).starts_with("here"));
        check(&[peer("a", "a"), peer("b", "b")], None, "here").unwrap();
    }
}
