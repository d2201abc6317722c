//! `tollway agent`: plays actors at the command of another tollway.

use anyhow::Result;

use crate::exit::Ending;

/// Serves until the coordinator closes the socket.
pub fn agent() -> Result<Ending> {
    tollway_agent::serve(tollway_all::registry_with(tollway_postgres::open))?;
    Ok(Ending::Done)
}
