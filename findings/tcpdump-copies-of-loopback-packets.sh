#!/usr/bin/env bash
# tcpdump: a copy of a capture file of BSD's loopback device (link type NULL) that was written on a machine of the other byte order
# is a file in which filters find nothing.
#
# Versions: tcpdump 4.99.3-1, libpcap 1.10.3-1 (Debian 12, amd64). Source: Debian's packages;
# pcap-savefile(5), and LINKTYPE_NULL in https://www.tcpdump.org/linktypes.html: the family before each packet is in the byte order
# of the machine that wrote the file, and a reader is to take the file's order for it.
# Behaviour: `tcpdump -r big.pcap ip` finds the packet; `tcpdump -r big.pcap -w copy.pcap` writes a header in this machine's order
# and leaves the family in the other one; `tcpdump -r copy.pcap ip` finds nothing. Printed, the packet is IP in both.
# Output seen: "source: 1 of 1 are ip, copy: 0 of 1 are ip".
set -euo pipefail

version_of_tcpdump=4.99.3-1
version_of_libpcap=1.10.3-1
expected="source: 1 of 1 are ip, copy: 0 of 1 are ip"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download "tcpdump=$version_of_tcpdump" "libpcap0.8=$version_of_libpcap" >/dev/null
for package in ./*.deb; do dpkg -x "$package" root; done
tcpdump() {
    LD_LIBRARY_PATH=$(dirname "$(find root -name 'libpcap.so.*' | head -n 1)") root/usr/bin/tcpdump "$@" 2>/dev/null
}

# A header of big-endian numbers: version 2.4, 65,535 bytes at most, link type 0. Then one packet: family 2 and 28 bytes of IPv4 and UDP.
{
    printf '\xa1\xb2\xc3\xd4\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00'
    printf '\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x20'
    printf '\x00\x00\x00\x02'
    printf '\x45\x00\x00\x1c\x00\x00\x00\x00\x40\x11\x7c\xcf\x7f\x00\x00\x01\x7f\x00\x00\x01'
    printf '\x30\x39\x00\x35\x00\x08\x00\x00'
} >big.pcap
tcpdump -r big.pcap -w copy.pcap

count() { tcpdump -n -r "$@" | wc -l; }
seen="source: $(count big.pcap ip) of $(count big.pcap) are ip, copy: $(count copy.pcap ip) of $(count copy.pcap) are ip"
echo "$seen"
[ "$seen" = "$expected" ] || {
    echo "it was: $expected" >&2
    exit 1
}
