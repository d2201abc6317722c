//! `tollway-agent`: an agent on its own. It is started by a coordinator, with a socket as its standard input.

use std::process::ExitCode;

fn main() -> ExitCode {
    match tollway_agent::serve(tollway_all::registry()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tollway-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
