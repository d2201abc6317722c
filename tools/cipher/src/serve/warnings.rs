//! What of a configuration does nothing, or harms: nothing of it is wrong, and nobody can have meant it.

use tollway_cipher::engine::device::Delivery;
use tollway_service::log::say;
use tollway_virtio::order::Discipline;

use super::config::Config;
use crate::args::serve::FunctionOption;

/// One of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// Of which function, or of all.
    function: Option<String>,
    reason: String,
    remedy: &'static str,
}

/// A line of the log for each.
pub(super) fn tell(config: &Config) {
    let processors = std::thread::available_parallelism().map_or(usize::MAX, usize::from);
    for Warning { function, reason, remedy } in of(config, processors) {
        let tenant = function.as_deref().map(|name| ("tenant", name));
        let fields: Vec<(&str, &str)> =
            tenant.into_iter().chain([("reason", &*reason), ("remedy", remedy)]).collect();
        say("warning", &fields);
    }
}

/// All of them, on a machine with so many processors.
fn of(config: &Config, processors: usize) -> Vec<Warning> {
    let (options, functions) = (&config.options, &config.functions);
    let all = |reason: String, remedy| Warning { function: None, reason, remedy };
    let mut found = Vec::new();
    let engines = options.cards * options.engines;
    if engines > functions.len() {
        let reason =
            format!("{engines} engines for {} functions: one of each is served at a time", functions.len());
        found.push(all(reason, "as many engines, of all cards, as functions at most"));
    }
    if engines > processors {
        let reason = format!("{engines} engines on {processors} processors take turns there");
        found.push(all(reason, "leave a processor to those who ask"));
    }
    let first = functions.first().map(|function| function.peer.share.rank);
    if options.discipline == Discipline::Rank
        && functions.len() > 1
        && functions.iter().all(|f| Some(f.peer.share.rank) == first)
    {
        found.push(all(
            "all functions have one rank: the order is that of arrival".into(),
            "give them ranks, or leave the order out",
        ));
    }
    found.extend(functions.iter().flat_map(|function| of_function(function, options.discipline)));
    found
}

fn of_function(function: &FunctionOption, discipline: Discipline) -> Vec<Warning> {
    let share = function.peer.share;
    let warning =
        |reason: String, remedy| Warning { function: Some(function.peer.name.clone()), reason, remedy };
    let mut found = Vec::new();
    if share.rank > 0 && discipline != Discipline::Rank {
        found.push(warning(format!("rank {} does nothing in this order", share.rank), "--order rank"));
    }
    if share.weight > 1 && discipline != Discipline::Fair {
        found.push(warning(format!("weight {} does nothing in this order", share.weight), "--order fair"));
    }
    match function.delivery {
        Delivery::Coalesced { count, hold: None } if count > 1 => {
            let reason =
                format!("a guest with fewer than {count} requests on their way is never told of them");
            found.push(warning(reason, "add a time: tell=8/50us"));
        }
        Delivery::Never => {
            let reason =
                "a guest that sleeps until it is told, as Linux's driver does, sleeps for ever".into();
            found.push(warning(reason, "tell=each, unless it is a program that looks for itself"));
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(functions: &[&str], change: impl FnOnce(&mut Config)) -> Vec<String> {
        let functions: Vec<FunctionOption> = functions.iter().map(|text| text.parse().unwrap()).collect();
        let mut config = Config { functions, status: None, mode: 0o600, options: Default::default() };
        change(&mut config);
        of(&config, 4).into_iter().map(|warning| warning.reason).collect()
    }

    #[test]
    fn what_everybody_would_write_is_not_warned_of() {
        let none: Vec<String> = Vec::new();
        assert_eq!(warned(&["a=a", "b=b,weight=2,tell=8/50us"], |config| config.options.engines = 2), none);
        assert_eq!(
            warned(&["a=a", "b=b,rank=1,tell=cap:10k"], |config| config.options.discipline =
                Discipline::Rank),
            none
        );
        assert_eq!(warned(&["a=a,tell=1", "b=b,tell=50us", "c=c,tell=adaptive"], |_| ()), none);
    }

    #[test]
    fn what_does_nothing_or_harm_is() {
        let told = warned(&["a=a", "b=b", "c=c"], |config| {
            (config.options.cards, config.options.engines) = (2, 2);
        });
        assert!(told.len() == 1 && told[0].contains("4 engines for 3 functions"), "{told:#?}");
        let told =
            warned(&["a=a,rank=3", "b=b,tell=16", "c=c,tell=never"], |config| config.options.engines = 5);
        assert_eq!(told.len(), 5, "{told:#?}");
        assert!(
            told[0].contains("5 engines for 3 functions") && told[1].contains("4 processors"),
            "{told:#?}"
        );
        assert!(told[2].contains("rank 3") && told[3].contains("fewer than 16"), "{told:#?}");
        let told = warned(&["a=a", "b=b,weight=2"], |config| config.options.discipline = Discipline::Rank);
        assert!(told[0].contains("one rank") && told[1].contains("weight 2"), "{told:#?}");
    }
}
