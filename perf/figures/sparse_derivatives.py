"""Sparse derivatives: a Hessian beside products and CasADi, Jacobians beside residuals, and of power flow."""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load, tapegrad
from perf.second_order import rosenbrock_hessian
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, Timing, race

_MAX_DENSE = 100  # a larger matrix takes the time of its memory


def _rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def _bands(x: Array) -> Array:
    """Return the entries of the Hessian of the chained Rosenbrock function, row by row."""
    diagonal = np.zeros(len(x))
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    beside = -400 * x[:-1]
    rows = np.stack([np.append(0, beside), diagonal, np.append(beside, 0)], axis=1)
    return rows.reshape(-1)[1:-1]


def _product(x: Array, v: Array) -> Array:
    bands = np.concatenate([[0], _bands(x), [0]]).reshape(-1, 3)
    product = bands[:, 1] * v
    product[1:] += bands[1:, 0] * v[:-1]
    product[:-1] += bands[:-1, 2] * v[1:]
    return product


def _casadi(x: Array) -> Contender | None:
    """Return the entries by CasADi's virtual machine, in given buffers."""
    try:
        casadi = load("casadi")
    except Unavailable:
        return None
    symbol = casadi.SX.sym("x", len(x))
    head, tail = symbol[1:], symbol[:-1]
    value = casadi.sumsqr(10 * (head - tail**2)) + casadi.sumsqr(1 - tail)
    entries = casadi.Function("entries", [symbol], [casadi.hessian(value, symbol)[0].nz[:]])
    buffer, run = entries.buffer()
    out = np.zeros(entries.numel_out(0))
    buffer.set_arg(0, memoryview(x.data))
    buffer.set_res(0, memoryview(out.data))

    def read(_: Any, alive: Any = (entries, buffer, x)) -> Answer:  # `run` holds bare addresses
        return (out.copy(),)

    return Contender("CasADi, given buffers", run, read)


def _entries(library: Any, x: Array, v: Array) -> tuple[list[Contender], list[Answer]]:
    """Return the contenders on a Hessian, and what each must give."""
    function = library.jit(_rosenbrock, fuse=True)
    values, product = library.hessian(function, sparse=True).values, library.hvp(function)
    dense = library.hessian(function)
    contenders = [
        Contender("entries", partial(values, x), lambda found: (found,)),
        Contender("hvp", partial(product, x, v), lambda found: (found,)),
        Contender("dense matrix", partial(dense, x), lambda found: (found,)),
    ]
    return contenders, [(_bands(x),), (_product(x, v),), rosenbrock_hessian(x)]


def _hessians(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    timings: list[Timing] = []
    targets: list[Target] = []
    for n, products, shares in ((100, 2.0, 0.35), (1000, 4.5, 0.2)):
        x = np.linspace(0.5, 1.5, n)
        contenders, answers = _entries(tapegrad(), x, np.linspace(-1.0, 1.0, n))
        if "casadi" not in settings.without and (other := _casadi(x)) is not None:
            contenders.append(other)
            answers.append((_bands(x),))
        own = race(contenders, answers, settings.budget)
        medians = {timing.name: timing.median for timing in own}
        targets.append(Target(f"products, n = {n:,}", medians["entries"] / medians["hvp"], products, "x"))
        if (peer := medians.get("CasADi, given buffers")) is not None:
            targets.append(Target(f"of CasADi, n = {n:,}", medians["entries"] / peer, shares, "x"))
            if n <= _MAX_DENSE:
                targets.append(
                    Target(f"dense, of CasADi's entries, n = {n:,}", medians["dense matrix"] / peer, 1.0, "x")
                )
        timings += [Timing(f"n = {n:,}: {t.name}", t.median, t.low, t.high, t.rounds, t.calls) for t in own]
    return Outcome(targets, timings)


# --- Jacobians -------------------------------------------------------------------------------------------------


def _reaction(u: Any) -> Any:
    """Return the residuals of Bratu's problem on a square."""
    m = round(len(u) ** 0.5)
    inner = np.pad(u.reshape(m, m), 1)
    beside = inner[2:, 1:-1] + inner[:-2, 1:-1] + inner[1:-1, 2:] + inner[1:-1, :-2]
    return (4 * inner[1:-1, 1:-1] - beside - 2.0 / (m + 1) ** 2 * np.exp(inner[1:-1, 1:-1])).reshape(-1)


def _product_of_entries(name: str, jacobian: Any, x: Array, v: Array) -> Contender:
    """Return a contender that computes entries, compared by a product with a vector."""
    pattern = jacobian.pattern(x)
    return Contender(name, partial(jacobian.values, x), lambda found: (pattern.matrix(found) @ v,))


def _columns(library: Any, m: int) -> tuple[list[Contender], list[Answer]]:
    """Return the contenders on a Jacobian, which is compared by a product with a vector."""
    u, v = np.linspace(-1.0, 1.0, m * m), np.cos(np.arange(m * m))
    function = library.jit(_reaction, fuse=True)
    jacobian = library.jacobian(function, sparse=True)
    contenders = [
        _product_of_entries("entries", jacobian, u, v),
        Contender("residuals", partial(function, u), lambda found: (found,)),
    ]
    scale = 2.0 / (m + 1) ** 2
    tangent = _reaction(v) + scale * np.exp(v) - scale * np.exp(u) * v
    return contenders, [(tangent,), (_reaction(u),)]


def _jacobians(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    timings: list[Timing] = []
    targets: list[Target] = []
    for m in (32, 100)[: settings.fewer(2, 1)]:
        own = race(*_columns(tapegrad(), m), settings.budget)
        medians = {timing.name: timing.median for timing in own}
        name = f"{m} by {m}"
        targets.append(Target(f"residuals, {name}", medians["entries"] / medians["residuals"], 6.0, "x"))
        timings += [Timing(f"{name}: {t.name}", t.median, t.low, t.high, t.rounds, t.calls) for t in own]
    return Outcome(targets, timings)


# --- complex numbers -------------------------------------------------------------------------------------------


def _grid(rows: int, columns: int) -> scipy.sparse.csr_array:
    """Return the admittances of a grid of buses with lines of random reactance, and a shunt at each bus."""
    numbers = np.arange(rows * columns).reshape(rows, columns)
    ends = (
        np.concatenate([numbers[:, :-1], numbers[:-1].T], axis=None),
        np.concatenate([numbers[:, 1:], numbers[1:].T], axis=None),
    )
    count = len(ends[0])
    of_lines = 1 / (0.01 + 0.1j * np.random.default_rng(0).uniform(0.5, 1.5, count))
    signs = np.repeat([1.0, -1.0], count)
    lines = scipy.sparse.csr_array((signs, (np.tile(np.arange(count), 2), np.concatenate(ends))))
    return scipy.sparse.csr_array((lines.T * of_lines) @ lines + 0.02j * scipy.sparse.eye_array(numbers.size))


def _power(admittances: Any, x: Any) -> Any:
    """Return real and reactive power at each bus, by angles and magnitudes of the voltages."""
    angles, magnitudes = x.reshape(2, -1)
    v = magnitudes * np.exp(1j * angles)
    s = v * np.conj(admittances @ v)
    return np.concatenate([s.real, s.imag])


def _power_by_parts(conductances: Any, susceptances: Any, x: Any) -> Any:
    angles, magnitudes = x.reshape(2, -1)
    a, b = magnitudes * np.cos(angles), magnitudes * np.sin(angles)
    re, im = conductances @ a - susceptances @ b, conductances @ b + susceptances @ a
    return np.concatenate([a * re + b * im, b * re - a * im])


def _power_slopes(admittances: Any, x: Array) -> Any:
    """Return the Jacobian by SciPy's sparse matrices, as MATPOWER does (Zimmerman 2010, technical note 2)."""
    angles, magnitudes = x.reshape(2, -1)
    turns = np.exp(1j * angles)
    v = magnitudes * turns
    currents, diagonal = admittances @ v, scipy.sparse.diags_array
    by_angle = diagonal(1j * v) @ (diagonal(currents) - admittances @ diagonal(v)).conj()
    by_magnitude = diagonal(v) @ (admittances @ diagonal(turns)).conj() + diagonal(currents.conj() * turns)
    return scipy.sparse.block_array([[by_angle.real, by_magnitude.real], [by_angle.imag, by_magnitude.imag]])


def _power_flow(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, admittances, rng = tapegrad(), _grid(10, 20), np.random.default_rng(1)
    n = admittances.shape[0]
    x, v = np.concatenate([rng.normal(0, 0.1, n), rng.normal(1, 0.05, n)]), np.cos(np.arange(2 * n))
    power = tg.jit(partial(_power, admittances), fuse=True)
    parts = tg.jit(partial(_power_by_parts, admittances.real, admittances.imag), fuse=True)
    contenders = [
        _product_of_entries("entries", tg.jacobian(power, sparse=True), x, v),
        _product_of_entries("entries, real parts by hand", tg.jacobian(parts, sparse=True), x, v),
        Contender("dense matrix", partial(tg.jacobian(power), x), lambda found: (found @ v,)),
        Contender("SciPy, by hand", partial(_power_slopes, admittances, x), lambda found: (found @ v,)),
        Contender("power", partial(power, x), lambda found: (found,)),
    ]
    slope = (_power(admittances, x + 1e-5 * v) - _power(admittances, x - 1e-5 * v)) / 2e-5
    answers: list[Answer] = [(slope,)] * 4 + [(_power(admittances, x),)]
    return Outcome([], race(contenders, answers, settings.budget, 1e-7))


SPARSE_DERIVATIVES = (
    Figure(
        "sparse-hessian",
        "Entries of the Hessian of the chained Rosenbrock function, and the dense matrix",
        _hessians,
    ),
    Figure("sparse-bratu", "Entries of the sparse Jacobian of Bratu's problem on a square", _jacobians),
    Figure(
        "sparse-power-flow",
        "Entries of the sparse Jacobian of power flow in a grid of 200 buses",
        _power_flow,
    ),
)
