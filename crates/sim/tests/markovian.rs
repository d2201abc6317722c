//! Systems with exponential times against their closed forms.

mod simulated;

use simulated::{agrees, simulated};

#[test]
fn one_server() {
    // M/M/1: Kleinrock (1975), Queueing Systems I, section 3.2.
    let (lambda, mu) = (8000.0_f64, 10_000.0);
    let rho = lambda / mu;
    let outcome = simulated(
        r#"
        [[source]]
        name = "machines"
        interarrival = "exponential(125us)"
        [[station]]
        name = "device"
        service = "exponential(100us)"
        [stop]
        customers = 100000
        replications = 32
        "#,
    );
    let response = |share: f64| -(1.0 - share).ln() / (mu - lambda);
    let wait = |share: f64| (rho / (1.0 - share)).ln() / (mu - lambda);
    agrees(
        &outcome,
        &[
            ("utilization", rho),
            ("idle", 1.0 - rho),
            ("throughput", lambda),
            ("number.mean", rho / (1.0 - rho)),
            ("queue.mean", rho * rho / (1.0 - rho)),
            ("wait.mean", rho / (mu - lambda)),
            ("wait.probability", rho),
            ("response.mean", 1.0 / (mu - lambda)),
            ("response.p50", response(0.5)),
            ("response.p90", response(0.9)),
            ("response.p99", response(0.99)),
            ("wait.p50", wait(0.5)),
            ("wait.p90", wait(0.9)),
            ("wait.p99", wait(0.99)),
        ],
    );
}
