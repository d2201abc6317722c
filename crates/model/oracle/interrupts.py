"""Moderated interrupts: a server that is woken late, by areas under one renewal cycle; events that are held back.

Nothing here uses the decomposition of vacation models. A cycle is: time until the server works, then the time in
which it serves all who are there and all who come meanwhile. The latter, begun with k customers, is k ordinary busy
periods on top of each other; the i-th from above has i others waiting beneath it.
"""

from decimal import ROUND_CEILING, Decimal

from mpmath import mp, mpf, exp, quad, inf

from laws import Law, read_time
from points import LEVELS, Points, exactly, near, quantile

points = Points("interrupts")


def woken(lam, law, before, area, first, pairs, empty, rate_name, extra=None, unwaited=None):
    """Figures of one cycle. before, area: mean time until the server works, and mean of the number's integral over
    it. first, pairs: mean number k then present, and mean of k(k-1)/2. empty: mean time with nobody there."""
    rho = lam * law.mean()
    busy = law.mean() / (1 - rho)
    number = rho + lam**2 * law.moment(2) / (2 * (1 - rho))  # of M/G/1, which is woken by one
    one = number * (1 / lam + busy)  # area under a busy period begun by one
    cycle = before + first * busy
    total = area + first * one + pairs * busy
    mean = total / cycle
    near(first * busy / cycle, rho, mpf(10) ** -35, "the server is busy for rho")
    figures = {
        "utilization": rho,
        "idle": empty / cycle,
        "throughput": lam,
        "number.mean": mean,
        "queue.mean": mean - rho,
        "wait.mean": mean / lam - law.mean(),
        "response.mean": mean / lam,
        rate_name: 1 / cycle,
    }
    return figures | (extra(cycle) if extra else {})


def poisson_at_least(mean, most):
    """P(at least i) for i = 0 .. most of a Poisson number."""
    term, below, answer = exp(-mean), mpf(0), []
    digits = mp.dps
    for i in range(most + 1):
        answer.append(1 - below)
        below += term
        term = term * mean / (i + 1)
    if answer and answer[-1] < mpf(10) ** -20:  # from the other end, where the difference cancels
        far = most + 200 + int(2 * mean)
        terms, term = [], exp(-mean)
        for i in range(far):
            terms.append(term)
            term = term * mean / (i + 1)
        total = mpf(0)
        for i in range(far - 1, -1, -1):
            total += terms[i]
            if i <= most:
                answer[i] = total
    mp.dps = digits
    return answer


def n_policy(lam, service, count):
    given = {"lambda": lam, "service": service, "count": str(count)}
    lam, law = exactly(lam), Law(service)
    n = mpf(count)
    figures = woken(lam, law, n / lam, n * (n - 1) / 2 / lam, n, n * (n - 1) / 2, 1 / lam, "interrupts.rate")
    points.add("n-policy", given, figures, "areas under a renewal cycle")


def t_policy(lam, service, timer):
    given = {"lambda": lam, "service": service, "timer": timer}
    lam, law, t = exactly(lam), Law(service), read_time(timer)
    a = lam * t
    figures = woken(lam, law, 1 / lam + t, t + lam * t * t / 2, 1 + a, a + a * a / 2, 1 / lam, "interrupts.rate")
    points.add("t-policy", given, figures, "areas under a renewal cycle")


def nt_policy(lam, service, count, timer):
    given = {"lambda": lam, "service": service, "count": str(count), "timer": timer}
    lam, law, t = exactly(lam), Law(service), read_time(timer)
    more = poisson_at_least(lam * t, count)
    stages = [more[i] / lam for i in range(1, count)]  # time with i waiting, i < count
    before = 1 / lam + sum(stages)
    area = sum(i * stage for i, stage in enumerate(stages, 1))
    # k >= i + 1 with probability more[i], for i < count
    first = 1 + sum(more[1:count])
    pairs = sum(i * more[i] for i in range(1, count))  # k(k-1)/2 = 1 + 2 + .. + (k-1)
    figures = woken(lam, law, before, area, first, pairs, 1 / lam, "interrupts.rate")
    points.add("nt-policy", given, figures, "areas under a renewal cycle")


def setup(lam, service, setup):
    given = {"lambda": lam, "service": service, "setup": setup}
    lam, law, delay = exactly(lam), Law(service), Law(setup)
    a, second = lam * delay.mean(), delay.moment(2)
    figures = woken(
        lam, law, 1 / lam + delay.mean(), delay.mean() + lam * second / 2, 1 + a, a + lam**2 * second / 2, 1 / lam,
        "setups.rate",
    )
    points.add("mg1-setup", given, figures, "areas under a renewal cycle")


def vacations(lam, service, vacation):
    given = {"lambda": lam, "service": service, "vacation": vacation}
    lam, law, away = exactly(lam), Law(service), Law(vacation)
    # Vacations until somebody waits at the end of one.
    none = away.transform(lam)
    some = 1 - none
    times = 1 / some  # mean number of vacations of a cycle
    first = lam * away.mean() / some
    pairs = lam**2 * away.moment(2) / 2 / some
    empty = (1 - none) / lam / some  # per vacation: mean time until its end or an arrival
    figures = woken(lam, law, away.mean() * times, lam * away.moment(2) / 2 * times, first, pairs, empty, "vacations.rate")
    figures["vacations.rate"] *= times
    points.add("vacations", given, figures, "areas under a renewal cycle")


def polling(lam, service, period):
    """A poll that finds nobody is followed by another after the period; one that finds someone, by service of all."""
    vacations(lam, service, f"constant({period})")
    model, given, figures, source, tolerance, density = points.points.pop()
    figures["polls.rate"] = figures.pop("vacations.rate")
    points.add("polling", {"lambda": lam, "service": service, "period": period}, figures, source)


def hybrid(lam, service, spin, setup):
    given = {"lambda": lam, "service": service, "spin": spin, "setup": setup}
    lam, law, s, delay = exactly(lam), Law(service), read_time(spin), Law(setup)
    asleep = exp(-lam * s)  # nobody came while it spun
    a, second = lam * delay.mean(), delay.moment(2)
    before = 1 / lam + asleep * delay.mean()
    area = asleep * (delay.mean() + lam * second / 2)
    first = 1 + asleep * a
    pairs = asleep * (a + lam**2 * second / 2)
    spun = -mp.expm1(-lam * s) / lam

    def extra(cycle):
        return {"sleeps.rate": asleep / cycle, "spinning": spun / cycle}

    figures = woken(lam, law, before, area, first, pairs, 1 / lam, "sleeps.rate", extra)
    points.add("hybrid-polling", given, figures, "areas under a renewal cycle")


def delivery(how, lam, service, leave, switch, injection, handler, exits, running, assigned, batch):
    """Mean visits of an interrupt times their tolls."""
    given = {"how": how, "lambda": lam, "service": service, "exit": leave, "switch": switch, "injection": injection,
             "handler": handler, "exits": exits, "running": running, "assigned": assigned, "batch": batch}
    lam, law, many = exactly(lam), Law(service), exactly(batch)
    smooth = {"native": mpf(1), "intercepted": mpf(0), "exitless": exactly(running) * exactly(assigned), "direct": exactly(running)}[how]
    rough = 1 - smooth
    visits = {"switches": 2 * smooth + 4 * rough, "exits": exactly(exits) * rough, "injections": rough}
    vmm = visits["exits"] * read_time(leave) + visits["injections"] * read_time(injection)
    whole = visits["switches"] * read_time(switch) + vmm + read_time(handler)
    rho = lam * law.mean()
    assert rho < 1 and lam / many * whole < 1
    figures = {
        "utilization": rho,
        "interrupts.rate": lam / many,
        "switches.rate": lam / many * visits["switches"],
        "exits.rate": lam / many * visits["exits"],
        "injections.rate": lam / many * visits["injections"],
        "overhead.mean": whole / many,
        "cpu.share": lam / many * whole,
        "vmm.share": vmm / whole,
        "transmission.mean": whole,
        "response.mean": lam * law.moment(2) / (2 * (1 - rho)) + law.mean() + whole,
        "rate.highest": min(1 / law.mean(), many / whole),
    }
    points.add("delivery", given, figures, "visits times tolls; Pollaczek-Khinchine")


def held(model, given, lam, tail, longest, cycle, source, scale):
    """Figures of events held back: `tail` is P(delay > x), which may jump at 0 and at `longest`."""
    batch = lam * cycle
    mean = quad(tail, [0, scale / 8, scale / 2, scale, 2 * scale, 8 * scale, 40 * scale, inf] if longest is None
                else [longest * mpf(i) / 8 for i in range(9)])
    figures = {"delay.mean": mean, "interrupts.rate": 1 / cycle, "batch.mean": batch}
    for name, level in list(LEVELS.items())[:3]:
        target = 1 - mpf(level)
        if longest is not None and (longest == 0 or tail(longest * (1 - mpf(10) ** -40)) > target):
            figures[f"delay.{name}"] = longest
        else:
            figures[f"delay.{name}"] = quantile(tail, level, longest / 2 if longest else scale)
    points.add(model, given, figures, source)
    return figures


def coalesce(lam, count, timer):
    """The j-th event of a batch is held longer than x if it comes before timer - x and the batch is not filled
    within x after it."""
    given = {"lambda": lam, "count": str(count), "timer": timer}
    lam, t = exactly(lam), read_time(timer)
    if count == 1 or (count == 0 and t == 0):
        zero = {f"delay.{name}": mpf(0) for name in ("mean", "p50", "p90", "p99")}
        points.add("coalesce", given, zero | {"interrupts.rate": lam, "batch.mean": mpf(1)}, "nothing is held")
        return
    if count == 0:
        cycle = 1 / lam + t

        def tail(x):
            return (1 + lam * (t - x)) / (1 + lam * t) if x < t else mpf(0)

        held("coalesce", given, lam, tail, t, cycle, "the timer alone", t)
        return
    if t == 0:
        cycle = count / lam

        def tail(x):  # the j-th waits for count - j more
            more = poisson_at_least(lam * x, count)
            return sum(1 - more[count - j] for j in range(1, count + 1)) / count

        figures = held("coalesce", given, lam, tail, None, cycle, "the count alone", count / lam)
        near(figures["delay.mean"], (count - 1) / (2 * lam), mpf(10) ** -15, "mean by counting")
        return
    more = poisson_at_least(lam * t, count)
    cycle = (1 + sum(more[1:count])) / lam

    def tail(x):
        if x >= t:
            return mpf(0)
        come = poisson_at_least(lam * (t - x), count)
        fill = poisson_at_least(lam * x, count)
        return sum(come[j - 1] * (1 - fill[count - j]) for j in range(1, count + 1)) / (lam * cycle)

    figures = held("coalesce", given, lam, tail, t, cycle, "each event of a batch by itself, integrated", t)
    area = sum(i * more[i] for i in range(1, count)) / lam
    near(figures["delay.mean"], area / (lam * cycle), mpf(10) ** -12, "mean by the area")
    # the mean as the area, which is exact; the integral only to the digits of the quadrature
    figures["delay.mean"] = area / (lam * cycle)
    points.points[-1][2]["delay.mean"] = figures["delay.mean"]


def cap(lam, rate):
    """After each interrupt none for 1/rate. Whoever comes meanwhile is told at its end, all at once."""
    given = {"lambda": lam, "cap": rate}
    lam = exactly(lam)
    gap = 1 / exactly(rate)
    none = exp(-lam * gap)
    cycle = gap + none / lam

    def tail(x):
        return lam * (gap - x) / (lam * cycle) if x < gap else mpf(0)

    figures = {
        "delay.mean": lam * gap**2 / 2 / (lam * cycle),
        "interrupts.rate": 1 / cycle,
        "batch.mean": lam * cycle,
    }
    near(quad(tail, [0, gap]), figures["delay.mean"], mpf(10) ** -30, "mean delay under a cap")
    for name, level in list(LEVELS.items())[:3]:
        figures[f"delay.{name}"] = quantile(tail, level, gap / 2)
    points.add("cap", given, figures, "one gap after an interrupt, by conditioning")


def adaptive(lam, window, starts, caps):
    """The completions of one window, Poisson, pick the cap of the next; windows are long against the gaps."""
    given = {"lambda": lam, "window": window, "from": ", ".join(starts), "caps": ", ".join(caps)}
    # Counts are compared as the decimals that a person wrote: 8000/s for 10ms are 80, not a little more.
    written = Decimal(window[:-2]) / 1000 if window.endswith("ms") else Decimal(window)
    lower = [int((Decimal(start) * written).to_integral_value(ROUND_CEILING)) for start in starts]
    lam, window = exactly(lam), read_time(window)
    term, shares = exp(-lam * window), [mpf(0)] * len(caps)
    for n in range(int(lam * window + 40 * mp.sqrt(lam * window) + 200)):
        i = max(i for i in range(len(caps)) if n >= lower[i])
        shares[i] += term
        term = term * lam * window / (n + 1)
    near(sum(shares), 1, mpf(10) ** -40, "shares of windows")
    delay = rate = mpf(0)
    for share, limit in zip(shares, caps):
        gap = 1 / exactly(limit)
        cycle = gap + exp(-lam * gap) / lam
        delay += share * gap**2 / 2 / cycle
        rate += share / cycle
    figures = {"delay.mean": delay, "interrupts.rate": rate, "batch.mean": lam / rate}
    points.add("adaptive", given, figures, "counts of a window summed one by one")


if __name__ == "__main__":
    for lam, service, count in [
        ("0.8", "exponential(1)", 1),
        ("0.5", "exponential(1)", 4),
        ("8000", "erlang(4, 100us)", 16),
        ("0.999", "constant(1)", 8),
        ("0.3", "lognormal(1, 4)", 1000),
        ("1e-12", "constant(1e-9)", 1000000),
    ]:
        n_policy(lam, service, count)
    for lam, service, timer in [
        ("0.5", "exponential(1)", "2"),
        ("8000", "constant(100us)", "50us"),
        ("0.999", "hyperexponential(0.5, 0.5, 0.5, 1.5)", "10"),
        ("1e-6", "exponential(1)", "1"),
        ("0.7", "uniform(0, 2)", "0"),
        ("0.7", "gamma(0.5, 1)", "1000"),
        ("1e-9", "constant(1e-9)", "1e12"),
    ]:
        t_policy(lam, service, timer)
    for lam, service, count, timer in [
        ("0.5", "exponential(1)", 4, "3"),
        ("8000", "constant(100us)", 8, "500us"),
        ("0.999", "erlang(3, 1)", 5, "1"),
        ("0.5", "weibull(0.7, 1)", 1000, "5"),
        ("0.5", "exponential(1)", 3, "1e9"),
        ("1e-6", "exponential(1)", 3, "1"),
        ("0.9", "exponential(1)", 200, "200"),
        ("1e6", "constant(0.5us)", 100000, "0.1"),
        ("1e-9", "exponential(1e-3)", 2, "1e-6"),
    ]:
        nt_policy(lam, service, count, timer)
    for lam, service, delay in [
        ("0.5", "exponential(1)", "exponential(2)"),
        ("8000", "constant(100us)", "lognormal(50us, 3)"),
        ("0.999", "exponential(1)", "constant(10)"),
        ("1e-6", "erlang(2, 1)", "uniform(1, 2)"),
        ("1e-9", "gamma(0.5, 1us)", "hyperexponential(0.9, 1us, 0.1, 1ms)"),
        ("1e6", "constant(0.9us)", "weibull(0.5, 1e3)"),
    ]:
        setup(lam, service, delay)
        vacations(lam, service, delay)
    for lam, service, period in [
        ("0.5", "exponential(1)", "2"),
        ("8000", "constant(100us)", "50us"),
        ("0.999", "erlang(3, 1)", "1000"),
        ("1e-6", "gamma(0.5, 1)", "1e-6"),
    ]:
        polling(lam, service, period)
    for case in [
        ("native", "8000", "exponential(100us)", "1500ns", "1us", "500ns", "2us", "4", "1", "1", "1"),
        ("intercepted", "8000", "erlang(4, 100us)", "1500ns", "1us", "500ns", "2us", "4", "1", "1", "1"),
        ("exitless", "1e5", "constant(9us)", "2us", "1us", "300ns", "1us", "2", "0.9", "0.8", "8"),
        ("direct", "1e5", "constant(9us)", "2us", "1us", "300ns", "1us", "2", "0.9", "0.8", "8"),
        ("direct", "999", "exponential(1ms)", "10us", "1us", "0", "0", "3.5", "0", "1", "1"),
    ]:
        delivery(*case)
    for lam, service, spin, delay in [
        ("0.5", "exponential(1)", "1", "exponential(2)"),
        ("8000", "constant(100us)", "20us", "constant(5us)"),
        ("0.999", "gamma(0.5, 1)", "0", "erlang(2, 3)"),
        ("0.5", "exponential(1)", "1000", "constant(1)"),
        ("1e-6", "exponential(1)", "1", "constant(1)"),
        ("1e-9", "constant(1us)", "1us", "exponential(1e6)"),
    ]:
        hybrid(lam, service, spin, delay)
    for lam, count, timer in [
        ("10000", 8, "0"),
        ("10000", 0, "100us"),
        ("10000", 8, "500us"),
        ("10000", 3, "1"),
        ("1e-3", 16, "1"),
        ("1", 1, "5"),
        ("1", 64, "64"),
        ("1e6", 0, "1"),
        ("2", 300, "120"),
        ("5", 3, "0"),
        ("1e-9", 0, "1us"),
        ("1e9", 0, "1000"),
        ("1e-6", 5, "1ms"),
        ("1e6", 500, "1ms"),
    ]:
        coalesce(lam, count, timer)
    for lam, rate in [("10000", "8000"), ("10000", "1e6"), ("1", "1000"), ("1e6", "1000"), ("8000", "8000"), ("1e-6", "1e6"), ("2e4", "1e4"), ("1e-12", "1e3"), ("1e15", "1e-3")]:
        cap(lam, rate)
    for lam, window, starts, caps in [
        ("8000", "10ms", ["0", "5000", "8000"], ["10000", "5000", "2000"]),
        ("3", "1", ["0"], ["2"]),
        ("20", "0.25", ["0", "16", "24"], ["1000", "100", "10"]),
        ("1e6", "1ms", ["0", "1e5", "1.01e6"], ["1e5", "2e4", "8e3"]),
        ("100", "1", ["0", "1000"], ["1000", "10"]),
    ]:
        adaptive(lam, window, starts, caps)
    points.write()
