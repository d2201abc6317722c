//! How a person names another host: `ssh:user@host:port`.

use std::fmt;
use std::str::FromStr;

/// A host that is reached by ssh, as a person wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

impl Address {
    /// What the client of ssh takes as its destination: `user@host`, an IPv6 address without brackets.
    pub fn destination(&self) -> String {
        match &self.user {
            Some(user) => format!("{user}@{}", self.host),
            None => self.host.clone(),
        }
    }

    /// The port, where it is another than the one that the client would take.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The command by which a person gets there as this program does, by the same client and options (a key,
    /// a jump host).
    pub(super) fn by_hand(&self, client: &str) -> String {
        match self.port {
            Some(port) => format!("{client} -p {port} {}", self.destination()),
            None => format!("{client} {}", self.destination()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssh:")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?
        } else {
            f.write_str(&self.host)?
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        const WANTED: &str =
            "write ssh:host, ssh:user@host or ssh:user@host:port, an IPv6 address in brackets";
        // No word that the client would take for an option, or that a log could not show.
        let plain = |word: &str| {
            !word.is_empty() && !word.starts_with('-') && word.bytes().all(|b| b.is_ascii_graphic())
        };
        let read = || {
            let rest = text.strip_prefix("ssh:")?;
            let (user, rest) = match rest.rsplit_once('@') {
                Some((user, rest)) => (Some(user), rest),
                None => (None, rest),
            };
            let (host, port) = match rest.strip_prefix('[') {
                Some(rest) => {
                    let (host, port) = rest.split_once(']')?;
                    (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
                }
                None => match rest.split_once(':') {
                    Some((host, port)) => (host, Some(port)),
                    None => (rest, None),
                },
            };
            let port = match port {
                Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
                None => None,
            };
            let fits = plain(host) && !host.contains(['/', '[', ']']) && user.is_none_or(plain);
            fits.then(|| Address { user: user.map(String::from), host: host.into(), port })
        };
        read().ok_or_else(|| format!("it is no host that ssh could reach; {WANTED}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_and_says_what_the_client_takes() {
        for (text, destination, port) in [
            ("ssh:node", "node", None),
            ("ssh:root@node.example:2222", "root@node.example", Some(2222)),
            ("ssh:a@b@node", "a@b@node", None),
            ("ssh:root@[::1]", "root@::1", None),
            ("ssh:[fe80::1%eth0]:22", "fe80::1%eth0", Some(22)),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.destination(), address.port()), (destination.to_owned(), port));
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn what_is_none_or_would_be_an_option_is_refused() {
        let none = [
            "",
            "node",
            "ssh:",
            "ssh:@node",
            "ssh:node:",
            "ssh:node:0",
            "ssh:node:65536",
            "ssh:-oProxyCommand=x",
            "ssh:-x@node",
            "ssh:no de",
            "ssh:::1",
            "ssh:[::1",
            "ssh:[::1]22",
            "ssh://node",
            "ssh:node\n",
        ];
        for text in none {
            assert!(text.parse::<Address>().unwrap_err().contains("ssh:user@host"), "{text}");
        }
    }
}
