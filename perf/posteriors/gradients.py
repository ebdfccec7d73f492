"""Compiled log densities with gradients behind C pointers, as a sampler calls them, and what a call takes."""

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

ROUNDS, SECONDS = 150, 0.002  # many short ones: what else runs on the machine disturbs most of them
_U64 = ctypes.c_uint64


@dataclass(frozen=True)
class Gradient:
    """Log density with its gradient.

    Attributes
    ----------
    evaluate
        ``evaluate(x, value, gradient)`` fills the last two, of one element and of as many as `x` has.
    repeat
        ``repeat(points, values, gradients, count)`` does so for rows, and goes on with the first one after the last one
        until it has made `count` calls.
    order
        Where each element of a point is in the vectors of `Model`.
    alive
        The owner of the memory behind the pointers.
    """

    evaluate: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
    repeat: Callable[[np.ndarray, np.ndarray, np.ndarray, int], None]
    order: np.ndarray
    alive: Any = None

    def at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log densities and gradients at the rows of an array."""
        values, gradients = np.full(len(points), np.nan), np.full(points.shape, np.nan)
        for k, point in enumerate(points):
            x, gradient = np.ascontiguousarray(point[self.order]), np.empty(len(self.order))
            self.evaluate(x, values[k : k + 1], gradient)
            gradients[k, self.order] = gradient
        return values, gradients

    def seconds(self, points: np.ndarray) -> float:
        """Return the CPU seconds of a call in the best of some rounds."""
        points = np.ascontiguousarray(points[:, self.order])
        values, gradients = np.empty(len(points)), np.empty(points.shape)

        def spend(count: int) -> float:
            began = time.process_time()
            self.repeat(points, values, gradients, count)
            return time.process_time() - began

        count = len(points)
        while spend(count) < SECONDS:
            count *= 2
        time.sleep(1.0)  # tapegrad compiles segments of what is called often in the background
        return min(spend(count) for _ in range(ROUNDS)) / count


@njit  # type: ignore[untyped-decorator]
def _call(function: Any, data: Any, points: Any, values: Any, gradients: Any, count: Any) -> None:
    rows, size = points.shape
    x, value, gradient = points.ctypes.data, values.ctypes.data, gradients.ctypes.data
    for i in range(count):
        k = i % rows
        function(size, x + 8 * size * k, gradient + 8 * size * k, value + 8 * k, data)


@njit  # type: ignore[untyped-decorator]
def _call_stan(function: Any, data: Any, points: Any, values: Any, gradients: Any, count: Any) -> None:
    rows, size = points.shape
    x, value, gradient = points.ctypes.data, values.ctypes.data, gradients.ctypes.data
    for i in range(count):
        k = i % rows
        function(data, 1, 1, x + 8 * size * k, value + 8 * k, gradient + 8 * size * k, 0)


def behind_pointer(address: int, data: int, order: np.ndarray, alive: Any) -> Gradient:
    """Return the gradient behind a C pointer of nutpie's signature."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, _U64, _U64, _U64, _U64, _U64)(address)

    def evaluate(x: np.ndarray, value: np.ndarray, gradient: np.ndarray) -> None:
        function(x.size, x.ctypes.data, gradient.ctypes.data, value.ctypes.data, data)

    def repeat(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, count: int) -> None:
        _call(function, np.uint64(data), points, values, gradients, count)

    return Gradient(evaluate, repeat, order, alive)


def of_stan(address: int, model: int, order: np.ndarray, alive: Any) -> Gradient:
    """Return the gradient behind BridgeStan's pointer, up to a constant, with the Jacobian of its transforms."""
    whole, boolean = ctypes.c_int32, ctypes.c_uint8
    function = ctypes.CFUNCTYPE(whole, _U64, boolean, boolean, _U64, _U64, _U64, _U64)(address)

    def evaluate(x: np.ndarray, value: np.ndarray, gradient: np.ndarray) -> None:
        function(model, 1, 1, x.ctypes.data, value.ctypes.data, gradient.ctypes.data, 0)

    def repeat(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, count: int) -> None:
        _call_stan(function, np.uint64(model), points, values, gradients, count)

    return Gradient(evaluate, repeat, order, alive)


def of_python(function: Callable[[np.ndarray], Any], order: np.ndarray) -> Gradient:
    """Return the gradient by a Python function, for contenders that nutpie calls through Python."""

    def evaluate(x: np.ndarray, value: np.ndarray, gradient: np.ndarray) -> None:
        value[:], gradient[:] = function(x)

    def repeat(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, count: int) -> None:
        for i in range(count):
            function(points[i % len(points)])

    return Gradient(evaluate, repeat, order)
