#!/usr/bin/env bash
# vmstat: on a machine of N processors the first line shows an Nth of the interrupts and context switches that there were a second.
#
# Versions: procps 2:4.0.2-3 (Debian 12, amd64). Source: Debian's package; vmstat(8): its first line "gives averages since the last reboot",
# and `in` and `cs` are "per second". src/vmstat.c, new_format: that line divides them by the ticks that all processors together have
# spent in any state (si, so, bi and bo too), which on N processors are N times the time that has passed; later lines divide by seconds.
# Behaviour: `intr` and `ctxt` of /proc/stat, divided by /proc/uptime, are N times what the line shows: 4138 switches a second were 2073 on two.
# Output seen: "interrupts: an Nth of those a second; switches: an Nth of those a second".
# Needs two processors or more.
set -euo pipefail

version=2:4.0.2-3
expected="interrupts: an Nth of those a second; switches: an Nth of those a second"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download "procps=$version" "libproc2-0=$version" >/dev/null
for package in ./*.deb; do dpkg -x "$package" root; done

processors=$(grep -c '^cpu[0-9]' /proc/stat)
[ "$processors" -ge 2 ] || { echo "one processor only: there is nothing to see here" >&2 && exit 2; }
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$(find root -name 'libproc2.so.*' | head -n 1)")
# What the kernel has counted, by the second that it has run.
of_the_kernel() { awk -v name="$1" 'NR == FNR { seconds = $1; next } $1 == name { print $2 / seconds }' /proc/uptime /proc/stat; }
# The columns are found by their names.
of_vmstat() { root/usr/bin/vmstat | awk -v name="$1" 'NR == 2 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR == 3 { print $column }'; }
compare() {
    awk -v there="$(of_the_kernel "$1")" -v shown="$(of_vmstat "$2")" -v processors="$processors" 'BEGIN {
        print there " of " shown > "/dev/stderr"
        times = there / shown / processors
        print (times > 0.9 && times < 1.1) ? "an Nth of those a second" : "something else"
    }'
}
seen="interrupts: $(compare intr in); switches: $(compare ctxt cs)"
echo "$seen"
[ "$seen" = "$expected" ] || {
    echo "it was: $expected" >&2
    exit 1
}
