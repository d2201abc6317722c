"""M/M/1 by SimPy: a process per customer on a Resource, as its documentation has it. Arguments and output as in src/lib.rs."""

import random
import sys
import time

import simpy

LAMBDA, MU = 0.8, 1.0


def customer(env, server, services, told):
    arrived = env.now
    with server.request() as turn:
        yield turn
        yield env.timeout(services.expovariate(MU))
    told[0] += env.now - arrived


def source(env, server, customers, told):
    gaps, services = random.Random(1), random.Random(2)
    for _ in range(customers):
        yield env.timeout(gaps.expovariate(LAMBDA))
        env.process(customer(env, server, services, told))


customers = int(sys.argv[1])
begun = time.perf_counter()
env = simpy.Environment()
told = [0.0]
env.process(source(env, simpy.Resource(env, capacity=1), customers, told))
env.run()
print(time.perf_counter() - begun, told[0] / customers)
