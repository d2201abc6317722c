# Primes by the study's method, in Python: prints how many there are, below which number all were tried, and the seconds it took.
import math
import signal
import sys
import time

below, within = int(sys.argv[1]), float(sys.argv[2])


class TimeIsUp(Exception):
    pass


def stop(*_):
    raise TimeIsUp


def count():
    found, tried = 0, 2
    try:
        for tried in range(2, below):
            for divisor in range(2, math.isqrt(tried) + 1):
                if tried % divisor == 0:
                    break
            else:
                found += 1
        return found, below
    except TimeIsUp:
        return found, tried


# A timer, so that the loop need not look at a clock.
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, within)
begun = time.perf_counter()
found, reached = count()
took = time.perf_counter() - begun
signal.setitimer(signal.ITIMER_REAL, 0)
print(found, reached, took)
