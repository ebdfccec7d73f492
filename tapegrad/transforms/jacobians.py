"""Jacobians, by forward or by reverse sweeps, each a single call into compiled code."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.custom.rules import all_have_forward_rules
from tapegrad.passes.purpose import COLUMNS, ROWS, Purpose
from tapegrad.state import modes, nested
from tapegrad.storage import is_tensor
from tapegrad.transforms.arguments import Argnums, Selection, select
from tapegrad.transforms.base import Transform, replayable
from tapegrad.transforms.fast import ResultPath
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.on_tensors import Run
from tapegrad.transforms.signature import has_tensor, numpy_scalar, take_apart

_MODES = ("auto", "forward", "reverse")


def jacobian(function: Callable[..., Any], argnums: Argnums = 0, mode: str = "auto") -> Callable[..., Any]:
    """A function that returns the derivatives of every element of `function`'s result.

    Parameters
    ----------
    function
        A function whose result is one Tensor. Of a ``jit(f)`` the Jacobian is replayed; other functions are
        recorded anew at each call.
    argnums
        Which positional arguments to differentiate by, as for `grad`.
    mode
        "forward" computes it column by column, in time proportional to the elements of the arguments; "reverse" row
        by row, in time proportional to the elements of the result; "auto" chooses by these numbers.

    Returns
    -------
    callable
        Takes the arguments of `function`. For a result of shape ``r`` and an argument of shape ``s`` it returns an
        array of shape ``r + s`` and the argument's dtype; structures of arguments, and tuples of `argnums`, give
        structures of such arrays.

    Raises
    ------
    ValueError
        For another `mode`.
    TypeError
        When the result is not one Tensor, or an argument to differentiate by is no float.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    if mode not in _MODES:
        raise ValueError(f"jacobian: mode={mode!r}; it must be one of {', '.join(map(repr, _MODES))}")
    return Jacobian(function, argnums, mode)


def jacfwd(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The Jacobian by forward sweeps: ``jacobian(function, argnums, mode="forward")``.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacfwd(tg.sin)(np.array([0.0]))
    array([[1.]])
    """
    return jacobian(function, argnums, "forward")


def jacrev(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The Jacobian by reverse sweeps: ``jacobian(function, argnums, mode="reverse")``.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacrev(tg.cumsum)(np.array([5.0, 6.0]))
    array([[1., 0.],
           [1., 1.]])
    """
    return jacobian(function, argnums, "reverse")


class Jacobian(Transform):
    """What the functions above return."""

    def __init__(self, function: Callable[..., Any], argnums: Argnums, mode: str) -> None:
        super().__init__(function)
        self._argnums = argnums
        self._mode = mode
        self._fast: ResultPath | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and len(args) == 1 and not kwargs and not (modes.active and nested()):
            result = fast(args[0])
            if result is not None:
                return result
        if nested() or has_tensor(args, kwargs):
            return self._on_tensors(args, kwargs)
        try:
            return self._replay(args, kwargs)
        except _Independent as found:
            return _zeros(found.result, select(args, self._argnums))

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._argnums, self._mode

    def _on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The Jacobian as a Tensor on the thread's tape, one sweep for each row or column."""
        selection = select(args, self._argnums)
        run = Run(self.function, selection, kwargs)
        if not is_tensor(run.value):
            raise _no_tensor()
        inputs = sum(math.prod(np.shape(leaf)) for leaf in selection.leaves)
        forward = self._mode == "forward" or (
            self._mode == "auto" and inputs <= run.value.size and all_have_forward_rules(run.tape)
        )
        return selection.arrange(run.shown(run.jacobian(forward), has_tensor(args, kwargs)))

    def _replay(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The Jacobian of a recorded function; one that is not replayed is recorded anew."""
        arguments = take_apart(args, kwargs)
        selection = select(args, self._argnums)
        wrt = selection.inputs(arguments)
        known = replayable(self.function)
        choose = functools.partial(self._purpose, wrt)
        recorded, results = (known or Jit(self.function)).run(arguments, choose, _check_recorded)
        arrays = results[-len(wrt) :] if wrt else []
        if known is not None and len(args) == 1 and not kwargs and self._argnums == 0:
            self._fast = ResultPath.of(known, recorded, choose(recorded), args[0])
        return selection.arrange([numpy_scalar(array) for array in arrays])

    def _purpose(self, wrt: tuple[int, ...], recorded: Any) -> Purpose:
        """By columns or by rows; forward sweeps are the cheaper ones where there are as many of both."""
        if self._mode != "auto":
            return Purpose(COLUMNS if self._mode == "forward" else ROWS, wrt)
        inputs = sum(math.prod(recorded.input_shape(k)) for k in wrt)
        forward = inputs <= math.prod(recorded.output_shape) and all_have_forward_rules(recorded.recording)
        return Purpose(COLUMNS if forward else ROWS, wrt)


class _Independent(Exception):
    """The function's result depends on none of its arguments."""

    def __init__(self, result: np.ndarray) -> None:
        self.result = result


def _check_recorded(recorded: Any) -> None:
    if recorded.only_output < 0:
        fixed = recorded.fixed_result
        if is_tensor(fixed) and fixed.dtype.kind == "f":
            raise _Independent(fixed.data_or_traced())
        raise _no_tensor()


def _no_tensor() -> TypeError:
    return TypeError("jacobian: the function must return one Tensor")


def _zeros(result: np.ndarray, selection: Selection) -> Any:
    """The Jacobian of what depends on nothing."""
    leaves = [np.asarray(leaf) for leaf in selection.leaves]
    return selection.arrange(
        [numpy_scalar(np.zeros(result.shape + leaf.shape, leaf.dtype)) for leaf in leaves]
    )
