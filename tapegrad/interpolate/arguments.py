"""Arguments of interpolators: constant knots, values that may be Tensors, and results as SciPy returns them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.guarded_results import is_computed
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.tensor.modes import thread, watch_now
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.body import on_recording
from tapegrad.pytree import flatten


def is_recording() -> bool:
    """Return whether a function is being recorded, so that numbers of this call must not decide anything."""
    return thread.mode.recorder is not None


def numbers(value: Any) -> np.ndarray:
    """Return the numbers of a Tensor of no recording."""
    return np.asarray(value.detach())


def increasing(name: str, x: Any, argument: str = "x", least: int = 2, strictly: bool = True) -> np.ndarray:
    """Return knots in float64, which the caller does not change any more.

    Raises
    ------
    UnsupportedError
        If they are Tensors that something is differentiated by.
    ValueError
        If they are not in one dimension, too few, not finite or not in order.
    """
    knots = constants(name, x, argument)
    if knots.ndim != 1 or len(knots) < least:
        raise ValueError(
            f"{name}: {argument} has shape {knots.shape}, but must have one dimension and at least"
            f" {least} elements"
        )
    if not np.isfinite(knots).all():
        raise ValueError(f"{name}: {argument} must contain only finite values")
    steps = np.diff(knots)
    if np.any(steps <= 0 if strictly else steps < 0):
        raise ValueError(
            f"{name}: {argument} must be {'strictly increasing' if strictly else 'non-decreasing'}"
        )
    return knots


def constants(name: str, x: Any, argument: str) -> np.ndarray:
    """Return a copy of plain numbers in float64, guarded while a function is being recorded."""
    for leaf in flatten(x)[0]:
        if is_tensor(leaf) and (is_computed(leaf) or not leaf.constant):
            raise UnsupportedError(
                f"{name}: {argument} is a Tensor, but derivatives by it are not supported; give it as an array that"
                " the function does not compute, such as one from around it"
            )
        if isinstance(leaf, np.ndarray):
            watch_now(leaf)
    given = np.asarray(x)
    if np.iscomplexobj(given):
        raise ValueError(f"{name}: {argument} must contain real values")
    return np.array(given, np.float64)


def reals(name: str, value: Any) -> Any:
    """Return values or places as a Tensor of float64, a constant if they are plain numbers."""
    return as_tensor(on_recording(value), name).astype(np.float64, copy=False)


def constant(numbers: Any) -> Any:
    """Return plain numbers of float64 as a Tensor."""
    return as_tensor(numbers, "tapegrad.interpolate")


def check_values(name: str, value: Any, argument: str) -> None:
    """Raise if values are not finite; while a function is being recorded nothing is known of them."""
    if not is_recording() and not np.isfinite(numbers(value)).all():
        raise ValueError(f"{name}: {argument} must contain only finite values")


def check_period(name: str, y: Any) -> None:
    """Raise if the first and the last value differ; a recording guards that."""
    gap, allowed = abs(y[0] - y[-1]), 1e-15 + 1e-15 * abs(y[-1])
    if bool(np.any(gap > allowed)):
        raise ValueError(f"{name}: the first and the last value of y must be equal with bc_type='periodic'")


def moved(name: str, y: Any, axis: int, count: int) -> tuple[Any, int]:
    """Return values with the axis of interpolation in front, and the number of that axis."""
    if not -y.ndim <= axis < y.ndim:
        raise ValueError(f"{name}: axis={axis} is not an axis of y, which has shape {y.shape}")
    axis %= y.ndim
    if y.shape[axis] != count:
        raise ValueError(
            f"{name}: x has {count} elements, but y of shape {y.shape} has {y.shape[axis]} along {axis=}"
        )
    return np.moveaxis(y, axis, 0), axis


def extrapolation(given: Any) -> bool | str:
    """Return the argument `extrapolate` as SciPy keeps it."""
    if isinstance(given, str) and given == "periodic":
        return "periodic"
    return bool(given)


def like_scipys(value: Any) -> Any:
    """Return a result that nothing is differentiated by as an array."""
    return np.array(numbers(value)) if value.constant and not is_recording() else value


def column(numbers: np.ndarray, ndim: int) -> np.ndarray:
    """Return numbers along the first of so many axes."""
    return numbers.reshape(-1, *[1] * (ndim - 1))


def trailing(value: Any, shape: Sequence[int]) -> Any:
    """Return a Tensor with as many axes of length one behind it as a shape has."""
    return value.reshape(*value.shape, *[1] * len(shape)) if shape else value
