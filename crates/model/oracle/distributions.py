"""Distributions by themselves: moments, tails, quantiles, transforms."""

from mpmath import gammainc, mp, mpc, mpf

from laws import Law
from points import Points, exactly, quantile

points = Points("distributions")
mp.dps = 32


def beyond(law, t):
    if law.kind in ("gamma", "erlang"):
        return gammainc(law.shape, law.shape * t / law.average, mp.inf, regularized=True)
    if law.kind == "exponential":
        return mp.exp(-t / law.average)
    if law.kind == "hyperexponential":
        return sum(p * mp.exp(-t / m) for p, m in law.branches)
    if law.kind == "uniform":
        return min(mpf(1), max(mpf(0), (law.high - t) / (law.high - law.low)))
    if law.kind == "constant":
        return mpf(1) if t < law.average else mpf(0)
    return law.beyond(t)


def below(law, t):
    if law.kind in ("gamma", "erlang"):  # 1 - beyond has no digits where it is small
        return gammainc(law.shape, 0, law.shape * t / law.average, regularized=True)
    return 1 - beyond(law, t)


def point(text, at, share, s):
    given = {"law": text, "at": at, "share": share, "s": s}
    law, t = Law(text), exactly(at)
    real, imaginary = (exactly(x) for x in s.split(","))
    s = mpc(real, imaginary) if imaginary else real
    tail = beyond(law, t)
    figures = {
        "mean": law.mean(),
        "scv": law.moment(2) / law.mean() ** 2 - 1,
        "moment.2": law.moment(2),
        "moment.3": law.moment(3),
        "survival": tail,
        "cdf": below(law, t),
        "residual.mean": law.moment(2) / (2 * law.mean()),
        "quantile": law.average if law.kind == "constant" else quantile(lambda t: beyond(law, t), exactly(share), law.mean(), accuracy=18),
    }
    phi = law.transform(s)
    assert abs(phi) < 1 + mpf(10) ** -25, "a transform is at most 1"
    residual = (1 - phi) / (s * law.mean())
    for name, value in (("transform", phi), ("residual", residual)):
        figures[f"{name}.real"] = mp.re(value)
        if imaginary:
            figures[f"{name}.imaginary"] = mp.im(value)
    points.add("distribution", given, figures, "densities and transforms by definition")


for text in [
    "exponential(1)", "constant(1)", "erlang(1, 1)", "erlang(4, 1)", "erlang(10000, 1)", "gamma(0.01, 1)", "gamma(0.5, 1)",
    "gamma(33.3, 1)", "gamma(10000, 1)", "hyperexponential(0.9, 0.5, 0.1, 5.5)", "hyperexponential(0.999999, 0.5, 0.000001, 500000)",
    "lognormal(1, 2)", "lognormal(1, 0.01)", "lognormal(1, 10000)", "uniform(0, 2)", "uniform(0.9, 1.1)", "weibull(1.5, 1)",
    "weibull(0.6, 1)", "weibull(7, 1)", "weibull(0.2, 1)",
]:
    point(text, "1.03", "0.9", "0.7,0.4")
    if text.startswith(("constant", "uniform")):
        continue
    point(text, "0.97", "0.001", "1e-6,0")
    point(text, "1.3" if "10000" in text else "20", "0.999999", "30,0")
    point(text, "0.98" if "10000" in text else "0.01", "0.5", "0.1,15")
point("lognormal(3us, 2)", "1e-6", "0.99", "1e5,2e5")
point("gamma(2.5, 1e12)", "3e12", "0.99", "1e-13,0")
points.write()
