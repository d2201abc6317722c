"""Classes and priorities: Cobham's and Takacs's means, checked against two-class chains."""

from mpmath import mp, mpf

from chains import stationary
from laws import Law
from points import Points, exactly, near

points = Points("priorities")


def total(figures, lams, waits, services):
    """Per class and over all customers, by Little's law."""
    lam = sum(lams)
    responses = [w + s for w, s in zip(waits, services)]
    for n, (rate, wait, response) in enumerate(zip(lams, waits, responses), 1):
        figures[f"class.{n}.wait.mean"] = wait
        figures[f"class.{n}.response.mean"] = response
        figures[f"class.{n}.number.mean"] = rate * response
    figures["wait.mean"] = sum(r * w for r, w in zip(lams, waits)) / lam
    figures["response.mean"] = sum(r * t for r, t in zip(lams, responses)) / lam
    figures["number.mean"] = sum(r * t for r, t in zip(lams, responses))
    return figures


def mg1(lams, services, preemptive):
    given = {"lambdas": ", ".join(lams), "services": "; ".join(services)}
    lams, laws = [exactly(x) for x in lams], [Law(x) for x in services]
    loads = [lam * law.mean() for lam, law in zip(lams, laws)]
    waits = []
    for k in range(len(lams)):
        before, upto = sum(loads[:k]), sum(loads[: k + 1])
        if preemptive:
            left = sum(lam * law.moment(2) for lam, law in zip(lams[: k + 1], laws)) / 2
            response = laws[k].mean() / (1 - before) + left / ((1 - before) * (1 - upto))
            waits.append(response - laws[k].mean())
        else:
            left = sum(lam * law.moment(2) for lam, law in zip(lams, laws)) / 2
            waits.append(left / ((1 - before) * (1 - upto)))
    if not preemptive:  # Kleinrock's conservation law: load-weighted waits are those of no priorities
        second = sum(lam * law.moment(2) for lam, law in zip(lams, laws)) / 2
        rho = sum(loads)
        near(sum(r * w for r, w in zip(loads, waits)), rho * second / (1 - rho), mpf(10) ** -40, "conservation law")
    figures = {"utilization": sum(loads)}
    for n, load in enumerate(loads, 1):
        figures[f"class.{n}.utilization"] = load
    total(figures, lams, waits, [law.mean() for law in laws])
    name = "mg1-preemptive" if preemptive else "mg1-nonpreemptive"
    points.add(name, given, figures, "Takacs's means" if preemptive else "Cobham's means, conservation law holds")


def mmc(lams, mu, servers):
    given = {"lambdas": ", ".join(lams), "mu": mu, "servers": str(servers)}
    lams, mu = [exactly(x) for x in lams], exactly(mu)
    lam = sum(lams)
    a = lam / mu
    terms = [mpf(1)]
    for n in range(1, servers):
        terms.append(terms[-1] * a / n)
    last = terms[-1] * a / servers / (1 - a / servers)
    waiting = last / (sum(terms) + last)
    waits = []
    for k in range(len(lams)):
        before, upto = sum(lams[:k]) / (servers * mu), sum(lams[: k + 1]) / (servers * mu)
        waits.append(waiting / (servers * mu) / ((1 - before) * (1 - upto)))
    figures = total({"utilization": a / servers}, lams, waits, [1 / mu] * len(lams))
    figures["wait.probability"] = waiting
    points.add("mmc-nonpreemptive", given, figures, "Cobham's means with Erlang's C summed")
    return figures


def check_by_chain():
    """Two classes, exponential services: the chain itself, cut where nothing is left."""
    room = 44
    lams, mus = [mpf("0.2"), mpf("0.15")], [mpf(1), mpf("0.8")]

    def nonpreemptive(state):
        serving, one, two = state  # class in service (0: none), waiting of each class
        if serving == 0:
            yield (1, 0, 0), lams[0]
            yield (2, 0, 0), lams[1]
            return
        yield (serving, one + 1, two), lams[0]
        yield (serving, one, two + 1), lams[1]
        after = (1, one - 1, two) if one else (2, one, two - 1) if two else (0, 0, 0)
        yield after, mus[serving - 1]

    def preemptive(state):
        one, two = state
        yield (one + 1, two), lams[0]
        yield (one, two + 1), lams[1]
        if one:
            yield (one - 1, two), mus[0]
        elif two:
            yield (one, two - 1), mus[1]

    mp.dps = 25
    both = [(a, n - a) for n in range(room) for a in range(n + 1)]
    p = stationary(both, preemptive)
    load = [x / y for x, y in zip(lams, mus)]
    left = [lams[0] / mus[0] ** 2, lams[0] / mus[0] ** 2 + lams[1] / mus[1] ** 2]
    for k, expected in ((0, load[0] / (1 - load[0])), (1, None)):
        number = sum(state[k] * x for state, x in p.items())
        if expected is None:
            rho = sum(load)
            expected = lams[1] * (1 / mus[1] / (1 - load[0]) + left[1] / ((1 - load[0]) * (1 - rho)))
        near(number, expected, mpf(10) ** -12, f"preemptive class {k + 1} as a chain")
    states = [(0, 0, 0)] + [(s, a, b) for a, b in both for s in (1, 2)]
    p = stationary(states, nonpreemptive)
    rho = sum(load)
    for k, lower, upper in ((0, 0, load[0]), (1, load[0], rho)):
        queue = sum(state[k + 1] * x for state, x in p.items())
        near(queue, lams[k] * left[1] / ((1 - lower) * (1 - upper)), mpf(10) ** -12, f"non-preemptive class {k + 1}")

    # Two servers of rate 1, one class of service: customers in service need not be told apart.
    def servers(state):
        busy, one, two = state
        if busy < 2:
            yield (busy + 1, 0, 0), sum(lams)
        else:
            yield (2, one + 1, two), lams[0]
            yield (2, one, two + 1), lams[1]
        if busy == 2 and one:
            yield (2, one - 1, two), mpf(2)
        elif busy == 2 and two:
            yield (2, one, two - 1), mpf(2)
        elif busy:
            yield (busy - 1, 0, 0), mpf(busy)

    p = stationary([(0, 0, 0), (1, 0, 0)] + [(2, a, b) for a, b in both[:400]], servers)
    mp.dps = 50
    figures = mmc(["0.2", "0.15"], "1", 2)
    for k in (0, 1):
        queue = sum(state[k + 1] * x for state, x in p.items())
        near(queue / lams[k], figures[f"class.{k + 1}.wait.mean"], mpf(10) ** -12, f"M/M/2 class {k + 1}")


check_by_chain()
for lams, services in [
    (["0.2", "0.3"], ["exponential(1)", "constant(1)"]),
    (["1000", "2000", "3000"], ["constant(50us)", "erlang(4, 100us)", "hyperexponential(0.9, 100us, 0.1, 300us)"]),
    (["0.1", "0.899"], ["uniform(0, 2)", "exponential(1)"]),
    (["1e-6", "0.5"], ["lognormal(1, 20)", "gamma(0.5, 1)"]),
    (["1", "1", "1", "1", "1"], ["constant(0.2)", "constant(0.1)", "weibull(0.7, 0.3)", "exponential(0.15)", "erlang(9, 0.2)"]),
    (["0.7"], ["exponential(1)"]),
]:
    mg1(lams, services, False)
    mg1(lams, services, True)
for lams, mu, servers in [
    (["2", "3", "1"], "1", 8),
    (["0.5", "0.499"], "1", 1),
    (["30", "69.9"], "1", 100),
    (["1e-3", "1e-6"], "1", 4),
]:
    mmc(lams, mu, servers)
points.write()
