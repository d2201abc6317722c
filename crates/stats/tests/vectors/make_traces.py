"""Makes traces.json, which tests/traces.rs compares with: SciPy and statsmodels as oracles.

Run in this folder: python make_traces.py. The versions used are written into the file.
"""

import json
import platform
import warnings

import numpy as np
import scipy
import statsmodels
from scipy import special, stats
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.stats.proportion import multinomial_proportions_confint, proportion_confint

VERSIONS = {
    "python": platform.python_version(),
    "numpy": np.__version__,
    "scipy": scipy.__version__,
    "statsmodels": statsmodels.__version__,
}
rng = np.random.default_rng(17)
warnings.filterwarnings("ignore")


def distances():
    """Statistics against an exponential whose mean is known, by scipy.stats.goodness_of_fit."""
    for n in (1, 2, 5, 20, 200):
        for mean in (1.0, 1.7):
            x = np.sort(rng.exponential(1.5, n))
            known = {"loc": 0, "scale": mean}
            found = {
                name: stats.goodness_of_fit(stats.expon, x, known_params=known, statistic=name, n_mc_samples=1).statistic
                for name in ("ks", "ad")
            }
            yield {"x": x.tolist(), "mean": mean, **found}


def limits():
    for x in (0.2, 0.5, 0.8, 0.99, 1.0, 1.01, 1.36, 2.0, 4.0):
        yield {"x": x, "tail": special.kolmogorov(x)}


def series():
    """Ljung-Box on ranks."""
    for n, lags in ((30, 5), (100, 10), (500, 10)):
        for weight in (0.0, 0.4):
            noise = rng.lognormal(0, 1, n + 1)
            x = noise[1:] + weight * noise[:-1]
            if n == 30:
                x = np.round(x, 1)
            found = acorr_ljungbox(stats.rankdata(x), lags=[lags])
            yield {"x": x.tolist(), "lags": lags, "q": found.lb_stat.iloc[0], "p": found.lb_pvalue.iloc[0]}


def rates():
    for n in (0, 1, 7, 400, 999_999, 1_000_001, 123_456_789):
        tail = 0.025
        yield {
            "count": n,
            "poisson": [stats.gamma.ppf(tail, n) if n else 0.0, stats.gamma.isf(tail, n + 1)],
            "gamma": [stats.gamma.ppf(tail, n), stats.gamma.isf(tail, n)] if n else None,
        }


def shares():
    for counts in ([5, 95], [0, 40, 60], [1, 2, 3, 994], [250, 250, 250, 250]):
        if len(counts) == 2:
            ends = [proportion_confint(c, sum(counts), method="wilson") for c in counts]
        else:
            ends = multinomial_proportions_confint(counts, method="goodman").tolist()
        yield {"counts": counts, "ends": [list(e) for e in ends]}


with open("traces.json", "w") as f:
    parts = [distances, limits, series, rates, shares]
    json.dump({"versions": VERSIONS, **{part.__name__: list(part()) for part in parts}}, f, indent=None)
    f.write("\n")
