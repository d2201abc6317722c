"""Networks: product forms summed as such (normalising constants over all states), never by mean-value recursion."""

from mpmath import mp, mpf, matrix, lu_solve

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
points.write()
