"""
More machines
=============

Sixty-four cities count their accidents. The rate over the day is a Poisson regression with two harmonics, and its
likelihood a sum over cities: :func:`tapegrad.optimize.sharded` evaluates each where its table is read. Threads do so
here; processes, Dask, Ray and MPI take the place of the executor elsewhere, and give the same bits.
"""

import functools
import timeit
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

TRUTH = np.array([0.5, 0.6, -0.4, 0.2, 0.1])


def basis(hours):
    turn = 2 * np.pi / 24 * hours
    return np.stack([np.ones_like(turn), np.sin(turn), np.cos(turn), np.sin(2 * turn), np.cos(2 * turn)], 1)


def city(number, rows=2_000):
    rng = np.random.default_rng(number)
    hours = rng.uniform(0, 24, rows)
    return {"basis": basis(hours), "count": 1.0 * rng.poisson(np.exp(basis(hours) @ TRUTH)), "hours": hours}


def nll(w, part):
    log_rate = part["basis"] @ w
    return np.sum(np.exp(log_rate) - part["count"] * log_rate)


def fit(engine=None, **options):
    cities = [functools.partial(city, number) for number in range(64)]
    with tg.optimize.sharded(nll, cities, engine, **options) as total:
        found = tg.optimize.minimize(total, np.zeros(5), method="trust-exact")
        return found.x, np.sqrt(np.diag(np.linalg.inv(total.hessian(found.x))))


estimate, errors = fit(threads=1)
with ThreadPoolExecutor(3) as executor:
    assert all(np.array_equal(again, (estimate, errors)) for again in (fit(threads=2), fit(executor)))
print("Three times the same bits, from the truth", ((estimate - TRUTH) / errors).round(1), "standard errors")

# %%
# The rate, beside one city. Right: the gradient of a million rows, in more and more parts, and the overhead alone. One
# thread alone evaluates parts that take less than 30 µs each, for two would wait for each other.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
one, day, rows = city(0), np.linspace(0, 24, 200), city(64, 2**20)
hourly = [one["count"][one["hours"].astype(int) == hour] for hour in range(24)]
means, sizes = np.transpose([(each.mean(), each.std() / len(each) ** 0.5) for each in hourly])
left.errorbar(np.arange(24) + 0.5, means, sizes, fmt=".", color="0.5", label="one city")
left.plot(day, np.exp(basis(day) @ estimate), lw=4, alpha=0.5, label="64 cities")
left.plot(day, np.exp(basis(day) @ TRUTH), "k--", lw=1, label="truth")


def milliseconds(data, count, threads):
    total = tg.optimize.sharded(nll, data, rows=len(data["count"]) // count, threads=threads)
    return 1e3 * min(timeit.repeat(functools.partial(total.grad, estimate), number=1, repeat=15))


counts, overhead = 4 ** np.arange(7), milliseconds(city(0, 4096), 4096, 1) / 4096
for threads, name in ((1, "1 thread"), (2, "2 threads")):
    right.loglog(counts, [milliseconds(rows, count, threads) for count in counts], "o-", label=name)
right.loglog(counts[3:], counts[3:] * overhead, "k:", label=f"{1e3 * overhead:.0f} µs a part")
left.set(xlabel="hour", ylabel="accidents"), right.set(xlabel="parts", ylabel="milliseconds")
figure.legend(ncols=6, loc="outside upper center")

# %%
# The coefficients that the data were drawn with.

known = {"coefficients": [0.5, 0.6, -0.4, 0.2, 0.1]}
found = {"coefficients": estimate}
rtol = 0.05
