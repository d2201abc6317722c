//! What a bill is divided by.

use tollway_core::{Error, Result};
use tollway_watch::{Calls, numbers};

use crate::observed::Observed;

/// What a bill is divided by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Per {
    /// What it is: "request (accept)".
    pub unit: String,
    /// How many there were.
    pub count: f64,
}

/// How many requests there may have been.
const COUNTS: std::ops::RangeInclusive<f64> = 1e-3..=1e18;

impl Per {
    /// As the command line says it; without, a second where a program is looked at for a while, and one run of it where it was started and ended.
    pub fn of(asked: Option<&str>, observed: &Observed) -> Result<Per> {
        let Some(asked) = asked else {
            let seconds = observed.counts.watched.as_secs_f64();
            return Ok(match observed.ended {
                Some(_) => Per { unit: "run".into(), count: 1.0 },
                None => Per { unit: "second".into(), count: seconds.max(1e-9) },
            });
        };
        if let Ok(number) = asked.parse::<f64>() {
            if COUNTS.contains(&number) {
                return Ok(Per { unit: "request".into(), count: number });
            }
            return Err(refused(
                asked,
                "requests are more than none",
                "give how many there were, as --per 10000",
            ));
        }
        if !is_call(asked) {
            return Err(refused(
                asked,
                "it is neither a number nor a system call",
                "name one as in --per accept4; `man 2 syscalls` lists them",
            ));
        }
        let threads = observed.counts.in_all();
        let calls = threads.iter().flat_map(|thread| &thread.calls);
        let done: u64 = calls
            .filter(|calls| {
                numbers::native_name(calls.number).is_some_and(|name| plain(name) == plain(asked))
            })
            .map(Calls::done)
            .sum();
        if done == 0 {
            return Err(refused(
                asked,
                "the program made no such call that succeeded",
                "the bill without --per names those that it makes",
            ));
        }
        Ok(Per { unit: format!("request ({asked})"), count: done as f64 })
    }

    /// Whether `--per` can mean something, before anything is watched.
    pub fn check(asked: &str) -> Result<()> {
        match asked.parse::<f64>() {
            Ok(number) if COUNTS.contains(&number) => Ok(()),
            Ok(_) => {
                Err(refused(asked, "requests are more than none", "give how many there were, as --per 10000"))
            }
            Err(_) if is_call(asked) => Ok(()),
            Err(_) => Err(refused(
                asked,
                "it is neither a number nor a system call",
                "name one as in --per accept4; `man 2 syscalls` lists them",
            )),
        }
    }
}

fn is_call(asked: &str) -> bool {
    (0..512).any(|number| numbers::name(number).is_some_and(|name| plain(name) == plain(asked)))
}

/// What a C library calls by one name is one call here, whichever of the kernel's it makes of it.
fn plain(name: &str) -> &str {
    match name {
        "accept4" => "accept",
        "recv" => "recvfrom",
        "send" => "sendto",
        "ppoll" => "poll",
        "pselect6" => "select",
        "epoll_pwait" | "epoll_pwait2" => "epoll_wait",
        "preadv2" => "preadv",
        "pwritev2" => "pwritev",
        other => other,
    }
}

fn refused(asked: &str, reason: &str, remedy: &str) -> Error {
    Error::Input { place: format!("--per {asked}"), reason: reason.into(), remedy: remedy.into() }
}
