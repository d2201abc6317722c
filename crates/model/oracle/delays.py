"""The distribution function of the wait in an M/G/1 with uniform or constant service, piece by piece.

Takacs's equation W'(t) = lambda W(t) - lambda E[W(t - S)] is one with delays. Where the ends of the service time are
multiples of one unit, W is a power series on each piece of one unit, and each series follows from earlier ones.
"""

from mpmath import mp, mpf

TERMS = 60


class Waits:
    def __init__(self, rate, low, high, unit):
        """Service is uniform from low to high units, or always `low` where both are the same."""
        self.rate, self.unit = rate * unit, unit
        self.low, self.high = low, high
        self.load = self.rate * mpf(low + high) / 2
        self.series, self.sums = [], []  # of W, and of its integral from 0, by piece

    def grow(self):
        n = len(self.series)
        c = self.rate
        if n == 0:
            w, v = [1 - self.load], [mpf(0)]
        else:
            w, v = [sum(self.series[-1])], [sum(self.sums[-1])]

        def past(series, back, k):
            return series[n - back][k] if n >= back else mpf(0)

        for k in range(TERMS):
            if self.low == self.high:
                delayed = past(self.series, self.low, k)
            else:
                recent = v[k] if self.low == 0 else past(self.sums, self.low, k)
                delayed = (recent - past(self.sums, self.high, k)) / (self.high - self.low)
            w.append(c * (w[k] - delayed) / (k + 1))
            v.append(w[k] / (k + 1))
        assert abs(w[-1]) < mpf(10) ** (10 - mp.dps), "the unit is too coarse for the number of terms"
        self.series.append(w)
        self.sums.append(v[: TERMS + 1])

    def at(self, table, t):
        """A series of `table` at time t (seconds)."""
        if t < 0:
            return mpf(0)
        x = t / self.unit
        n = int(x)
        while len(self.series) <= n:
            self.grow()
        total = mpf(0)
        for term in reversed(getattr(self, table)[n]):
            total = total * (x - n) + term
        return total

    def wait_tail(self, t):
        return 1 - self.at("series", t)

    def response_tail(self, t):
        if self.low == self.high:
            return 1 - self.at("series", t - self.low * self.unit)
        recent = self.at("sums", t - self.low * self.unit)
        return 1 - (recent - self.at("sums", t - self.high * self.unit)) / (self.high - self.low)
