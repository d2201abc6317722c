"""Networks: product forms summed as such (normalising constants over all states), never by mean-value recursion."""

from mpmath import mp, mpf, matrix, lu_solve

from laws import Law
from points import Points, exactly, near

points = Points("networks")


def rows(text):
    return [[exactly(x) for x in row.split(",")] for row in text.split(";")]


def mmc(lam, mu, servers):
    a = lam / mu
    assert a < servers, "no steady state"
    terms = [mpf(1)]
    for n in range(1, servers):
        terms.append(terms[-1] * a / n)
    last = terms[-1] * a / servers / (1 - a / servers)
    waits = last / (sum(terms) + last)
    queue = waits * a / (servers - a)
    return queue, queue + a


def jackson(arrivals, mus, servers, routing):
    given = {"arrivals": ", ".join(arrivals), "mus": ", ".join(mus), "servers": ", ".join(servers), "routing": routing}
    arrivals, mus, servers = [exactly(x) for x in arrivals], [exactly(x) for x in mus], [int(x) for x in servers]
    routes, m = rows(routing), len(mus)
    system = matrix(m, m)
    for i in range(m):
        for j in range(m):
            system[j, i] = (1 if i == j else 0) - routes[i][j]
    flows = lu_solve(system, matrix(arrivals))
    leaving = sum(flows[i] * (1 - sum(routes[i])) for i in range(m))
    near(leaving, sum(arrivals), mpf(10) ** -40, "what comes in goes out")
    figures, total = {}, mpf(0)
    for i in range(m):
        queue, number = mmc(flows[i], mus[i], servers[i]) if flows[i] else (mpf(0), mpf(0))
        total += number
        place = f"station.{i + 1}"
        figures[f"{place}.utilization"] = flows[i] / mus[i] / servers[i]
        figures[f"{place}.number.mean"] = number
        figures[f"{place}.throughput"] = flows[i]
        if flows[i]:
            figures[f"{place}.wait.mean"] = queue / flows[i]
            figures[f"{place}.response.mean"] = number / flows[i]
    figures["number.mean"] = total
    figures["response.mean"] = total / sum(arrivals)
    points.add("jackson", given, figures, "traffic equations, each station M/M/c")


def convolution(weights, population):
    """G(0..population) of stations with weights[i][n], and every product without station i where asked."""
    total = [mpf(1)] + [mpf(0)] * population
    for weight in weights:
        total = [mp.fsum(total[k] * weight[n - k] for k in range(n + 1)) for n in range(population + 1)]
    return total


def closed(demands, servers, customers, think):
    """Throughput, mean numbers and busy servers of each station, from Buzen's normalising constants."""

    def weight(demand, count):
        answer = [mpf(1)]
        for n in range(1, customers + 1):
            answer.append(answer[-1] * demand / min(n, count))
        return answer

    stations = [weight(d, c) for d, c in zip(demands, servers)]
    delay = [mpf(1)]
    for n in range(1, customers + 1):
        delay.append(delay[-1] * think / n)
    g = convolution(stations + [delay], customers)
    throughput = g[customers - 1] / g[customers]
    numbers, busy = [], []
    for i in range(len(stations)):
        others = convolution(stations[:i] + stations[i + 1 :] + [delay], customers)
        p = [stations[i][n] * others[customers - n] / g[customers] for n in range(customers + 1)]
        near(mp.fsum(p), 1, mpf(10) ** -40, "probabilities of a station")
        numbers.append(mp.fsum(n * x for n, x in enumerate(p)))
        busy.append(mp.fsum(min(n, servers[i]) * x for n, x in enumerate(p)))
        near(busy[i], throughput * demands[i], mpf(10) ** -40, "utilization law")
    near(sum(numbers) + throughput * think, customers, mpf(10) ** -40, "nobody is lost")
    return throughput, numbers, busy


def mva(demands, customers, think):
    given = {"demands": ", ".join(demands), "customers": str(customers), "think": think}
    demands, think = [exactly(x) for x in demands], exactly(think)
    throughput, numbers, busy = closed(demands, [1] * len(demands), customers, think)
    figures = {"throughput": throughput, "response.mean": sum(numbers) / throughput}
    for i, (number, load) in enumerate(zip(numbers, busy), 1):
        figures[f"station.{i}.utilization"] = load
        figures[f"station.{i}.number.mean"] = number
        figures[f"station.{i}.response.mean"] = number / throughput
    points.add("mva", given, figures, "Buzen's convolution, 50 digits")


def mva_multiserver(services, visits, servers, customers, think):
    given = {
        "services": ", ".join(services), "visits": ", ".join(visits), "servers": ", ".join(servers),
        "customers": str(customers), "think": think,
    }
    demands = [exactly(s) * exactly(v) for s, v in zip(services, visits)]
    counts, think = [int(c) for c in servers], exactly(think)
    throughput, numbers, busy = closed(demands, counts, customers, think)
    figures = {"throughput": throughput, "response.mean": sum(numbers) / throughput}
    for i, (number, load) in enumerate(zip(numbers, busy), 1):
        figures[f"station.{i}.utilization"] = load / counts[i - 1]
        figures[f"station.{i}.number.mean"] = number
    points.add("mva-multiserver", given, figures, "Buzen's convolution with load-dependent stations, 50 digits")


def mva_multiclass(demands, customers, thinks):
    given = {"demands": demands, "customers": ", ".join(map(str, customers)), "thinks": ", ".join(thinks)}
    table, thinks = rows(demands), [exactly(x) for x in thinks]
    classes, stations = len(table), len(table[0])
    populations = [()]
    for count in customers:
        populations = [p + (n,) for p in populations for n in range(count + 1)]
    # The delay stations first: product of Z_c^n / n!
    g = {}
    for p in populations:
        value = mpf(1)
        for n, think in zip(p, thinks):
            value *= think**n / mp.factorial(n)
        g[p] = value
    for i in range(stations):  # g(p) += sum over classes of D_ci g(p - 1_c): a queue with one server
        for p in populations:
            for c in range(classes):
                if p[c]:
                    less = p[:c] + (p[c] - 1,) + p[c + 1 :]
                    g[p] += table[c][i] * g[less]
    full = tuple(customers)
    figures, flows = {}, []
    for c in range(classes):
        less = full[:c] + (full[c] - 1,) + full[c + 1 :]
        flow = g[less] / g[full]
        flows.append(flow)
        figures[f"class.{c + 1}.throughput"] = flow
        figures[f"class.{c + 1}.response.mean"] = customers[c] / flow - thinks[c]
    for i in range(stations):
        figures[f"station.{i + 1}.utilization"] = sum(flows[c] * table[c][i] for c in range(classes))
    points.add("mva-multiclass", given, figures, "convolution over populations of all classes, 50 digits")


def bounds(demands, customers, think):
    given = {"demands": ", ".join(demands), "customers": str(customers), "think": think}
    d, n, z = [exactly(x) for x in demands], customers, exactly(think)
    whole, largest, mean = sum(d), max(d), sum(d) / len(d)
    high = min(n / (whole + z), 1 / largest)
    low = n / (n * whole + z)
    # Balanced jobs (Lazowska et al. 1984, table 5.2): the response that thinking leaves of that without it
    low_balanced = n / (z + whole + (n - 1) * largest / (1 + z / (n * whole)))
    high_balanced = min(1 / largest, n / (z + whole + (n - 1) * mean / (1 + z / whole)))
    figures = {
        "throughput.lower": low, "throughput.upper": high,
        "throughput.balanced.lower": low_balanced, "throughput.balanced.upper": high_balanced,
        "response.lower": max(whole, n * largest - z), "response.upper": n * whole,
        "response.balanced.lower": n / high_balanced - z, "response.balanced.upper": n / low_balanced - z,
        "saturation.customers": (whole + z) / largest,
    }
    if n <= 300:  # the exact figures lie between
        throughput, numbers, _ = closed(d, [1] * len(d), n, z)
        slack = 1 + mpf(10) ** -30
        for lower, upper in ((low, high), (low_balanced, high_balanced)):
            assert lower <= throughput * slack and throughput <= upper * slack, "bounds"
    points.add("bounds", given, figures, "table 5.2 of Lazowska et al. 1984, exact figures lie between")


def cloud(devices, lambdas, services, split, order, own=None):
    """Only what is exact: one queue of M/G/1 or M/M/c, with Cobham's priorities or without; and two formulas of the
    field as they stand: Bondi and Buzen's scaling, Kraemer and Langenbach-Belz's gaps that vary less."""
    given = {"devices": str(devices), "lambdas": ", ".join(lambdas), "services": "; ".join(services), "split": split,
             "order": order}
    if own:
        given["own"] = ", ".join(map(str, own))
    lams, laws = [exactly(x) for x in lambdas], [Law(x) for x in services]
    if len(laws) == 1:
        laws = laws * len(lams)
    c = devices
    busy = [lam * law.mean() for lam, law in zip(lams, laws)]
    loads = [sum(busy) / c] * len(lams)
    if split == "by-class":
        waits, loads = [], []
        for lam, law, count in zip(lams, laws, own):
            waits += one_queue([lam], [law], count, order)
            loads.append(lam * law.mean() / count)
    elif split == "random":
        waits = one_queue([lam / c for lam in lams], laws, 1, order)
    elif split == "shared":
        waits = one_queue(lams, laws, c, order)
    else:
        lam = sum(lams)
        mean = sum(r * law.mean() for r, law in zip(lams, laws)) / lam
        second = sum(r * law.moment(2) for r, law in zip(lams, laws)) / lam
        rho, cs2, ca2 = lam / c * mean, second / mean**2 - 1, mpf(1) / c
        power = -2 * (1 - rho) * (1 - ca2) ** 2 / (3 * rho * (ca2 + cs2))
        wait = rho / (1 - rho) * mean * (ca2 + cs2) / 2 * mp.exp(power)
        assert order == "fifo"
        waits = [wait] * len(lams)
    total = sum(lams)
    responses = [w + law.mean() for w, law in zip(waits, laws)]
    figures = {
        "utilization": sum(r * law.mean() for r, law in zip(lams, laws)) / c,
        "throughput": total,
        "number.mean": sum(r * t for r, t in zip(lams, responses)),
        "wait.mean": sum(r * w for r, w in zip(lams, waits)) / total,
        "response.mean": sum(r * t for r, t in zip(lams, responses)) / total,
    }
    figures["utilization.highest"] = max(loads)
    for k, (wait, response) in enumerate(zip(waits, responses), 1):
        figures[f"class.{k}.utilization"] = busy[k - 1] / c
        figures[f"class.{k}.devices.utilization"] = loads[k - 1]
        figures[f"class.{k}.wait.mean"] = wait
        figures[f"class.{k}.response.mean"] = response
    points.add("cloud", given, figures, f"{split}, {order}: formulas of the field as they stand")


def one_queue(lams, laws, servers, order):
    loads = [lam * law.mean() / servers for lam, law in zip(lams, laws)]
    rho = sum(loads)
    left = sum(lam * law.moment(2) for lam, law in zip(lams, laws)) / (2 * servers**2)
    a = rho * servers
    terms = [mpf(1)]
    for n in range(1, servers):
        terms.append(terms[-1] * a / n)
    last = terms[-1] * a / servers / (1 - rho)
    scale = last / (sum(terms) + last) / rho * left
    waits = []
    for k in range(len(lams)):
        if order == "fifo":
            waits.append(scale / (1 - rho))
        else:
            waits.append(scale / ((1 - sum(loads[:k])) * (1 - sum(loads[: k + 1]))))
    if servers > 1 and all(law.kind == "exponential" and law.average == laws[0].average for law in laws):
        queue, _ = mmc(sum(lams), 1 / laws[0].average, servers)
        flow = sum(lam * wait for lam, wait in zip(lams, waits))
        near(flow, queue, mpf(10) ** -35, "the order does not change how many wait")
    return waits


for arrivals, mus, servers, routing in [
    (["1", "0"], ["3", "2"], ["1", "1"], "0,0.5;0.25,0"),
    (["100", "0", "50"], ["200", "80", "30"], ["1", "2", "8"], "0,0.5,0.2;0.1,0,0.6;0.3,0,0"),
    (["0.995"], ["1"], ["1"], "0"),
    (["1", "0.0799"], ["2", "2"], ["1", "4"], "0.49,0;0,0.99"),
    (["1e-6", "1e3", "0", "0"], ["1e4", "1e4", "1e4", "500"], ["1", "1", "1", "100"], "0,1,0,0;0,0,1,0;0,0,0,0.5;0,0,0,0.9"),
]:
    jackson(arrivals, mus, servers, routing)
for demands, customers, think in [
    (["0.2", "0.3", "0.1"], 10, "1"),
    (["0.005", "0.03"], 1, "0"),
    (["1", "1", "1", "1"], 50, "0"),
    (["1e-6", "2e-6", "1e-5"], 200, "1e-3"),
    (["0.4"], 100, "100"),
    (["0.01", "0.00999", "0.002"], 800, "0.5"),
]:
    mva(demands, customers, think)
for services, visits, servers, customers, think in [
    (["0.1", "0.4"], ["1", "2"], ["1", "4"], 10, "1"),
    (["1", "1"], ["1", "0.5"], ["2", "3"], 30, "0"),
    (["0.001", "0.016", "0.004"], ["1", "1", "3"], ["1", "16", "8"], 100, "0.1"),
    (["1"], ["1"], ["8"], 200, "0.5"),
    (["2e-6", "3e-6"], ["1", "1"], ["1", "1"], 60, "0"),
    (["0.01", "0.5"], ["1", "1"], ["1", "64"], 90, "0.02"),
]:
    mva_multiserver(services, visits, servers, customers, think)
for demands, customers, thinks in [
    ("0.1,0.2;0.3,0.05", [3, 4], ["1", "0"]),
    ("0.02,0.05,0.01;0.04,0.01,0.03;0.01,0.01,0.01", [10, 5, 8], ["0.5", "1", "0"]),
    ("1,2", [40], ["10"]),
    ("1e-6,3e-6;5e-6,1e-6", [60, 60], ["0", "1e-5"]),
]:
    mva_multiclass(demands, customers, thinks)
for demands, customers, think in [
    (["0.005", "0.004", "0.003"], 16, "0.02"),
    (["1", "1", "1"], 5, "0"),
    (["1e-6", "2e-6"], 1000000000, "1"),
    (["0.3"], 1, "10"),
]:
    bounds(demands, customers, think)
for devices, lambdas, services, split, order, own in [
    (4, ["8000", "20000"], ["exponential(100us)"], "shared", "fifo", None),
    (4, ["8000", "20000"], ["exponential(100us)"], "shared", "priority", None),
    (3, ["1", "1.9"], ["constant(1)", "erlang(4, 1)"], "random", "fifo", None),
    (3, ["1", "1.9"], ["constant(1)", "hyperexponential(0.5, 0.5, 0.5, 1.5)"], "random", "priority", None),
    (1, ["0.3", "0.6"], ["lognormal(1, 2)", "exponential(1)"], "shared", "priority", None),
    (5, ["1.5", "1.8"], ["exponential(1)"], "by-class", "fifo", [2, 3]),
    (8, ["2", "4"], ["erlang(2, 1)", "constant(1)"], "shared", "fifo", None),
    (4, ["3.2"], ["exponential(1)"], "round-robin", "fifo", None),
    (16, ["8", "7.9"], ["gamma(2, 1)"], "round-robin", "fifo", None),
    (100, ["99.5"], ["exponential(1)"], "shared", "fifo", None),
]:
    cloud(devices, lambdas, services, split, order, own)
points.write()
