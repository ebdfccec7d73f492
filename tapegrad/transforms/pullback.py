"""`vjp`: a value, and the function that pulls cotangents of it back to the arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import elementwise, reductions
from tapegrad.passes.purpose import GRADIENT, Purpose
from tapegrad.state import eager_mode, nested
from tapegrad.storage import is_tensor
from tapegrad.transforms.arguments import Selection, select
from tapegrad.transforms.base import Transform, plain, replayable
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.on_tensors import Run
from tapegrad.transforms.signature import has_tensor, numpy_scalar, take_apart
from tapegrad.tree import flatten, unflatten

Pullback = Callable[[Any], tuple[Any, ...]]


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Pullback]:
    """The value of `function`, and the function that maps a cotangent of it to those of the arguments.

    Parameters
    ----------
    function
        A function of arrays, or of structures of arrays, whose result is a Tensor or a structure of Tensors. Of a
        ``jit(f)`` both are replayed.
    primals
        The arguments, all of which are differentiated by.

    Returns
    -------
    value
        What `function` returns.
    pullback : callable
        Takes a cotangent of the structure, shapes and dtypes of the value and returns a tuple with the cotangent of
        each argument. It may be called again.

    Raises
    ------
    ValueError
        By `pullback`, for a cotangent of another structure or shape than the value.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> value, pullback = tg.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> value
    array([3., 6.])
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 3., 30.]), np.float64(21.0))
    """
    selection = select(primals, tuple(range(len(primals))))
    if nested() or has_tensor(primals, {}):
        return _on_tensors(function, selection)
    replayed = replayable(function)
    return _eagerly(function, selection) if replayed is None else _replay(replayed, selection)


def _checked(y_bar: Any, leaves: list[Any], definition: Any) -> list[Any]:
    """The leaves of a cotangent, which must look like those of the value."""
    given, own = flatten(y_bar)
    if own != definition:
        raise ValueError("pullback: the cotangent has another structure than the function's value")
    for k, (bar, leaf) in enumerate(zip(given, leaves, strict=True)):
        if np.shape(bar) != np.shape(leaf):
            raise ValueError(
                f"pullback: a cotangent of shape {np.shape(bar)} for a value of shape {np.shape(leaf)}"
                + (f" (leaf {k})" if len(leaves) > 1 else "")
            )
    return given


def _on_tensors(function: Callable[..., Any], selection: Selection) -> tuple[Any, Pullback]:
    """On the tape that the thread is appending to."""
    run = Run(function, selection)
    values, definition = flatten(run.value)
    as_tensors = has_tensor(selection.args, {})

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        bars = _checked(y_bar, values, definition)
        pulled = run.pull(zip(values, bars, strict=True))
        return selection.arrange(run.shown(pulled, as_tensors or has_tensor((y_bar,), {})))  # type: ignore[no-any-return]

    return unflatten(definition, run.shown(values, as_tensors)), pullback


def _eagerly(function: Callable[..., Any], selection: Selection) -> tuple[Any, Pullback]:
    """On the eager tape, which is swept at each call of the pullback."""
    with eager_mode():
        run = Run(function, selection)
        values, definition = flatten(run.value)
        shown = run.shown(values, False)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        bars = _checked(y_bar, values, definition)
        with eager_mode():
            pulled = run.pull_arrays(zip(values, bars, strict=True))
        return selection.arrange([numpy_scalar(g) for g in pulled])  # type: ignore[no-any-return]

    return unflatten(definition, shown), pullback


class _InnerProduct(Transform):
    """The sum of a function's results, each times a weight of its shape."""

    def __call__(self, weights: list[Any], *args: Any) -> Any:
        values, _ = flatten(plain(self.function)(*args))
        total: Any = 0.0
        for value, weight in zip(values, weights, strict=True):
            if is_tensor(value) and value.dtype.kind == "f":
                total = total + reductions.sum(elementwise.FUNCTIONS["multiply"](value, weight))
        return total


def _replay(function: Jit, selection: Selection) -> tuple[Any, Pullback]:
    """By replays: of the function, and of the gradient of its inner product with the cotangent."""
    value = function(*selection.args)
    values, definition = flatten(value)
    weighted = replayable(_InnerProduct(function))
    assert weighted is not None

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        bars = [
            np.array(bar, getattr(each, "dtype", float))
            for bar, each in zip(_checked(y_bar, values, definition), values, strict=True)
        ]
        args = (bars, *selection.args)
        chosen = select(args, tuple(range(1, len(args))))
        arguments = take_apart(args, {})
        purpose = Purpose(GRADIENT, chosen.inputs(arguments))
        _, (_, *pulled) = weighted.run(arguments, purpose)
        return chosen.arrange([numpy_scalar(g) for g in pulled])  # type: ignore[no-any-return]

    return value, pullback
