"""Arguments of fields: vectors along the last axis, their parameters, and random numbers."""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.parameters import is_number, usable, variable

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def field(x: Any, name: str, n: int | None = None, fewest: int = 1) -> Tensor:
    """Return fields along the last axis.

    Raises
    ------
    ValueError
        If they do not have `n` elements, or fewer than `fewest`.
    """
    found = variable(x, name)
    if found.ndim == 0 or (n is not None and found.shape[-1] != n):
        raise ValueError(
            f"{name}: the last axis of x needs {n or 'the'} elements of a field, not {found.shape}"
        )
    if found.shape[-1] < fewest:
        raise ValueError(f"{name}: a field has at least {fewest} elements, not {found.shape[-1]}")
    return found


def parameter(value: Any, name: str) -> Any:
    """Return a parameter: a plain number, or a Tensor with an element for each field."""
    return value if is_number(value) else variable(value, name)


def positive(value: Any, name: str) -> tuple[Any, Any]:
    """Return a parameter, and where it is positive; a plain number that is not is nan."""
    found = parameter(value, name)
    valid = found > 0
    return usable([found], [valid])[0], valid


def one_number(value: Any, name: str) -> Any:
    """Return a parameter that is one number for all elements.

    Raises
    ------
    ValueError
        If it is an array.
    """
    found = parameter(value, name)
    if not is_number(found) and found.ndim:
        raise ValueError(f"{name}: a parameter is one number, not of shape {found.shape}")
    return found


def along(value: Any) -> Any:
    """Return a parameter with an axis for the elements of the fields."""
    return value if is_number(value) or not value.ndim else expand_dims(value, -1)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return an array of a field as a recording may read it once: no write can make the recording stale."""
    array.flags.writeable = False
    return array


def normals(random_state: Any, size: int | tuple[int, ...] | None, n: int) -> np.ndarray:
    """Return standard normal numbers, shape (*size, n)."""
    shape = () if size is None else (size,) if isinstance(size, int | np.integer) else tuple(size)
    known = isinstance(random_state, np.random.Generator | np.random.RandomState)
    generator = random_state if known else np.random.default_rng(random_state)
    return np.asarray(generator.standard_normal((*shape, n)))
