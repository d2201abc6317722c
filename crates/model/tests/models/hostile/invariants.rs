//! What holds for the figures of every model, whatever its parameters.

use tollway_model::Solution;

const LEVELS: [&str; 4] = ["p50", "p90", "p99", "p999"];

/// Figures that may be below zero: differences of what the user gave, and ends of intervals.
const SIGNED: [&str; 5] = ["crossover", "unexplained", "sum.low", "sum.high", "path.low"];

/// What is wrong with the figures; nothing in most cases.
pub fn broken(solution: &Solution) -> Option<String> {
    let metrics = solution.metrics();
    if let Some(metric) = metrics.iter().find(|m| !m.value.is_finite()) {
        return Some(format!("{} is {}", metric.name, metric.value));
    }
    let signed = |name: &str| SIGNED.iter().any(|word| name.contains(word));
    if let Some(metric) = metrics.iter().find(|m| m.value < 0.0 && !signed(&m.name)) {
        return Some(format!("{} is below zero: {:e}", metric.name, metric.value));
    }
    let shares =
        ["utilization", "idle", "loss", "wait.probability", "full", "spinning", "utilization.highest"];
    let share =
        |name: &str| shares.iter().any(|share| name == *share || name.ends_with(&format!(".{share}")));
    // A server cannot be busy for longer than always, not even by rounding.
    let most = |name: &str| if name.ends_with("utilization") { 1.0 } else { 1.0 + 1e-9 };
    if let Some(metric) = metrics.iter().find(|m| m.value > most(&m.name) && share(&m.name)) {
        return Some(format!("{} is above one: {:e}", metric.name, metric.value));
    }
    let mut parts = vec![String::new()];
    parts.extend((1..=8).flat_map(|n| [format!("class.{n}."), format!("station.{n}.")]));
    parts.iter().find_map(|part| of_part(solution, part))
}

fn of_part(solution: &Solution, part: &str) -> Option<String> {
    let get = |name: &str| solution.get(&format!("{part}{name}"));
    let at_most = |small: &str, large: &str| {
        let (s, l) = (get(small)?, get(large)?);
        (s > l * (1.0 + 1e-9)).then(|| format!("{part}{small} {s:e} is above {part}{large} {l:e}"))
    };
    let little = |number: &str, time: &str| {
        let (number_is, flow, time_is) = (get(number)?, get("throughput")?, get(time)?);
        let expected = flow * time_is;
        // Below the smallest normal number there are fewer digits.
        let near = (number_is - expected).abs() <= 1e-8 * number_is.max(expected) || expected < 1e-300;
        (!near)
            .then(|| format!("Little: {part}{number} is {number_is:e}, throughput × {time} is {expected:e}"))
    };
    little("number.mean", "response.mean")
        .or_else(|| little("queue.mean", "wait.mean"))
        .or_else(|| at_most("wait.mean", "response.mean"))
        .or_else(|| at_most("queue.mean", "number.mean"))
        .or_else(|| at_most("throughput.lower", "throughput.upper"))
        .or_else(|| at_most("response.lower", "response.upper"))
        .or_else(|| {
            LEVELS.iter().find_map(|level| at_most(&format!("wait.{level}"), &format!("response.{level}")))
        })
        .or_else(|| {
            ["wait", "response", "delay"].iter().find_map(|subject| {
                LEVELS.windows(2).find_map(|pair| {
                    at_most(&format!("{subject}.{}", pair[0]), &format!("{subject}.{}", pair[1]))
                })
            })
        })
}
