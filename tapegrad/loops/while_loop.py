"""`while_loop` and `fori_loop`: loops without results for each iteration."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.loops.carry import Carry, leaf_of, snapshots_of
from tapegrad.loops.run import FlatLoop

_MAX_LISTED = (
    1 << 16
)  # numbers of a `fori_loop` that are elements of an array; of a longer one the carry counts


class _Body:
    """Body as a function of leaves."""

    def __init__(self, name: str, function: Callable[..., Any], carry: Carry) -> None:
        self._name, self._function, self._carry = name, function, carry

    def __call__(self, *leaves: Any) -> list[Any]:
        returned = self._function(self._carry.built(leaves))
        return self._carry.leaves_of(returned, name_of(self._function))


class _Condition:
    """Condition as a function of leaves, which returns one boolean."""

    def __init__(self, function: Callable[..., Any], carry: Carry) -> None:
        self._function, self._carry = function, carry

    def __call__(self, *leaves: Any) -> list[Any]:
        truth = leaf_of(self._function(self._carry.built(leaves)))
        if truth.ndim != 0:
            raise TypeError(
                f"while_loop: {name_of(self._function)} must return one boolean, but returned shape {truth.shape};"
                " write tg.any(...) or tg.all(...)"
            )
        return [truth if truth.dtype == np.bool_ else truth != 0]


@hides_frames
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    max_steps: int | None = None,
    checkpoint: str | int = "auto",
) -> Any:
    """Repeat ``val = body_fun(val)`` as long as ``cond_fun(val)`` is true; return the last `val`.

    Parameters
    ----------
    cond_fun : callable
        Takes the carry, and returns one boolean. Of a NaN comparisons are false, which ends the loop.
    body_fun : callable
        Takes the carry and returns the next one, of the same structure, shapes and dtypes. Both are recorded once, and
        must be pure.
    init_val : array_like, Tensor or structure of them
        The first carry.
    max_steps : int, optional
        Most iterations; one more raises. By default there is no limit; Ctrl-C interrupts.
    checkpoint : "auto" or int, optional
        Carries that the reverse sweep has in memory at a time, as in `scan`.

    Returns
    -------
    val
        The last carry.

    Raises
    ------
    RuntimeError
        If the condition is still true after `max_steps` iterations.
    TypeError
        If `body_fun` returns another structure, shape or dtype, or `cond_fun` no single boolean.

    See Also
    --------
    scan : A known number of iterations, with elements and results for each.

    Notes
    -----
    It is one instruction, which differentiates in both modes and to all orders: the number of iterations is data, and a
    replay with another number is no other recording.

    Examples
    --------
    >>> import tapegrad as tg
    >>> def sqrt(a):
    ...     def improve(x):
    ...         return 0.5 * (x + a / x)
    ...     return tg.while_loop(lambda x: abs(x * x - a) > 1e-12 * a, improve, 0.5 * (a + 1.0))
    >>> tg.value_and_grad(sqrt)(2.0)
    (np.float64(1.414213562373095), np.float64(0.35355339059327373))
    """
    return repeated(cond_fun, body_fun, init_val, max_steps, checkpoint)


def repeated(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    max_steps: int | None = None,
    checkpoint: int | str = "auto",
    pulled_at_once: bool = False,
    name: str = "while_loop",
) -> Any:
    """Run a `while_loop`, whose pullback inside of recordings may be one instruction, and which has a name."""
    check_function(name, cond_fun)
    check_function(name, body_fun)
    most = -1 if max_steps is None else int(max_steps)
    if most < -1 or (max_steps is not None and most < 0):
        raise ValueError(f"{name}: max_steps={max_steps} is negative")
    carry = Carry(name, init_val)
    run = FlatLoop(
        name, _Body(name, body_fun, carry), body_fun, carry.count, most=most,
        snapshots=snapshots_of(name, checkpoint, -1), pulled_at_once=pulled_at_once,
        condition=_Condition(cond_fun, carry), condition_seen=cond_fun,
    )  # fmt: skip
    return carry.built(carry.run(run, ())[0])


@hides_frames
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Repeat ``val = body_fun(i, val)`` for each integer `i` of a range; return the last `val`.

    Parameters
    ----------
    lower, upper : int or Tensor
        The range, `upper` excluded. A bound that is a Tensor is data: a replay with another one is no other recording.
    body_fun : callable
        Takes the integer and the carry, and returns the next carry, of the same structure, shapes and dtypes.
    init_val : array_like, Tensor or structure of them
        The first carry.

    Returns
    -------
    val
        The last carry.

    Raises
    ------
    TypeError
        If `body_fun` returns another structure, shape or dtype, or a bound is no integer.

    See Also
    --------
    scan : With elements and results for each iteration.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def power(x):
    ...     return tg.fori_loop(0, 5, lambda i, y: y * x, 1.0)
    >>> tg.value_and_grad(power)(2.0)
    (np.float64(32.0), np.float64(80.0))
    """
    check_function("fori_loop", body_fun)
    bounds = [_bound(lower), _bound(upper)]
    carry = Carry("fori_loop", init_val)
    body = _Counted(body_fun, carry)
    if not any(map(is_tensor, bounds)):
        count = max(0, int(bounds[1]) - int(bounds[0]))
        if count > _MAX_LISTED:
            whole = Carry("fori_loop", (init_val, np.asarray(int(bounds[0]))))
            run = FlatLoop("fori_loop", body.with_number, body_fun, whole.count, count)
            return whole.built(whole.run(run, ())[0])[0]
        numbers = np.arange(int(bounds[0]), int(bounds[0]) + count)
        run = FlatLoop("fori_loop", body.with_element, body_fun, carry.count, count)
        return carry.built(carry.run(run, [numbers])[0])
    whole = Carry("fori_loop", (init_val, leaf_of(bounds[0]), leaf_of(bounds[1])))
    run = FlatLoop(
        "fori_loop", body.with_counter, body_fun, whole.count,
        condition=lambda *leaves: [leaves[-2] < leaves[-1]], condition_seen=body_fun,
    )  # fmt: skip
    return whole.built(whole.run(run, ())[0])[0]


class _Counted:
    """Body of `fori_loop` as a function of leaves."""

    def __init__(self, function: Callable[..., Any], carry: Carry) -> None:
        self._function, self._carry = function, carry

    def _next(self, number: Any, leaves: Sequence[Any]) -> list[Any]:
        returned = self._function(number, self._carry.built(leaves))
        return self._carry.leaves_of(returned, name_of(self._function))

    def with_element(self, *leaves: Any) -> list[Any]:
        """Take the number from a sequence."""
        return self._next(leaves[-1], leaves[:-1])

    def with_number(self, *leaves: Any) -> list[Any]:
        """Take the number from the carry."""
        *rest, number = leaves
        return [*self._next(number, rest), number + 1]

    def with_counter(self, *leaves: Any) -> list[Any]:
        """Take the number from the carry, where the upper bound follows it."""
        return [*self.with_number(*leaves[:-1]), leaves[-1]]


def _bound(value: Any) -> Any:
    """Return a bound of a range: an integer, or a Tensor of one."""
    if not is_tensor(value):
        value = np.asarray(value)
    if value.dtype.kind not in "iu" or value.ndim != 0:
        raise TypeError(
            f"fori_loop: a bound must be one integer, but is {value.dtype} of shape {value.shape}; write"
            " astype(int) if it is a whole number"
        )
    return value
