"""M/M/1 by Ciw. Arguments and output as in src/lib.rs."""

import sys
import time

import ciw

LAMBDA, MU = 0.8, 1.0

customers = int(sys.argv[1])
begun = time.perf_counter()
ciw.seed(1)
network = ciw.create_network(
    arrival_distributions=[ciw.dists.Exponential(rate=LAMBDA)],
    service_distributions=[ciw.dists.Exponential(rate=MU)],
    number_of_servers=[1],
)
simulation = ciw.Simulation(network)
simulation.simulate_until_max_customers(customers)
records = simulation.get_all_records()
print(time.perf_counter() - begun, sum(r.exit_date - r.arrival_date for r in records) / len(records))
