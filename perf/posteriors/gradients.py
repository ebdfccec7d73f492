"""Compiled log densities with gradients behind C pointers, as a sampler calls them, and what a call takes."""

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cfunc, njit, types

ROUNDS, SECONDS = 150, 0.002  # many short ones: what else runs on the machine disturbs most of them
_U64 = ctypes.c_uint64


@dataclass(frozen=True)
class Gradient:
    """Log density with its gradient.

    Attributes
    ----------
    repeat
        ``repeat(points, values, gradients, count)`` fills elements and rows for those of `points`, and goes on with the
        first one after the last one until it has made `count` calls.
    order
        Where each element of a point is in the vectors of `Model`.
    alive
        The owner of the memory behind the pointers.
    """

    repeat: Callable[[np.ndarray, np.ndarray, np.ndarray, int], None]
    order: np.ndarray
    alive: Any = None

    def at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log densities and gradients at the rows of an array."""
        values, gradients = np.full(len(points), np.nan), np.full(points.shape, np.nan)
        self.repeat(np.ascontiguousarray(points[:, self.order]), values, gradients, len(points))
        return values, gradients[:, np.argsort(self.order)]

    def seconds(self, points: np.ndarray) -> float:
        """Return the CPU seconds of a call in the best of some rounds."""
        points = np.ascontiguousarray(points[:, self.order])
        values, gradients, count = np.empty(len(points)), np.empty(points.shape), len(points)

        def spend(count: int) -> float:
            began = time.process_time()
            self.repeat(points, values, gradients, count)
            return time.process_time() - began

        while spend(count) < SECONDS:
            count *= 2
        time.sleep(1.0)  # tapegrad compiles segments of what is called often in the background
        return min(spend(count) for _ in range(ROUNDS)) / count


@njit  # type: ignore[untyped-decorator]
def _repeat(function: Any, data: Any, points: Any, values: Any, gradients: Any, count: Any) -> None:
    rows, width = points.shape[0], 8 * points.shape[1]
    x, value, gradient = points.ctypes.data, values.ctypes.data, gradients.ctypes.data
    for i in range(count):
        k = i % rows
        function(points.shape[1], x + width * k, gradient + width * k, value + 8 * k, data)


def behind_pointer(address: int, data: int, order: np.ndarray, alive: Any) -> Gradient:
    """Return the gradient behind a C pointer of nutpie's signature."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, _U64, _U64, _U64, _U64, _U64)(address)

    def repeat(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, count: int) -> None:
        # The loop is compiled for counts alone that are timed, so that no first gradient waits for it
        loop = _repeat if count > len(points) else _repeat.py_func
        loop(function, data, points, values, gradients, count)

    return Gradient(repeat, order, alive)


def of_stan(address: int, model: int, order: np.ndarray, alive: Any) -> Gradient:
    """Return the gradient behind BridgeStan's pointer, up to a constant, with the Jacobian of its transforms."""
    boolean = ctypes.c_uint8
    function = ctypes.CFUNCTYPE(ctypes.c_int32, _U64, boolean, boolean, _U64, _U64, _U64, _U64)(address)

    @cfunc(types.int64(*[types.uint64] * 5))  # type: ignore[untyped-decorator]
    def adapter(size: Any, x: Any, gradient: Any, value: Any, data: Any) -> Any:
        return function(data, 1, 1, x, value, gradient, 0)

    return behind_pointer(adapter.address, model, order, (adapter, alive))


def of_python(function: Callable[[np.ndarray], Any], order: np.ndarray) -> Gradient:
    """Return the gradient by a Python function, for contenders that nutpie calls through Python."""

    def repeat(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, count: int) -> None:
        for i in range(count):
            k = i % len(points)
            values[k], gradients[k] = function(points[k])

    return Gradient(repeat, order)
