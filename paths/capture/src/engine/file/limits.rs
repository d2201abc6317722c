//! How long things in capture files may be. No file's word is taken for more.

use crate::engine::LinkType;

/// The longest packet of most link types, in bytes: MAXIMUM_SNAPLEN of libpcap, and what Wireshark has.
pub const LONGEST_PACKET: u32 = 262_144;

/// The longest block of a pcapng file that is read whole, in bytes, beside a packet in it: what libpcap allows. Blocks that
/// are skipped may be longer.
pub(super) const LONGEST_BLOCK: u32 = 16 << 20;

/// The longest packet of a link type, in bytes.
pub fn longest_packet(link_type: LinkType) -> u32 {
    match link_type.0 {
        // D-Bus messages: DBUS_MAXIMUM_MESSAGE_LENGTH of the D-Bus specification.
        231 => 128 << 20,
        // USB on Windows, and Elektrobit's bus recorder: the limits that libpcap has for them.
        249 => 1 << 20,
        279 => 8 << 20,
        _ => LONGEST_PACKET,
    }
}

/// The snapshot length that a file's header means: 0, and what no signed number holds, is "as long as there can be".
/// Source: draft-ietf-opsawg-pcap, section 4 (SnapLen: not 0), and what libpcap makes of files that have it 0.
pub(super) fn snapshot_length(said: u32, link_type: LinkType) -> u32 {
    if said == 0 || said > i32::MAX as u32 { longest_packet(link_type) } else { said }
}
