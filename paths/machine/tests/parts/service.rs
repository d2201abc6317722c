//! The web service over HTTP: every verb, what it refuses, and that whoever asks for too much or too slowly is no harm to others.

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tollway_core::Clock;
use tollway_host::clock::{self, RunClock};
use tollway_host::requirement::skip_test;
use tollway_machine::engine::service::{
    Keep, Kind, Limits, Load, NAME_CHARS, POSTGRES, Pace, Server, no_postgres,
};

use crate::eventually::eventually;

/// How long a test waits for anything: only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

fn kept(folder: &Path) -> Keep {
    Keep::Sqlite(folder.into())
}

fn postgres(url: &str) -> Keep {
    Keep::Postgres(url.into(), tollway_postgres::open)
}

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What is answered to these bytes, until the server closes: status, headers, body.
fn raw(server: &Server, bytes: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = connected(server);
    // It may have refused before all is sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
        panic!("no head in {:?}", String::from_utf8_lossy(&answer));
    });
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, answer[end + 4..].to_vec())
}

fn ask_with(server: &Server, method: &str, target: &str, headers: &str, body: &[u8]) -> (u16, Value) {
    let length = body.len();
    let mut request =
        format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n")
            .into_bytes();
    request.extend_from_slice(body);
    let (status, _, body) = raw(server, &request);
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn ask(server: &Server, method: &str, target: &str, body: &Value) -> (u16, Value) {
    let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    ask_with(server, method, target, "Content-Type: application/json\r\n", &text)
}

/// Every verb, by somebody who knows only what the page of the engine says.
fn every_verb(keep: Keep) {
    let server = Server::start(keep, Limits::default()).unwrap();
    let none = Value::Null;
    assert_eq!(ask(&server, "GET", "/users", &none), (200, json!([])));
    let (status, ada) =
        ask(&server, "POST", "/users", &json!({"name": "Ada \"ä\"", "mail": "ada@example.org"}));
    assert_eq!((status, &ada["name"], &ada["created"]), (201, &json!("Ada \"ä\""), &ada["changed"]));
    let place = format!("/users/{}", ada["id"]);
    assert_eq!(ask(&server, "GET", &place, &none), (200, ada.clone()));
    let (status, bob) = ask(&server, "POST", "/users", &json!({"name": "Bob", "mail": "bob@example.org"}));
    assert!(status == 201 && bob["id"].as_i64() > ada["id"].as_i64());
    // A mail is one user's: neither a new one nor an old one can have it too.
    let taken = json!({"name": "Eve", "mail": "bob@example.org"});
    assert_eq!(ask(&server, "POST", "/users", &taken).0, 409);
    assert_eq!(ask(&server, "PUT", &place, &taken).0, 409);
    // Times are told in milliseconds.
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    eventually("it is later", || now() > ada["changed"].as_i64().unwrap());
    let (status, changed) =
        ask(&server, "PUT", &place, &json!({"name": "Ada L.", "mail": "ada@example.org"}));
    assert_eq!((status, &changed["name"], &changed["created"]), (200, &json!("Ada L."), &ada["created"]));
    assert!(changed["changed"].as_i64() > ada["changed"].as_i64());
    assert_eq!(ask(&server, "GET", &place, &none), (200, changed.clone()));
    assert_eq!(ask(&server, "GET", "/users", &none), (200, json!([changed, bob])));
    let after = format!("/users?after={}&limit=1", ada["id"]);
    assert_eq!(ask(&server, "GET", &after, &none), (200, json!([bob])));
    assert_eq!(ask(&server, "DELETE", &place, &none).0, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(ask(&server, method, &place, &none).0, 404, "{method}");
    }
    assert_eq!(ask(&server, "PUT", &place, &json!({"name": "Ada", "mail": "ada@example.org"})).0, 404);
    // An id is not given again, not even the last.
    assert_eq!(ask(&server, "DELETE", &format!("/users/{}", bob["id"]), &none).0, 204);
    let (_, new) = ask(&server, "POST", "/users", &json!({"name": "Bob", "mail": "bob@example.org"}));
    assert!(new["id"].as_i64() > bob["id"].as_i64(), "{new}");
    let served = server.stop(PATIENCE).unwrap();
    assert_eq!((served.answers, served.failures), (16, 0));
}

#[test]
fn every_verb_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    every_verb(kept(folder.path()));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn what_is_no_request_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(kept(folder.path()), Limits::default()).unwrap();
    let json = "Content-Type: application/json\r\n";
    let good = br#"{"name": "Ada", "mail": "ada@example.org"}"#;
    let long = format!(r#"{{"name": "{}", "mail": "a@b"}}"#, "x".repeat(NAME_CHARS + 1));
    let huge = format!(r#"{{"name": "a", "mail": "{}@b"}}"#, "x".repeat(5000));
    let deep = "[".repeat(4000);
    let cases: [(&str, &str, &str, &[u8], u16); 17] = [
        ("POST", "/users", json, b"{\"name\": \"\xff\xfe\", \"mail\": \"a@b\"}", 400),
        ("POST", "/users", json, b"{\"name\": \"Ada\"", 400),
        ("POST", "/users", json, b"", 400),
        ("POST", "/users", json, deep.as_bytes(), 422),
        ("POST", "/users", json, br#"{"name": "Ada"}"#, 422),
        ("POST", "/users", json, br#"{"name": "Ada", "mail": 7}"#, 422),
        ("POST", "/users", json, br#"{"name": "Ada", "mail": "a@b", "admin": true}"#, 422),
        ("POST", "/users", json, br#"{"name": "", "mail": "a@b"}"#, 422),
        ("POST", "/users", json, br#"{"name": "Ada\u0000", "mail": "a@b"}"#, 422),
        ("POST", "/users", json, long.as_bytes(), 422),
        ("POST", "/users", json, huge.as_bytes(), 413),
        ("POST", "/users", "Content-Type: text/plain\r\n", good, 415),
        ("PATCH", "/users", json, good, 405),
        ("GET", "/nowhere", "", b"", 404),
        ("GET", "/users/ada", "", b"", 404),
        ("GET", "/users?limit=101", "", b"", 400),
        ("GET", "/users?limit=-1&x=y", "", b"", 400),
    ];
    for (method, target, headers, body, status) in cases {
        let (found, said) = ask_with(&server, method, target, headers, body);
        assert!(
            found == status && said["error"].is_string(),
            "{method} {target}: {found} {said}, not {status}"
        );
    }
    // What is no HTTP is answered by the protocol's own means, and headers are bounded.
    assert_eq!(raw(&server, b"\x16\x03\x01 hello\r\n\r\n").0, 400);
    let many = format!("GET /users HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(100));
    assert_eq!(raw(&server, many.as_bytes()).0, 431);
    let wide = format!("GET /users HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(64 << 10));
    assert_eq!(raw(&server, wide.as_bytes()).0, 431);
    // Nothing of all this was kept.
    assert_eq!(ask(&server, "GET", "/users", &Value::Null), (200, Value::Array(Vec::new())));
}

#[test]
fn a_body_without_an_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(kept(folder.path()), Limits::default()).unwrap();
    let mut stream = connected(&server);
    let head = b"POST /users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head).unwrap();
    let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
    let sent = (0..100_000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    // What sockets hold, and no more: it was not read on and on.
    assert!(sent < 20_000, "{sent} KiB were taken");
}

#[test]
fn who_is_slow_is_dropped_and_others_are_served_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let patience = Duration::from_millis(500);
    let server = Server::start(kept(folder.path()), Limits { patience, ..Limits::default() }).unwrap();
    let begun = Instant::now();
    let mut silent = connected(&server);
    let mut half = connected(&server);
    half.write_all(b"GET /users HT").unwrap();
    let mut body = connected(&server);
    body.write_all(
        b"POST /users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
    )
    .unwrap();
    assert_eq!(ask(&server, "GET", "/users", &Value::Null).0, 200);
    let mut said = Vec::new();
    body.read_to_end(&mut said).unwrap();
    assert!(said.starts_with(b"HTTP/1.1 408 "), "{:?}", String::from_utf8_lossy(&said));
    for slow in [&mut silent, &mut half] {
        let _ = slow.read_to_end(&mut Vec::new());
    }
    let took = begun.elapsed();
    assert!((patience..PATIENCE).contains(&took), "{took:?}");
}

#[test]
fn more_connections_than_there_is_room_for_wait_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { connections: 2, ..Limits::default() };
    let server = Server::start(kept(folder.path()), limits).unwrap();
    let (first, second) = (connected(&server), connected(&server));
    let mut third = connected(&server);
    third.write_all(b"GET /users HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.read(&mut [0]).is_err());
    drop((first, second));
    third.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// So many requests of all kinds by this pace; how many there were, and how many users are left.
fn worked(server: &Server, clients: usize, pace: Pace, requests: usize) -> (Vec<Kind>, usize) {
    let mut load = Load::connect(server.address(), clients, 11).unwrap();
    let (clock, hz) = (RunClock::chosen(), clock::hz().unwrap());
    let begun = clock.now();
    let kinds = std::cell::RefCell::new(Vec::new());
    let goes_on = |_| kinds.borrow().len() < requests;
    load.drive(clock, hz, pace, 12, goes_on, |done| {
        assert!(begun <= done.begun && done.begun <= done.ended);
        kinds.borrow_mut().push(done.kind);
    })
    .unwrap();
    let users = load.holds().unwrap();
    (kinds.into_inner(), users)
}

#[test]
fn clients_find_everything_as_it_must_be() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(kept(folder.path()), Limits::default()).unwrap();
    let (kinds, users) = worked(&server, 5, Pace::Closed { think: 0.0 }, 3000);
    let count = |kind| kinds.iter().filter(|k| **k == kind).count();
    assert!(Kind::ALL.into_iter().all(|kind| count(kind) > 50), "{kinds:?}");
    assert_eq!(users, count(Kind::Create) - count(Kind::Delete));
    drop(server);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn an_open_loop_has_its_rate() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(kept(folder.path()), Limits::default()).unwrap();
    let begun = Instant::now();
    let (kinds, _) = worked(&server, 8, Pace::Open { rate: 500.0 }, 250);
    // Half a second, and five standard deviations of 1/√250; more where the machine is busy.
    let seconds = begun.elapsed().as_secs_f64();
    assert!(kinds.len() >= 250 && seconds > 0.5 * (1.0 - 5.0 / 250f64.sqrt()), "{seconds}");
}

#[test]
fn a_user_that_another_put_there_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(kept(folder.path()), Limits::default()).unwrap();
    let mut load = Load::connect(server.address(), 1, 1).unwrap();
    assert_eq!(load.holds().unwrap(), 0);
    ask(&server, "POST", "/users", &json!({"name": "Eve", "mail": "eve@example.org"}));
    let wrong = load.holds().unwrap_err().to_string();
    assert!(wrong.contains("Eve") && wrong.contains("has 1 users, its clients own 0"), "{wrong}");
}

#[test]
fn it_is_the_same_with_postgresql() {
    let Ok(url) = env::var(POSTGRES) else {
        return skip_test(&["postgres"], &format!("{POSTGRES} names no server"));
    };
    every_verb(postgres(&url));
    // Two beside each other have nothing in common, and one that is left is no trouble.
    let first = Server::start(postgres(&url), Limits::default()).unwrap();
    let second = Server::start(postgres(&url), Limits::default()).unwrap();
    for server in [&first, &second] {
        worked(server, 4, Pace::Closed { think: 0.0 }, 500);
    }
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let refused = Server::start(Keep::Sqlite("/nowhere/at/all".into()), Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("/nowhere/at/all"), "{refused}");
    let url = "postgresql://nobody@127.0.0.1:1/nothing";
    let refused = Server::start(postgres(url), Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("PostgreSQL: error connecting"), "{refused}");
    // What an agent of guests says, whatever server is named.
    let refused = Server::start(Keep::Postgres(url.into(), no_postgres), Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("PostgreSQL is not in this program"), "{refused}");
}
