"""Waits behind a server that is woken late, with exponential services: what an arrival finds, from balance equations.

An arrival finds the server at work with n customers: it waits n services. Or it finds it away: each policy says what
is left until it works, and how many wait in front. No transform and no decomposition is used.
"""

from mpmath import mp, mpf, exp, quad

from laws import read_time
from points import INVERSION, LEVELS, Points, exactly, near, quantile

points = Points("woken")
mp.dps = 30
ENDS = mpf(10) ** -24


def poisson(mean):
    """Probabilities of 0, 1, .. until nothing is left."""
    answer, term, total = [], exp(-mean), mpf(0)
    while total < 1 - ENDS or len(answer) < mean:
        answer.append(term)
        total += term
        term = term * mean / len(answer)
    return answer


def stages_tail(weights, mu, x):
    """P(k services last longer than x), k with probability weights[k]; the weights may add up to less than 1."""
    if x <= 0:
        return mp.fsum(weights) if x < 0 else mp.fsum(weights[1:])
    left = mp.fsum(weights[1:])
    term, total = exp(-mu * x), mpf(0)
    for k in range(1, len(weights)):
        total += term * left
        left -= weights[k]
        term = term * mu * x / k
    return total


def at_work(lam, mu, entries, cycle):
    """P(at work, n there): flow up equals flow down between n and n + 1. entries[k]: a cycle's work begins with k."""
    p, above = [mpf(0)], mpf(1)
    n = 0
    while n < len(entries) or p[-1] > ENDS:
        above -= entries[n] if n < len(entries) else 0
        p.append((lam * p[-1] + max(above, 0) / cycle) / mu)
        n += 1
    near(mp.fsum(p), lam / mu, mpf(10) ** -18, "the server is busy for rho")
    return p


def add(model, given, lam, mu, busy, away, means):
    """`away(t, own)`: P(found away and wait > t), or wait and own service > t. `means`: of the wait."""

    def wait_tail(t):
        return stages_tail(busy, mu, t) + away(t, 0)

    def response_tail(t):
        return stages_tail([mpf(0)] + busy, mu, t) + away(t, 1)

    near(response_tail(mpf(0)), 1, mpf(10) ** -15, "all responses are above 0")
    figures, density = {}, {}
    for subject, tail in (("wait", wait_tail), ("response", response_tail)):
        for name, level in LEVELS.items():
            q = quantile(tail, level, means, accuracy=12)
            figures[f"{subject}.{name}"] = q
            if q:
                density[f"{subject}.{name}"] = (tail(q * mpf("0.999")) - tail(q * mpf("1.001"))) / (q / 500)
    points.add(model, given, figures, "what an arrival finds, by balance equations", INVERSION, density)


def after(lam, mu, length, front, t, own):
    """Arrivals at u, uniform over `length`: they wait length - u and the services of front + Poisson(lam u)."""

    def one(u):
        weights = [mpf(0)] * (front + own) + poisson(lam * u)
        left = t - (length - u)
        return stages_tail(weights, mu, left) if left > 0 else mpf(1)

    start = max(mpf(0), length - t)  # before it, what is left of `length` is longer than t by itself
    return start + (quad(one, [start, (start + length) / 2, length]) if start < length else 0)


def fixed(mu, wait, t, own):
    """P(wait + own services > t) for a wait that is known."""
    return stages_tail([mpf(1 - own), mpf(own)], mu, t - wait) if t > wait or own else mpf(1 if wait > t else 0)


def n_policy(lam, service, count):
    given = {"lambda": lam, "service": f"exponential({service})", "count": str(count)}
    lam, mu = exactly(lam), 1 / read_time(service)
    cycle = count / lam / (1 - lam / mu)
    busy = at_work(lam, mu, [mpf(0)] * count + [mpf(1)], cycle)

    def away(t, own):
        total = mpf(0)
        for there in range(count):  # count - 1 - there arrivals, then the services of those there
            total += two_stages_tail(count - 1 - there, lam, there + own, mu, t)
        return total / lam / cycle

    add("n-policy", given, lam, mu, busy, away, cycle)


def two_stages_tail(m, a, k, b, t):
    """P(m stages of rate a and then k of rate b last longer than t), by uniformisation of that path."""
    if m + k == 0 or t < 0:
        return mpf(1 if t < 0 else 0)
    fast = max(a, b)
    place, total, term, steps = [mpf(1)] + [mpf(0)] * (m + k - 1), mpf(0), exp(-fast * t), 0
    weight = term
    while True:
        here = mp.fsum(place)
        total += term * here
        if steps > fast * t and term * here < ENDS:
            return total
        following = [mpf(0)] * (m + k)
        for i, p in enumerate(place):
            share = (a if i < m else b) / fast
            following[i] += p * (1 - share)
            if i + 1 < m + k:
                following[i + 1] += p * share
        place = following
        steps += 1
        term = term * fast * t / steps


def t_policy(lam, service, timer):
    given = {"lambda": lam, "service": f"exponential({service})", "timer": timer}
    lam, mu, length = exactly(lam), 1 / read_time(service), read_time(timer)
    more = poisson(lam * length)
    cycle = (1 / lam + length) / (1 - lam / mu)
    busy = at_work(lam, mu, [mpf(0)] + more, cycle)

    def away(t, own):
        return (fixed(mu, length, t, own) / lam + after(lam, mu, length, 1, t, own)) / cycle

    add("t-policy", given, lam, mu, busy, away, cycle)


def vacations(lam, service, length, model):
    kind = f"constant({length})" if model == "vacations" else length
    name = "vacation" if model == "vacations" else "period"
    given = {"lambda": lam, "service": f"exponential({service})", name: kind}
    lam, mu, length = exactly(lam), 1 / read_time(service), read_time(length)
    come = poisson(lam * length)
    some = 1 - come[0]
    cycle = length / some / (1 - lam / mu)
    busy = at_work(lam, mu, [mpf(0)] + [p / some for p in come[1:]], cycle)

    def away(t, own):
        return (1 - lam / mu) / length * after(lam, mu, length, 0, t, own)

    add(model, given, lam, mu, busy, away, cycle)


def hybrid(lam, service, spin, delay):
    given = {"lambda": lam, "service": f"exponential({service})", "spin": spin, "setup": f"constant({delay})"}
    lam, mu, spin, delay = exactly(lam), 1 / read_time(service), read_time(spin), read_time(delay)
    asleep = exp(-lam * spin)
    more = [asleep * p for p in poisson(lam * delay)]
    cycle = (1 / lam + asleep * delay) / (1 - lam / mu)
    busy = at_work(lam, mu, [mpf(0), more[0] + 1 - asleep] + more[1:], cycle)

    def away(t, own):
        found = (1 - asleep) / lam * fixed(mu, mpf(0), t, own) + asleep / lam * fixed(mu, delay, t, own)
        return (found + asleep * after(lam, mu, delay, 1, t, own)) / cycle

    add("hybrid-polling", given, lam, mu, busy, away, cycle)


def batches(lam, mu, batch):
    given = {"lambda": lam, "mu": mu, "batch": "; ".join(f"{size},{p}" for size, p in batch)}
    lam, mu = exactly(lam), exactly(mu)
    sizes = [mpf(0)] * (max(size for size, _ in batch) + 1)
    for size, p in batch:
        sizes[size] = exactly(p)
    mean = sum(k * p for k, p in enumerate(sizes))
    beyond = [mp.fsum(sizes[k:]) for k in range(len(sizes))]  # P(size >= k)
    p = [1 - lam * mean / mu]  # flow down from n + 1 is what batches carry over n
    while p[-1] > ENDS or len(p) < len(sizes):
        n = len(p)
        p.append(lam / mu * mp.fsum(p[j] * beyond[n - j] for j in range(max(0, n - len(sizes) + 1), n)))
    near(mp.fsum(p), 1, mpf(10) ** -18, "probabilities of batch arrivals")
    found = [mpf(0)] * (len(p) + len(sizes))
    for n, x in enumerate(p):
        for k in range(1, len(sizes)):  # the k-th of its batch
            found[n + k - 1] += x * beyond[k] / mean
    add("mxm1", given, lam, mu, found, lambda t, own: mpf(0), mean / mu)


n_policy("0.5", "1", 4)
n_policy("8000", "100us", 3)
n_policy("0.2", "1", 10)
t_policy("0.5", "1", "2")
t_policy("8000", "100us", "150us")
t_policy("0.1", "1", "10")
vacations("0.5", "1", "2", "vacations")
vacations("0.8", "1", "5", "vacations")
vacations("0.2", "1", "0.5", "vacations")
vacations("8000", "100us", "200us", "polling")
vacations("0.5", "1", "4", "polling")
vacations("0.05", "1", "1", "polling")
hybrid("0.5", "1", "1", "2")
hybrid("8000", "100us", "50us", "20us")
hybrid("0.2", "1", "0", "6")
batches("0.2", "1", [(1, "0.5"), (4, "0.25"), (8, "0.25")])
batches("1000", "10000", [(1, "0.5"), (2, "0.5")])
batches("0.095", "1", [(10, "1")])
points.write()
