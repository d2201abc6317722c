//! The example, as a person runs it.

use std::process::Command;

use crate::quiet::is_quiet;

#[test]
fn a_server_prints_what_its_requests_paid() {
    let exe = std::env::current_exe().unwrap();
    // .../deps/probed-… and .../examples/server.
    let server = exe.parent().unwrap().parent().unwrap().join("examples/server");
    let output = Command::new(&server).args(["4000", "2"]).output().unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said} {complained}");
    println!("{said}{complained}");
    assert!(said.starts_with("4000 requests: "), "{said}");
    assert!(said.contains("the dearest:"), "{said}");
    if complained.is_empty() {
        // An answer is one call, which wakes the client.
        let of = |name: &str| -> f64 {
            let line = said.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
            line.split_whitespace().last().unwrap().parse().unwrap()
        };
        assert_eq!(of("calls"), 1.0);
        assert_eq!(of("failed"), 0.0);
        // A client that is displaced before it sleeps finds its answer there.
        assert!(of("wakes here") + of("wakes across") > if is_quiet() { 0.5 } else { 0.0 }, "{said}");
    }
}
