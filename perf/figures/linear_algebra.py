"""Linear algebra beside LAPACK called by SciPy's low-level wrappers, and stacks of small matrices beside NumPy.

LAPACK's own threads make single figures useless where other programs run: ``OPENBLAS_NUM_THREADS=1 python -m perf
linalg-solve`` compares one thread with one. The factor of `cholesky` in C order is that of LAPACK's ``uplo="U"``, which
OpenBLAS computes up to a fifth slower than the other one, from about 40 rows on.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target, times_faster
from perf.peers import Unavailable, tapegrad
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, Timing, race

SIZES = (4, 40, 500)
STACK = (10_000, 4, 4)


class Routine(NamedTuple):
    """A function of a matrix: of tapegrad's namespace, and the routines of LAPACK that compute it."""

    function: Callable[..., Any]  # function(xp, a)
    routine: Callable[..., Any]  # routine(scipy.linalg.lapack, a in Fortran's order)
    symmetric: bool = False


def _qr(lapack: Any, a: Array) -> Any:
    factor, tau, _, _ = lapack.dgeqrf(a, lwork=64 * len(a))
    return lapack.dorgqr(factor, tau, lwork=64 * len(a))[0], factor


ROUTINES: dict[str, Routine] = {
    "solve": Routine(
        lambda xp, a: xp.linalg.solve(a, np.ones(a.shape[-1])), lambda s, a: s.dgesv(a, np.ones(len(a)))[2]
    ),
    "cholesky": Routine(lambda xp, a: xp.linalg.cholesky(a), lambda s, a: s.dpotrf(a, lower=1)[0], True),
    "eigh": Routine(lambda xp, a: xp.linalg.eigh(a)[0], lambda s, a: s.dsyevd(a, lower=1)[0], True),
    "svd": Routine(lambda xp, a: xp.linalg.svd(a)[1], lambda s, a: s.dgesdd(a)[1]),
    "qr": Routine(lambda xp, a: abs(xp.linalg.qr(a)[0]), lambda s, a: abs(_qr(s, a)[0])),
}


def matrix(n: int, symmetric: bool) -> Array:
    """Return a matrix that is far from singular; the same numbers every time."""
    a = np.random.default_rng(n).standard_normal((n, n))
    return a @ a.T + n * np.eye(n) if symmetric else a


def _array(result: Any) -> Answer:
    return (np.asarray(result),)


def _entries(routine: Routine, n: int) -> tuple[list[Contender], list[Answer]]:
    """Return the function in a replay, its value and gradient, and LAPACK."""
    from scipy.linalg import lapack  # noqa: PLC0415  slow to import

    library, a = tapegrad(), matrix(n, routine.symmetric)
    ordered = np.asfortranarray(a)
    function = routine.function

    def summed(a: Any) -> Any:
        return library.sum(function(library, a))

    contenders = [
        Contender(f"{n}, forward", partial(library.jit(lambda a: function(library, a)), a), _array),
        Contender(f"{n}, forward and backward", partial(library.value_and_grad(library.jit(summed)), a)),
        Contender(f"{n}, LAPACK", partial(routine.routine, lapack, ordered), _array),
    ]
    answer = (routine.function(np, a),)
    return contenders, [answer, library.value_and_grad(summed)(a), answer]


def _measure_routine(name: str, settings: Settings) -> Outcome:
    _need(settings)
    timings: list[Timing] = []
    for n in SIZES[: settings.fewer(3, 2)]:
        timings += race(*_entries(ROUTINES[name], n), settings.budget)
    return Outcome(targets(timings), timings)


def _need(settings: Settings) -> None:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")


def targets(timings: list[Timing]) -> list[Target]:
    """Return how many times as long as LAPACK each may take."""
    medians = {timing.name: timing.median for timing in timings}
    return [
        Target(f"times LAPACK's: {name}", median / medians[f"{name.split(',')[0]}, LAPACK"], limit, "x")
        for name, median in medians.items()
        for ending, limit in ((", forward", 1.2), (", forward and backward", 3.0))
        if name.endswith(ending)
    ]


# --- stacks ----------------------------------------------------------------------------------------------------

STACKED: dict[str, Callable[..., Any]] = {
    "solve": lambda xp, a: xp.linalg.solve(a, np.ones((STACK[0], STACK[1], 1))),
    "inv": lambda xp, a: xp.linalg.inv(a),
    "det": lambda xp, a: xp.linalg.det(a),
    "slogdet": lambda xp, a: xp.linalg.slogdet(a)[1],
    "cholesky": lambda xp, a: xp.linalg.cholesky(a),
    "eigh": lambda xp, a: xp.linalg.eigh(a)[0],
    "eigvalsh": lambda xp, a: xp.linalg.eigvalsh(a),
    "svd": lambda xp, a: xp.linalg.svd(a)[1],
    "qr": lambda xp, a: abs(xp.linalg.qr(a)[1]),
}


def _measure_stacks(settings: Settings) -> Outcome:
    _need(settings)
    library, found = tapegrad(), []
    a = np.random.default_rng(1).standard_normal(STACK)
    a = a @ a.swapaxes(-1, -2) + np.eye(STACK[-1])
    timings: list[Timing] = []
    for name, function in STACKED.items():
        contenders = [
            Contender(f"{name}, replay", partial(library.jit(partial(function, library)), a), _array),
            Contender(f"{name}, NumPy", partial(function, np, a), _array),
        ]
        own = race(contenders, (function(np, a),), settings.budget)
        found += times_faster(f"{name}, replay", [(f"{name}, NumPy", 5)], own)
        timings += own
    return Outcome(found, timings)


# --- beside another program ------------------------------------------------------------------------------------------

BUSY_SIZES = (256, 1024)
BUSY: dict[str, Callable[[Any, Array], Any]] = {
    "product": lambda xp, a: a @ a,
    "product with a vector": lambda xp, a: a @ a[0],
    "cholesky": lambda xp, a: xp.linalg.cholesky(a),
    "solve": lambda xp, a: xp.linalg.solve(a, a[0]),
}


@contextmanager
def _busy_process() -> Iterator[None]:
    """Keep one processor busy by another process."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def _measure_busy(settings: Settings) -> Outcome:
    """Compare replays with NumPy, whose threads wait for each other."""
    _need(settings)
    library, found = tapegrad(), []
    timings: list[Timing] = []
    with _busy_process():
        for (name, function), n in product(BUSY.items(), BUSY_SIZES):
            a = matrix(n, symmetric=True)
            contenders = [
                Contender(
                    f"{name}, n = {n}, replay", partial(library.jit(partial(function, library)), a), _array
                ),
                Contender(f"{name}, n = {n}, NumPy", partial(function, np, a), _array),
            ]
            own = race(contenders, (function(np, a),), settings.budget)
            # NumPy's best is one thread that nothing delays: a fifth more is noise.
            found += times_faster(contenders[0].name, [(contenders[1].name, 0.8)], own)
            timings += own
    return Outcome(found, timings)


LINEAR_ALGEBRA = (
    *(
        Figure(f"linalg-{name}", f"{name} beside LAPACK, n = 4, 40, 500", partial(_measure_routine, name))
        for name in ROUTINES
    ),
    Figure("linalg-stacks", "Stacks of 10,000 matrices of 4 x 4 beside NumPy", _measure_stacks),
    Figure(
        "linalg-busy",
        "Matrices of 256 and 1024 while another program has a processor, beside NumPy",
        _measure_busy,
    ),
)
