"""Goals of `vmap`: the program that computes a function or a transform, and how its results are put together.

A goal is asked for one instance, which it computes by a replay. That says by which recording and which program all
instances like it are computed, and which of the results goes where.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.tensor_rules import check_forward_rules
from tapegrad.program.programs.jacobian_columns import ForwardJacobianProgram
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.streams.spec import FORWARD, JVP, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.transforms.base import Transform, replayable
from tapegrad.transforms.calling.argnums import select
from tapegrad.transforms.grad import Grad, ValueAndGrad, choose_spec
from tapegrad.transforms.hessian import HessianProduct
from tapegrad.transforms.jacobian import Jacobian
from tapegrad.transforms.jit import Jit, keep_gradients
from tapegrad.transforms.jvp import directions

_FORWARD = ProgramSpec(FORWARD)


class Unsuited(Exception):
    """Instances so large that programs over lanes would need more memory than those of one."""


class OutputSlot:
    """Stands for an array in the structure of results: for a result of a program, or for an input that is one.

    Attributes
    ----------
    number
        Which of them it is.
    is_input
        Whether it is an input.
    dtype
        Of an input, the dtype that it has among the results.
    """

    ndim = 1  # for those who ask whether it is a number

    def __init__(self, number: int, is_input: bool = False, dtype: Any = None) -> None:
        self.number, self.is_input, self.dtype = number, is_input, dtype

    def astype(self, dtype: Any) -> "OutputSlot":
        """Return the array in another dtype."""
        return OutputSlot(self.number, self.is_input, dtype)


class Instance(NamedTuple):
    """Instance that was computed.

    Attributes
    ----------
    arguments
        Its arguments, but those that are directions.
    given
        Directions: arrays for further bindings of the program.
    trace, spec
        Recording and program.
    results
        Arrays of the results, as the program gives them.
    value
        What the function returns, with places instead of arrays.
    """

    arguments: Arguments
    given: Sequence[np.ndarray]
    trace: Trace
    spec: ProgramSpec
    results: list[Any]
    value: Any


class Goal(ABC):
    """Goal of a batch: the quantities that are computed of each instance.

    Attributes
    ----------
    directions
        Whether the last argument is one, and no argument of the function's.
    recorded
        The function that is replayed.
    """

    directions = False
    recorded: Jit[..., Any]

    @abstractmethod
    def instance(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instance | None:
        """Compute one instance; `None` if no program of this goal does."""


class _Results(Goal):
    """Results of a recorded function."""

    def __init__(self, function: Jit[..., Any]) -> None:
        self.recorded = function

    def instance(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instance:
        arguments = self.recorded.arguments(args, kwargs)
        trace, results = self.recorded.run(arguments, _FORWARD, keep_gradients)
        value = trace.result(*_places(arguments, results))
        return Instance(arguments, (), trace, _FORWARD, results, value)


class _Gradients(Goal):
    """Value and gradient, or the gradient alone."""

    def __init__(self, transform: ValueAndGrad | Grad, function: Jit[..., Any]) -> None:
        self._settings, self.recorded = transform.settings, function
        self._alone = isinstance(transform, Grad)

    def instance(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instance | None:
        argnums, has_aux = self._settings
        arguments, selection = self.recorded.arguments(args, kwargs), select(args, argnums)
        spec = ProgramSpec(VALUE_AND_GRAD, selection.inputs(arguments), values=has_aux)
        trace, results = self.recorded.run(arguments, functools.partial(choose_spec, spec))
        if choose_spec(spec, trace) is not spec:
            return None
        inputs, places = _places(arguments, results)
        count = len(results) - len(selection.leaves)
        gradient = selection.unflatten_results(places[count:])
        value = trace.result(inputs, places[:count]) if has_aux else places[0]
        if self._alone:
            found: Any = (gradient, value[1]) if has_aux else gradient
        else:
            found = value, gradient
        return Instance(arguments, (), trace, spec, results, found)


class _Jacobians(Goal):
    """Jacobians."""

    def __init__(self, transform: Jacobian, function: Jit[..., Any]) -> None:
        self._transform, self.recorded = transform, function

    def instance(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instance | None:
        argnums, _, has_aux = self._transform.settings
        arguments, selection = self.recorded.arguments(args, kwargs), select(args, argnums)
        choose = functools.partial(self._transform.choose_spec, selection.inputs(arguments))
        trace, results = self.recorded.run(arguments, choose)
        if self._transform.output(trace) < 0:
            return None
        spec = choose(trace)
        program = trace.program(spec)
        if isinstance(program, ForwardJacobianProgram) and program.chunk:
            raise Unsuited
        inputs, places = _places(arguments, results)
        count = len(results) - len(selection.leaves)
        found = selection.unflatten_results(places[count:])
        if has_aux:
            found = found, trace.result(inputs, places[:count])[1]
        return Instance(arguments, (), trace, spec, results, found)


class _HessianProducts(Goal):
    """The Hessian times a direction."""

    directions = True

    def __init__(self, transform: HessianProduct, gradient: Jit[..., Any]) -> None:
        self._settings, self.recorded = transform.settings, gradient

    def instance(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instance:
        selection = select(args[:-1], *self._settings)
        given = directions(selection, args[-1], "hvp")
        arguments = self.recorded.arguments(selection.args, kwargs)
        spec = ProgramSpec(JVP, selection.inputs(arguments))
        trace, results = self.recorded.run(arguments, spec, check_forward_rules, given=given)
        value = trace.tangents(*_places(arguments, results))
        return Instance(arguments, given, trace, spec, results, value)


def _places(arguments: Arguments, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Places that stand for the inputs and the results of a program."""
    inputs = [OutputSlot(k, is_input=True) for k in range(len(arguments.arrays))]
    return inputs, [OutputSlot(k) for k in range(len(results))]


def goals_of(function: Callable[..., Any], recorded: Jit[..., Any] | None = None) -> list[Goal]:
    """Return the goals that compute a function, the cheapest first; the last one records the function itself."""
    replayed = replayable(function.function) if isinstance(function, Transform) else None
    found = [] if replayed is None else _of_transform(function, replayed)
    return [*found, _Results(recorded or replayable(function) or Jit(function))]


def _of_transform(function: Any, replayed: Jit[..., Any]) -> list[Goal]:
    """Return the goals that compute a transform of a recorded function by a program made for it."""
    if isinstance(function, ValueAndGrad | Grad):
        return [_Gradients(function, replayed)]
    if isinstance(function, Jacobian):
        return [_Jacobians(function, replayed)]
    if isinstance(function, HessianProduct):
        gradient = replayable(Grad(function.function, *function.settings))
        assert gradient is not None
        return [_HessianProducts(function, gradient)]
    return []
