#!/usr/bin/env bash
# ext4 without a journal: for minutes after many files were deleted, each new file takes many times as long to make.
#
# Versions: Linux 6.18; e2fsprogs 1.47.0-2+b2 (Debian 12, amd64) makes the file systems. Source: Debian's package; fs/ext4/ialloc.c,
# `recently_deleted` and `find_inode_bit`: without a journal an inode is not used again for 60 s after its deletion (by 300 s more
# while the block that has it is not written yet), and the search for a free one looks at each such inode in turn.
# Behaviour: 2000 files are made in a folder, then 8000 made there and deleted, then 2000 made again. Without a journal
# (-O ^has_journal) these take many times as long, in openat(2) with O_CREAT: 42 µs each became 774. With a journal they do not.
# A measurement of the creation of files has to know what was deleted there before.
# Output seen: "made after a deletion: without a journal at least 3 times as long, with one less than 3 times".
# Needs root, and a loop device.
set -euo pipefail

version_of_e2fsprogs=1.47.0-2+b2
expected="made after a deletion: without a journal at least 3 times as long, with one less than 3 times"
deleted=8000
measured=2000

[ "${1:-}" = inside ] || exec unshare --mount --propagation private bash "$0" inside

folder=$(mktemp -d)
clean() {
    mountpoint -q "$folder/files" && umount "$folder/files"
    rm -rf "$folder"
}
trap clean EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download "e2fsprogs=$version_of_e2fsprogs" >/dev/null
dpkg -x ./*.deb root
mkdir files

# How many nanoseconds a file takes to be made.
make_some() {
    local begun
    begun=$(date +%s%N)
    (cd files/folder && seq -f "$1%.0f" "$measured" | xargs touch)
    echo $((($(date +%s%N) - begun) / measured))
}
# Whether the second time takes at least three times as long as the first.
compare() {
    rm -f image
    truncate -s 1G image
    root/sbin/mke2fs -q -F -t ext4 -O "$1" -N 65536 image
    mount -o loop image files
    local first second
    mkdir files/folder
    first=$(make_some before)
    (cd files/folder && seq "$deleted" | xargs touch && seq "$deleted" | xargs rm)
    sleep 2 # a deletion of this very second is none yet
    second=$(make_some after)
    umount files
    echo "$1: $first ns, then $second ns a file" >&2
    if [ "$second" -ge $((3 * first)) ]; then echo "at least 3 times as long"; else echo "less than 3 times"; fi
}
without=$(compare ^has_journal)
with=$(compare has_journal)
seen="made after a deletion: without a journal $without, with one $with"
echo "$seen"
[ "$seen" = "$expected" ] || {
    echo "it was: $expected" >&2
    exit 1
}
