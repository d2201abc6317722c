"""Calibrates the one-sample trimmed t of src/location.rs.

For g normal observations, trimmed by k = floor(g / 5) at each end, the ratio of the trimmed mean to its
Tukey-McLaughlin standard error does not follow Student's t with g - 2k - 1 degrees of freedom: the test is liberal
(6 to 7 % at a nominal 5 %). This script finds the scale c and the degrees of freedom df with which c * t(df) has the
simulated two-sided tail areas 5 % and 0.2 %, the idea of Patel, Mudholkar and Fernando (1988), JASA 83:1203-1210.
It prints the table that the Rust file holds (which leaves out g = 5: nothing is trimmed there). Needs numpy and scipy; takes about half a minute.
"""

import numpy as np
from scipy import optimize, stats

SAMPLES, CHUNK = 2_000_000, 100_000
rng = np.random.default_rng(20250101)


def statistic(x, k):
    g = x.shape[1]
    s = np.sort(x, axis=1)
    mean = s[:, k : g - k].mean(axis=1)
    s[:, :k] = s[:, [k]]
    s[:, g - k :] = s[:, [g - k - 1]]
    return mean * (g - 2 * k) / (s.std(axis=1, ddof=1) * np.sqrt(g))


def calibrate(g):
    k = g // 5
    t = np.abs(np.concatenate([statistic(rng.standard_normal((CHUNK, g)), k) for _ in range(SAMPLES // CHUNK)]))
    q05, q002 = np.quantile(t, [0.95, 0.998])

    def gap(df):
        return stats.t.ppf(0.999, df) / stats.t.ppf(0.975, df) - q002 / q05

    df = optimize.brentq(gap, 0.5, 400)
    c = q05 / stats.t.ppf(0.975, df)
    raw = np.mean(t > stats.t.ppf(0.975, g - 2 * k - 1))
    return c, df, raw


if __name__ == "__main__":
    for g in range(5, 31):
        c, df, raw = calibrate(g)
        print(f"    ({c:.3f}, {df:.2f}), // {g}: uncalibrated level {raw:.3f}", flush=True)
