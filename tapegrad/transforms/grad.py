"""`grad` and `value_and_grad`."""

import functools
import math
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from tapegrad.autodiff.backward import pull_back
from tapegrad.autodiff.graph_view import tensor_on
from tapegrad.frontend.tensor.modes import EAGER, differentiating, eager_mode, restoring
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.frontend.words.other_names import knows_argnum
from tapegrad.program.recording.calling import aux_arrays, call, check_scalar, one_array, value_and_aux
from tapegrad.program.recording.signature import has_tensor, numpy_scalar
from tapegrad.program.streams.spec import FORWARD, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.transforms.analytic import AnalyticDerivative, RealPart
from tapegrad.transforms.base import DerivativeTransform, Transform
from tapegrad.transforms.calling.argnums import Argnums, Selection, checked_argnums, select
from tapegrad.transforms.calling.call_structures import call_arguments
from tapegrad.transforms.calling.callables import UnlessNested
from tapegrad.transforms.calling.fast_path import Path, gradient_path, without_value
from tapegrad.transforms.calling.known_paths import AlternatingCalls
from tapegrad.transforms.calling.reports import Reporting, ReportingFunction
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.nested import NestedCall, new_leaf

_FORWARD = ProgramSpec(FORWARD)

P = ParamSpec("P")
T = TypeVar("T")


class ValueAndGradient(Reporting, Protocol[P]):
    """Interface of `value_and_grad`'s results for type checkers: the gradient has the first argument's type."""

    def __call__(self, x: T, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Any, T]: ...


class Gradient(Reporting, Protocol[P]):
    """Interface of `grad`'s results for type checkers."""

    def __call__(self, x: T, /, *args: P.args, **kwargs: P.kwargs) -> T: ...


@overload
def value_and_grad(function: Callable[Concatenate[Any, P], Any]) -> ValueAndGradient[P]: ...
@overload
def value_and_grad(
    function: Callable[..., Any],
    argnums: Argnums | list[int],
    has_aux: bool = False,
    holomorphic: bool = False,
) -> ReportingFunction[tuple[Any, Any]]: ...
@overload
def value_and_grad(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    *,
    has_aux: bool,
    holomorphic: bool = False,
) -> ReportingFunction[tuple[Any, Any]]: ...
@overload
def value_and_grad(
    function: Callable[..., Any], argnums: Argnums | list[int] = 0, *, holomorphic: bool
) -> ReportingFunction[tuple[Any, Any]]: ...
@knows_argnum
def value_and_grad(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> ReportingFunction[tuple[Any, Any]]:
    """Make a function that returns the value of `function`, a scalar, and its gradient.

    Parameters
    ----------
    function : callable
        Its result is a real scalar Tensor, or a number that depends on nothing. Of a ``jit(f)`` the gradient is
        replayed: the fast path of the whole library. Other functions are run at each call; arguments that are not
        differentiated by are passed to them as they are.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by; negative numbers count from the last. Each may be a float or a
        complex number, an array of them, or a list, tuple or dict of them, nested; the gradient has the same
        structure. A Series of pandas and a DataArray of xarray count as arrays; their gradients get their labels.
    has_aux : bool, default False
        Whether `function` returns a pair of the value and of anything else, which is not differentiated.
    holomorphic : bool, default False
        Whether `function` is an analytic function of complex arguments with a complex result, whose complex derivative
        is wanted. That it is one is not checked.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns ``(value, gradient)``; with several `argnums`, a tuple of
        gradients; with `has_aux`, ``((value, aux), gradient)``. Given arrays and numbers, it returns arrays and NumPy
        scalars. Keyword arguments are passed on, and are constants.

    Raises
    ------
    ValueError
        When the result is not a single number.
    TypeError
        When an argument to differentiate by is an integer, or the result is not one real number. With `holomorphic`,
        when an argument or the result is real.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.value_and_grad(lambda x: tg.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))

    Another result is returned as it is:

    >>> tg.value_and_grad(lambda x: (tg.sum(x**2), {"largest": tg.max(x)}), has_aux=True)(np.array([1.0, 2.0]))
    ((np.float64(5.0), {'largest': np.float64(2.0)}), array([2., 4.]))
    """
    if holomorphic:
        return _analytic("value_and_grad", function, argnums, has_aux)
    return ValueAndGrad(function, argnums, has_aux)


@overload
def grad(function: Callable[Concatenate[Any, P], Any]) -> Gradient[P]: ...
@overload
def grad(
    function: Callable[..., Any],
    argnums: Argnums | list[int],
    has_aux: bool = False,
    holomorphic: bool = False,
) -> ReportingFunction[Any]: ...
@overload
def grad(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    *,
    has_aux: bool,
    holomorphic: bool = False,
) -> ReportingFunction[Any]: ...
@overload
def grad(
    function: Callable[..., Any], argnums: Argnums | list[int] = 0, *, holomorphic: bool
) -> ReportingFunction[Any]: ...
@knows_argnum
def grad(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> ReportingFunction[Any]:
    """Make a function that returns the gradient of `function`, a scalar.

    Parameters
    ----------
    function : callable
        As for `value_and_grad`.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by.
    has_aux : bool, default False
        Whether `function` returns a pair of the value and of anything else, which is not differentiated.
    holomorphic : bool, default False
        Whether `function` is an analytic function of complex arguments with a complex result, whose complex derivative
        is wanted. That it is one is not checked.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns its gradient; with several `argnums`, a tuple of gradients; with
        `has_aux`, ``(gradient, aux)``.

    See Also
    --------
    value_and_grad : Returns the value as well, for the same cost.

    Notes
    -----
    The gradient by a complex number ``z = x + 1j * y`` is that by `x` plus ``1j`` times that by `y`, as PyTorch's and
    TensorFlow's: the direction of steepest ascent, so that ``z - step * gradient`` descends. To get JAX's gradient:
    ``np.conj(tg.grad(f)(z))``; users of autograd who wrote ``x - step * np.conj(g)`` drop the ``conj``. A derivative
    ``f'(z)`` with `holomorphic` is the same everywhere.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.grad(tg.sin)(0.0)
    np.float64(1.0)
    >>> tg.grad(lambda z: abs(z) ** 2)(3 + 4j)
    np.complex128(6+8j)
    >>> tg.grad(lambda z: z**3, holomorphic=True)(1 + 1j)
    np.complex128(6j)
    """
    return _analytic("grad", function, argnums, has_aux) if holomorphic else Grad(function, argnums, has_aux)


def _analytic(
    name: str, function: Callable[..., Any], argnums: Argnums | list[int], has_aux: bool
) -> AnalyticDerivative:
    """Return the derivative of an analytic function; with its value for `value_and_grad`."""
    gradient = Grad(RealPart(function, name, argnums, has_aux), argnums, has_aux=True).named(name)
    return AnalyticDerivative(function, gradient, has_aux, valued=name == "value_and_grad")


def choose_spec(spec: ProgramSpec, trace: Trace) -> ProgramSpec:
    """Choose the gradient, or the results alone for a value that has no gradient."""
    found = trace.value_output if spec.values else trace.only_output
    return spec if found >= 0 and math.prod(trace.output_shape) == 1 else _FORWARD


class ValueAndGrad(DerivativeTransform):
    """Function made by `value_and_grad`."""

    name = "value_and_grad"

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums | list[int], has_aux: bool = False
    ) -> None:
        super().__init__(function)
        self._argnums = checked_argnums(argnums)
        self._has_aux = has_aux

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._argnums, self._has_aux

    def _replay(self, function: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay value and gradient."""
        arguments = function.arguments(args, kwargs)
        selection = select(args, self._argnums)
        spec = ProgramSpec(VALUE_AND_GRAD, selection.inputs(arguments), values=self._has_aux)
        trace, results = function.run(arguments, functools.partial(choose_spec, spec))
        if choose_spec(spec, trace) is not spec:
            value, aux = value_and_aux(self.name, trace.result(arguments.arrays, results), self._has_aux)
            return self._to_output(_constant(self.name, value), aux), selection.zeros()
        if trace.output_shape == ():
            call = call_arguments(arguments, args, kwargs)
            self._keep(gradient_path(function, trace, spec, call, selection))
        if self._has_aux:
            return value_and_gradient(selection, trace, arguments.arrays, results, has_aux=True)
        value, *gradients = results
        return value[()], selection.unflatten_results([numpy_scalar(g) for g in gradients])

    @restoring
    def _eager(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function on the eager tape, and sweep back."""
        selection = select(args, self._argnums)
        with eager_mode():
            given = [new_leaf(leaf) for leaf in selection.leaves]
            leaves = [tensor_on(EAGER, t._slot) for t in given]  # the function may write to its own
            with differentiating(leaves):
                result = call(function, selection.substitute(given), kwargs)
            value, aux = value_and_aux(self.name, result, self._has_aux)
            to_output = self._to_output(_constant(self.name, value), aux_arrays(aux))
            if is_tensor(value):
                pull_back(value, leaves)  # the graph is freed with its Tensors
        return to_output, selection.unflatten_results([_gradient_of(t) for t in leaves])

    def _nested(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute value and gradient as Tensors, on the current tape of the thread."""
        selection = select(args, self._argnums)
        run = NestedCall(function, selection, kwargs)
        value, aux = value_and_aux(self.name, run.value, self._has_aux)
        _constant(self.name, value)
        value = value if is_tensor(value) else from_array(np.asarray(value), constant=True)
        as_tensors = has_tensor(args, kwargs)
        value, *gradients = run.to_output([value, *run.pull([(value, 1.0)])], as_tensors)
        return self._to_output(value, run.aux_to_output(aux, as_tensors)), selection.unflatten_results(
            gradients
        )

    def _to_output(self, value: Any, aux: Any) -> Any:
        return (value, aux) if self._has_aux else value


def value_and_gradient(
    selection: Selection, trace: Trace, inputs: list[Any], results: list[Any], has_aux: bool
) -> tuple[Any, Any]:
    """Return the results of a replay as ``(value, gradient)``; with `has_aux`, ``((value, aux), gradient)``."""
    count = len(results) - len(selection.leaves)  # of outputs, before the derivatives
    value = trace.result(inputs, results[:count]) if has_aux else results[0]
    return value, selection.unflatten_results([numpy_scalar(g) for g in results[count:]])


class Grad(UnlessNested, AlternatingCalls, Transform):
    """Function made by `grad`."""

    name = "grad"

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums | list[int], has_aux: bool = False
    ) -> None:
        Transform.__init__(self, function)
        AlternatingCalls.__init__(self)
        self._both = ValueAndGrad(function, argnums, has_aux)
        self._both.name = self.name
        self._has_aux = has_aux
        self._of: Path | None = None  # the path with the value that it was made of

    def named(self, name: str) -> "Grad":
        """Return this transform, which calls itself by another name in messages."""
        self.name = self._both.name = name
        return self

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._both.settings

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the gradient for any arguments."""
        value, gradient = self._both._by_python(args, kwargs)
        if self._both.latest is not self._of:
            self._of = self._both.latest
            self._keep(None if self._of is None else without_value(self._of))
        return (gradient, value[1]) if self._has_aux else gradient


def _gradient_of(tensor: Any) -> Any:
    gradient = tensor.grad
    return numpy_scalar(np.zeros(tensor.shape, tensor.dtype) if gradient is None else gradient)


def _constant(name: str, value: Any) -> Any:
    """Return a single number as a NumPy scalar or an array of one element; raise for anything else."""
    array = one_array(name, value)
    check_scalar(name, array)
    return array[()]
