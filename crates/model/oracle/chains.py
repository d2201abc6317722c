"""Markov chains solved as such: no formula of queueing theory is used here."""

from mpmath import mp, mpf, exp


def stationary(states, moves):
    """Stationary probabilities of a finite chain. `moves(state)` gives (state, rate) pairs.

    Grassmann, Taksar and Heyman's elimination: nothing is subtracted. Sparse: states are eliminated from the last
    to the first, so list them such that the far ones come last.
    """
    index = {state: i for i, state in enumerate(states)}
    n = len(states)
    out = [dict() for _ in range(n)]
    into = [dict() for _ in range(n)]
    for state in states:
        i = index[state]
        for other, rate in moves(state):
            j = index.get(other)
            if j is None or j == i or rate == 0:
                continue
            out[i][j] = out[i].get(j, mpf(0)) + rate
    for i in range(n):
        for j, rate in out[i].items():
            into[j][i] = rate
    for k in range(n - 1, 0, -1):
        onward = {j: rate for j, rate in out[k].items() if j < k}
        total = sum(onward.values())
        assert total > 0, ("cannot be left towards earlier states", states[k])
        for i in [i for i in into[k] if i < k]:
            share = out[i][k] / total
            out[i][k] = share
            into[k][i] = share
            for j, rate in onward.items():
                if j != i:
                    added = out[i].get(j, mpf(0)) + share * rate
                    out[i][j] = added
                    into[j][i] = added
    weights = [mpf(1)]
    for k in range(1, n):
        weights.append(sum(weights[i] * share for i, share in into[k].items() if i < k))
    total = sum(weights)
    return {state: weights[i] / total for i, state in enumerate(states)}


def transient(states, moves, start, time, cut=None):
    """Probabilities at a time, by uniformisation with all terms that matter at the working precision."""
    index = {state: i for i, state in enumerate(states)}
    rows = []
    for state in states:
        rows.append([(index[other], rate) for other, rate in moves(state) if other in index and rate])
    fastest = max(sum(rate for _, rate in row) for row in rows)
    mean = fastest * time
    current = [mpf(0)] * len(states)
    current[index[start]] = mpf(1)
    weight = exp(-mean)
    answer = [weight * p for p in current]
    step, left = 0, 1 - weight
    # Also so far that a state many moves away has all digits of what little it has
    while left > mpf(10) ** (-mp.dps + 8) or step < len(states) + 20:
        following = [mpf(0)] * len(states)
        for i, p in enumerate(current):
            if not p:
                continue
            stay = p
            for j, rate in rows[i]:
                flow = p * rate / fastest
                following[j] += flow
                stay -= flow
            following[i] += stay
        current = following
        step += 1
        weight = weight * mean / step
        left -= weight
        for i, p in enumerate(current):
            answer[i] += weight * p
    return {state: answer[i] for i, state in enumerate(states)}
