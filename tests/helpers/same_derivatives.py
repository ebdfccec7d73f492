"""Derivatives of two formulas of one function, held against each other."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad as tg
from tapegrad.pytree import flatten


def assert_same_derivatives(f: Callable[..., Any], g: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Compare the Hessians, and the gradient of the first function in both modes with that of the second one."""
    assert tg.check_grads(f, args, order=1) is None
    every = tuple(range(len(args)))
    for transform in (tg.grad, tg.hessian):
        found, expected = (transform(each, argnums=every)(*args) for each in (f, g))
        for one, other in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
