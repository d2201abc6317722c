//! Link types by name. Source: <https://www.tcpdump.org/linktypes.html>.

use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{link_type_name, link_type_of_name};

/// A link type by the name that tcpdump -y takes (in any case, with or without what the registry or libpcap
/// puts before it) or number.
pub fn read(text: &str) -> Result<u32, String> {
    let bare = text.to_ascii_uppercase();
    let bare = ["LINKTYPE_", "DLT_"].iter().find_map(|p| bare.strip_prefix(p)).unwrap_or(&bare);
    let numbered = bare.parse().ok().filter(|number| *number <= 0xffff).map(LinkType::from_file);
    let link = match numbered {
        Some(_) => numbered,
        // The registry's name for what libpcap calls EN10MB.
        None => link_type_of_name(if bare == "ETHERNET" { "EN10MB" } else { bare })
            .map_err(|missing| missing.to_string())?,
    };
    link.map(|link| link.0).ok_or_else(|| {
        "give a name such as EN10MB, RAW, LINUX_SLL, LINUX_SLL2, NULL, or a number of \
         www.tcpdump.org/linktypes.html"
            .into()
    })
}

/// Its name for people; its number where libpcap, which has the names, cannot be loaded.
pub fn name(link: LinkType) -> String {
    link_type_name(link).ok().flatten().unwrap_or_else(|| format!("link type {}", link.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (text, number) in [
            ("EN10MB", 1),
            ("ethernet", 1),
            ("dlt_raw", 101),
            ("LINKTYPE_LINUX_SLL", 113),
            ("276", 276),
            ("ATM_CLIP", 106),
            ("106", 106),
            ("19", 106),
            ("12", 101),
            ("null", 0),
            ("LOOP", 108),
            ("IPV4", 228),
            ("IEEE802_11_RADIO", 127),
        ] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
        for text in ["", "TOKEN", "-1", "65536"] {
            assert!(read(text).is_err(), "{text}");
        }
        for (number, text) in [(1, "EN10MB"), (106, "ATM_CLIP"), (229, "IPV6"), (65_000, "link type 65000")] {
            assert_eq!(name(LinkType(number)), text);
        }
    }
}
