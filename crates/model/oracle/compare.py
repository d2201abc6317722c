"""Compares vectors made anew with those kept: points, figures, and values but for rounding."""

import pathlib
import sys
import tomllib

# What another version of the software, or another processor, may change.
ROUNDING = {"octave.toml": 1e-11}
INVERSION, ELSE = 1e-9, 1e-15


def read(path):
    points = {}
    for point in tomllib.loads(path.read_text())["point"]:
        given = ", ".join(f"{name}={text}" for name, text in sorted(point["given"].items()))
        points[point["model"], given, point["source"]] = point
    return points


def compare(name, kept, made):
    wrong, count = [], 0
    for place in kept.keys() | made.keys():
        if place not in kept or place not in made:
            wrong.append(f"{place}: only {'made' if place in made else 'kept'}")
            continue
        old, new = kept[place]["figures"], made[place]["figures"]
        if old.keys() != new.keys():
            wrong.append(f"{place}: other figures")
            continue
        for figure, value in old.items():
            count += 1
            inverted = kept[place].get("tolerance") == "inversion" and ".p" in figure
            allowed = INVERSION if inverted else ROUNDING.get(name, ELSE)
            if abs(new[figure] - value) > allowed * abs(value):
                wrong.append(f"{place} {figure}: kept {value}, made {new[figure]}")
    return wrong, count


kept, made = map(pathlib.Path, sys.argv[1:])
names = {path.name for folder in (kept, made) for path in folder.glob("*.toml")}
wrong, count = [], 0
for name in sorted(names):
    if not (kept / name).exists() or not (made / name).exists():
        wrong.append(f"{name}: only on one side")
        continue
    found, figures = compare(name, read(kept / name), read(made / name))
    wrong += found
    count += figures
if wrong:
    sys.exit("vectors differ:\n" + "\n".join(wrong))
print(f"oracle: {count} values are those kept")
