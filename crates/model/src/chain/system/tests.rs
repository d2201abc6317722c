//! Chains of whole systems against closed forms, which know nothing of states.

use super::{Answer, Unsuited, solve};
use crate::Solution;
use crate::chain::Allowance;
use crate::markovian::{FiniteSource, Mm1, Mmc, Mmck};
use crate::spec::Spec;

fn answer(text: &str) -> Answer {
    solve(&Spec::from_toml(text).unwrap().checked().unwrap(), &Allowance::default()).unwrap()
}

fn solved(text: &str) -> Solution {
    match answer(text) {
        Answer::Solved { solution, .. } => solution,
        Answer::Unsuited(why) => panic!("{why}"),
    }
}

fn holds(solution: &Solution, name: &str, right: f64) {
    let found = solution.get(name).unwrap_or_else(|| panic!("there is no {name} in {solution:?}"));
    assert!((found - right).abs() <= 1e-9 * right.abs() + 1e-15, "{name}: {found} instead of {right}");
}

const POISSON: &str = "[[source]]\nname = 'all'\ninterarrival = 'exponential(1)'\n";

/// One station fed by a Poisson stream of one per second.
fn station(rest: &str) -> Solution {
    solved(&format!("{POISSON}[[station]]\nname = 'one'\n{rest}"))
}

#[test]
fn one_server_and_several_with_and_without_room() {
    for rho in [0.01, 0.5, 0.9, 0.99] {
        let (found, right) =
            (station(&format!("service = 'exponential({rho})'")), Mm1::new(1.0, 1.0 / rho).unwrap());
        holds(&found, "utilization", rho);
        holds(&found, "idle", 1.0 - rho);
        holds(&found, "throughput", 1.0);
        holds(&found, "number.mean", right.mean_number());
        holds(&found, "queue.mean", right.mean_queue());
        holds(&found, "wait.mean", right.mean_wait());
        holds(&found, "response.mean", right.mean_response());
        holds(&found, "wait.probability", rho);
    }
    let (found, right) =
        (station("service = 'exponential(3.5)'\nservers = 4"), Mmc::new(1.0, 1.0 / 3.5, 4).unwrap());
    holds(&found, "wait.mean", right.mean_wait());
    holds(&found, "wait.probability", right.wait_probability());
    let found = station("service = 'exponential(5)'\nservers = 2\ncapacity = 7");
    let right = Mmck::new(1.0, 0.2, 2, 7).unwrap();
    holds(&found, "loss", right.loss());
    holds(&found, "throughput", right.throughput());
    holds(&found, "wait.mean", right.mean_wait());
    holds(&found, "wait.probability", right.wait_probability());
}

#[test]
fn services_of_stages_obey_pollaczek_and_khinchine() {
    let branches = "hyperexponential(0.75, 0.4, 0.25, 1.6)";
    let scv = 2.0 * (0.75 * 0.16 + 0.25 * 2.56) / 0.49 - 1.0;
    for (service, mean, scv) in [("erlang(3, 0.8)", 0.8, 1.0 / 3.0), (branches, 0.7, scv)] {
        let found = station(&format!("service = '{service}'"));
        holds(&found, "wait.mean", mean * mean * (1.0 + scv) / (2.0 * (1.0 - mean)));
    }
    // Shared instead of queued, only the mean counts.
    let shared = station(&format!("service = '{branches}'\norder = 'processor-sharing'"));
    holds(&shared, "number.mean", 0.7 / 0.3);
    holds(&shared, "utilization", 0.7);
}

#[test]
fn gaps_of_stages_are_a_renewal_stream() {
    // E2/M/1: σ solves σ = (2/(2 + (1 − σ)/ρ'))² with services of mean 0.8; an arrival waits with probability σ.
    let found = solved(
        "[[source]]\nname = 'all'\ninterarrival = 'erlang(2, 1)'\n[[station]]\nname = 'one'\nservice = 'exponential(0.8)'",
    );
    let sigma = (0..400).fold(0.5, |s: f64, _| (2.0 / (2.0 + (1.0 - s) / 0.8)).powi(2));
    holds(&found, "wait.probability", sigma);
    holds(&found, "wait.mean", 0.8 * sigma / (1.0 - sigma));
}

#[test]
fn a_switch_between_equal_rates_is_no_switch() {
    let found = solved(
        "[[source]]\nname = 'all'\nmmpp = { rates = [1, 1], stays = [3, 0.2] }\n[[station]]\nname = 'one'\nservice = 'exponential(0.7)'",
    );
    holds(&found, "number.mean", 0.7 / 0.3);
    // On and off, seldom changing: nearly a mixture of two queues, one of them empty.
    let slow = solved(
        "[[source]]\nname = 'all'\nmmpp = { rates = [1, 0], stays = [1e7, 1e7] }\n[[station]]\nname = 'one'\nservice = 'exponential(0.7)'",
    );
    assert!((slow.get("number.mean").unwrap() / (0.5 * 0.7 / 0.3) - 1.0).abs() < 1e-5);
}

#[test]
fn batches_wait_for_each_other() {
    let found = solved(
        "[[source]]\nname = 'all'\ninterarrival = 'exponential(1)'\nbatch = [[1, 0.5], [4, 0.5]]\n[[station]]\nname = 'one'\nservice = 'exponential(0.3)'",
    );
    // M^X/M/1: L = ρ(1 + E[X²]/E[X])/(2(1 − ρ)).
    let (rho, ratio) = (0.75, 8.5 / 2.5);
    holds(&found, "throughput", 2.5);
    holds(&found, "number.mean", rho * (1.0 + ratio) / (2.0 * (1.0 - rho)));
}

#[test]
fn populations_come_back() {
    let found = solved(
        "[[source]]\nname = 'all'\nclosed = { customers = 9, think = 'exponential(5)' }\n[[station]]\nname = 'one'\nservers = 2\nservice = 'exponential(1)'",
    );
    let right = FiniteSource::new(0.2, 1.0, 2, 9).unwrap();
    holds(&found, "throughput", right.throughput());
    holds(&found, "response.mean", right.mean_response());
    holds(&found, "wait.probability", right.wait_probability());
    // Without thinking, all are always there: two stations in a circle are balanced.
    let circle = solved(
        "[[source]]\nname = 'all'\nclosed = { customers = 4 }\nto = 'one'\n[[station]]\nname = 'one'\nservice = 'exponential(1)'\nto = 'two'\n[[station]]\nname = 'two'\nservice = 'exponential(1)'",
    );
    holds(&circle, "throughput", 4.0 / 5.0);
    holds(&circle, "station.two.number.mean", 2.0);
}

const CLASSES: &str = "[[class]]\nname = 'high'\npriority = 0\n[[class]]\nname = 'low'\npriority = 1\n\
    [[source]]\nname = 'a'\nclass = 'high'\ninterarrival = 'exponential(2)'\nto = 'one'\n\
    [[source]]\nname = 'b'\nclass = 'low'\ninterarrival = 'exponential(4)'\nto = 'one'\n[[station]]\nname = 'one'\n";

#[test]
fn priorities_by_cobham_and_by_interruption() {
    let services = "service = { high = 'exponential(0.8)', low = 'exponential(1.2)' }";
    let (one, two) = (0.4, 0.3);
    let rest = 0.5 * 0.64 + 0.25 * 1.44;
    let patient = solved(&format!("{CLASSES}{services}\norder = 'priority'"));
    holds(&patient, "class.high.wait.mean", rest / (1.0 - one));
    holds(&patient, "class.low.wait.mean", rest / ((1.0 - one) * (1.0 - one - two)));
    holds(&patient, "class.high.utilization", one);
    holds(&patient, "class.low.wait.probability", one + two);
    let interrupted = solved(&format!("{CLASSES}{services}\norder = 'preemptive-resume'"));
    holds(&interrupted, "class.high.response.mean", 0.8 / (1.0 - one));
    let low = 1.2 / (1.0 - one) + rest / ((1.0 - one) * (1.0 - one - two));
    holds(&interrupted, "class.low.response.mean", low);
    holds(&interrupted, "class.low.number.mean", 0.25 * low);
}

#[test]
fn several_servers_with_priorities_keep_the_mean_of_all() {
    // Equal services: whoever goes first, the queue is that of M/M/c, and high ones see it as if alone.
    let found = solved(&format!("{CLASSES}service = 'exponential(2)'\nservers = 2\norder = 'priority'"));
    let all = Mmc::new(0.75, 0.5, 2).unwrap();
    holds(&found, "queue.mean", all.mean_queue());
    holds(&found, "class.high.wait.mean", all.wait_probability() / (2.0 * 0.5 - 0.5));
    let over =
        solved(&format!("{CLASSES}service = 'exponential(2)'\nservers = 2\norder = 'preemptive-resume'"));
    holds(&over, "number.mean", all.mean_number());
    holds(&over, "class.high.response.mean", Mmc::new(0.5, 0.5, 2).unwrap().mean_response());
}

#[test]
fn classes_in_one_line_keep_their_order() {
    // M/M/1/3 with two classes whose services are equal: what is remembered of the order must not matter.
    let found = solved(&format!("{CLASSES}service = 'exponential(1)'\ncapacity = 3"));
    let right = Mmck::new(0.75, 1.0, 1, 3).unwrap();
    holds(&found, "loss", right.loss());
    holds(&found, "class.high.loss", right.loss());
    holds(&found, "class.low.wait.mean", right.mean_wait());
    holds(&found, "class.high.number.mean", right.mean_number() * 2.0 / 3.0);
}

#[test]
fn sleeping_servers_decompose() {
    let (rho, one) = (0.6, Mm1::new(1.0, 1.0 / 0.6).unwrap());
    // N-policy: (N − 1)/2 more customers, one wake for each N/(1 − ρ) arrivals.
    let n = station("service = 'exponential(0.6)'\nwake = { count = 5 }");
    holds(&n, "queue.mean", one.mean_queue() + 2.0);
    holds(&n, "interrupts.rate", (1.0 - rho) / 5.0);
    holds(&n, "wait.probability", 1.0);
    // Vacations: the rest of one more.
    let look = station("service = 'exponential(0.6)'\nwake = { poll = 'erlang(2, 3)' }");
    holds(&look, "wait.mean", one.mean_wait() + 3.0 * 1.5 / 2.0);
    holds(&look, "polls.rate", (1.0 - rho) / 3.0);
    // Setup of mean d: (2d + λE[D²])/(2(1 + λd)) more.
    let setup = station("service = 'exponential(0.6)'\nwake = { setup = 'exponential(2)' }");
    holds(&setup, "wait.mean", one.mean_wait() + (4.0 + 8.0) / (2.0 * 3.0));
    holds(&setup, "setups.rate", (1.0 - rho) / 3.0);
}

#[test]
fn bulks_that_take_any_number() {
    // M/M[1,K]/1, K = 3: the root of μ(r + r² + r³) = λ gives the queue while busy (Chaudhry and Templeton 1983, A First Course in Bulk Queues).
    let found = station("service = 'exponential(2)'\nbulk = { most = 3 }");
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..200 {
        let r = 0.5 * (low + high);
        if 0.5 * (r + r * r + r * r * r) < 1.0 { low = r } else { high = r }
    }
    // Busy with q waiting: P(q) = P(0) rᵠ; idle by λ π = μ P(0).
    let busy_empty = 1.0 / (0.5 + 1.0 / (1.0 - low));
    holds(&found, "idle", 0.5 * busy_empty);
    holds(&found, "queue.mean", busy_empty * low / (1.0 - low).powi(2));
    holds(&found, "throughput", 1.0);
    holds(&found, "batch.mean", 1.0 / (0.5 * (1.0 - 0.5 * busy_empty)));
}

#[test]
fn coalesced_by_count() {
    let alone = solved(&format!("{POISSON}[[coalescer]]\nname = 'held'\ncount = 8"));
    holds(&alone, "delay.mean", 3.5);
    holds(&alone, "interrupts.rate", 1.0 / 8.0);
    holds(&alone, "batch.mean", 8.0);
    let after = solved(&format!(
        "{POISSON}to = 'one'\n[[station]]\nname = 'one'\nservice = 'exponential(0.6)'\nto = 'held'\n[[coalescer]]\nname = 'held'\ncount = 4"
    ));
    // Burke: what leaves M/M/1 is a Poisson stream.
    holds(&after, "station.one.number.mean", 1.5);
    holds(&after, "coalescer.held.delay.mean", 1.5);
    holds(&after, "response.mean", 3.0);
}

#[test]
fn stations_in_series_and_with_feedback_are_jacksons() {
    let found = solved(&format!(
        "{POISSON}to = 'one'\n[[station]]\nname = 'one'\nservice = 'exponential(0.4)'\nto = {{ two = 0.5, exit = 0.5 }}\n\
         [[station]]\nname = 'two'\nservice = 'exponential(0.5)'\nto = 'one'"
    ));
    // Station one sees 2/s, station two 1/s.
    holds(&found, "station.one.number.mean", 0.8 / 0.2);
    holds(&found, "station.two.number.mean", 1.0);
    holds(&found, "response.mean", 5.0);
    holds(&found, "idle", 0.2 * 0.5);
}

#[test]
fn who_is_lost_on_the_way_leaves_no_mean_of_the_whole() {
    let found = solved(&format!(
        "{POISSON}to = 'one'\n[[station]]\nname = 'one'\nservice = 'exponential(0.5)'\nto = 'two'\n\
         [[station]]\nname = 'two'\nservice = 'exponential(1)'\ncapacity = 2"
    ));
    let right = Mmck::new(1.0, 1.0, 1, 2).unwrap();
    holds(&found, "loss", right.loss());
    holds(&found, "station.two.wait.mean", right.mean_wait());
    assert_eq!(found.get("response.mean"), None);
}

#[test]
fn what_is_no_small_chain_says_why() {
    for (text, why) in [
        (
            format!("{POISSON}[[station]]\nname = 'one'\nservice = 'constant(0.5)'"),
            "station one: constant(0.5)",
        ),
        (
            format!("{POISSON}[[coalescer]]\nname = 'held'\ncount = 8\ntimer = '1s'"),
            "coalescer held: its timer",
        ),
        (format!("{CLASSES}service = 'exponential(0.5)'"), "it has more than"),
        (
            format!("{CLASSES}service = 'erlang(2, 0.5)'\norder = 'preemptive-resume'"),
            "station one: an interrupted service",
        ),
    ] {
        match answer(&text) {
            Answer::Unsuited(told) => assert!(told.to_string().starts_with(why), "{told}"),
            Answer::Solved { .. } => panic!("{why}"),
        }
    }
    assert!(matches!(
        answer(&format!("{POISSON}[[station]]\nname = 'one'\nservice = 'exponential(0.999999)'")),
        Answer::Unsuited(Unsuited::TooManyStates { cut: true, .. })
    ));
}

#[test]
fn what_would_take_too_long_or_too_much_is_given_up() {
    // Thirty customers who each go one of two ways: 2³⁰ ways.
    let batch = "[[source]]\nname = 'all'\ninterarrival = 'exponential(100)'\nbatch = [[30, 1.0]]\n\
                 to = { one = 0.5, two = 0.5 }\n[[station]]\nname = 'one'\nservice = 'exponential(1)'\n\
                 [[station]]\nname = 'two'\nservice = 'exponential(1)'\n";
    let Answer::Unsuited(Unsuited::Unsolved { why }) = answer(batch) else { panic!("{batch}") };
    assert!(why.contains("more than 10000 ways"), "{why}");
    // Two hundred stations in a row: states of two hundred numbers each.
    let mut row = POISSON.replace("name = 'all'", "name = 'all'\nto = 's0'");
    for i in 0..200 {
        let to = if i < 199 { format!("to = 's{}'\n", i + 1) } else { String::new() };
        row += &format!("[[station]]\nname = 's{i}'\nservice = 'exponential(0.5)'\n{to}");
    }
    let told = answer(&row);
    assert!(
        matches!(told, Answer::Unsuited(Unsuited::TooManyStates { most, .. }) if most < 2500),
        "{told:?}"
    );
}

#[test]
fn an_allowance_ends_it_and_so_does_an_interruption() {
    let text = format!("{POISSON}[[station]]\nname = 'one'\nservice = 'exponential(0.99)'\n");
    let spec = Spec::from_toml(&text).unwrap();
    let told = solve(&spec, &Allowance::share(1e-4)).unwrap();
    assert!(matches!(told, Answer::Unsuited(Unsuited::TooLong { states }) if states > 0), "{told:?}");
    let flag = std::sync::atomic::AtomicBool::new(true);
    let told = solve(&spec, &Allowance::default().until(&flag)).unwrap();
    assert_eq!(told, Answer::Unsuited(Unsuited::Interrupted));
}
