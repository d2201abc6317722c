//! Why another host was not reached, or does not take an agent, from what the client of ssh and the shell there said.

use tollway_core::Missing;

use super::address::Address;
use super::script::{FOLDER, REFUSED};

/// What to do about words that the client is known to say (OpenSSH, sshconnect.c, ssh.c and sshconnect2.c).
const KNOWN: [(&[&str], &str); 6] = [
    (&["could not resolve"], "check the host's name"),
    (&["connection refused"], "have sshd run there, or name its port: ssh:user@host:port"),
    (
        &["timed out", "no route to host", "network is unreachable"],
        "check that the host is up and that this network leads there",
    ),
    (
        &["identification has changed", "host key for", "offending"],
        "its key is not the one that was known: find out why before you trust it (then ssh-keygen -R HOST, and BY-HAND once)",
    ),
    (
        &["host key verification failed", "host key is known"],
        "compare its key and accept it once by hand: BY-HAND",
    ),
    (
        &["permission denied"],
        "let a key of yours in without a question (ssh-copy-id, ssh-add): no password is asked for; try it by hand: BY-HAND",
    ),
];

/// What went wrong before the keeper said hello. `said` is what came on standard error, `ended` how the client ended.
pub(super) fn before_hello(address: &Address, said: &str, ended: &str) -> Missing {
    let what = format!("an agent on {address}");
    if let Some(refused) = said.lines().find_map(|line| line.strip_prefix(REFUSED)) {
        let (kind, about) = refused.trim().split_once(' ').unwrap_or((refused.trim(), ""));
        return match kind {
            "system" => Missing::new(
                what,
                format!("it is a {about}, and the agent a program of Linux x86_64"),
                "measure a host of that kind",
            ),
            "kernel" => Missing::new(
                what,
                format!("its kernel is Linux {about}, too old for the agent"),
                "boot Linux 5.3 or newer there",
            ),
            _ => Missing::new(
                what,
                format!("there is no folder for it: {about}"),
                format!("make room there, or name a folder of that host by {FOLDER}"),
            ),
        };
    }
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lower = said.to_lowercase();
    let known = KNOWN.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
    let reason = match lines.last() {
        Some(last) => format!("{last} ({ended})"),
        None => format!("ssh said nothing ({ended})"),
    };
    let remedy = match known {
        Some((_, remedy)) => remedy.replace("BY-HAND", &address.by_hand()),
        None if lower.contains("not found") && ended.contains("127") => {
            "apt-get install openssh-client, or name a client by TOLLWAY_SSH".into()
        }
        None => format!("try it by hand: {}", address.by_hand()),
    };
    Missing::new(what, reason, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &str) -> String {
        before_hello(&"ssh:me@node:2222".parse().unwrap(), said, "exit status: 255").to_string()
    }

    #[test]
    fn what_a_client_says_leads_to_a_remedy() {
        for (said, remedy) in [
            ("ssh: Could not resolve hostname node: Name or service not known\r\n", "name"),
            ("ssh: connect to host node port 22: Connection refused\r\n", "have sshd run"),
            ("ssh: connect to host node port 22: Connection timed out\r\n", "is up"),
            (
                "No ED25519 host key is known for node and you have requested strict checking.\r\nHost key verification failed.\r\n",
                "accept it once by hand: ssh -p 2222 me@node",
            ),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n",
                "ssh-keygen -R",
            ),
            ("me@node: Permission denied (publickey,password).\r\n", "ssh-copy-id"),
            ("something else\n", "by hand: ssh -p 2222 me@node"),
            ("", "ssh said nothing"),
        ] {
            let told = told(said);
            assert!(told.contains(remedy) && told.contains("ssh:me@node:2222"), "{told}");
            assert!(!told.contains("BY-HAND"), "{told}");
        }
    }

    #[test]
    fn what_the_shell_there_refuses_is_told_in_words() {
        let said = "Welcome!\ntollway-refused system Linux aarch64\n";
        assert!(told(said).contains("it is a Linux aarch64"), "{}", told(said));
        assert!(told("tollway-refused kernel 3.10.0\n").contains("Linux 3.10.0"));
        let told = told("tollway-refused folder /tmp: no program may run there\n");
        assert!(told.contains("/tmp: no program may run there → make room"), "{told}");
    }
}
