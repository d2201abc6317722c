//! Systems against closed forms that are written out here, with their sources.

use crate::simulated::{agrees, poisson, simulated, station};

/// Pollaczek and Khinchine: Kleinrock (1975), Queueing Systems I, section 5.6. Wait at so many a second.
fn pollaczek_khinchine(lambda: f64, mean: f64, second: f64) -> f64 {
    lambda * second / (2.0 * (1.0 - lambda * mean))
}

#[test]
fn general_services() {
    for (service, scv) in [
        ("constant(100us)", 0.0),
        ("erlang(3, 100us)", 1.0 / 3.0),
        ("uniform(50us, 150us)", 1.0 / 12.0),
        ("hyperexponential(0.5, 50us, 0.5, 150us)", 1.5),
        ("gamma(2.5, 100us)", 0.4),
        ("lognormal(100us, 0.5)", 0.5),
    ] {
        let (lambda, mean) = (7000.0, 1e-4);
        let wait = pollaczek_khinchine(lambda, mean, mean * mean * (1.0 + scv));
        let outcome = simulated(&(poisson(7000) + &station(service, "")));
        agrees(&outcome, &[("utilization", 0.7), ("wait.mean", wait), ("response.mean", wait + mean)]);
    }
}

/// GI/M/1: Kleinrock (1975), section 6.4; σ is the root of σ = A*(μ − μσ), here for gaps of two stages.
#[test]
fn general_gaps() {
    let (lambda, mu) = (8000.0, 10_000.0);
    let stage = 2.0 * lambda;
    let transform = |sigma: f64| (stage / (stage + mu * (1.0 - sigma))).powi(2);
    let sigma = (0..1000).fold(0.5, |sigma, _| transform(sigma));
    let text = "[[source]]\nname = \"s\"\ninterarrival = \"erlang(2, 125us)\"\n".to_owned()
        + &station("exponential(100us)", "");
    let wait = sigma / (mu * (1.0 - sigma));
    agrees(&simulated(&text), &[("wait.mean", wait), ("wait.probability", sigma), ("utilization", 0.8)]);
}

/// Batches: Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, 4th ed., section 3.1:
/// L = (ρ + r E[X²]) / (2(1 − ρ)) with r = λ/μ.
#[test]
fn batches() {
    let source =
        "[[source]]\nname = \"s\"\ninterarrival = \"exponential(400us)\"\nbatch = [[1, 0.5], [3, 0.5]]\n";
    let outcome = simulated(&(source.to_owned() + &station("exponential(100us)", "")));
    let (r, mean, second) = (0.25, 2.0, 5.0);
    let rho = r * mean;
    let number = (rho + r * second) / (2.0 * (1.0 - rho));
    let idle = 1.0 - rho;
    agrees(&outcome, &[("number.mean", number), ("idle", idle), ("throughput", 5000.0)]);
}

fn two_classes(order: &str, services: &str) -> String {
    format!(
        "[[class]]\nname = \"high\"\n[[class]]\nname = \"low\"\npriority = 1\n\
         [[source]]\nname = \"a\"\nclass = \"high\"\ninterarrival = \"exponential(400us)\"\n\
         [[source]]\nname = \"b\"\nclass = \"low\"\ninterarrival = \"exponential(250us)\"\n\
         [[station]]\nname = \"device\"\norder = \"{order}\"\nservice = {services}\n"
    )
}

/// Cobham: Kleinrock (1976), Queueing Systems II, section 3.3. Residual work over (1 − σ of those before)(1 − σ with one's own).
#[test]
fn priorities_without_interruption() {
    let services = r#"{ high = "constant(100us)", low = "exponential(120us)" }"#;
    let (rates, means) = ([2500.0, 4000.0], [1e-4, 1.2e-4]);
    let residual = 0.5 * (rates[0] * means[0] * means[0] + rates[1] * 2.0 * means[1] * means[1]);
    let sigma = [rates[0] * means[0], rates[0] * means[0] + rates[1] * means[1]];
    let high = residual / (1.0 - sigma[0]);
    let low = residual / ((1.0 - sigma[0]) * (1.0 - sigma[1]));
    agrees(
        &simulated(&two_classes("priority", services)),
        &[
            ("class.high.wait.mean", high),
            ("class.low.wait.mean", low),
            ("class.high.response.mean", high + means[0]),
            ("class.low.response.mean", low + means[1]),
            ("class.low.number.mean", rates[1] * (low + means[1])),
            ("class.low.utilization", rates[1] * means[1]),
            ("class.high.throughput", rates[0]),
            ("wait.mean", (rates[0] * high + rates[1] * low) / (rates[0] + rates[1])),
            ("source.a.response.mean", high + means[0]),
            ("utilization", sigma[1]),
        ],
    );
}

/// Preemptive resume: Jaiswal (1968), Priority Queues; Kleinrock (1976), section 3.4.
#[test]
fn priorities_with_interruption() {
    let services = r#"{ high = "constant(100us)", low = "exponential(120us)" }"#;
    let (rates, means) = ([2500.0, 4000.0], [1e-4, 1.2e-4]);
    let seconds = [means[0] * means[0], 2.0 * means[1] * means[1]];
    let sigma = [rates[0] * means[0], rates[0] * means[0] + rates[1] * means[1]];
    let residual = [0.5 * rates[0] * seconds[0], 0.5 * (rates[0] * seconds[0] + rates[1] * seconds[1])];
    let high = means[0] + residual[0] / (1.0 - sigma[0]);
    let low = means[1] / (1.0 - sigma[0]) + residual[1] / ((1.0 - sigma[0]) * (1.0 - sigma[1]));
    agrees(
        &simulated(&two_classes("preemptive-resume", services)),
        &[
            ("class.high.response.mean", high),
            ("class.low.response.mean", low),
            ("class.low.wait.mean", low - means[1]),
            ("class.low.number.mean", rates[1] * low),
            ("utilization", sigma[1]),
        ],
    );
}

/// Without classes that differ, any order that does not look at services gives the number of M/M/c.
#[test]
fn preemption_with_several_servers_keeps_the_number() {
    let services = r#""exponential(200us)""#;
    let text = two_classes("preemptive-resume", services) + "servers = 2\n";
    // M/M/2 with ρ = 0.65: L = 2ρ/(1 − ρ²).
    let number = 1.3 / (1.0 - 0.65 * 0.65);
    // The high class sees an M/M/2 of its own: ρ = 0.25.
    let high = 0.5 / (1.0 - 0.25 * 0.25);
    agrees(&simulated(&text), &[("number.mean", number), ("class.high.number.mean", high)]);
}

/// M/G/1 shared: Kleinrock (1976), section 4.4: as M/M/1, whatever the service.
#[test]
fn processor_sharing_does_not_mind_the_service() {
    for service in ["exponential(100us)", "constant(100us)", "hyperexponential(0.9, 50us, 0.1, 550us)"] {
        let outcome = simulated(&(poisson(7000) + &station(service, "order = \"processor-sharing\"")));
        let response = 1e-4 / 0.3;
        agrees(
            &outcome,
            &[
                ("response.mean", response),
                ("number.mean", 0.7 / 0.3),
                ("slowdown.mean", 1.0 / 0.3),
                ("utilization", 0.7),
            ],
        );
    }
}

/// A setup before each busy period adds (2E[D] + λE[D²]) / (2(1 + λE[D])): Takagi (1991), Queueing Analysis 1, section 2.2.
#[test]
fn setup() {
    let text = poisson(6000) + &station("exponential(100us)", "wake = { setup = \"exponential(200us)\" }");
    let (lambda, setup) = (6000.0, 2e-4);
    let extra = (2.0 * setup + lambda * 2.0 * setup * setup) / (2.0 * (1.0 + lambda * setup));
    let wait = pollaczek_khinchine(lambda, 1e-4, 2e-8) + extra;
    let setups = lambda * 0.4 / (1.0 + lambda * setup);
    agrees(&simulated(&text), &[("wait.mean", wait), ("setups.rate", setups)]);
}

/// MMPP/M/1 by its matrix-geometric solution (Neuts 1981, Matrix-Geometric Solutions, section 3.1): R = A₀ + … iterated.
#[test]
fn a_stream_that_switches() {
    let (rates, leave, mu) = ([12_000.0, 2000.0], [1000.0, 500.0], 10_000.0);
    let out: Vec<f64> = (0..2).map(|i| rates[i] + mu + leave[i]).collect();
    // R = -(A₀ + R²A₂)A₁⁻¹, A₀ = diag(rates), A₂ = μI, A₁ = Q − A₀ − A₂.
    let a1 = [[-out[0], leave[0]], [leave[1], -out[1]]];
    let det = a1[0][0] * a1[1][1] - a1[0][1] * a1[1][0];
    let inverse = [[a1[1][1] / det, -a1[0][1] / det], [-a1[1][0] / det, a1[0][0] / det]];
    let times = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| -> [[f64; 2]; 2] {
        std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
    };
    let mut r = [[0.0; 2]; 2];
    for _ in 0..100_000 {
        let squared = times(r, r);
        let sum = std::array::from_fn(|i| {
            std::array::from_fn(|j| -(mu * squared[i][j] + if i == j { rates[i] } else { 0.0 }))
        });
        r = times(sum, inverse);
    }
    // π₀ ∝ the vector with π₀(Q − A₀ + RA₂) = 0; all phases together are the chain's own shares.
    let b: [[f64; 2]; 2] = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let q = if i == j { -leave[i] - rates[i] } else { leave[i] };
            q + mu * r[i][j]
        })
    });
    let mut first = [1.0, -b[0][0] / b[1][0]];
    let (x, y) = (1.0 - r[0][0], 1.0 - r[1][1]);
    let d = x * y - r[0][1] * r[1][0];
    let inverse = [[y / d, r[0][1] / d], [r[1][0] / d, x / d]];
    let row =
        |v: [f64; 2], m: [[f64; 2]; 2]| [v[0] * m[0][0] + v[1] * m[1][0], v[0] * m[0][1] + v[1] * m[1][1]];
    let mass: f64 = row(first, inverse).iter().sum();
    first = first.map(|p| p / mass);
    let number: f64 = row(row(row(first, r), inverse), inverse).iter().sum();
    let mean_rate = (rates[0] / leave[0] + rates[1] / leave[1]) / (1.0 / leave[0] + 1.0 / leave[1]);
    let source =
        "[[source]]\nname = \"s\"\nmmpp = { rates = [\"12k/s\", \"2k/s\"], stays = [\"1ms\", \"2ms\"] }\n";
    let outcome = simulated(&(source.to_owned() + &station("exponential(100us)", "")));
    agrees(
        &outcome,
        &[
            ("number.mean", number),
            ("response.mean", number / mean_rate),
            ("utilization", mean_rate / mu),
            ("idle", first[0] + first[1]),
        ],
    );
}

/// Gordon and Newell by exact mean value analysis (Reiser and Lavenberg 1980, JACM 27:313).
#[test]
fn a_closed_network() {
    let (demands, think, customers) = ([1e-3, 5e-4], 2e-3, 5);
    let mut numbers = [0.0, 0.0];
    let (mut throughput, mut responses) = (0.0, [0.0, 0.0]);
    for n in 1..=customers {
        responses = std::array::from_fn(|i| demands[i] * (1.0 + numbers[i]));
        throughput = f64::from(n) / (think + responses[0] + responses[1]);
        numbers = responses.map(|response| throughput * response);
    }
    let text = r#"
        [[source]]
        name = "people"
        closed = { customers = 5, think = "exponential(2ms)" }
        to = "processor"
        [[station]]
        name = "processor"
        service = "exponential(500us)"
        to = { processor = 0.5, disk = 0.5 }
        [[station]]
        name = "disk"
        service = "exponential(500us)"
    "#;
    agrees(
        &simulated(text),
        &[
            ("throughput", throughput),
            ("response.mean", responses[0] + responses[1]),
            ("station.processor.utilization", throughput * demands[0]),
            ("station.processor.number.mean", numbers[0]),
            ("station.disk.number.mean", numbers[1]),
        ],
    );
}

/// A trace with the same gap always is a constant one; with constant services nobody waits.
#[test]
fn a_trace_is_played_again_and_again() {
    let source = "[[source]]\nname = \"s\"\ntrace = [\"100us\", \"300us\", \"50us\"]\n".to_owned();
    let outcome = simulated(&(source + &station("constant(60us)", "")));
    // The third of three comes 50 µs after the second and waits for 10 µs.
    agrees(
        &outcome,
        &[
            ("throughput", 3.0 / 450e-6),
            ("utilization", 180.0 / 450.0),
            ("wait.mean", 10e-6 / 3.0),
            ("wait.probability", 1.0 / 3.0),
        ],
    );
}
