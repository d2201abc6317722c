"""Makes the recorded vectors that tests/vectors.rs compares with, with SciPy as oracle.

Run in this folder: python make_vectors.py. The versions used are written into each file.
"""

import itertools
import json
import platform

import numpy as np
import scipy
from scipy import stats

VERSIONS = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
rng = np.random.default_rng(7)


def samples():
    """Sizes and shapes that differ; some with ties."""
    for n in (1, 2, 3, 7, 20, 101):
        yield rng.normal(100, 10, n)
        yield rng.lognormal(0, 1, n)
        yield rng.integers(0, 6, n).astype(float)


def write(name, cases):
    with open(f"{name}.json", "w") as f:
        lines = ",\n".join(json.dumps(c) for c in cases)
        f.write(f'{{"versions": {json.dumps(VERSIONS)}, "cases": [\n{lines}\n]}}\n')


def summary():
    for x in samples():
        probabilities = [0.0, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0]
        yield {
            "x": x.tolist(),
            "mean": np.mean(x),
            "variance": np.var(x, ddof=1) if len(x) > 1 else None,
            "mad": stats.median_abs_deviation(x),
            "scaled_mad": stats.median_abs_deviation(x, scale="normal"),
            "trimmed": stats.trim_mean(x, 0.2),
            "probabilities": probabilities,
            "quantiles": np.quantile(x, probabilities, method="linear").tolist(),
        }


def t_interval():
    for x in samples():
        if len(x) < 2:
            continue
        for confidence in (0.5, 0.95, 0.999):
            t = stats.ttest_1samp(x, 0.0)
            ci = t.confidence_interval(confidence)
            yield {"x": x.tolist(), "confidence": confidence, "lo": ci.low, "hi": ci.high, "p": t.pvalue}


def trimmed_t():
    """SciPy has no one-sample trimmed t, so its parts are written out: trimmed mean and winsorised standard error,
    without the calibration."""
    for n in (6, 8, 10, 13, 20, 30):
        x = rng.standard_t(2, n)
        k = n // 5
        w = np.asarray(stats.mstats.winsorize(x, limits=(k / n + 1e-9, k / n + 1e-9)))
        se = w.std(ddof=1) / ((1 - 2 * k / n) * np.sqrt(n))
        yield {"x": x.tolist(), "estimate": stats.trim_mean(x, 0.2 + 1e-12), "uncalibrated_se": se}


def mann_whitney():
    for m, n in ((1, 1), (3, 4), (5, 8), (10, 12), (25, 25), (30, 45), (4, 4)):
        for tied in (False, True):
            a, b = rng.normal(0, 1, m), rng.normal(0.7, 1, n)
            if tied:
                a, b = np.round(a), np.round(b)
            has_ties = len(np.unique(np.concatenate([a, b]))) < m + n
            method = "exact" if not has_ties and m + n <= 50 else "asymptotic"
            r = stats.mannwhitneyu(b, a, alternative="two-sided", method=method)
            if not np.isfinite(r.pvalue):
                continue
            yield {"a": a.tolist(), "b": b.tolist(), "exact": method == "exact", "u": r.statistic, "p": r.pvalue}


def wilcoxon():
    for n in (1, 5, 6, 12, 50, 60):
        for tied in (False, True):
            d = rng.normal(0.4, 1, n)
            if tied:
                d = np.round(d * 2)
                if not d.any():
                    continue
            has_ties = len(np.unique(np.abs(d))) < n or not d.all()
            method = "exact" if not has_ties and n <= 50 else "asymptotic"
            r = stats.wilcoxon(d, zero_method="wilcox", correction=method == "asymptotic", method=method)
            walsh = [(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)]
            w_plus = float(stats.rankdata(np.abs(d[d != 0]))[d[d != 0] > 0].sum())
            yield {"d": d.tolist(), "exact": method == "exact", "p": r.pvalue, "w_plus": w_plus, "centre": np.median(walsh)}


def spearman():
    for n in (3, 4, 6, 7, 10, 25):
        for tied in (False, True):
            x = rng.normal(0, 1, n)
            y = x + rng.normal(0, 1, n)
            if tied:
                x, y = np.round(x * 2), np.round(y * 2)
            if len(np.unique(x)) == 1 or len(np.unique(y)) == 1:
                continue
            r = stats.spearmanr(x, y)
            if n <= 8:
                rx, ry = stats.rankdata(x), stats.rankdata(y)
                all_rho = np.array([np.corrcoef(rx, p)[0, 1] for p in itertools.permutations(ry)])
                p = np.mean(np.abs(all_rho) >= abs(r.statistic) - 1e-9)
            else:
                p = r.pvalue
            yield {"x": x.tolist(), "y": y.tolist(), "rho": r.statistic, "p": p}


def false_discovery():
    for n in (1, 2, 5, 40):
        p = rng.beta(0.5, 2, n)
        yield {"p": p.tolist(), "q": stats.false_discovery_control(p, method="bh").tolist()}
    p = [0.01, 0.02, 0.02, 0.5, 1.0, 0.0]
    yield {"p": p, "q": stats.false_discovery_control(p, method="bh").tolist()}


def equivalence():
    for n in (2, 5, 12, 30):
        x = rng.normal(0.005, 0.02, n)
        for margin in (0.01, 0.02, 0.1):
            edge = np.log1p(margin)
            above = stats.ttest_1samp(x, -edge, alternative="greater").pvalue
            below = stats.ttest_1samp(x, edge, alternative="less").pvalue
            yield {"x": x.tolist(), "lower": -edge, "upper": edge, "p": max(above, below)}


def bootstrap():
    """Monte Carlo on both sides: `tolerance` is four standard deviations of an end over SciPy runs, times sqrt(2)."""
    for statistic, function in (("mean", np.mean), ("variance", lambda x, axis: np.var(x, ddof=1, axis=axis))):
        for method in ("percentile", "BCa"):
            x = rng.lognormal(0, 0.7, 25)
            runs = []
            for seed in range(12):
                r = stats.bootstrap((x,), function, n_resamples=2000, method=method, vectorized=True, rng=np.random.default_rng(seed))
                runs.append((r.confidence_interval.low, r.confidence_interval.high))
            runs = np.array(runs)
            yield {
                "x": x.tolist(), "statistic": statistic, "method": method,
                "ends": runs.mean(axis=0).tolist(), "tolerance": (4 * np.sqrt(2) * runs.std(axis=0, ddof=1)).tolist(),
            }


if __name__ == "__main__":
    for make in (summary, t_interval, trimmed_t, mann_whitney, wilcoxon, spearman, false_discovery, equivalence, bootstrap):
        write(make.__name__, list(make()))
