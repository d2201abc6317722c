"""Saturation, crossover, amortisation, bills, the scalability law: arithmetic as it stands, quantiles from the densities."""

from decimal import ROUND_CEILING, Decimal

from mpmath import betainc, erf, findroot, mp, mpf, sqrt

from laws import read_time
from points import Points, exactly, near

points = Points("scaling")


def saturation(one, shared, tenants):
    given = {"one": one, "shared": shared, "tenants": str(tenants)}
    one, shared = exactly(one), exactly(shared)
    throughput = min(one * tenants, shared)
    figures = {"throughput": throughput, "each": throughput / tenants, "break-point": shared / one}
    points.add("saturation", given, figures, "arithmetic")


def deviations(confidence, freedom):
    """t with P(|T| <= t) = confidence; normal without degrees of freedom."""
    if not freedom:
        return findroot(lambda t: erf(t / sqrt(mpf(2))) - confidence, 2)
    # P(|T| <= t) = I_x(1/2, v/2), x = t^2 / (v + t^2)
    return findroot(
        lambda t: betainc(mpf(1) / 2, mpf(freedom) / 2, 0, t * t / (freedom + t * t), regularized=True) - confidence, 2
    )


def crossover(a, b, confidence, freedom):
    """Fieller: where the difference of the costs is t of its standard errors."""
    names = ["fixed", "fixed-error", "each", "each-error"]
    given = {f"a-{n}": x for n, x in zip(names, a)} | {f"b-{n}": x for n, x in zip(names, b)}
    given |= {"confidence": confidence, "freedom": str(freedom)}
    a, b, t = [exactly(x) for x in a], [exactly(x) for x in b], deviations(exactly(confidence), freedom)
    rise, slope = b[0] - a[0], a[2] - b[2]
    var_rise, var_slope = a[1] ** 2 + b[1] ** 2, a[3] ** 2 + b[3] ** 2
    # (rise - slope x)^2 = t^2 (var_rise + var_slope x^2)
    p, q, r = slope**2 - t**2 * var_slope, -2 * rise * slope, rise**2 - t**2 * var_rise
    figures = {"crossover": rise / slope}
    root = sqrt(q * q - 4 * p * r)
    assert mp.im(root) == 0
    ends = sorted([(-q - root) / (2 * p), (-q + root) / (2 * p)])
    bounded = p > 0
    inside = ends[0] <= rise / slope <= ends[1]
    near(1 if inside else 0, 1 if bounded else 0, 0, "the interval holds the estimate")
    figures |= {"crossover.low": ends[0], "crossover.high": ends[1], "crossover.bounded": mpf(1 if bounded else 0)}
    points.add("crossover", given, figures, "Fieller's quadratic; t by root of the incomplete beta function")


def amortisation(fixed, each, batch):
    given = {"fixed": fixed, "each": each, "batch": str(batch)}

    def written(text):  # a whole number of items does not depend on how decimals are rounded
        for unit, size in (("ns", "1e-9"), ("us", "1e-6"), ("ms", "1e-3"), ("", "1")):
            if text.endswith(unit):
                return Decimal(text.removesuffix(unit)) * Decimal(size)

    enough = (written(fixed) / (Decimal("0.05") * written(each))).to_integral_value(ROUND_CEILING)
    f, e = read_time(fixed), read_time(each)
    figures = {
        "each.total": f / batch + e,
        "speedup": (f + e) / (f / batch + e),
        "batch.enough": mpf(max(1, int(enough))),
    }
    points.add("amortisation", given, figures, "arithmetic")


def bill(gates, measured, error, confidence):
    given = {"gates": ";".join(",".join(gate) for gate in gates), "measured": measured, "error": error, "confidence": confidence}
    rows = [[exactly(x) for x in gate] + [mpf(0)] * (3 - len(gate)) for gate in gates]
    m, z = exactly(measured), deviations(exactly(confidence), 0)
    total = sum(v * toll for v, toll, _ in rows)
    spread = z * sqrt(sum((v * s) ** 2 for v, _, s in rows))
    both = z * sqrt(sum((v * s) ** 2 for v, _, s in rows) + exactly(error) ** 2)
    figures = {
        "sum": total, "sum.low": total - spread, "sum.high": total + spread,
        "unexplained": m - total, "unexplained.low": m - total - both, "unexplained.high": m - total + both,
        "unexplained.share": (m - total) / m,
    }
    points.add("bill", given, figures, "sums; normal intervals of independent tolls")


def latency(groups, measured, error, confidence):
    """Groups one after the other; each is lanes at once; each lane is (time, error) one after the other."""
    rows = []
    for lanes in groups:
        for number, lane in enumerate(lanes):
            rows += [f"{t},{e},{0 if len(lanes) == 1 else number + 1}" for t, e in lane]
    given = {"stages": ";".join(rows), "measured": measured, "error": error, "confidence": confidence}
    m, z = exactly(measured), deviations(exactly(confidence), 0)
    total, below, above = mpf(0), mpf(0), mpf(0)
    for lanes in groups:
        ends = []
        for lane in lanes:
            half = z * sqrt(sum(exactly(e) ** 2 for _, e in lane))
            t = sum(exactly(t) for t, _ in lane)
            ends.append((t, t - half, t + half))
        t, lo, hi = (max(end[i] for end in ends) for i in range(3))
        total, below, above = total + t, below + (t - lo) ** 2, above + (hi - t) ** 2
    below, above, own = sqrt(below), sqrt(above), z * exactly(error)
    figures = {
        "path": total, "path.low": total - below, "path.high": total + above,
        "hidden": sum(exactly(t) for lanes in groups for lane in lanes for t, _ in lane) - total,
        "unexplained": m - total, "unexplained.low": m - total - sqrt(own**2 + above**2),
        "unexplained.high": m - total + sqrt(own**2 + below**2), "unexplained.share": (m - total) / m,
    }
    points.add("latency", given, figures, "sums and maxima; MOVER on normal intervals")


def usl(one, contention, coherence, tenants):
    given = {"one": one, "contention": contention, "coherence": coherence, "tenants": str(tenants)}
    one, s, k = map(exactly, (one, contention, coherence))

    def law(n):
        return one * n / (1 + s * (n - 1) + k * n * (n - 1))

    figures = {"throughput": law(mpf(tenants)), "each": law(mpf(tenants)) / tenants, "efficiency": law(mpf(tenants)) / tenants / one}
    if k:
        peak = max(mpf(1), sqrt((1 - s) / k))
        figures |= {"peak.tenants": peak, "peak.throughput": law(peak)}
        if peak > 1:
            assert law(peak) >= max(law(peak * mpf("1.001")), law(peak * mpf("0.999"))), "a peak"
    points.add("usl", given, figures, "the law as it stands")


for one, shared, tenants in [("3000", "20000", 8), ("3000", "20000", 3), ("1e-6", "1e9", 1), ("7", "7", 1000000)]:
    saturation(one, shared, tenants)
for a, b, confidence, freedom in [
    (["100", "5", "4", "0.1"], ["900", "20", "1", "0.05"], "0.95", 18),
    (["100", "5", "4", "0.1"], ["900", "20", "1", "0.05"], "0.95", 0),
    (["2000", "10", "0.5", "0.01"], ["50", "1", "0.8", "0.02"], "0.99", 5),
    (["100", "5", "4", "2"], ["900", "20", "1", "0.05"], "0.95", 0),  # the slopes may be equal: unbounded
    (["1e-3", "1e-5", "1e-9", "1e-12"], ["1e-6", "1e-8", "2e-9", "1e-12"], "0.9", 1000),
    (["0", "1", "3", "0.5"], ["10", "1", "1", "0.1"], "0.8", 1),
]:
    crossover(a, b, confidence, freedom)
for fixed, each, batch in [("2us", "100ns", 32), ("2us", "100ns", 1), ("3ms", "1", 1000000), ("7us", "13ns", 64), ("300ns", "20ns", 300)]:
    amortisation(fixed, each, batch)
for gates, measured, error, confidence in [
    ([("1", "120", "2"), ("2", "350", "6"), ("4", "90", "1")], "1250", "10", "0.95"),
    ([("3", "0.5")], "1", "0", "0.99"),
    ([("1e6", "1e-6", "1e-8"), ("2", "1e3", "1e-3")], "1999.5", "0.25", "0.5"),
]:
    bill(gates, measured, error, confidence)
for groups, measured, error, confidence in [
    ([[[("5", "1")]], [[("9", "2")], [("4", "1"), ("8", "2")]], [[("3", "1")]]], "22", "1", "0.95"),
    ([[[("120", "0.5")]], [[("340", "3")]], [[("75.25", "0.125")]]], "600", "4", "0.99"),
    ([[[("10", "5")], [("9.5", "0.1")], [("9", "8")]], [[("1", "0")]]], "13", "0", "0.9"),
]:
    latency(groups, measured, error, confidence)
for one, contention, coherence, tenants in [
    ("1000", "0.05", "0.002", 16), ("1000", "0.5", "0", 64), ("1", "0", "1e-9", 100000), ("1e6", "0.999", "0.9", 3),
]:
    usl(one, contention, coherence, tenants)
points.write()
