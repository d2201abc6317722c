"""Arrivals in bursts and batches, services of batches: solved as chains, or by areas under renewal cycles."""

from mpmath import mp, mpf, matrix, eye, lu_solve, findroot, norm

from chains import stationary
from laws import Law
from points import Points, exactly, near

points = Points("sources")


def mmpp_m1(rates, stays, mu):
    """States follow each other in a ring; each lasts an exponential time."""
    given = {"rates": ", ".join(rates), "stays": ", ".join(stays), "mu": mu}
    rates, stays, mu = [exactly(x) for x in rates], [exactly(x) for x in stays], exactly(mu)
    m = len(rates)
    share = [stay / sum(stays) for stay in stays]
    lam = sum(r * p for r, p in zip(rates, share))
    digits, mp.dps = mp.dps, 70
    turn = matrix(m, m)
    for i in range(m):
        turn[i, i] -= 1 / stays[i]
        turn[i, (i + 1) % m] += 1 / stays[i]
    up = matrix(m, m)
    for i in range(m):
        up[i, i] = rates[i]
    down = mu * eye(m)
    local = turn - up - down
    # Logarithmic reduction (Latouche and Ramaswami): G, then R = up (-(local + up G))^-1
    inverse = (-local) ** -1
    high, low = inverse * up, inverse * down
    g, t = low.copy(), high.copy()
    for _ in range(300):
        middle = (eye(m) - high * low - low * high) ** -1
        high, low = middle * high * high, middle * low * low
        g += t * low
        t = t * high
        if norm(t, 1) < mpf(10) ** -65:
            break
    r = up * (-(local + up * g)) ** -1
    # Level 0: p0 (turn - up + R down) = 0, and p0 (I - R)^-1 1 = 1
    system = (turn - up + r * down).T
    every = (eye(m) - r) ** -1
    right = matrix(m, 1)
    for j in range(m):
        system[m - 1, j] = sum(every[j, k] for k in range(m))
    right[m - 1] = 1
    p0 = lu_solve(system, right).T
    first = p0 * r * every * every  # sum of n p_n
    number = sum(first)
    marginal = p0 * every
    for j in range(m):
        near(marginal[j], share[j], mpf(10) ** -40, "share of each state of the source")
    rho = lam / mu
    near(1 - sum(p0), rho, mpf(10) ** -40, "utilization")
    waits = 1 - sum(p0[j] * rates[j] for j in range(m)) / lam
    mp.dps = digits
    if rho < 0.95:
        room = 400
        p = stationary([(n, j) for n in range(room) for j in range(m)], ring(rates, stays, mu))
        cut = sum(x for (n, _), x in p.items() if n > room - 20)
        if cut < mpf(10) ** -22:
            near(sum(n * x for (n, _), x in p.items()), number, mpf(10) ** -15, "MMPP/M/1 as a cut chain")
    figures = {
        "utilization": rho,
        "idle": sum(p0),
        "throughput": lam,
        "number.mean": number,
        "queue.mean": number - rho,
        "wait.mean": (number - rho) / lam,
        "response.mean": number / lam,
        "wait.probability": waits,
    }
    points.add("mmpp-m1", given, figures, "matrix-geometric by logarithmic reduction, 70 digits")


def ring(rates, stays, mu):
    def moves(state):
        n, j = state
        yield (n, (j + 1) % len(rates)), 1 / stays[j]
        yield (n + 1, j), rates[j]
        if n:
            yield (n - 1, j), mu

    return moves


def batches(model, lam, service, mu, batch):
    """Mean wait by the batch as one customer, and by the work of those in front within the batch."""
    given = {"lambda": lam} | ({"mu": mu} if mu else {"service": service})
    given["batch"] = "; ".join(f"{size},{p}" for size, p in batch)
    lam = exactly(lam)
    law = None if mu else Law(service)
    mean = 1 / exactly(mu) if mu else law.mean()
    second = 2 * mean**2 if mu else law.moment(2)
    sizes = [(int(size), exactly(p)) for size, p in batch]
    whole = sum(p for _, p in sizes)
    sizes = [(size, p / whole) for size, p in sizes]  # decimals as doubles add up to almost 1
    first, square = sum(s * p for s, p in sizes), sum(s * s * p for s, p in sizes)
    rho = lam * first * mean
    batch_second = first * (second - mean**2) + square * mean**2
    ahead = sum(p * s * mpf(s - 1) / 2 for s, p in sizes) / first * mean  # others of the same batch served before
    wait = lam * batch_second / (2 * (1 - rho)) + ahead
    rate = lam * first
    figures = {
        "utilization": rho,
        "idle": 1 - rho,
        "throughput": rate,
        "number.mean": rate * (wait + mean),
        "queue.mean": rate * wait,
        "wait.mean": wait,
        "response.mean": wait + mean,
        "batch.mean": first,
    }
    if mu and rho < 0.91 and max(s for s, _ in sizes) <= 8:

        def moves(n):
            for size, p in sizes:
                yield n + size, lam * p
            if n:
                yield n - 1, exactly(mu)

        p = stationary(range(1500), moves)
        near(sum(n * x for n, x in p.items()), figures["number.mean"], mpf(10) ** -18, "batches as a chain")
    points.add(model, given, figures, "the batch as one customer, and those ahead within it")


def bulk(lam, mu, least, most, as_chain=False):
    given = {"lambda": lam, "mu": mu, "least": str(least), "most": str(most)}
    lam, mu = exactly(lam), exactly(mu)
    rho = lam / (most * mu)

    def moves(state):
        busy, j = state
        if not busy:
            yield ((0, j + 1) if j + 1 < least else (1, 0)), lam
            return
        yield (1, j + 1), lam
        yield ((0, j) if j < least else (1, j - min(j, most))), mu

    # Balance of (busy, j), j >= 1: (lam + mu) p_j = lam p_(j-1) + mu p_(j+most): geometric, root below 1
    def excess(r):
        return sum(mu * r**k for k in range(1, most + 1)) - lam

    low, high = mpf(0), mpf(1)
    r = findroot(excess, (low, high), solver="anderson", tol=mpf(10) ** -90, verify=False)
    near(mu * r ** (most + 1) + lam, (lam + mu) * r, mpf(10) ** -40, "root of bulk service")
    busy = [r**j for j in range(least)]
    idle, total = [], mpf(0)
    for j in range(least):  # (idle, j): lam q_j = lam q_(j-1) + mu p_j
        total += mu / lam * busy[j]
        idle.append(total)
    weight = sum(idle) + 1 / (1 - r)
    share = 1 / (1 - r) / weight
    queue = (sum(j * x for j, x in enumerate(idle)) + r / (1 - r) ** 2) / weight
    if as_chain:
        room = int(-60 / mp.log10(r)) + least + 10
        p = stationary([(0, j) for j in range(least)] + [(1, j) for j in range(room)], moves)
        near(sum(j * x for (_, j), x in p.items()), queue, mpf(10) ** -20, "queue of bulk service as a chain")
        near(sum(x for (b, _), x in p.items() if b), share, mpf(10) ** -20, "bulk service as a chain")
    figures = {
        "utilization": share,
        "queue.mean": queue,
        "wait.mean": queue / lam,
        "response.mean": queue / lam + 1 / mu,
        "number.mean": queue + lam / mu,
        "batch.mean": lam / (mu * share),
    }
    points.add("bulk-service", given, figures, "geometric end of the chain of (busy, waiting)")


def sharing(lam, service):
    given = {"lambda": lam, "service": service}
    lam, law = exactly(lam), Law(service)
    rho = lam * law.mean()
    figures = {
        "utilization": rho,
        "idle": 1 - rho,
        "number.mean": rho / (1 - rho),
        "response.mean": law.mean() / (1 - rho),
        "slowdown.mean": 1 / (1 - rho),
    }
    points.add("mg1-ps", given, figures, "insensitive: the number is that of M/M/1")


for rates, stays, mu in [
    (["2", "10"], ["1", "0.5"], "8"),
    (["1", "0"], ["0.01", "0.02"], "0.5"),
    (["5", "5"], ["1", "3"], "8"),
    (["0.5", "1.4"], ["100", "100"], "1"),
    (["9000", "10980"], ["0.01", "0.01"], "10000"),
    (["1", "4", "9"], ["2", "1", "0.5"], "6"),
    (["0.1", "0.3"], ["1e-6", "1e-6"], "1"),
    (["0.9", "1.05"], ["1e6", "1e5"], "1"),
    (["1e-3", "1e6"], ["1e3", "1e-6"], "2"),
    (["0.4", "2", "0.999"], ["1e-3", "1e2", "1e3"], "1.1"),
]:
    mmpp_m1(rates, stays, mu)
for lam, mean, batch in [
    ("0.2", "1", [(1, "0.5"), (4, "0.25"), (8, "0.25")]),
    ("1000", "0.0001", [(1, "0.5"), (2, "0.5")]),
    ("0.1", "0.999", [(10, "1")]),
    ("0.0001", "0.5", [(1, "0.999"), (1000, "0.001")]),
]:
    if mean == "0.999":
        batches("mxm1", lam, None, "1.001", batch)
    else:
        batches("mxm1", lam, None, {"1": "1", "0.0001": "10000", "0.5": "2"}[mean], batch)
    batches("mxg1", lam, f"constant({mean})", None, batch)
    batches("mxg1", lam, f"hyperexponential(0.5, {float(mean) / 2}, 0.5, {float(mean) * 1.49})", None, batch)
for lam, mu, least, most, chain in [
    ("3", "1", 1, 4, True),
    ("1", "1", 3, 5, True),
    ("3.5", "1", 4, 4, True),
    ("0.001", "1", 2, 2, True),
    ("7.99", "1", 1, 8, False),
    ("60000", "1000", 16, 64, False),
    ("50", "1", 1, 1000, False),
    ("0.9", "1", 1, 1, True),
    ("3.99999", "1", 2, 4, False),
    ("1e-9", "1", 50, 100, False),
]:
    bulk(lam, mu, least, most, chain)
for lam, service in [("0.8", "exponential(1)"), ("9999", "erlang(4, 100us)"), ("0.5", "lognormal(1, 20)"), ("1e-9", "constant(1)")]:
    sharing(lam, service)
points.write()
