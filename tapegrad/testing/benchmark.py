"""`benchmark`: times of a function and its derivatives, beside other libraries."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.testing.peers import MAKERS, OWN, PEERS, QUANTITIES, imported, read
from tapegrad.testing.timer import Budget, Contender, Timing, compare, take_turns
from tapegrad.testing.timings import Benchmark
from tapegrad.transforms.base import without_jit

_BATCH_S, _ROUNDS = 0.005, (5, 200)
_MAX_REASON_CHARACTERS = 100


def benchmark(
    f: Callable[..., Any],
    x: Any,
    *,
    beside: Sequence[str] | str = (),
    of: Sequence[str] | str = QUANTITIES,
    seconds: float = 1.0,
    rtol: float | None = None,
) -> Benchmark:
    """Measure a scalar function of one array and its derivatives, eager and replayed, beside other libraries.

    Contenders take turns in one process, in short rounds and in a new random order each. Before, every answer is
    compared with that of the first contender, and afterwards once more: a wrong answer is an error, never a time.

    Parameters
    ----------
    f : callable
        The function, written in NumPy's words, in those of tapegrad, or a ``jit(f)``.
    x : array_like
        Its argument. What is not floating point becomes float64.
    beside : sequence of str, optional
        Other libraries, or their names with commas in between: ``autograd``, ``casadi``, ``jax``, ``torch``, and
        ``numpy`` for the value alone. One that is not installed, or that cannot run the function, is listed with the
        reason and not timed.
    of : sequence of str, optional
        Quantities: ``value``; ``gradient``, which is value and gradient; ``hvp``, the product of the Hessian with a
        random vector. All by default.
    seconds : float, default 1.0
        Time for each contender and quantity, after the first call. There are five rounds or more.
    rtol : float, optional
        How far an answer may be off, by its largest element: 1e-9 in double, 1e-4 in single precision by default.

    Returns
    -------
    Benchmark
        A tuple of `Timing`, which is printed as a table, drawn by ``plot()`` and written by ``save(path)``.

    Raises
    ------
    WrongAnswer
        If a contender has another answer than the first one. The text names both, and the difference.

    Notes
    -----
    The contenders of tapegrad run the function as it is; the replayed one is ``tg.jit(f, fuse=True)``. Other libraries
    run a copy with the same code, in which their own module stands wherever a global name, a variable of the closure or
    a default value is NumPy or tapegrad, and their own arrays wherever it is an array; for SciPy, JAX and autograd have
    modules. So do copies of all functions of the same module that it calls. An import in the body of a function, and
    arrays in containers, stay as they are.

    A call takes and returns NumPy arrays: conversions count. JAX is jitted, and has double precision while this runs.
    CasADi's expressions are of single numbers, for vectors of up to 1,000 of them. The first call, which records and
    compiles, is in a column of its own. Later contenders find what earlier ones have compiled or loaded: a first call
    that counts is the only one of its process.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def energy(x):
    ...     return np.sum(np.sin(x) * x)
    >>> result = tg.testing.benchmark(energy, np.ones(3), of="gradient", seconds=0.01)
    >>> [row.name for row in result]
    ['tapegrad eager', 'tapegrad replay']
    """
    beside, of = (each.split(",") if isinstance(each, str) else each for each in (beside, of))
    for name in (*beside, *of):
        if name not in (known := PEERS if name in beside else QUANTITIES):
            raise ValueError(f"benchmark: {name!r} is unknown; there are {', '.join(known)}")
    f, x = without_jit(f), np.array(x, order="C")
    x = x if x.dtype in (np.float64, np.float32) else x.astype(np.float64)
    if rtol is None:
        rtol = 1e-9 if x.dtype == np.float64 else 1e-4
    race = _Race(f, x, rtol, seconds)
    with imported(("tapegrad", "numpy", *beside)) as versions:
        names = [*OWN, *(name for name in beside if name in versions)]
        rows = [row for quantity in of for row in race.measured(quantity, names)]
    notes = [f"left out: {name}: not installed" for name in beside if name not in versions]
    notes += [f"left out: {name} ({', '.join(of)}): {why}" for (name, why), of in race.left_out.items()]
    libraries = f"{', '.join(map(' '.join, versions.items()))}, Python {platform.python_version()}"
    result: Benchmark = Benchmark.of(rows, f"{name_of(f)}, {x.dtype} of shape {x.shape}: {libraries}", *notes)
    result.versions = versions
    return result


class _Race:
    """Race of contenders that compute quantities of a function, and the reasons of those that cannot."""

    def __init__(self, f: Callable[..., Any], x: np.ndarray, rtol: float, seconds: float) -> None:
        v = np.random.default_rng(0).uniform(-1, 1, x.shape).astype(x.dtype)
        self._f, self._given, self._rtol = f, (x, v), rtol
        self._budget = Budget(min(_BATCH_S, seconds / 10), seconds, _ROUNDS)
        self.left_out: dict[tuple[str, str], list[str]] = {}  # quantities by contender and reason

    def measured(self, quantity: str, names: Sequence[str]) -> list[Timing]:
        """Call each contender for the first time and check its answer, time them in turns, and check once more."""
        contenders, firsts, answers = [], [], []
        given = self._given if quantity == "hvp" else self._given[:1]
        for name in names:
            if name == "numpy" and quantity != "value":
                continue
            begin = perf_counter()
            try:
                call = partial(MAKERS[name](self._f, self._given[0], quantity), *given)
                result = call()
                firsts.append(perf_counter() - begin)
                answers.append(read(result))
                contenders.append(Contender(name, call, read))
            except Exception as error:
                if not contenders:
                    raise
                reason = f"{type(error).__name__}: {error}".partition("\n")[0][:_MAX_REASON_CHARACTERS]
                self.left_out.setdefault((name, reason), []).append(quantity)
                continue
            compare(name, answers[-1], answers[0], self._rtol, quantity)
        timings = take_turns(contenders, self._budget)
        for each in contenders:
            compare(each.name, read(each.call()), answers[0], self._rtol, quantity)
        return [replace(t, quantity=quantity, first=s) for t, s in zip(timings, firsts, strict=True)]
