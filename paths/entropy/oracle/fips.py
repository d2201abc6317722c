#!/usr/bin/env python3
"""Records what rngtest says of streams, for tests/fips/vectors.toml. See README.md here.

usage: fips.py RNGTEST > ../tests/fips/vectors.toml

Streams are made of recipes, a word and numbers; tests/fips/recipe.rs makes the same.
"""

import itertools
import re
import subprocess
import sys

BITS = 20_000
MASK = 2**64 - 1


class Random:
    """SplitMix64. Source: Steele, Lea, Flood, OOPSLA 2014, figure 11."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = ((self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def bytes(self, count):
        words = (self.next().to_bytes(8, "little") for _ in range(-(-count // 8)))
        return b"".join(words)[:count]

    def shuffle(self, items):
        for i in range(len(items) - 1, 0, -1):
            j = self.next() % (i + 1)
            items[i], items[j] = items[j], items[i]


def bits_of(data):
    return [byte >> bit & 1 for byte in data for bit in range(7, -1, -1)]


def bytes_of(bits):
    return bytes(int("".join(map(str, bits[i : i + 8])), 2) for i in range(0, len(bits), 8))


def ones_block(random, ones):
    bits = bits_of(random.bytes(BITS // 8))
    now = sum(bits)
    for i in range(BITS):
        at = i * 7919 % BITS
        if now < ones and bits[at] == 0:
            bits[at], now = 1, now + 1
        elif now > ones and bits[at] == 1:
            bits[at], now = 0, now - 1
    return bits


def run_block(random, polarity, at, length):
    bits = bits_of(random.bytes(BITS // 8))
    bits[at : at + length] = [polarity] * length
    if at > 0:
        bits[at - 1] = 1 - polarity
    if at + length < BITS:
        bits[at + length] = 1 - polarity
    return bits


def nibbles_block(random, *counts):
    nibbles = [nibble for nibble, count in enumerate(counts) for _ in range(count)]
    random.shuffle(nibbles)
    return [nibble >> bit & 1 for nibble in nibbles for bit in range(3, -1, -1)]


def runs_block(random, polarity, length, count):
    usual = [2500, 1250, 625, 312, 156, 156]
    counts = [usual[:], usual[:]]
    more = count - usual[length - 1]
    own = counts[polarity]
    own[length - 1] += more
    if length == 1:
        half = int(more / 2)  # towards zero
        own[1] -= more - half
        own[2] -= half
    else:
        own[0] -= more
    runs = [[i + 1 for i, count in enumerate(c) for _ in range(count)] for c in counts]
    missing = BITS - sum(map(sum, runs))
    assert missing >= 0
    while missing > 0:
        for of in runs:
            for i, run in enumerate(of):
                if run >= 6 and missing > 0:
                    of[i], missing = run + 1, missing - 1
    for of in runs:
        random.shuffle(of)
    return [bit for zeros, ones in zip(*runs) for bit in [0] * zeros + [1] * ones]


BLOCKS = {"ones": ones_block, "run": run_block, "runs": runs_block, "nibbles": nibbles_block}


def stream(recipe):
    kind, *numbers = recipe.split()
    n = list(map(int, numbers))
    if kind == "random":
        return Random(n[0]).bytes(n[1])
    if kind == "constant":
        return bytes([n[0]]) * n[1]
    if kind == "counter":
        return bytes(i // 4 >> (8 * (i % 4)) & 255 for i in range(n[0]))
    if kind == "period":
        period = Random(n[0]).bytes(n[1])
        return (period * (n[2] // n[1] + 1))[: n[2]]
    if kind == "biased":
        return bytes_of([int(draw < n[1]) for draw in Random(n[0]).bytes(8 * n[2])])
    if kind == "copy":
        seed, size, start, to, length = n
        data = bytearray(Random(seed).bytes(size))
        data[to : to + length] = data[start : start + length]
        return bytes(data)
    random = Random(n[0])
    before = random.bytes(4)
    bits = BLOCKS[kind](random, *n[1:])
    assert len(bits) == BITS, recipe
    return before + bytes_of(bits)


def nibble_counts(squares):
    """16 counts that add up to 5000 and whose squares add up to this."""
    # Ten by pairs 312 - d, 313 + d, as large as they fit; the last six by search.
    counts, left = [], squares - 3 * (312**2 + 313**2) - 40
    for pair in range(5, 0, -1):
        others = (pair - 1) * (312**2 + 313**2)
        d = max(d for d in range(60) if (312 - d) ** 2 + (313 + d) ** 2 + others <= left)
        counts += [312 - d, 313 + d]
        left -= (312 - d) ** 2 + (313 + d) ** 2
    left = squares - sum(count**2 for count in counts)
    for five in itertools.product(range(308, 318), repeat=5):
        last = 5000 - sum(counts) - sum(five)
        if sum(count**2 for count in five) + last**2 == left:
            return " ".join(map(str, counts + [*five, last]))
    raise ValueError(squares)


def recipes():
    # Short, empty, and not a multiple of a block.
    for size in [0, 1, 3, 4, 5, 7, 8, 9, 2499, 2500, 2503, 2504, 2505, 2507, 2508, 2509, 5003, 5004, 5008, 12345]:
        yield f"random 1 {size}"
    for ones in [9725, 9726, 10274, 10275, 0, 20000]:
        yield f"ones {ones % 97} {ones}"
    for squares in [1563174, 1563176, 1563178, 1576926, 1576928, 1576930]:
        yield f"nibbles 5 {nibble_counts(squares)}"
    limits = [(2315, 2685), (1114, 1386), (527, 723), (240, 384), (103, 209), (103, 209)]
    for polarity in [0, 1]:
        for length, (least, most) in enumerate(limits, 1):
            for count in [least - 1, least, most, most + 1]:
                yield f"runs {count} {polarity} {length} {count}"
    # Across bytes, words and vectors, and at both ends.
    places = [0, 1, 6, 7, 8, 31, 40, 50, 63, 64, 100, 243, 250, 256, 490, 500, 511, 512, 1000, 9999, 19923, 19930, 19950]
    for polarity in [0, 1]:
        for at in places:
            for length in [25, 26]:
                yield f"run {at} {polarity} {at} {length}"
        for length in [25, 26, 27, 33, 64]:
            yield f"run 3 {polarity} {20000 - length} {length}"
            yield f"run 4 {polarity} {19968 - length} {length}"
            yield f"run 5 {polarity} {19990 - length} {length}"
        yield f"run 2 {polarity} 3000 600"
    # A word again: the first after the bootstrap, within a block, at the border of two, not aligned, one bit off.
    for to in [4, 8, 60, 64, 68, 1000, 2496, 2500, 2504, 2508, 5000, 5004]:
        yield f"copy {to} 7600 {to - 4} {to} 4"
        yield f"copy {to} 7600 {to - 4} {to + 1} 4"
        yield f"copy {to} 7600 {to - 4} {to} 3"
        yield f"copy {to} 7600 {to - 2} {to + 2} 4"
    yield "copy 1 7600 4 2504 2500"
    for seed in range(4):
        yield f"random {seed} 1000000"
    for share in [128, 126, 125, 130, 120, 140, 64]:
        yield f"biased {share} {share} 50004"
    for period in [1, 2, 3, 4, 5, 8, 16, 100, 625, 1000, 2500, 2504, 4096]:
        yield f"period {period} {period} 30000"
    for byte in [0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80, 0x0F, 0x33]:
        yield f"constant {byte} 10004"
    yield "counter 100004"


TESTS = ["Monobit", "Poker", "Runs", "Long run", "Continuous run"]


def record(rngtest, recipe, pipe):
    data = stream(recipe)
    ran = subprocess.run([rngtest] + ["--pipe"] * pipe, input=data, capture_output=True)
    said = ran.stderr.decode()

    def number(label):
        found = re.search(re.escape(label) + r": (\d+)$", said, re.MULTILINE)
        return int(found[1]) if found else None

    # Without the bootstrap nothing is said.
    passed = number("FIPS 140-2 successes")
    if passed is None:
        return f"[{ran.returncode}]"
    failed = number("FIPS 140-2 failures")
    by_test = [number(f"FIPS 140-2(2001-10-10) {test}") for test in TESTS]
    assert number("bits received from input") == 8 * len(data)
    assert not pipe or len(ran.stdout) == 2500 * passed
    return f"{[ran.returncode, passed, failed, *by_test]}"


def main():
    [rngtest] = sys.argv[1:]
    version = subprocess.run([rngtest, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    print("# What rngtest says of streams: exit code, blocks that passed and failed, blocks that failed each test. It says")
    print("# nothing of a stream that ends before the first block. Made by oracle/fips.py; do not edit.")
    print(f'recorded_with = "{version}"')
    print("\n[plain]")
    for recipe in recipes():
        print(f'"{recipe}" = {record(rngtest, recipe, False)}')
    print("\n# Of these, rngtest --pipe throws the first four bytes away.\n[pipe]")
    for recipe in recipes():
        if recipe.split()[0] not in BLOCKS:
            print(f'"{recipe}" = {record(rngtest, recipe, True)}')


main()
