"""Birth and death: stationary probabilities from the balance equations of the chain, summed as they stand."""

from mpmath import mp, mpf, exp, sqrt, cos, sin, pi, gammainc, diff, log, ceil, factorial

from chains import stationary, transient
from points import LEVELS, Points, exactly, near, quantile, quantiles

points = Points("markovian")


def birth_death(births, deaths):
    """Probabilities from p[n+1] = p[n] births[n] / deaths[n]."""
    weights = [mpf(1)]
    for birth, death in zip(births, deaths):
        weights.append(weights[-1] * birth / death)
    total = mp.fsum(weights)
    return [w / total for w in weights]


def erlang_mix_tail(weights, rate):
    """P(T > t) where T has k stages of `rate` with probability weights[k-1] (may add up to less than 1)."""
    beyond, total = [], mpf(0)
    for w in reversed(weights):
        total += w
        beyond.append(total)
    beyond.reverse()

    def tail(t):
        term, total = mpf(1), mpf(0)
        for j, w in enumerate(beyond):
            total += term * w
            term = term * rate * t / (j + 1)
        return exp(-rate * t) * total

    return tail


def stages_and_service_tail(atom, weights, rate, mu):
    """P(T + S > t): S is exponential with mu; T is 0 with probability `atom`, else k stages of `rate` > mu."""
    waits = erlang_mix_tail(weights, rate)
    ratio = rate / (rate - mu)
    last = len(weights)

    def tail(t):
        x = (rate - mu) * t
        # P(k, x), the regularised lower incomplete gamma function, for k = last down to 1
        value = gammainc(last, 0, x, regularized=True) if x else mpf(0)
        term = exp(-x) * x**last / factorial(last)
        total = mpf(0)
        for k in range(last, 0, -1):
            total += weights[k - 1] * ratio**k * value
            term = term * k / x if x else mpf(0)
            value += term
        return atom * exp(-mu * t) + waits(t) + exp(-mu * t) * total

    return tail


def many_servers(probabilities, seen, mu, servers, arriving, quantile_figures=True):
    """All figures of c like servers from the probabilities of the number and what an accepted arrival sees."""
    number = mp.fsum(n * p for n, p in enumerate(probabilities))
    queue = mp.fsum((n - servers) * p for n, p in enumerate(probabilities) if n > servers)
    busy = mp.fsum(min(n, servers) * p for n, p in enumerate(probabilities))
    near(busy * mu, arriving, mpf(10) ** -30, "what comes in goes out")
    figures = {
        "utilization": busy / servers,
        "idle": probabilities[0],
        "throughput": arriving,
        "number.mean": number,
        "queue.mean": queue,
        "wait.mean": queue / arriving,
        "response.mean": number / arriving,
        "wait.probability": mp.fsum(seen[servers:]),
    }
    weights = seen[servers:]
    # Little, by the other way: the mean over what an arrival sees
    by_state = mp.fsum((k + 1) * w for k, w in enumerate(weights)) / (servers * mu)
    near(by_state, figures["wait.mean"], mpf(10) ** -30, "Little's law")
    if quantile_figures:
        scale = 1 / mu
        figures |= quantiles("wait", erlang_mix_tail(weights, servers * mu), scale)
        if servers == 1:
            response = erlang_mix_tail([seen[0]] + list(weights), mu)
        else:
            response = stages_and_service_tail(mp.fsum(seen[:servers]), weights, servers * mu, mu)
        near(response(mpf(0)), 1, mpf(10) ** -30, "all responses are above 0")
        figures |= quantiles("response", response, scale)
    return figures


def mm1(lam, mu):
    given = {"lambda": lam, "mu": mu}
    lam, mu = exactly(lam), exactly(mu)
    rho = lam / mu
    theta = mu - lam
    figures = {
        "utilization": rho,
        "idle": 1 - rho,
        "throughput": lam,
        "number.mean": rho / (1 - rho),
        "queue.mean": rho**2 / (1 - rho),
        "wait.mean": rho / theta,
        "response.mean": 1 / theta,
        "wait.probability": rho,
        "number.variance": rho / (1 - rho) ** 2,
        "number.p99": max(mpf(0), ceil(log(mpf("0.01")) / log(rho)) - 1),
        "busy-period.mean": 1 / theta,
    }

    def transform(s):  # of the busy period: the smaller root of lam x^2 - (lam + mu + s) x + mu
        b = lam + mu + s
        return 2 * mu / (b + sqrt(b * b - 4 * lam * mu))

    h = theta**2 / mu / 1000  # well within the circle of convergence
    mp.dps = 80
    second = diff(transform, 0, 2, h=h * mpf(10) ** -20)
    first = -diff(transform, 0, 1, h=h * mpf(10) ** -20)
    mp.dps = 50
    near(first, 1 / theta, mpf(10) ** -15, "mean busy period")
    variance = (1 + rho) / (mu**2 * (1 - rho) ** 3)
    near(second - first**2, variance, mpf(10) ** -10, "variance of the busy period")
    figures["busy-period.variance"] = variance
    figures |= quantiles("wait", lambda t: rho * exp(-theta * t), 1 / theta)
    figures |= quantiles("response", lambda t: exp(-theta * t), 1 / theta)
    points.add("mm1", given, figures, "probabilities (1 - rho) rho^n, exponential tails")


def mm1k(lam, mu, capacity):
    given = {"lambda": lam, "mu": mu, "capacity": str(capacity)}
    mmck_figures("mm1k", given, exactly(lam), exactly(mu), 1, capacity)


def mmck(lam, mu, servers, capacity):
    given = {"lambda": lam, "mu": mu, "servers": str(servers), "capacity": str(capacity)}
    mmck_figures("mmck", given, exactly(lam), exactly(mu), servers, capacity)


def mmck_figures(model, given, lam, mu, servers, capacity):
    p = birth_death([lam] * capacity, [min(n + 1, servers) * mu for n in range(capacity)])
    accepted = mp.fsum(p[:capacity])
    seen = [x / accepted for x in p[:capacity]]
    figures = many_servers(p, seen, mu, servers, lam * accepted)
    figures["loss"] = p[capacity]
    points.add(model, given, figures, "balance equations, Erlang stages by what an accepted arrival sees")


def mmc(lam, mu, servers):
    given = {"lambda": lam, "mu": mu, "servers": str(servers)}
    lam, mu = exactly(lam), exactly(mu)
    rho = lam / (servers * mu)
    weights = [mpf(1)]
    for n in range(servers):
        weights.append(weights[-1] * lam / ((n + 1) * mu))
    total = mp.fsum(weights[:servers]) + weights[servers] / (1 - rho)
    waits = weights[servers] / (1 - rho) / total
    theta = servers * mu - lam
    queue = waits * rho / (1 - rho)
    figures = {
        "utilization": rho,
        "idle": 1 / total,
        "throughput": lam,
        "number.mean": queue + lam / mu,
        "queue.mean": queue,
        "wait.mean": queue / lam,
        "response.mean": queue / lam + 1 / mu,
        "wait.probability": waits,
    }
    figures |= quantiles("wait", lambda t: waits * exp(-theta * t), 1 / mu)

    def response(t):
        if abs(theta - mu) < mpf(10) ** -30 * mu:
            both = (1 + mu * t) * exp(-mu * t)
        else:
            both = (theta * exp(-mu * t) - mu * exp(-theta * t)) / (theta - mu)
        return (1 - waits) * exp(-mu * t) + waits * both

    figures |= quantiles("response", response, 1 / mu)
    if rho < 0.9 and servers <= 20:  # a finite chain, long enough, says the same
        room = servers + int(120 / -mp.log(rho))
        p = birth_death([lam] * room, [min(n + 1, servers) * mu for n in range(room)])
        near(mp.fsum(n * x for n, x in enumerate(p)), figures["number.mean"], mpf(10) ** -25, "M/M/c as a chain")
    points.add("mmc", given, figures, "balance equations with the geometric end summed")


def mminf(lam, mu):
    given = {"lambda": lam, "mu": mu}
    lam, mu = exactly(lam), exactly(mu)
    a = lam / mu
    term = exp(-a)
    total, n = term, 0
    while total < mpf("0.99"):
        n += 1
        term = term * a / n
        total += term
    figures = {
        "number.mean": a,
        "number.variance": a,
        "number.p99": mpf(n),
        "idle": exp(-a),
        "response.mean": 1 / mu,
    }
    points.add("mminf", given, figures, "Poisson probabilities by direct sum")


def erlang_b(load, servers):
    given = {"load": load, "servers": str(servers)}
    a = exactly(load)
    term, total = mpf(1), mpf(1)
    for n in range(1, servers + 1):
        term = term * a / n
        total += term
    loss = term / total
    carried = a * (1 - loss)
    figures = {"loss": loss, "utilization": carried / servers, "busy.mean": carried}
    points.add("erlang-b", given, figures, "Erlang's sum, term by term")


def finite_source(lam, mu, servers, population):
    given = {"lambda": lam, "mu": mu, "servers": str(servers), "population": str(population)}
    lam, mu = exactly(lam), exactly(mu)
    births = [(population - n) * lam for n in range(population)]
    p = birth_death(births, [min(n + 1, servers) * mu for n in range(population)])
    flow = [births[n] * p[n] for n in range(population)]
    arriving = mp.fsum(flow)
    seen = [x / arriving for x in flow]
    figures = many_servers(p, seen, mu, servers, arriving)
    points.add("finite-source", given, figures, "balance equations; an arrival sees births[n] p[n]")


def engset(lam, mu, servers, population):
    given = {"lambda": lam, "mu": mu, "servers": str(servers), "population": str(population)}
    lam, mu = exactly(lam), exactly(mu)
    top = min(servers, population)
    births = [(population - n) * lam for n in range(top + 1)]
    p = birth_death(births[:top], [(n + 1) * mu for n in range(top)])
    flow = [b * x for b, x in zip(births, p)]
    offered = mp.fsum(flow)
    busy = mp.fsum(n * x for n, x in enumerate(p))
    lost = flow[servers] if servers < population else mpf(0)
    figures = {
        "loss": lost / offered,
        "utilization": busy / servers,
        "idle": p[0],
        "throughput": offered - lost,
        "number.mean": busy,
        "response.mean": 1 / mu,
        "busy.mean": busy,
        "offered.rate": offered,
    }
    near(offered - lost, busy * mu, mpf(10) ** -25, "Engset: what is let in is served")
    points.add("engset", given, figures, "balance equations; who asks sees births[n] p[n], and is lost where all are busy")


def mm1_transient(lam, mu, capacity, start, time):
    given = {"lambda": lam, "mu": mu, "capacity": str(capacity), "start": str(start), "time": time}
    lam, mu, t = exactly(lam), exactly(mu), exactly(time)

    def moves(n):
        if n < capacity:
            yield n + 1, lam
        if n > 0:
            yield n - 1, mu

    work = (lam + mu) * t * capacity
    if work < 400_000:
        found = transient(range(capacity + 1), moves, start, t)
        p = [found[n] for n in range(capacity + 1)]
        source = "uniformisation"
        if capacity <= 12:
            other = by_sines(lam, mu, capacity, start, t)
            near(other[0], p[0], mpf(10) ** -25, "M/M/1/K at a time, by the sum of sines")
    else:
        p = by_sines(lam, mu, capacity, start, t)
        source = "Morse's sum of sines (Takacs 1962, chapter 1)"
    near(mp.fsum(p), 1, mpf(10) ** -25, "probabilities add up to 1")
    figures = {
        "number.mean": mp.fsum(n * x for n, x in enumerate(p)),
        "idle": p[0],
        "full": p[capacity],
    }
    points.add("mm1-transient", given, figures, source)


def by_sines(lam, mu, capacity, start, t):
    rho = lam / mu
    root = sqrt(rho)
    size = capacity + 1
    steady = birth_death([lam] * capacity, [mu] * capacity)
    sines = [sin(pi * k / size) for k in range(2 * size)]
    p = list(steady)
    factors = [mpf(0)] * size
    for m in range(1, size):
        c = cos(pi * m / size)
        decay = exp((2 * sqrt(lam * mu) * c - lam - mu) * t) / (1 - 2 * root * c + rho)
        here = sines[start * m % (2 * size)] - root * sines[(start + 1) * m % (2 * size)]
        weight = decay * here
        if abs(weight) < mpf(10) ** -(mp.dps + 30):
            continue
        for j in range(size):
            factors[j] += weight * (sines[j * m % (2 * size)] - root * sines[(j + 1) * m % (2 * size)])
    for j in range(size):
        p[j] += mpf(2) / size * root ** (j - start) * factors[j]
    return p


for lam, mu in [
    ("8000", "10000"),
    ("0.3", "1"),
    ("9999", "10000"),
    ("0.999999999", "1"),
    ("1e-9", "1e3"),
    ("1e12", "1.5e12"),
    ("1e-12", "1.25e-12"),
]:
    mm1(lam, mu)
for lam, mu, capacity in [
    ("8", "10", 5),
    ("10", "10", 20),
    ("10.000001", "10", 300),
    ("9.99999999", "10", 1000),
    ("100", "1", 4),
    ("0.5", "1", 1),
    ("1e-6", "1", 10),
    ("12", "10", 2000),
    ("1.00001", "1", 3000),
    ("1e-12", "1e3", 10000),
]:
    mm1k(lam, mu, capacity)
for lam, mu, servers in [
    ("8", "5", 2),
    ("1.5", "1", 3),
    ("15.9999", "1", 16),
    ("2", "1", 3),  # c mu - lambda = mu: two rates of the response are the same
    ("2.0000001", "1", 3),
    ("990", "1", 1000),
    ("0.001", "1", 8),
    ("1e9", "1.01e5", 10000),
    ("99990", "1", 100000),
    ("1e-12", "1e-12", 3),
]:
    mmc(lam, mu, servers)
for lam, mu, servers, capacity in [
    ("8", "5", 2, 10),
    ("20", "5", 4, 4),
    ("16", "1", 16, 64),
    ("0.1", "1", 3, 7),
    ("99.5", "1", 100, 1000),
    ("1000", "1", 8, 16),
    ("2", "1", 3, 30),
    ("401", "1", 400, 2500),
    ("1e12", "1e-3", 2, 2000),
]:
    mmck(lam, mu, servers, capacity)
for lam, mu in [("8", "10"), ("1000", "1"), ("1e-6", "1"), ("250000", "10"), ("0.01", "1"), ("1e-12", "1e3")]:
    mminf(lam, mu)
for load, servers in [("1", 1), ("8", 10), ("100", 100), ("1", 100), ("1e6", 10), ("9999", 10000), ("1e-5", 3), ("100000", 100000), ("1e6", 1000000), ("1e15", 1000)]:
    erlang_b(load, servers)
for lam, mu, servers, population in [
    ("0.1", "1", 1, 10),
    ("0.5", "1", 2, 16),
    ("1", "1", 4, 4),
    ("100", "1", 1, 8),
    ("0.0099", "1", 1, 100),
    ("0.02", "1", 5, 300),
    ("1e-6", "1", 1, 2),
    ("0.03", "1", 100, 4000),
    ("1e9", "1e-6", 7, 50),
]:
    finite_source(lam, mu, servers, population)
for lam, mu, servers, population in [
    ("1", "2", 2, 3),
    ("1000", "2000", 4, 10),
    ("0.001", "1", 3, 4000),
    ("50", "1", 5, 40),
    ("3", "2", 6, 4),
]:
    engset(lam, mu, servers, population)
for lam, mu, capacity, start, time in [
    ("8", "10", 10, 0, "0.1"),
    ("8", "10", 10, 10, "1"),
    ("1", "1", 5, 2, "3"),
    ("0.8", "1", 100, 0, "50"),
    ("12", "10", 40, 20, "0.5"),
    ("8000", "10000", 64, 0, "1e-6"),
    ("8000", "10000", 200, 150, "1"),
    ("0.99", "1", 500, 0, "10000"),
    ("8", "10", 10, 3, "0"),
    ("8", "10", 10, 3, "1e6"),
    ("8", "10", 10, 3, "1e-12"),
    ("1e9", "1e9", 50, 25, "1e-8"),
    ("1000", "1", 30, 0, "0.005"),
]:
    mm1_transient(lam, mu, capacity, start, time)
points.write()
