"""Distributions of times: moments and Laplace-Stieltjes transforms, from the densities."""

import re

from mpmath import mp, mpf, exp, sqrt, arg, log, gamma, pi, expm1, erfc

from points import exactly

SIZES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_time(text):
    """A time as a person writes it, rounded as doubles are."""
    digits, unit = re.fullmatch(r"([0-9.e+-]+?)(ns|us|ms|s)?", text).groups()
    return mpf(float(digits) * SIZES[unit or "s"])


class Law:
    """One distribution, from its text."""

    def __init__(self, text):
        self.text = text
        self.kind, inside = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
        given = [part.strip() for part in inside.split(",")]
        if self.kind == "hyperexponential":
            self.branches = [
                (exactly(given[i]), read_time(given[i + 1])) for i in range(0, len(given), 2)
            ]
            whole = sum(p for p, _ in self.branches)  # decimals as doubles add up to almost 1
            self.branches = [(p / whole, m) for p, m in self.branches]
            return
        if self.kind in ("erlang", "gamma", "weibull"):
            self.shape, self.average = exactly(given[0]), read_time(given[1])
        elif self.kind == "lognormal":
            self.average, self.scv = read_time(given[0]), exactly(given[1])
            self.sigma = sqrt(log(1 + self.scv))
        elif self.kind == "uniform":
            self.low, self.high = read_time(given[0]), read_time(given[1])
        else:
            self.average = read_time(given[0])

    def moment(self, k):
        kind = self.kind
        if kind == "hyperexponential":
            return sum(p * gamma(k + 1) * m**k for p, m in self.branches)
        if kind == "uniform":
            return (self.high ** (k + 1) - self.low ** (k + 1)) / ((k + 1) * (self.high - self.low))
        m = self.average**k
        if kind == "exponential":
            return gamma(k + 1) * m
        if kind == "constant":
            return m
        if kind in ("erlang", "gamma"):
            return gamma(self.shape + k) / gamma(self.shape) / self.shape**k * m
        if kind == "weibull":
            return gamma(1 + k / self.shape) / gamma(1 + 1 / self.shape) ** k * m
        if kind == "lognormal":
            return exp((k * k - k) * self.sigma**2 / 2) * m
        raise ValueError(kind)

    def mean(self):
        return self.moment(1)

    def beyond(self, t):
        """P(X > t), of those kinds for which something asks."""
        if t <= 0:
            return mpf(1)
        if self.kind == "lognormal":
            return erfc((log(t / self.average) + self.sigma**2 / 2) / self.sigma / sqrt(mpf(2))) / 2
        if self.kind == "weibull":
            return exp(-((t / self.average * gamma(1 + 1 / self.shape)) ** self.shape))
        raise ValueError(self.kind)

    def transform(self, s):
        """E[exp(-s X)]."""
        kind = self.kind
        if kind == "exponential":
            return 1 / (1 + s * self.average)
        if kind == "constant":
            return exp(-s * self.average)
        if kind in ("erlang", "gamma"):
            return (1 + s * self.average / self.shape) ** -self.shape
        if kind == "hyperexponential":
            return sum(p / (1 + s * m) for p, m in self.branches)
        if kind == "uniform":
            width = self.high - self.low
            return exp(-s * self.low) * (-expm1(-s * width) / (s * width) if s else mpf(1))
        if kind == "lognormal":
            middle = log(self.average) - self.sigma**2 / 2
            # The path is shifted by an imaginary amount, such that s exp(..) turns to the real axis and does not
            # oscillate; not by more than 6, since exp(turn^2 / 2) is what then cancels.
            turn = 1j * max(-6, min(6, arg(s) / self.sigma)) if mp.im(s) else 0

            def value(x):
                z = x - turn
                return exp(-z * z / 2 - s * exp(middle + self.sigma * z)) / sqrt(2 * pi)

            reach = sqrt(2 * (mp.dps + 5) * log(mpf(10)))
            return trapezoid(value, -reach, reach)
        if kind == "weibull":
            scale = self.average / gamma(1 + 1 / self.shape)
            shape = self.shape

            # Again a shifted path, which shares the turn between both exponentials.
            turn = 1j * arg(s) / (1 + shape) if mp.im(s) else 0

            def value(u):
                z = u - turn
                return exp(shape * z - exp(shape * z) - s * scale * exp(z)) * shape

            reach = (mp.dps + 5) * log(mpf(10))
            return trapezoid(value, -reach / shape, log(30 * reach) / shape)  # the turn slows its end
        raise ValueError(kind)


def trapezoid(value, low, high):
    """Integral of an analytic function that has vanished at both ends: halving the step squares the error."""
    count = 64
    step = (high - low) / count
    total = mp.fsum(value(low + i * step) for i in range(count + 1)) * step
    while True:
        between = mp.fsum(value(low + (2 * i + 1) * step / 2) for i in range(count)) * step
        finer = (total + between) / 2
        count, step = 2 * count, step / 2
        if abs(finer - total) < abs(finer) * mpf(10) ** (-mp.dps // 2 - 3):
            return finer
        assert count < 10**5, "the integral does not settle"
        total = finer
