"""`grad` and `value_and_grad`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.ops import CODES
from tapegrad.passes.purpose import GRADIENT, Purpose
from tapegrad.record import unary
from tapegrad.state import differentiating, eager_mode, modes, nested
from tapegrad.storage import from_array, is_tensor
from tapegrad.transforms.arguments import Argnums, select
from tapegrad.transforms.base import Transform, replayable
from tapegrad.transforms.fast import GradientPath
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.on_tensors import Run
from tapegrad.transforms.signature import has_tensor, numpy_scalar, take_apart

_COPY = CODES["positive"]


def value_and_grad(function: Callable[..., Any], argnums: Argnums = 0) -> "ValueAndGrad":
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
    return ValueAndGrad(function, argnums)


def grad(function: Callable[..., Any], argnums: Argnums = 0) -> "Grad":
    """A function that returns the gradient of `function`; see `value_and_grad`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.grad(tg.sin)(0.0)
    np.float64(1.0)
    """
    return Grad(function, argnums)


def check_scalar(name: str, shape: tuple[int, ...]) -> None:
    """Refuse a result that is not a scalar."""
    if shape != ():
        raise ValueError(
            f"{name}: the function returned shape {shape}, but only a scalar has a gradient; sum() it, or use jacobian"
        )


def _check_value(value: Any) -> None:
    """Refuse a result that is not a scalar Tensor."""
    if not is_tensor(value):
        raise TypeError(
            f"grad: the function returned {type(value).__name__}, not a Tensor: its result was taken out of the"
            " graph, or does not depend on the argument"
        )
    check_scalar("grad", value.shape)


class ValueAndGrad(Transform):
    """What `value_and_grad` returns."""

    def __init__(self, function: Callable[..., Any], argnums: Argnums) -> None:
        super().__init__(function)
        self._argnums = argnums
        self._fast: GradientPath | None = None

    @property
    def settings(self) -> tuple[Any, ...]:
        return (self._argnums,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and len(args) == 1 and not kwargs and not (modes.active and nested()):
            result = fast(args[0])
            if result is not None:
                return result
        if nested() or has_tensor(args, kwargs):
            return self._on_tensors(args, kwargs)
        known = replayable(self.function)
        return self._eagerly(args, kwargs) if known is None else self._replay(known, args, kwargs)

    def _replay(self, function: Jit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The gradient of a recorded function."""
        arguments = take_apart(args, kwargs)
        selection = select(args, self._argnums)
        wrt = selection.inputs(arguments)
        purpose = Purpose(GRADIENT, wrt)
        recorded, (value, *gradients) = function.run(arguments, purpose, _check_recorded)
        if len(args) == 1 and not kwargs and self._argnums == 0:
            self._fast = GradientPath.of(function, recorded, purpose, args[0])
        return value[()], selection.arrange([numpy_scalar(g) for g in gradients])

    def _eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The gradient by running the function on the eager tape."""
        selection = select(args, self._argnums)
        with eager_mode():
            tensors = [from_array(np.asarray(leaf), constant=False) for leaf in selection.leaves]
            with differentiating(tensors):
                copies = [unary(_COPY, t) for t in tensors]  # the function may write to its arguments
                value = self.function(*selection.fill_in(copies), **kwargs)
            _check_value(value)
            if not value.constant:
                # Its Tensors go, and the graph with them.
                value.backward(inputs=tensors, retain_graph=True)
        return value.data[()], selection.arrange([_gradient_of(t) for t in tensors])

    def _on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The gradient as Tensors, on the tape that the thread is appending to."""
        selection = select(args, self._argnums)
        run = Run(self.function, selection, kwargs)
        _check_value(run.value)
        value, *gradients = run.shown([run.value, *run.pull([(run.value, 1.0)])], has_tensor(args, kwargs))
        return value, selection.arrange(gradients)


class Grad(Transform):
    """What `grad` returns."""

    def __init__(self, function: Callable[..., Any], argnums: Argnums) -> None:
        super().__init__(function)
        self._both = ValueAndGrad(function, argnums)

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._both.settings

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._both(*args, **kwargs)[1]


def _gradient_of(tensor: Any) -> Any:
    gradient = tensor.grad
    return numpy_scalar(np.zeros(tensor.shape, tensor.dtype) if gradient is None else gradient)


def _check_recorded(recorded: Any) -> None:
    """The result must be one scalar Tensor."""
    if recorded.only_output < 0:
        raise TypeError("grad: the function must return one Tensor that depends on its arguments")
    check_scalar("grad", recorded.output_shape)
