//! `tollway-agent`: an agent on its own. It is started by a coordinator, with a socket as its standard input, by the
//! kernel of a Linux guest, as its first program, or by the shell of another host, as a keeper of agents there.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollway_host::file_limit::fail_writes_beyond_limit();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let served = match (std::process::id(), &words[..]) {
        (1, _) => tollway_agent::init::run().map(drop),
        (_, [word, folder]) if word == tollway_agent::keeper::WORD => {
            tollway_agent::keeper::keep(folder.as_ref())
        }
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
