//! Expressions of all kinds, and packets that some of them are about.

use super::packets;
use super::random::Random;

/// Expressions whose programs with and without libpcap's optimiser come to different verdicts. libpcap 1.10.3 (and maybe
/// others) drops comparisons from this one: of TCP from port 8080 to any port of neither list, which is wanted, it
/// looks at the destination only, and refuses it.
pub const KNOWN_TO_DIFFER: &[&str] = &["(tcp port 22 or 25 or 80 or 443 or 8080) and \
     (port 22 or 25 or 53 or 80 or 110 or 143 or 443 or 993 or 3306 or 8080)"];

/// By themselves.
const SIMPLE: &[&str] = &[
    "",
    "ip",
    "ip6",
    "arp",
    "rarp",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "igmp",
    "sctp",
    "esp",
    "ah",
    "pim",
    "vrrp",
    "ip proto 50",
    "ip proto \\tcp",
    "ip6 proto 58",
    "ip6 proto \\udp",
    "proto 17",
    "ip6 protochain 6",
    "ip protochain 17",
    "ether proto 0x0800",
    "ether proto 0x86dd",
    "ether proto 0x88cc",
    "ether broadcast",
    "ether multicast",
    "ip multicast",
    "ip6 multicast",
    "broadcast",
    "multicast",
    "ether host 02:00:00:00:00:01",
    "ether src 02:00:00:00:00:01",
    "ether dst ff:ff:ff:ff:ff:ff",
    "host 10.0.0.1",
    "src host 10.0.0.2",
    "dst host 10.0.0.3",
    "src or dst host 10.0.0.4",
    "src and dst host 10.0.0.4",
    "ip host 10.0.0.5",
    "arp host 10.0.0.1",
    "net 10.0.0.0/8",
    "src net 10.0.0.0/29",
    "dst net 10.0.0.8/30",
    "net 10",
    "net 10.0",
    "net 10.0.0.0 mask 255.255.255.248",
    "net 0.0.0.0/0",
    "ip6 host 2001:db8::1",
    "ip6 net 2001:db8::/32",
    "ip6 src net 2001:db8::/64",
    "ip6 net ::/0",
    "port 80",
    "src port 80",
    "dst port 443",
    "tcp port 22",
    "udp port 53",
    "tcp src port 8080",
    "udp dst port 3306",
    "sctp port 993",
    "portrange 20-30",
    "tcp portrange 100-1000",
    "udp dst portrange 1-1023",
    "tcp port 22 or 25 or 80 or 443 or 8080",
    "port 22 or 25 or 53 or 80 or 110 or 143 or 443 or 993 or 3306 or 8080",
    "tcp dst port 1 or 2 or 3 or 4",
    "vlan",
    "vlan 3",
    "vlan and ip",
    "vlan 1 and vlan 2",
    "vlan and tcp port 80",
    "vlan and host 10.0.0.1",
    "ip or vlan",
    "mpls",
    "mpls 5",
    "mpls and ip",
    "pppoed",
    "pppoes",
    "pppoes and ip",
    "llc",
    "stp",
    "ipx",
    "less 60",
    "greater 100",
    "len > 60",
    "len <= 64",
    "len = 60",
    "len - 14 >= 46",
    "len != 60 and tcp",
    "inbound or ip",
    "ether[0] & 1 = 0",
    "ether[12:2] > 1500",
    "ether[12:2] = 0x0806",
    "ip[0] & 0xf != 5",
    "ip[0] & 0xf > 5 and tcp",
    "ip[6:2] & 0x1fff = 0",
    "ip[6] & 0x40 != 0",
    "ip[8] < 64",
    "ip[9] = 6 or ip[9] = 17",
    "ip[2:2] > 576",
    "ip[2:2] - (ip[0] & 0xf) * 4 > 100",
    "ip[12:4] = 0x0a000001",
    "ip[16:4] & 0xffffff00 = 0x0a000000",
    "ip[2:2] / 2 > 300",
    "ip[2:2] % 7 = 3",
    "ip[8] ^ ip[9] = 70",
    "(ip[2:2] << 2) > 2000",
    "ip[2:2] >> 3 > 60",
    "ip[1] | ip[8] = 64",
    "ip[ip[0] & 0xf] = 0",
    "ip[8] / ip[1] = 0",
    "ip[8] % ip[9] = 4",
    "1 << ip[8] = 0",
    "ip[9] << ip[1] = 6",
    "ip6[6] = 6",
    "ip6[40] & 0x80 != 0",
    "tcp[13] & 2 != 0",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[tcpflags] = tcp-syn",
    "tcp[tcpflags] & tcp-ack != 0 and tcp[tcpflags] & tcp-push = 0",
    "tcp[0:2] > 1024",
    "tcp[2:2] = 80 or tcp[0:2] = 80",
    "tcp[12] >> 4 > 5",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
    "udp[4:2] > 100",
    "udp[0:2] = udp[2:2]",
    "icmp[icmptype] = icmp-echo",
    "icmp[icmptype] != icmp-echo and icmp[icmptype] != icmp-echoreply",
    "icmp[0] = 3 or icmp[0] = 11",
    "icmp6[icmp6type] = icmp6-echo",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "not ip",
    "not tcp port 22",
    "not (tcp or udp)",
    "tcp or udp or icmp or arp",
    "ip and not icmp",
    "src host 10.0.0.1 and dst host 10.0.0.2",
    "host 10.0.0.1 and not port 80",
    "(host 10.0.0.1 or host 10.0.0.2) and (port 80 or port 443)",
    "host 10.0.0.1 or host 10.0.0.2 or host 10.0.0.3 or host 10.0.0.4 or host 10.0.0.5 or host 10.0.0.6",
    "tcp and src net 10.0.0.0/28 and dst portrange 1-1023",
    "ip and ip[8] - 1 = 63",
    "ether[6:4] = ether[0:4]",
    "len = ip[2:2] + 14",
    "len >= 14 + 4 * (ip[0] & 15)",
    "-ip[8] = 0xffffffc0",
    "ip[8] * ip[9] = 384",
    "0 = 0",
    "1 > 2 or ip",
    "ip[0] = 0x45 and ip[0] = 0x46",
    "ip[0] = 0x45 or ip[0] != 0x45",
];

/// The simple ones, and others made of two or three of them until there are so many.
pub fn expressions(count: usize) -> Vec<String> {
    let mut random = Random(17);
    let mut list: Vec<String> = SIMPLE.iter().chain(KNOWN_TO_DIFFER).map(|s| (*s).to_owned()).collect();
    while list.len() < count {
        let mut term = || {
            let one = SIMPLE[1 + random.below(SIMPLE.len() as u64 - 1) as usize];
            // What looks behind a tag changes what all that follows looks at.
            let changes = ["vlan", "mpls", "pppoe"].iter().any(|word| one.contains(word));
            let not = if random.below(4) == 0 && !changes { "not " } else { "" };
            format!("{not}({one})")
        };
        let (one, two, three) = (term(), term(), term());
        list.push(match random.below(5) {
            0 => format!("{one} and {two}"),
            1 => format!("{one} or {two}"),
            2 => format!("{one} and ({two} or {three})"),
            3 => format!("({one} or {two}) and {three}"),
            _ => format!("{one} and {two} and {three}"),
        });
    }
    list
}

/// Packets with something in them that expressions ask for and that is rare otherwise.
pub fn packets(random: &mut Random) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    while list.len() < 200 {
        let mut packet = packets::packet(random);
        if packet.len() < 40 {
            continue;
        }
        match random.below(4) {
            0 => packet[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1]),
            1 => packet[12..16].copy_from_slice(&[0x88, 0x47, 0, 0]),
            2 => packet[12..20].copy_from_slice(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 40]),
            _ => packet[15] = random.below(64) as u8,
        }
        list.push(packet);
    }
    list
}
