//! What rows are called: as a person says it, and never two by one name.

use tollway_core::{Axis, Domain, Params, Value, Variant};

/// What stands in no title: a limit that is not reached leaves the figure as it is.
const SILENT: [&str; 1] = ["box"];

/// Values of an axis other than its default.
fn others(axis: &Axis) -> Vec<Value> {
    let all: Vec<Value> = match &axis.domain {
        Domain::Words(words) => words.iter().map(|word| Value::from(*word)).collect(),
        Domain::Whole(least, most) => {
            let near = [least + 1, 3, 2048, 3000];
            near.into_iter().filter(|n| (least..=most).contains(&n)).map(Value::Int).collect()
        }
        _ => Vec::new(),
    };
    let mut others: Vec<Value> = Vec::new();
    for value in all {
        if value != axis.default && !others.contains(&value) {
            others.push(value);
        }
    }
    others
}

fn title(variant: &dyn Variant, params: Params) -> Option<String> {
    let params = params.complete(&variant.axes()).ok()?;
    variant.plan(&params).ok()?;
    Some(variant.title(&params).unwrap_or_else(|| panic!("{} has no title at {params}", variant.name())))
}

#[test]
fn whatever_is_not_as_usual_is_in_the_title() {
    for variant in &tollway_machine::path().variants {
        let usual = title(&**variant, Params::new()).unwrap();
        assert!(!usual.contains('='), "{usual}");
        let mut seen = vec![usual.clone()];
        for axis in variant.axes().iter().filter(|axis| !SILENT.contains(&axis.name)) {
            for value in others(axis) {
                // Some values go with others only.
                let Some(title) = title(&**variant, Params::new().with(axis.name, value.clone())) else {
                    continue;
                };
                assert!(!seen.contains(&title), "{} {}={value}: {title}", variant.name(), axis.name);
                assert!(!title.contains('=') && !title.contains("  "), "{title}");
                seen.push(title);
            }
        }
        println!("{}", seen.join("\n"));
    }
}

#[test]
fn a_quick_row_fits_into_a_terminal_beside_its_figures() {
    let path = tollway_machine::path();
    for (name, axes, title) in [
        ("stream", vec![("kernel", "copy".into()), ("mib", 64.into())], "STREAM copy, arrays of 64 MiB"),
        ("stream", vec![("by", "stream".into())], "STREAM triad, by stream"),
        (
            "latency",
            vec![("kib", 131_072.into()), ("backing", "huge".into())],
            "latency of a load, 128 MiB, huge pages",
        ),
        ("faults", vec![("kind", "file".into())], "first touch of a page of a file"),
        (
            "disk",
            vec![("mib", 4096.into()), ("by", "fio".into())],
            "random read, 4 KiB, depth 32, file of 4 GiB, by fio",
        ),
        ("disk", vec![("access", "buffered".into())], "random read, 4 KiB, depth 32, through the page cache"),
        ("fsync", vec![("call", "fdatasync".into())], "write made durable, 4 KiB, fdatasync"),
        (
            "tcp-streams",
            vec![("between", "two-nodes".into()), ("streams", 2.into())],
            "2 TCP streams, two nodes",
        ),
        ("tcp-requests", vec![("between", "namespaces".into())], "TCP request and reply, one node, 64 B"),
        ("udp-datagrams", vec![("rate", 100.into())], "UDP at 100 Mbit/s, loopback"),
        (
            "service",
            vec![("of", "create".into()), ("rate", 500.into())],
            "web service, create requests, 4 clients, 500 requests/s",
        ),
        ("disk", vec![("business", "service".into())], "random read, 4 KiB, depth 32, beside a business"),
    ] {
        let variant = path.variant(name).unwrap();
        let params = axes
            .into_iter()
            .fold(Params::new(), |params, (axis, value): (&str, Value)| params.with(axis, value));
        assert_eq!(self::title(variant, params).as_deref(), Some(title));
    }
}
