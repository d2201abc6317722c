//! How often a customer finds all of several servers busy: what open stations with more than one server need.

/// Probability that an arrival waits at `servers` servers under a load of `load` Erlangs, which is below their number:
/// Erlang's C, by the recursion for B, of which every term is positive.
///
/// Source: Kleinrock (1975), Queueing Systems I, section 3.5; B(n) = a·B(n−1)/(n + a·B(n−1)).
pub(super) fn probability_of_wait(servers: u64, load: f64) -> f64 {
    let mut blocked = 1.0;
    for n in 1..=servers {
        let offered = load * blocked;
        blocked = offered / (n as f64 + offered);
        if blocked == 0.0 {
            return 0.0;
        }
    }
    let servers = servers as f64;
    servers * blocked / ((servers - load) + load * blocked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_is_busy_as_often_as_its_load() {
        for load in [1e-12, 0.3, 0.999_999] {
            assert!((probability_of_wait(1, load) / load - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn two_servers_by_hand() {
        // C(2, a) = a²/(2 + a).
        for load in [0.1, 1.0, 1.9] {
            assert!((probability_of_wait(2, load) / (load * load / (2.0 + load)) - 1.0).abs() < 1e-14);
        }
    }
}
