//! What a reader calls the parts: each says what is done, and nothing that is as usual.

use tollway_core::Params;

fn title(variant: &str, axes: &[(&str, &str)]) -> String {
    let path = tollway_machine::path();
    let variant = path.variant(variant).unwrap();
    let params = axes.iter().fold(Params::new(), |params, (axis, value)| match value.parse::<u64>() {
        Ok(number) => params.with(*axis, number),
        Err(_) => params.with(*axis, *value),
    });
    let params = params.complete(&variant.axes()).and_then(|params| variant.pinned(params)).unwrap();
    variant.title(&params).unwrap()
}

#[test]
fn a_part_is_called_by_what_it_does_and_by_what_is_unusual() {
    for (variant, axes, called) in [
        ("disk", &[][..], "disk: random reads, 4 KiB, 32 under way"),
        (
            "disk",
            &[
                ("pattern", "write"),
                ("size", "1048576"),
                ("depth", "1"),
                ("access", "buffered"),
                ("mib", "64"),
            ],
            "disk: writes, 1 MiB, 1 under way access=buffered mib=64",
        ),
        ("fsync", &[("call", "fdatasync")], "disk: 4 KiB written and fdatasync"),
        ("stream", &[("kernel", "copy"), ("threads", "1")], "STREAM copy"),
        (
            "stream",
            &[("kernel", "add"), ("threads", "2"), ("stores", "non-temporal")],
            "STREAM add, 2 threads stores=non-temporal",
        ),
        ("latency", &[("kib", "131072")], "load out of 128 MiB of memory"),
        ("faults", &[("kind", "huge"), ("threads", "1")], "huge page touched first"),
        ("service", &[("clients", "4")], "web service with its database, 4 clients"),
        (
            "service",
            &[("rate", "500"), ("of", "list")],
            "web service with its database, 500 requests/s, list alone",
        ),
        ("tcp-streams", &[("between", "two-nodes"), ("streams", "4")], "4 TCP streams, two-nodes"),
        ("tcp-requests", &[("between", "loopback")], "TCP request and reply of 64 B, loopback"),
        (
            "udp-datagrams",
            &[("between", "namespaces"), ("by", "iperf3")],
            "UDP datagrams at 1000 Mbit/s, namespaces, iperf3",
        ),
        ("disk", &[("business", "service")], "disk: random reads, 4 KiB, 32 under way business=service"),
    ] {
        assert_eq!(title(variant, axes), called);
    }
}
