"""`grad` and `value_and_grad`."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.ops import CODES
from tapegrad.record import unary
from tapegrad.state import eager_mode, thread
from tapegrad.storage import from_array, is_tensor
from tapegrad.sweep import replay
from tapegrad.transforms.arguments import Argnums, select
from tapegrad.transforms.fast import FastPath
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.signature import has_tensor, take_apart

_COPY = CODES["positive"]


def value_and_grad(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the value of `function`, a scalar, and its gradient.

    Parameters
    ----------
    function
        A function whose result is a scalar Tensor. Of a ``jit(f)`` the gradient is replayed: the fast path of the
        whole library. Other functions are run anew at each call.
    argnums
        Which positional arguments to differentiate by. Each may be a float or a float array, or a list, tuple or
        dict of them, nested; the gradient has the same structure.

    Returns
    -------
    callable
        Takes the arguments of `function`, returns ``(value, gradient)``; with a tuple of `argnums`, a tuple of
        gradients. Arrays and NumPy scalars in, arrays and NumPy scalars out.

    Raises
    ------
    ValueError
        When the result is not a scalar.
    TypeError
        When an argument to differentiate by is an integer, or the result is not a Tensor.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.value_and_grad(lambda x: tg.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    if isinstance(function, Jit):
        return _Replayed(function, argnums)
    return _eager(function, argnums)


def grad(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the gradient of `function`; see `value_and_grad`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.grad(tg.sin)(0.0)
    np.float64(1.0)
    """
    both = value_and_grad(function, argnums)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    functools.update_wrapper(gradient, function, updated=())
    return gradient


def check_scalar(name: str, shape: tuple[int, ...]) -> None:
    """Refuse a result that is not a scalar."""
    if shape != ():
        raise ValueError(
            f"{name}: the function returned shape {shape}, but only a scalar has a gradient; sum() it, or use jacobian"
        )


def refuse_nesting() -> None:
    """Refuse Tensors as arguments of a gradient function: the result would not be differentiable in turn."""
    raise UnsupportedError(
        "a gradient function was called with a Tensor: its result would be cut off from the graph. Call it with"
        " arrays (t.data), or use t.backward()"
    )


def _eager(function: Callable[..., Any], argnums: Argnums) -> Callable[..., Any]:
    """The gradient by running the function on the eager tape."""

    def both(*args: Any, **kwargs: Any) -> Any:
        if has_tensor(args, kwargs):
            refuse_nesting()
        selection = select(args, argnums)
        with eager_mode():
            tensors = [_leaf(leaf) for leaf in selection.leaves]
            outer = thread.leaves
            copies = [unary(_COPY, t) for t in tensors]  # the function may write to its arguments
            value = _differentiated_by(tensors, function, selection.fill_in(copies), kwargs)
            if not is_tensor(value):
                raise TypeError(
                    f"grad: the function returned {type(value).__name__}, not a Tensor: its result was taken out of"
                    " the graph, or does not depend on the argument"
                )
            check_scalar("grad", value.shape)
            if not value.constant:
                _backward(value, tensors, outer)
        gradients = [_gradient_of(t) for t in tensors]
        return value.data[()], selection.arrange(gradients)

    functools.update_wrapper(both, function, updated=())
    return both


def _differentiated_by(tensors: list[Any], function: Callable[..., Any], args: list[Any], kwargs: Any) -> Any:
    """Call a function; while it runs, this thread knows by which Tensors a gradient is taken."""
    outer = thread.leaves
    thread.leaves = (*outer, *tensors)
    try:
        return function(*args, **kwargs)
    finally:
        thread.leaves = outer


def _backward(value: Any, tensors: list[Any], outer: tuple[Any, ...]) -> None:
    """Differentiate; refuse where the gradients around this one would have to go through its result."""
    before = [_copy_of_gradient(t) for t in outer]
    value.backward(inputs=[*tensors, *outer], retain_graph=True)  # its Tensors go, and the graph with them
    if any(not np.array_equal(_copy_of_gradient(t), g) for t, g in zip(outer, before, strict=True)):
        raise UnsupportedError(
            "the gradient of a gradient: a function that is differentiated inside another one uses a Tensor of that"
            " one, but second derivatives are not supported. Use detach() where the Tensor is meant as a constant"
        )


def _copy_of_gradient(tensor: Any) -> Any:
    return None if tensor.grad is None else tensor.grad.copy()


def _leaf(value: Any) -> Any:
    """A fresh leaf Tensor on an argument."""
    return from_array(np.asarray(value), constant=False)


def _gradient_of(tensor: Any) -> Any:
    gradient = tensor.grad
    if gradient is None:
        gradient = np.zeros(tensor.shape, tensor.dtype)
    return gradient[()] if gradient.ndim == 0 else gradient


class _Replayed:
    """The gradient of a `jit`ted function."""

    def __init__(self, function: Jit, argnums: Argnums) -> None:
        self._function = function
        self._argnums = argnums
        self._fast: FastPath | None = None
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and len(args) == 1 and not kwargs:
            result = fast(args[0])
            if result is not None:
                return result
        return self._general(args, kwargs)

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if has_tensor(args, kwargs):
            refuse_nesting()
        arguments = take_apart(args, kwargs)
        selection = select(args, self._argnums)
        wrt = selection.inputs(arguments)
        recorded, (value, *gradients) = self._function.run(
            arguments, wrt, replay.replay_gradient, check=_check_recorded
        )
        if len(args) == 1 and not kwargs and self._argnums == 0:
            self._fast = FastPath.of(self._function, recorded, args[0])
        return value[()], selection.arrange([g[()] if g.ndim == 0 else g for g in gradients])


def _check_recorded(recorded: Any) -> None:
    """The result must be one scalar Tensor."""
    if recorded.only_output < 0:
        raise TypeError("grad: the function must return one Tensor that depends on its arguments")
    check_scalar("grad", recorded.output_shape)
