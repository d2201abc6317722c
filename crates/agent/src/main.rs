//! `tollway-agent`: an agent on its own. It is started by a coordinator, with a socket as its standard input, or by
//! the kernel of a Linux guest, as its first program.

use std::process::ExitCode;

fn main() -> ExitCode {
    let served = match std::process::id() {
        1 => tollway_agent::init::run().map(drop),
        _ => tollway_agent::serve(tollway_all::registry()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tollway-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
