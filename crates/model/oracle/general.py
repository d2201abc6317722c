"""General arrivals or services: moments exactly, distributions by inversion, power series or an exact series."""

import operator

from mpmath import mp, mpf, exp, findroot, factorial, invertlaplace, log

from chains import stationary
from delays import Waits
from laws import Law, read_time
from points import INVERSION, LEVELS, Points, exactly, near, quantile, quantiles

points = Points("general")


def means(lam, law):
    rho = lam * law.mean()
    wait = lam * law.moment(2) / (2 * (1 - rho))
    response = wait + law.mean()
    return {
        "utilization": rho,
        "idle": 1 - rho,
        "throughput": lam,
        "number.mean": lam * response,
        "queue.mean": lam * wait,
        "wait.mean": wait,
        "response.mean": response,
        "wait.probability": rho,
    }


def renewal(lam, law, t, beyond):
    """P(W > t) by the defective renewal equation of ladder heights, trapezoids in doubles, extrapolated twice."""

    def solve(count):
        h = t / count
        over = [float(beyond(mpf(i) * h / 2)) for i in range(2 * count + 1)]
        mean, left = float(law.mean()), [float(law.mean())]
        for i in range(count):  # what is left of the mean, by Simpson
            left.append(left[-1] - float(h) / 6 * (over[2 * i] + 4 * over[2 * i + 1] + over[2 * i + 2]))
        over, h, lam_ = over[::2], float(h), float(lam)
        tails = [lam_ * mean]
        for i in range(1, count + 1):
            inner = sum(map(operator.mul, tails[1:i], over[i - 1 : 0 : -1])) + tails[0] * over[i] / 2
            tails.append((lam_ * left[i] + lam_ * h * inner) / (1 - lam_ * h / 2 * over[0]))
        return tails[-1]

    one, two, four = solve(100), solve(200), solve(400)
    first, second = (4 * two - one) / 3, (4 * four - two) / 3
    return (16 * second - first) / 15


def smooth_tails(lam, law):
    """Tails of wait and response where both are analytic for t > 0."""
    rho = lam * law.mean()
    seen = {}

    def service(s):
        if s not in seen:
            with mp.workdps(min(mp.dps, 32) if by_integral else mp.dps):
                seen[s] = law.transform(s)
        return seen[s]

    def wait(s):
        return (1 - rho) * s / (s - lam + lam * service(s))

    by_integral = law.kind in ("lognormal", "weibull")

    def inverted(transform, t):
        if by_integral:
            # De Hoog's method takes the same points for all times of one octave: the integrals are kept.
            octave = mpf(2) ** mp.ceil(log(t, 2))
            return invertlaplace(transform, t, method="dehoog", degree=30, tmax=octave)
        return invertlaplace(transform, t, method="talbot", degree=40)

    def wait_tail(t):
        return inverted(lambda s: (1 - wait(s)) / s, t) if t else rho

    def response_tail(t):
        return inverted(lambda s: (1 - wait(s) * service(s)) / s, t) if t else mpf(1)

    if law.kind == "lognormal" or law.kind == "weibull" and law.shape >= 1:  # another way altogether
        t = 2 * law.mean()
        near(wait_tail(t), renewal(lam, law, t, law.beyond), mpf(10) ** -7, f"renewal equation, {law.text}")
    if not by_integral:  # two inversions of different kinds agree
        t = 2 * law.mean() / (1 - rho)
        other = invertlaplace(lambda s: (1 - wait(s)) / s, t, method="dehoog", degree=60)
        near(wait_tail(t), other, mpf(10) ** -8, f"inversion, {law.text}")
    return wait_tail, response_tail


def mg1(lam, service, grid=None):
    """`grid`: ends of a uniform or constant service in units, and the unit in seconds."""
    given = {"lambda": lam, "service": service}
    lam, law = exactly(lam), Law(service)
    figures = means(lam, law)
    rho = figures["utilization"]
    figures["busy-period.mean"] = law.mean() / (1 - rho)
    if grid:
        waits = Waits(lam, *grid)
        wait_tail, response_tail = waits.wait_tail, waits.response_tail
        source = "Pollaczek-Khinchine; distribution by power series of Takacs's equation"
    else:
        wait_tail, response_tail = smooth_tails(lam, law)
        source = "Pollaczek-Khinchine; distribution by Talbot's or de Hoog's inversion"
    scale = law.mean() / (1 - rho)
    found, density = {}, {}
    digits, mp.dps = mp.dps, 30 if not grid else mp.dps
    for subject, tail in (("wait", wait_tail), ("response", response_tail)):
        for name, level in LEVELS.items():
            if law.kind == "constant" and subject == "response":  # its distribution jumps at the service time
                q = found[f"wait.{name}"] + law.mean()
            else:
                q = quantile(tail, level, scale, accuracy=11 if not grid else 24)
            found[f"{subject}.{name}"] = q
            if q:
                h = q / 1000  # inversions give 11 digits or more: nothing finer is of use
                density[f"{subject}.{name}"] = (tail(q - h) - tail(q + h)) / (2 * h)
    mp.dps = digits
    points.add("mg1", given, figures | found, source, INVERSION, density)


def md1(lam, service, check=True):
    given = {"lambda": lam, "service": service}
    lam, d = exactly(lam), read_time(service)
    law = Law(f"constant({service})")
    figures = means(lam, law)
    waits = Waits(lam, 1, 1, d)
    rho = lam * d
    if check:  # Erlang's series, which cancels, with as many digits as that takes
        t = 7 * d + d / 3
        digits, mp.dps = mp.dps, 120
        erlang = (1 - rho) * sum((lam * (k * d - t)) ** k / factorial(k) * exp(-lam * (k * d - t)) for k in range(8))
        mp.dps = digits
        near(1 - waits.wait_tail(t), erlang, mpf(10) ** -35, "M/D/1 by Erlang's series")
    figures |= quantiles("wait", waits.wait_tail, d / (1 - rho))
    # The response has a jump of its distribution at d (nobody waited), no jump beyond.
    for name, level in LEVELS.items():
        figures[f"response.{name}"] = figures[f"wait.{name}"] + d
    points.add("md1", given, figures, "Pollaczek-Khinchine; power series of Erlang's equation with delay")


def gim1(interarrival, mu):
    given = {"interarrival": interarrival, "mu": mu}
    law, mu = Law(interarrival), exactly(mu)
    lam = 1 / law.mean()
    rho = lam / mu

    def excess(x):  # the root other than 1: (A(mu(1 - x)) - x) / (1 - x) falls through 0
        return (law.transform(mu * (1 - x)) - x) / (1 - x)

    low, high = mpf(0), 1 - (1 - rho) / mpf(10) ** 7
    f_low, f_high = excess(low), excess(high)
    assert f_low > 0 > f_high, (f_low, f_high)
    sigma = findroot(excess, (low, high), solver="anderson", tol=mpf(10) ** -60, verify=False)
    near(law.transform(mu * (1 - sigma)), sigma, mpf(10) ** -28, "root of G/M/1")
    theta = mu * (1 - sigma)
    figures = {
        "utilization": rho,
        "idle": 1 - rho,
        "throughput": lam,
        "number.mean": rho / (1 - sigma),
        "queue.mean": rho * sigma / (1 - sigma),
        "wait.mean": sigma / theta,
        "response.mean": 1 / theta,
        "wait.probability": sigma,
    }
    if law.kind == "erlang" and law.shape <= 4 and rho < 0.95:  # as a chain of stages
        stages = int(law.shape)

        def moves(state):
            n, stage = state
            yield ((n, stage + 1) if stage + 1 < stages else (n + 1, 0)), stages * lam
            if n:
                yield (n - 1, stage), mu

        room = int(60 / -log(sigma))
        p = stationary([(n, s) for n in range(room) for s in range(stages)], moves)
        near(sum(n * x for (n, _), x in p.items()), figures["number.mean"], mpf(10) ** -20, "E/M/1 as a chain")
    figures |= quantiles("wait", lambda t: sigma * exp(-theta * t), 1 / theta)
    figures |= quantiles("response", lambda t: exp(-theta * t), 1 / theta)
    points.add("gim1", given, figures, "root of sigma = A(mu(1 - sigma)); transform from the density")


def two_moments(lam, mu, servers, ca2, cs2):
    one = {"lambda": lam, "mu": mu, "ca2": ca2, "cs2": cs2}
    lam, mu, ca2, cs2 = map(exactly, (lam, mu, ca2, cs2))
    c = int(servers)

    def figures(wait, load):
        response = wait + 1 / mu
        return {"utilization": load, "wait.mean": wait, "response.mean": response, "number.mean": lam * response}

    rho = lam / mu
    if rho < 1:
        wait = rho / (1 - rho) * (ca2 + cs2) / 2 / mu
        bound = lam * (ca2 / lam**2 + cs2 / mu**2) / (2 * (1 - rho))
        points.add("kingman", one, figures(wait, rho) | {"wait.bound": bound}, "Kingman 1961, as it stands")
        if ca2 < 1:
            power = -2 * (1 - rho) * (1 - ca2) ** 2 / (3 * rho * (ca2 + cs2))
        else:
            power = -(1 - rho) * (ca2 - 1) / (ca2 + 4 * cs2)
        klb = wait * exp(power)
        points.add("kramer-langenbach-belz", one, figures(klb, rho), "Kraemer and Langenbach-Belz 1976, as it stands")
    a = lam / mu
    terms = [mpf(1)]
    for n in range(1, c):
        terms.append(terms[-1] * a / n)
    last = terms[-1] * a / c / (1 - a / c)
    waits = last / (sum(terms) + last)
    wait = waits / (c * mu - lam) * (ca2 + cs2) / 2
    many = {"lambda": one["lambda"], "mu": one["mu"], "servers": servers, "ca2": one["ca2"], "cs2": one["cs2"]}
    points.add("allen-cunneen", many, figures(wait, a / c), "Allen 1990, with Erlang's C summed")


for lam, service, grid in [
    ("0.8", "exponential(1)", None),
    ("8000", "exponential(100us)", None),
    ("0.7", "erlang(4, 1)", None),
    ("0.5", "erlang(30, 1)", None),
    ("0.9", "hyperexponential(0.9, 0.5, 0.1, 5.5)", None),
    ("0.99", "hyperexponential(0.5, 0.25, 0.5, 1.75)", None),
    ("0.6", "gamma(0.5, 1)", None),
    ("0.999", "gamma(2.5, 1)", None),
    ("0.8", "lognormal(1, 2)", None),
    ("0.5", "lognormal(1, 0.1)", None),
    ("0.7", "weibull(1.5, 1)", None),
    ("0.7", "weibull(0.7, 1)", None),
    ("0.25", "uniform(1, 5)", (1, 5, mpf(1))),
    ("0.9", "uniform(0, 2)", (0, 2, mpf(1))),
    ("0.99", "uniform(0.5, 1.5)", (1, 3, mpf("0.5"))),
    ("0.8", "constant(1)", (1, 1, mpf(1))),
    ("0.12", "constant(1)", (1, 1, mpf(1))),
    ("0.99", "erlang(4, 1)", None),
    ("1e-4", "erlang(2, 1)", None),
]:
    mg1(lam, service, grid)
for lam, service in [("0.8", "1"), ("0.3", "1"), ("0.99", "1"), ("0.999", "1"), ("8000", "100us"), ("1e-5", "1"), ("0.55", "1.5")]:
    md1(lam, service)
for interarrival, mu in [
    ("exponential(1.25)", "1"),
    ("constant(1.25)", "1"),
    ("constant(1.001)", "1"),
    ("erlang(4, 125us)", "10000"),
    ("erlang(3, 1.01)", "1"),
    ("erlang(2, 2)", "1"),
    ("hyperexponential(0.9, 0.5, 0.1, 8)", "1"),
    ("hyperexponential(0.9, 0.5, 0.1, 5.6)", "1"),
    ("uniform(0.5, 2)", "1"),
    ("uniform(0, 10)", "1"),
    ("gamma(0.5, 1.25)", "1"),
    ("lognormal(1.25, 2)", "1"),
    ("lognormal(1.01, 0.2)", "1"),
    ("weibull(1.5, 1.25)", "1"),
    ("weibull(0.6, 1.02)", "1"),
    ("constant(100)", "1"),
    ("exponential(1.000001)", "1"),
]:
    gim1(interarrival, mu)
for lam, mu, servers, ca2, cs2 in [
    ("0.8", "1", "2", "0.5", "0.25"),
    ("0.99", "1", "4", "2", "3"),
    ("0.999", "1", "100", "1", "0"),
    ("8000", "10000", "1", "0.1", "10"),
    ("0.05", "1", "3", "0", "0.7"),
    ("95", "1", "100", "1.5", "0.8"),
    ("0.3", "1", "1", "0", "0"),
]:
    if servers == "1" and ca2 == "0" and cs2 == "0":
        continue  # 0 / 0 in the exponent of Kraemer and Langenbach-Belz: no value to expect
    two_moments(lam, mu, servers, ca2, cs2)
points.write()
