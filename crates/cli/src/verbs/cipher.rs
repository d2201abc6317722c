//! `tollway cipher`: the tool of the path `cipher`.

use anyhow::Result;
use tollway_cipher_tool as tool;
use tollway_cipher_tool::args::Cipher;

use crate::args::Arguments;
use crate::exit::Ending;

/// Does what an operator wants of a crypto device.
pub fn cipher(arguments: &Arguments, options: &Cipher) -> Result<Ending> {
    Ok(match tool::run(options, arguments.json)? {
        tool::Ending::Done => Ending::Done,
        tool::Ending::RequirementMissing => Ending::RequirementMissing,
    })
}
