"""Elements of a result in one line, as SciPy's private methods take them, and selections among them."""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import is_computed
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.tensor.modes import watch_now
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.stats.functions import sqrt
from tapegrad.stats.generic.substitutes import has_tensors, where
from tapegrad.stats.parameters import is_number


class ResultForm:
    """Shape and dtype of a result, whose elements are computed in one line and in double precision.

    Parameters
    ----------
    values
        What they are computed of: arrays and Tensors that broadcast, and plain numbers.
    """

    def __init__(self, values: list[Any]) -> None:
        arrays = [value for value in values if not is_number(value)]
        self._shape = np.broadcast_shapes(*[value.shape for value in arrays])
        kinds = {value.dtype for value in arrays}
        self._dtype = np.dtype(np.float32) if kinds == {np.dtype(np.float32)} else np.dtype(float)

    def of(self, value: Any) -> Any:
        """Return a value for each element, in one line; a number once for all of them."""
        if is_number(value):
            return np.full(1, value, float)
        value = value if value.dtype == np.float64 else value.astype(float)
        if value.size != 1 and value.shape != self._shape:
            value = np.broadcast_to(value, self._shape)
        return np.reshape(value, (-1,))

    def whole(self, value: Any) -> Tensor:
        """Return the result in its shape and dtype."""
        value, size = as_tensor(value, "stats"), math.prod(self._shape)
        value = np.reshape(value if value.size == size else np.broadcast_to(value, (size,)), self._shape)
        result: Tensor = value if value.dtype == self._dtype else value.astype(self._dtype)
        return result


def select(condition: Any, value: Any, other: Any) -> Any:
    """Select; a plain condition that holds everywhere selects the value as it is."""
    holds = not is_tensor(condition) and bool(np.all(condition))
    return value if holds else where(condition, value, other)


def plain(value: Any) -> Any:
    """Return a value without its derivative."""
    return value.detach() if is_tensor(value) else value


def less_plain(value: Any, number: Any) -> Any:
    """Subtract; a plain 0 is no instruction."""
    return value if not is_tensor(number) and not np.any(number) else value - number


def constant(value: Any) -> Any:
    """Return the array of a Tensor, whose contents a replay compares, unless a replay computes it."""
    if not is_tensor(value) or is_computed(value):
        return value
    array = value.data_or_traced()
    watch_now(array)
    return array


def inner_point(low: Any, high: Any) -> Any:
    """Return a point inside of a support; nan if it has no end."""
    low, high = plain(low), plain(high)
    if not has_tensors(low, high) and np.all(np.isinf(low) & np.isinf(high)):
        return math.nan
    from_low = where(high < math.inf, 0.5 * (low + high), low + 1.0)
    return where(low > -math.inf, from_low, where(high < math.inf, high - 1.0, math.nan))


def with_infinite_derivative(value: Any, parameter: Any, limit: float, radius: float) -> Any:
    """Return a value with an infinite derivative by a parameter that is at a limit, or as near to it."""
    at_limit = np.abs(plain(parameter) - limit) <= radius
    if not is_tensor(parameter) or not (is_tensor(at_limit) or np.any(at_limit)):
        return value
    return value + where(at_limit, sqrt(parameter - parameter.detach()), 0.0)
