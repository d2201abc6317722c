#!/bin/sh
# Has openssl make the MACs that `src/engine/condition/mod.rs` is held against: AES-128-CBC from a zero vector over 8192
# bytes each; the last block is the MAC. Prints one a line: sh cbc_mac.sh > cbc_mac.txt
set -eu
key=$(printf 'tollway 512 to 1' | od -An -tx1 | tr -d ' \n')
bytes=$(mktemp)
trap 'rm -f "$bytes"' EXIT
# Byte i is i * 251 mod 65521 mod 256.
awk 'BEGIN { for (i = 0; i < 3 * 8192; i++) printf "%02x", (i * 251 % 65521) % 256 }' | xxd -r -p > "$bytes"
for stream in 0 1 2; do
  dd if="$bytes" bs=8192 skip=$stream count=1 status=none |
    openssl enc -aes-128-cbc -nopad -K "$key" -iv 00000000000000000000000000000000 | tail -c 16 | od -An -tx1 | tr -d ' \n'
  echo
done
