//! The variants of the TCP server, played by threads of this process.

use tollway_core::{Requirement, Value};
use tollway_host::requirement::{check, skip_test};

use crate::played::{played, point};

fn may() -> bool {
    for need in [Requirement::NetworkNamespaces, Requirement::PacketSockets] {
        if let Err(missing) = check(&need) {
            skip_test(&["netns", "packet"], &missing);
            return false;
        }
    }
    true
}

const REQUESTS: [&str; 3] = ["tcp-async", "tcp-sync", "tcp-handoff"];
const ON_LINUX: [&str; 2] = ["tcp-epoll", "tcp-io-uring"];

#[test]
fn each_answers_one_some_and_many_connections() {
    if !may() {
        return;
    }
    for name in REQUESTS.into_iter().chain(ON_LINUX) {
        for connections in [1u64, 4, 64] {
            let mut axes: Vec<(&str, Value)> = vec![("connections", connections.into())];
            if REQUESTS.contains(&name) {
                axes.push(("cores", if connections == 4 { "one" } else { "two" }.into()));
            }
            let Some((spread, tally)) = played(name, &axes) else { continue };
            let count = |name: &str| tally.counters[name];
            println!("{name} {connections}: {tally:?}");
            assert_eq!(spread.ops, count("messages"));
            assert!(count("operations") >= count("messages") && count("operations") >= connections);
            assert!(count("window_ns") > 0);
            if REQUESTS.contains(&name) {
                assert!(count("stack_frames_received") >= count("operations"));
                assert_eq!(count("notices"), count("stack_notices") + count("server_notices"));
            } else {
                assert!(count("server_waits") > 0);
            }
        }
    }
}

#[test]
fn plans_say_who_is_where_and_what_it_takes() {
    for name in REQUESTS {
        for (cores, server) in [("one", 0), ("two", 1)] {
            let (plan, _) = point(name, &[("cores", cores.into())]).unwrap();
            let roles: Vec<_> = plan.roles.iter().map(|role| (role.name.as_str(), role.core)).collect();
            assert_eq!(roles, [("server", server), ("stack", 0), ("client", 1)]);
            assert!(plan.requires.contains(&Requirement::NetworkNamespaces));
            assert!(plan.requires.contains(&Requirement::PacketSockets));
        }
    }
    let (plan, _) = point("tcp-io-uring", &[]).unwrap();
    assert!(plan.requires.contains(&Requirement::IoUring));
    let refused = point("tcp-async", &[("connections", 0.into())]).unwrap_err().to_string();
    assert!(refused.contains("axis `connections`"), "{refused}");
}

/// A stack that answers by itself: in tasks and in threads, on one core with its client and on two.
#[test]
fn messages_that_the_stack_answers_are_measured() {
    if !may() {
        return;
    }
    for kind in ["tasks", "threads"] {
        for (placement, depth) in [("across", 1u64), ("across", 64), ("same", 1), ("same", 4)] {
            let axes = [("kind", kind.into()), ("placement", placement.into()), ("depth", depth.into())];
            let Some((spread, tally)) = played("stack-request", &axes) else { continue };
            let count = |name: &str| tally.counters[name];
            assert!(count("operations") >= spread.ops && spread.ops > 0, "{kind} {axes:?}");
            assert!(count("stack_frames_received") >= count("operations"), "{tally:?}");
            // There is nobody to be woken.
            assert_eq!((count("notices"), count("stack_replies_late")), (0, 0), "{tally:?}");
            let (plan, _) = point("stack-request", &axes).unwrap();
            let key = plan.provides.unwrap().to_string();
            assert_eq!(key, format!("stack-request/kind={kind}/{placement}/depth={depth}"));
        }
    }
    let refused = point("stack-request", &[("depth", 257.into())]).unwrap_err().to_string();
    assert!(refused.contains("axis `depth`"), "{refused}");
}
