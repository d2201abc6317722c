//! `tollway`: reads the command line and does what it says.

mod args;
mod exit;
mod figure;
mod interrupt;
mod laboratory;
mod output;
mod patience;
mod progress_bar;
mod standard_input;
mod verbs;

use std::process::ExitCode;

use args::{Arguments, Verb};

fn main() -> ExitCode {
    tollway_host::file_limit::fail_writes_beyond_limit();
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => return exit::of_usage(&error),
    };
    exit::of(match &arguments.verb {
        Verb::Run(options) => verbs::run::run(&arguments, options),
        Verb::Measure(options) => verbs::measure::measure(&arguments, options),
        Verb::Bill(options) => verbs::bill::bill(&arguments, options),
        Verb::Reproduce(options) => verbs::reproduce::reproduce(&arguments, options),
        Verb::Capture(options) => verbs::capture::capture(&arguments, options),
        Verb::Cipher(options) => verbs::cipher::cipher(&arguments, options),
        Verb::Entropy(options) => verbs::entropy::entropy(&arguments, options),
        Verb::Ipc(options) => verbs::ipc::ipc(&arguments, options),
        Verb::Machine(options) => verbs::machine::machine(&arguments, options),
        Verb::Compare(options) => verbs::compare::compare(&arguments, options),
        Verb::Report(options) => verbs::report::report(&arguments, options),
        Verb::Export(options) => verbs::export::export(&arguments, options),
        Verb::History(options) => verbs::history::history(&arguments, options),
        Verb::Model(options) => verbs::model::model(&arguments, options),
        Verb::Plan(options) => verbs::plan::plan(&arguments, options),
        Verb::Simulate(options) => verbs::simulate::simulate(&arguments, options),
        Verb::Fit(options) => verbs::fit::fit(&arguments, options),
        Verb::List(options) => verbs::list::list(&arguments, options),
        Verb::Doctor(options) => verbs::doctor::doctor(&arguments, options),
        Verb::Generate(options) => verbs::generate::generate(options),
        Verb::Agent => verbs::agent::agent(),
    })
}
