//! Lines that nobody of ours wrote: the reader takes them or refuses them, and what it takes says the same again.

use crate::turn::turn;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tollway_tenant::protocol::{self, Hello, Reply, Request};

/// Any JSON document; its names are often those of the protocol, so that it gets past the first field.
fn document() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        3 => proptest::sample::select(vec![
            "actor", "command", "answer", "make", "ready", "run", "finish", "made", "ran", "finished", "failed",
            "path", "variant", "role", "params", "tenant", "cpu", "doorbells", "measured", "hz", "warm", "open",
            "close", "batch", "planted", "spread", "counts", "ops", "ticks", "gaps", "late", "input", "missing",
            "protocol", "program", "pid", "clock", "process", "micro-guest", "end", "ended", "requires", "counts",
        ])
        .prop_map(String::from),
        1 => ".{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|x| json!(x)),
        name.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..8)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Requests of which some are right, and some are only nearly right.
fn nearly_request() -> impl Strategy<Value = Value> {
    let number =
        || prop_oneof![any::<u32>().prop_map(|n| json!(n)), any::<i64>().prop_map(|n| json!(n)), document()];
    let command = prop_oneof![
        Just(json!("finish")),
        proptest::collection::vec(".{0,20}", 0..4).prop_map(|a| json!({ "ready": a })),
        (number(), number(), number()).prop_map(|(a, b, c)| {
            json!({ "run": { "warm": a, "open": b, "close": c, "batch": 1, "planted": 0 } })
        }),
        (document(), number(), any::<f64>()).prop_map(|(params, cpu, hz)| {
            json!({ "make": {
                "path": "p", "variant": "v", "role": "r", "params": params, "tenant": "thread", "cpu": cpu,
                "doorbells": 0, "measured": true, "hz": hz, "requires": [],
            }})
        }),
        document(),
    ];
    (number(), command).prop_map(|(actor, command)| json!({ "actor": actor, "command": command }))
}

fn read_all(line: &[u8]) {
    let _ = protocol::receive::<Request>(&mut &line[..]);
    let _ = protocol::receive::<Reply>(&mut &line[..]);
    let _ = protocol::receive::<Hello>(&mut &line[..]);
}

proptest! {
    #[test]
    fn no_document_makes_the_reader_panic(document in document()) {
        let _turn = turn();
        let mut line = serde_json::to_vec(&document).unwrap();
        line.push(b'\n');
        read_all(&line);
    }

    #[test]
    fn what_the_reader_takes_says_the_same_again(request in nearly_request()) {
        let _turn = turn();
        let mut line = serde_json::to_vec(&request).unwrap();
        line.push(b'\n');
        if let Ok(Some(taken)) = protocol::receive::<Request>(&mut &line[..]) {
            let mut again = Vec::new();
            protocol::send(&mut again, &taken).unwrap();
            prop_assert_eq!(protocol::receive::<Request>(&mut &again[..]).unwrap(), Some(taken));
        }
    }

    #[test]
    fn bytes_are_refused_and_the_next_line_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _turn = turn();
        read_all(&bytes);
        let mut stream: Vec<u8> = bytes.iter().copied().filter(|b| *b != b'\n').collect();
        stream.extend(b"\n{\"actor\":1,\"command\":\"finish\"}\n");
        let mut stream = &stream[..];
        let _ = protocol::receive::<Request>(&mut stream);
        prop_assert_eq!(protocol::receive::<Request>(&mut stream).unwrap().unwrap().actor, 1);
    }
}

/// Brackets in brackets: the reader's depth is bounded, so its stack is.
#[test]
fn a_deep_document_is_refused() {
    let _turn = turn();
    let mut line = vec![b'['; 1 << 20];
    line.push(b'\n');
    assert!(protocol::receive::<Request>(&mut &line[..]).is_err());
}
