"""Arguments of `solve_ivp`, checked and converted."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError, check_function, name_of
from tapegrad.frontend.conversions.complex_views import is_complex, part_dtype
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.body import on_recording
from tapegrad.loops.carry import leaf_of, real_leaf_of
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.stop_gradient import stop_gradient


def with_arguments(name: str, fun: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """Return a function that is called with further arguments, which may be Tensors of finished recordings."""
    if args is None:
        args = ()
    elif is_tensor(args) or not isinstance(args, tuple | list):
        raise TypeError(f"{name}: args={args!r:.40} must be a tuple; for one argument write args=(p,)")
    leaves, definition = flatten(tuple(args))

    def call(*own: Any) -> Any:
        return fun(*own, *unflatten(definition, list(map(on_recording, leaves))))

    return call


class SlopeFunction:
    """Right side of an equation: the user's function, which returns an array like the state.

    Parameters
    ----------
    name
        The function that messages name.
    fun, args
        The user's function, and its arguments after time and state.
    vectorized
        Whether it takes states as columns.
    y0
        The first state.

    Attributes
    ----------
    jacobian
        Its Jacobian by the state, for implicit methods.
    """

    jacobian: Any = None

    def __init__(self, name: str, fun: Callable[..., Any], args: Any, vectorized: bool, y0: Any) -> None:
        check_function(name, fun)
        self._name, self._fun, self._vectorized = name, fun, vectorized
        self._call = with_arguments(name, fun, args)
        self._shape, self._dtype = y0.shape, y0.dtype

    def __call__(self, t: Any, y: Any) -> Any:
        """Return the slope at a time and a state."""
        value = self._call(t, y[:, None] if self._vectorized else y)
        value = leaf_of(value)
        if is_complex(value) and self._dtype.kind != "c":
            raise UnsupportedError(
                f"{self._name}: {name_of(self._fun)} returned complex numbers, but the state y0 is real; make the first"
                " state complex, as in y0 + 0j"
            )
        if self._vectorized and value.size == y.size:
            value = value.reshape(-1)
        if value.shape != self._shape:
            if value.size != 1 or self._shape != (1,):
                raise ValueError(
                    f"{self._name}: {name_of(self._fun)} returned shape {value.shape}, but the state y0 has shape"
                    f" {self._shape}; return one slope for each element of y"
                )
            value = value.reshape(1)
        return value if value.dtype == self._dtype else value.astype(self._dtype)


def is_recording() -> bool:
    """Return whether a function is being recorded, so that numbers of this call must not decide anything."""
    return thread.mode.recorder is not None


def known(value: Any) -> bool:
    """Return whether the numbers of a value may be looked at."""
    return not is_tensor(value) or not is_recording()


def numbers(value: Any) -> np.ndarray:
    """Return the numbers of a value that is known."""
    return np.asarray(stop_gradient(value))


def plain(value: Any) -> Any:
    """Return a Tensor that nothing is differentiated by as an array."""
    return np.asarray(value) if is_tensor(value) and value.constant else value


def initial_state(name: str, y0: Any) -> Any:
    """Return the first state as an array or a Tensor in one dimension."""
    y0 = leaf_of(y0)
    if y0.ndim != 1 or y0.size == 0:
        hint = "write [y0]" if y0.ndim == 0 else "write y0.ravel(), and y.reshape(...) in the function"
        raise ValueError(
            f"{name}: y0 has shape {y0.shape}, but must have one dimension and an element; {hint}"
        )
    return y0 if y0.dtype.kind in "fc" else y0.astype(np.float64)


def interval(t_span: Any) -> tuple[Any, Any, Any]:
    """Return begin and end of an interval, and the sign of its length."""
    begin, end = (_time(t_span[k]) for k in range(2)) if len(t_span) == 2 else _no_interval(t_span)
    if known(begin) and known(end):
        return begin, end, -1.0 if float(numbers(end)) < float(numbers(begin)) else 1.0
    return begin, end, np.where(stop_gradient(end) < stop_gradient(begin), -1.0, 1.0)


def _no_interval(t_span: Any) -> Any:
    raise ValueError(f"solve_ivp: t_span must be (begin, end), but has {len(t_span)} elements")


def _time(t: Any) -> Any:
    """Return a time as a float or a Tensor of float64."""
    if is_tensor(t):
        if t.ndim != 0:
            raise ValueError(f"solve_ivp: a time in t_span has shape {t.shape}, but must be one number")
        return t if t.dtype == np.float64 else t.astype(np.float64)
    return float(t)


def evaluation_times(t_eval: Any, begin: Any, end: Any, direction: Any, may_repeat: bool) -> Any:
    """Return the times of the outputs; raise if they are not within the interval, or not in order."""
    t_eval = real_leaf_of(t_eval, "solve_ivp: t_eval")
    if t_eval.ndim != 1:
        raise ValueError(f"solve_ivp: t_eval has shape {t_eval.shape}, but must have one dimension")
    t_eval = t_eval if t_eval.dtype == np.float64 else t_eval.astype(np.float64)
    # Of numbers that are recorded these are guards: a replay with other times comes here again
    times, first, last = stop_gradient((t_eval, begin, end))
    if np.any(times < np.minimum(first, last)) or np.any(times > np.maximum(first, last)):
        span = f" = ({float(first)}, {float(last)})" if known(begin) and known(end) else ""
        raise ValueError(f"solve_ivp: values of t_eval are not within t_span{span}")
    steps = np.diff(times) * direction
    if np.any(steps < 0 if may_repeat else steps <= 0):
        order = "increase" if direction > 0 else "decrease, as t_span does"
        raise ValueError(f"solve_ivp: values of t_eval must {order}; write np.unique(t_eval)")
    return t_eval


def tolerances(rtol: Any, atol: Any, y0: Any) -> tuple[Any, Any]:
    """Return relative and absolute tolerance, as SciPy takes them."""
    rtol, atol = np.asarray(rtol, float), np.asarray(atol, float)
    least = 100 * float(np.finfo(y0.dtype).eps)
    if np.any(rtol < least):
        warnings.warn(f"solve_ivp: rtol is too small, and is set to {least}", stacklevel=3)
        rtol = np.maximum(rtol, least)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value.ndim > 0 and value.shape != y0.shape:
            raise ValueError(f"solve_ivp: {name} has shape {value.shape}, but y0 has shape {y0.shape}")
    if np.any(atol < 0):
        raise ValueError("solve_ivp: atol must be positive")
    return tuple(float(x) if x.ndim == 0 else x.astype(part_dtype(y0.dtype)) for x in (rtol, atol))  # type: ignore[return-value]


def step_sizes(max_step: float, first_step: float | None, begin: Any, end: Any, fixed: bool) -> None:
    """Raise if sizes of steps are not positive, or the first one is longer than the interval."""
    if not max_step > 0:
        raise ValueError(f"solve_ivp: max_step={max_step} must be positive")
    if fixed and not np.isfinite(max_step):
        raise ValueError("solve_ivp: method='RK4' makes equal steps; give their size, as in max_step=0.01")
    if first_step is None:
        return
    if first_step <= 0:
        raise ValueError(f"solve_ivp: first_step={first_step} must be positive")
    if known(begin) and known(end) and first_step > abs(float(numbers(end)) - float(numbers(begin))):
        raise ValueError(f"solve_ivp: first_step={first_step} is longer than t_span")
