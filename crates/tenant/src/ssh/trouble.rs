//! Why another host was not reached, or does not take an agent, from what the client of ssh and the shell there said.

use tollway_core::Missing;

use super::address::Address;
use super::script::{FOLDER, REFUSED};

/// What to do about words that the client is known to say (OpenSSH, sshconnect.c, ssh.c and sshconnect2.c).
const KNOWN: [(&[&str], &str); 7] = [
    (&["command-line and remote command"], "take RemoteCommand out of TOLLWAY_SSH"),
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

/// What the shell here says where the client is no program of this machine.
pub(super) const NO_CLIENT: &str = "tollway-no-client";

/// How a client of ssh ends that could not do what it should; with any other status it hands on that of the
/// command there.
const OWN_FAILURE: &str = "exit status: 255";

/// What was heard before the keeper said hello.
pub(super) struct Heard<'a> {
    /// What came on standard error, of the client and from there.
    pub said: &'a str,
    /// The last that came on standard output.
    pub printed: &'a str,
    /// How the client ended.
    pub ended: &'a str,
}

/// What went wrong before the keeper said hello; `client` are the words by which it was tried.
pub(super) fn before_hello(address: &Address, client: &str, heard: &Heard<'_>) -> Missing {
    let Heard { said, printed, ended } = *heard;
    let what = format!("an agent on {address}");
    if let Some(refused) = said.lines().find_map(|line| line.strip_prefix(REFUSED)) {
        return by_shell(what, refused.trim());
    }
    if let Some(name) = said.lines().find_map(|line| line.strip_prefix(NO_CLIENT)) {
        return Missing::new(
            what,
            format!("there is no program `{}` here", name.trim()),
            "apt-get install openssh-client, or name a client by TOLLWAY_SSH",
        );
    }
    let by_hand = address.by_hand(client);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    // What a login prints on the way is no reason of the client's.
    let is_own = ended == OWN_FAILURE;
    let reasons: Vec<&str> = match is_own && !last.is_empty() {
        true => vec![last],
        false => [printed, last].into_iter().filter(|line| !line.is_empty()).collect(),
    };
    let reason = match reasons[..] {
        [] => format!("ssh said nothing ({ended})"),
        _ => format!("{} ({ended})", reasons.join("; ").replace(char::is_control, "?")),
    };
    let lower = said.to_lowercase();
    let known = KNOWN.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
    let remedy = match (known, ended) {
        (Some((_, remedy)), _) if is_own => remedy.replace("BY-HAND", &by_hand),
        (_, "exit status: 127") => {
            format!("have a POSIX shell `sh` there, where a login finds programs: {by_hand} 'echo $PATH'")
        }
        _ if ended.starts_with("exit status: ") && !is_own => format!(
            "name a user whose login runs commands (chsh -s /bin/sh USER there), and try it by hand: {by_hand} uname"
        ),
        _ => format!("try it by hand: {by_hand}"),
    };
    Missing::new(what, reason, remedy)
}

/// What the shell there says that it lacks.
fn by_shell(what: String, refused: &str) -> Missing {
    let (kind, about) = refused.split_once(' ').unwrap_or((refused, ""));
    match kind {
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
        "program" => Missing::new(
            what,
            format!("a login there finds no program `{about}`"),
            "install coreutils there, and have them in the PATH of a login",
        ),
        _ => Missing::new(
            what,
            format!("there is no folder for it: {about}"),
            format!("make room there, or name a folder of that host by {FOLDER}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &str) -> String {
        told_of(&Heard { said, printed: "", ended: OWN_FAILURE })
    }

    fn told_of(heard: &Heard<'_>) -> String {
        before_hello(&"ssh:me@node:2222".parse().unwrap(), "ssh", heard).to_string()
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
    fn what_a_login_prints_instead_of_running_a_command_is_the_reason() {
        let banner = "Authorized use only\r\n";
        let nologin = "This account is currently not available.";
        let told = told_of(&Heard { said: banner, printed: nologin, ended: "exit status: 1" });
        assert!(told.contains(nologin) && told.contains("chsh -s /bin/sh"), "{told}");
        let said = "bash: line 1: exec: sh: not found\n";
        let told = told_of(&Heard { said, printed: "Welcome!", ended: "exit status: 127" });
        assert!(told.contains("exec: sh: not found") && told.contains("POSIX shell `sh` there"), "{told}");
        // What the client itself fails by is not what a login printed before.
        let told = told_of(&Heard { said: "Connection reset\n", printed: "Welcome!", ended: OWN_FAILURE });
        assert!(told.contains("Connection reset") && !told.contains("Welcome"), "{told}");
        // No terminal is told what to do by another host.
        let told = told_of(&Heard { said: "", printed: "\u{1b}[2Jgone", ended: "exit status: 1" });
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }

    #[test]
    fn by_hand_is_by_the_same_client_and_options() {
        let heard =
            Heard { said: "me@node: Permission denied (publickey).\n", printed: "", ended: OWN_FAILURE };
        let told =
            before_hello(&"ssh:me@node:2222".parse().unwrap(), "ssh -i key -J jump", &heard).to_string();
        assert!(told.contains("by hand: ssh -i key -J jump -p 2222 me@node"), "{told}");
    }

    #[test]
    fn what_the_shell_there_refuses_is_told_in_words() {
        let said = "Welcome!\ntollway-refused system Linux aarch64\n";
        assert!(told(said).contains("it is a Linux aarch64"), "{}", told(said));
        assert!(told("tollway-refused program df\n").contains("no program `df`"));
        assert!(told("tollway-no-client plink\n").contains("no program `plink` here"));
        assert!(told("tollway-refused kernel 3.10.0\n").contains("Linux 3.10.0"));
        let told = told("tollway-refused folder /tmp: no program may run there\n");
        assert!(told.contains("/tmp: no program may run there → make room"), "{told}");
    }
}
