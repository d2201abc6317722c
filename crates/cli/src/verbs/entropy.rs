//! `tollway entropy`: the tool of the path `entropy`.

use anyhow::Result;
use tollway_entropy_tool as tool;
use tollway_entropy_tool::args::Entropy;

use crate::args::Arguments;
use crate::exit::Ending;

/// Does what an operator wants of a generator.
pub fn entropy(arguments: &Arguments, options: &Entropy) -> Result<Ending> {
    Ok(match tool::run(options, arguments.json)? {
        tool::Ending::Done => Ending::Done,
        tool::Ending::Standing(code) => Ending::Standing(code),
    })
}
