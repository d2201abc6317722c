"""Points: parameters of a model as a person writes them, and the figures that our oracle expects there.

Each script of this folder makes the points of one family and hands them to `write`. Parameters are read as the
nearest double, as the catalogue reads them, and then taken as exact; all else has DIGITS digits.
"""

import os
import sys

from mpmath import mp, mpf, nstr, log

DIGITS = 50
mp.dps = DIGITS

# Tolerances that the test knows: relative, but for `inversion`, which also accepts 1e-6 of a probability.
EXACT, INVERSION = "exact", "inversion"


def exactly(text):
    """The double nearest to a decimal text, as an exact number."""
    return mpf(float(text))


class Points:
    def __init__(self, family):
        self.family, self.points = family, []

    def add(self, model, given, figures, source, tolerance=EXACT, density=None):
        """One point. `density` gives, by figure, the density at a quantile: what an error of the quantile means."""
        for name, value in figures.items():
            assert mp.isfinite(value), (model, given, name, value)
        self.points.append((model, dict(given), dict(figures), source, tolerance, density or {}))

    def write(self):
        lines = [
            f"# Made by crates/model/oracle/{self.family}.py; see the README there. Not edited by hand.",
            f'made = "mpmath, {DIGITS} digits"',
            "",
        ]
        for model, given, figures, source, tolerance, density in self.points:
            texts = ", ".join(f'{name} = "{text}"' for name, text in given.items())
            lines += ["[[point]]", f'model = "{model}"', f'source = "{source}"', f"given = {{ {texts} }}"]
            if tolerance != EXACT:
                lines.append(f'tolerance = "{tolerance}"')
            lines.append("[point.figures]")
            lines += [f'"{name}" = {digits(value)}' for name, value in figures.items()]
            if density:
                lines.append("[point.density]")
                lines += [f'"{name}" = {digits(value, 6)}' for name, value in density.items()]
            lines.append("")
        folder = sys.argv[1] if len(sys.argv) > 1 else "../tests/vectors"
        with open(os.path.join(folder, f"{self.family}.toml"), "w") as file:
            file.write("\n".join(lines))
        count = sum(len(figures) for _, _, figures, _, _, _ in self.points)
        print(f"{self.family}: {count} values at {len(self.points)} points")


def digits(value, count=20):
    text = nstr(mpf(value), count, strip_zeros=False, min_fixed=-5, max_fixed=count)
    return text + "0" if text.endswith(".") else text


def near(one, other, relative, what, absolute=mpf(10) ** -45):
    """Stops where an oracle contradicts an invariant."""
    one, other = mpf(one), mpf(other)
    if abs(one - other) > relative * max(abs(one), abs(other)) + absolute:
        sys.exit(f"the oracle is wrong: {what}: {nstr(one, 20)} is not {nstr(other, 20)}")


LEVELS = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p999": "0.999"}


def quantile(tail, level, scale, accuracy=24):
    """The smallest t with P(T > t) <= 1 - level, to so many digits, for a tail without jumps for t > 0."""
    target = 1 - mpf(level)
    if tail(mpf(0)) <= target:
        return mpf(0)
    low, high = mpf(0), mpf(scale)
    while tail(high) > target:
        low, high = high, 2 * high
    # Illinois on the logarithm of the tail, which is nearly straight.
    def height(t):
        value = tail(t)
        return log(value / target) if value > 0 else mpf(-100)

    f_low, f_high = height(low), height(high)
    side = 0
    for _ in range(200):
        if high - low <= high * mpf(10) ** -accuracy or f_high == 0:
            return high
        middle = (low * f_high - high * f_low) / (f_high - f_low)
        value = height(middle)
        if abs(value) < mpf(10) ** -accuracy:
            return middle
        if value > 0:
            low, f_low, f_high = middle, value, f_high / 2 if side == 1 else f_high
            side = 1
        else:
            high, f_high, f_low = middle, value, f_low / 2 if side == -1 else f_low
            side = -1
    raise ArithmeticError(f"no quantile: {nstr(low, 20)} to {nstr(high, 20)}")


def quantiles(subject, tail, scale):
    return {f"{subject}.{name}": quantile(tail, level, scale) for name, level in LEVELS.items()}
