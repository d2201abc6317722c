"""Makes families.json, which src/fit/oracle.rs compares with: SciPy's maximum-likelihood fits and its Monte Carlo
p-values (scipy.stats.goodness_of_fit, 9999 draws, parameters fitted anew in each).

Run in this folder: python make_families.py. The versions used are written into the file.
"""

import json
import platform

import numpy as np
import scipy
from scipy import stats

VERSIONS = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
rng = np.random.default_rng(23)


def fits():
    for n, draw in ((30, rng.exponential), (200, lambda m, n: rng.gamma(2.3, m, n)), (200, lambda m, n: m * rng.weibull(0.8, n))):
        x = np.sort(draw(1.0, n))
        shape, _, scale = stats.gamma.fit(x, floc=0, method="mle")
        power, _, unit = stats.weibull_min.fit(x, floc=0, method="mle")
        sigma, _, middle = stats.lognorm.fit(x, floc=0, method="mle")
        member = {
            "gamma": (stats.gamma(shape, scale=scale), [shape, shape * scale]),
            "weibull": (stats.weibull_min(power, scale=unit), [power, stats.weibull_min(power, scale=unit).mean()]),
            "lognormal": (stats.lognorm(sigma, scale=middle), [stats.lognorm(sigma, scale=middle).mean(), np.expm1(sigma**2)]),
            "exponential": (stats.expon(scale=x.mean()), [x.mean()]),
        }
        yield {
            "x": x.tolist(),
            "families": {
                name: {"parameters": parameters, "log_likelihood": frozen.logpdf(x).sum(), "ks": stats.kstest(x, frozen.cdf).statistic}
                for name, (frozen, parameters) in member.items()
            },
        }


def p_values():
    for name, family, draw in (
        ("exponential", stats.expon, lambda: rng.weibull(1.2, 60)),
        ("exponential", stats.expon, lambda: rng.exponential(1.0, 60)),
        ("weibull", stats.weibull_min, lambda: rng.lognormal(0, 0.7, 60)),
        ("gamma", stats.gamma, lambda: rng.lognormal(0, 0.6, 60)),
        ("lognormal", stats.lognorm, lambda: rng.gamma(3, 1, 60)),
    ):
        x = np.sort(draw())
        found = {
            key: stats.goodness_of_fit(
                family, x, known_params={"loc": 0}, statistic=key, n_mc_samples=9999 if name != "gamma" else 999, rng=np.random.default_rng(1)
            ).pvalue
            for key in ("ks", "ad")
        }
        yield {"x": x.tolist(), "family": name, **found}


with open("families.json", "w") as f:
    json.dump({"versions": VERSIONS, "fits": list(fits()), "p_values": list(p_values())}, f)
    f.write("\n")
