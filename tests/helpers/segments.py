"""Functions by rows and by segments, which give the same bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.loops import table

BOTH = (0, 1)


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of an array's elements, one pattern for all that are not numbers."""
    integers = np.ascontiguousarray(array).view(f"i{array.itemsize}")
    return np.where(np.isnan(array), -1, integers)


def assert_same(first: Any, second: Any, message: Any = "") -> None:
    if isinstance(first, tuple | list):
        for a, b in zip(first, second, strict=True):
            assert_same(a, b, message)
        return
    a, b = np.asarray(first), np.asarray(second)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    np.testing.assert_array_equal(bits(a), bits(b), err_msg=str(message))


def along(f: Any) -> Callable[..., Any]:
    """The tangents of a function along some direction."""
    return lambda *inputs: tg.jvp(f, inputs, tuple(np.cos(x).astype(np.asarray(x).dtype) for x in inputs))


def product(f: Any) -> Callable[..., Any]:
    """The Hessian by the first argument times some direction."""
    return lambda x, *others: tg.hvp(f)(x, *others, np.cos(x).astype(x.dtype))


WAYS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "value": lambda f: f,
    "gradient": lambda f: tg.value_and_grad(f, BOTH),
    "tangent": along,
    "jacobian": lambda f: tg.jacobian(f, BOTH),
    "hessian": lambda f: tg.hessian(f, BOTH),
    "product": product,
}


def segments_alike(function: Any, inputs: list[tuple[Any, ...]], ways: tuple[str, ...]) -> None:
    """Compare a function's rows with its segments."""
    rows, fused = (tg.jit(function, fuse=fuse) for fuse in (False, True))
    for way in ways:
        first, second = WAYS[way](rows), WAYS[way](fused)
        for each in inputs:
            assert_same(first(*each), second(*each), (way, *each))


def kernels_of_bodies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows by the kernel of each body of a loop that is made as a single segment from now on."""
    made: list[Any] = []

    class Spy(table.SingleSegmentBody):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self.kernel)

    monkeypatch.setattr(table, "SingleSegmentBody", Spy)
    return made
