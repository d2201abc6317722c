//! Link types by name. Source: <https://www.tcpdump.org/linktypes.html>.

use tollway_capture::engine::LinkType;

/// Those that are met here, by the names that tcpdump -y takes.
const NAMES: [(&str, LinkType); 6] = [
    ("EN10MB", LinkType::ETHERNET),
    ("ETHERNET", LinkType::ETHERNET),
    ("RAW", LinkType::RAW),
    ("LINUX_SLL", LinkType::LINUX_SLL),
    ("LINUX_SLL2", LinkType::LINUX_SLL2),
    ("NULL", LinkType(0)),
];

/// A link type by its name (in any case, with or without what the registry or libpcap puts before it) or number.
pub fn read(text: &str) -> Result<u32, String> {
    let bare = text.to_ascii_uppercase();
    let bare = ["LINKTYPE_", "DLT_"].iter().find_map(|p| bare.strip_prefix(p)).unwrap_or(&bare);
    let named = NAMES.into_iter().find(|(name, _)| *name == bare).map(|(_, link)| link.0);
    named.or_else(|| bare.parse().ok().filter(|number| *number <= 0xffff)).ok_or_else(|| {
        "give EN10MB, RAW, LINUX_SLL, LINUX_SLL2, or a number of www.tcpdump.org/linktypes.html".into()
    })
}

/// Its name for people.
pub fn name(link: LinkType) -> String {
    let named = NAMES.into_iter().find(|(_, known)| *known == link);
    named.map_or_else(|| format!("link type {}", link.0), |(name, _)| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (text, number) in [("EN10MB", 1), ("dlt_raw", 101), ("LINKTYPE_LINUX_SLL", 113), ("276", 276)] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
        for text in ["", "TOKEN", "-1", "65536"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(
            (name(LinkType::ETHERNET), name(LinkType(147))),
            ("EN10MB".into(), "link type 147".into())
        );
    }
}
