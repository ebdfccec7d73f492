"""Cost of an element of each function of mathematics, by our kernel and by NumPy's or SciPy's loop."""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.special

from perf.figures.base import Figure, Outcome, Settings, Target
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.mathematics import MATHEMATICS
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, STRIDE, Y_STRIDE, X, Y
from tapegrad.engine.runtime import library_loops
from tapegrad.ops import BY_NAME
from tapegrad.testing.timer import Contender, Timing, race

COUNT_OF_ELEMENTS = 16_384
DTYPES = {"f64": np.float64, "f32": np.float32}
LOOPS: dict[str, Callable[..., Any]] = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "sigmoid": scipy.special.expit,
    "softplus": partial(np.logaddexp, 0.0),
}
# Nanoseconds an element of float64 at the most, where there are AVX-512 registers.
LIMITS = {"sin": 1.2, "cos": 1.2, "exp": 1.0, "log": 1.2, "tanh": 2.0, "erf": 3.0}
AVX2 = 1.7  # times as much where there are none


class _Kernel:
    """The forward kernel of a row, called on arrays."""

    def __init__(self, name: str, dtype: str, operands: list[np.ndarray]) -> None:
        address = kernels.address(Case(BY_NAME[name], dtype), "forward")
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)
        self._operands, self._result = operands, np.empty_like(operands[0])
        self._frame = np.zeros(FIELDS, np.int64)
        self._frame[[COUNT, Y, Y_STRIDE]] = len(self._result), self._result.ctypes.data, self._result.itemsize
        for j, operand in enumerate(operands):
            self._frame[[X + j, STRIDE + j]] = operand.ctypes.data, operand.itemsize
        self._arguments = self._frame.ctypes.data, library_loops.table()

    def __call__(self) -> np.ndarray:
        self._call(*self._arguments)
        return self._result


def _operands(name: str, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(*domain, COUNT_OF_ELEMENTS).astype(DTYPES[dtype]) for domain in BY_NAME[name].domains]


def _timings(name: str, dtype: str, settings: Settings) -> list[Timing]:
    operands = _operands(name, dtype)
    library = LOOPS.get(name) or getattr(np, name)
    contenders = [
        Contender(f"{name}, {dtype}, tapegrad", _Kernel(name, dtype, operands), lambda y: (y.astype(float),)),
        Contender(
            f"{name}, {dtype}, NumPy or SciPy", partial(library, *operands), lambda y: (y.astype(float),)
        ),
    ]
    answer = (np.asarray(library(*(x.astype(float) for x in operands))),)
    return race(contenders, answer, settings.budget, 1e-12 if dtype == "f64" else 1e-5)


def _measure(settings: Settings) -> Outcome:
    names = [name for name in MATHEMATICS if name in BY_NAME]
    timings = [t for name in names for dtype in DTYPES for t in _timings(name, dtype, settings)]
    each = {timing.name: timing.low / COUNT_OF_ELEMENTS * 1e9 for timing in timings}
    wider = 1.0 if host().has_masks else AVX2
    targets = [
        Target(f"{name}, an element", each[f"{name}, f64, tapegrad"], limit * wider, "ns")
        for name, limit in LIMITS.items()
    ]
    columns = [f"{dtype}, {who}" for dtype in DTYPES for who in ("tapegrad", "NumPy or SciPy")]
    table: list[tuple[str, ...]] = [("nanoseconds an element", *columns)]
    table += [(name, *(f"{each[f'{name}, {column}']:.2f}" for column in columns)) for name in names]
    return Outcome(targets, table=table)


MATHEMATICS_FIGURES = (
    Figure(
        "mathematics", f"Functions of {COUNT_OF_ELEMENTS:,} elements, our kernels and NumPy's loops", _measure
    ),
)
