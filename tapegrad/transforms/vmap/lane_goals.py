"""Goals of `vmap`: the program that computes a function or a transform, and the structure of its results.

A goal computes one instance by a replay. The recording and the program of the replay then compute all instances that
take the same branches.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.tensor_rules import check_forward_rules
from tapegrad.program.programs.jacobian_columns import ForwardJacobianProgram
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.streams.spec import FORWARD, JVP, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.pytree import LEAF
from tapegrad.transforms.base import Transform, replay_of, replayable
from tapegrad.transforms.calling.argnums import select
from tapegrad.transforms.grad import Grad, ValueAndGrad, choose_spec, value_and_gradient
from tapegrad.transforms.jacobians.hessian import Hessian, HessianProduct
from tapegrad.transforms.jacobians.jacobian import Jacobian
from tapegrad.transforms.jit import Jit, keep_gradients
from tapegrad.transforms.jvp import directions

_FORWARD = ProgramSpec(FORWARD)


class Unsuited(Exception):
    """Raised for instances so large that programs over lanes would need more memory than those of one."""


class OutputSlot:
    """Placeholder of an array in the structure of results: of a result of a program, or of an input that is returned.

    Attributes
    ----------
    number
        Number of the result or of the input.
    is_input
        Whether it is an input.
    dtype
        Of an input, its dtype among the results.
    """

    ndim = 1  # so that `numpy_scalar` returns the placeholder

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
        Arguments of the instance, without directions.
    given
        Directions: arrays for further bindings of the program.
    trace, spec
        Recording and program.
    results
        Arrays of the results, as the program returns them.
    value
        Result of the function, with output slots instead of arrays.
    """

    arguments: Arguments
    given: Sequence[np.ndarray]
    trace: Trace
    spec: ProgramSpec
    results: list[Any]
    value: Any


class Goal(NamedTuple):
    """Goal of a batch: the quantities that are computed of each instance.

    Attributes
    ----------
    recorded
        The function that is replayed.
    instance
        Computes one instance, given its arguments and keyword arguments; returns `None` if no program of this goal
        does.
    directions
        Whether the last argument is a direction, and no argument of the function.
    """

    recorded: Jit[..., Any]
    instance: Callable[[tuple[Any, ...], dict[str, Any]], Instance | None]
    directions: bool = False


def goals_of(function: Callable[..., Any], recorded: Jit[..., Any] | None = None) -> list[Goal]:
    """Return the goals that compute a function, the cheapest first; the last one records the function itself."""
    replayed = replayable(function.function) if isinstance(function, Transform) else None
    found = [] if replayed is None else _of_transform(function, replayed)
    whole = recorded or replayable(function) or Jit(function)
    return [*found, Goal(whole, functools.partial(_results, whole))]


def _of_transform(function: Any, replayed: Jit[..., Any]) -> list[Goal]:
    """Return the goals that compute a transform of a recorded function by a program made for it."""
    if isinstance(function, ValueAndGrad | Grad):
        return [Goal(replayed, functools.partial(_gradients, function, replayed))]
    if isinstance(function, Jacobian):
        return [Goal(replayed, functools.partial(_jacobians, function, replayed))]
    if isinstance(function, Hessian):
        columns = function.of_one
        gradient = replay_of(columns.function)
        return [Goal(gradient, functools.partial(_hessians, columns, gradient))]
    if isinstance(function, HessianProduct):
        gradient = replay_of(Grad(function.function, *function.settings))
        return [Goal(gradient, functools.partial(_hessian_products, function, gradient), directions=True)]
    return []


def _results(recorded: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instance:
    """Compute the results of a recorded function."""
    arguments = recorded.arguments(args, kwargs)
    trace, results = recorded.run(arguments, _FORWARD, keep_gradients)
    return Instance(arguments, (), trace, _FORWARD, results, trace.result(*_slots(arguments, results)))


def _gradients(
    transform: ValueAndGrad | Grad, recorded: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Instance | None:
    """Compute value and gradient, or the gradient alone."""
    argnums, has_aux = transform.settings
    arguments, selection = recorded.arguments(args, kwargs), select(args, argnums)
    spec = ProgramSpec(VALUE_AND_GRAD, selection.inputs(arguments), values=has_aux)
    trace, results = recorded.run(arguments, functools.partial(choose_spec, spec))
    if choose_spec(spec, trace) is not spec:
        return None
    value, gradient = value_and_gradient(selection, trace, *_slots(arguments, results), has_aux)
    found: Any = value, gradient
    if isinstance(transform, Grad):
        found = (gradient, value[1]) if has_aux else gradient
    return Instance(arguments, (), trace, spec, results, found)


def _jacobians(
    transform: Jacobian, recorded: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Instance | None:
    """Compute Jacobians."""
    arguments, selection = (
        recorded.arguments(args, kwargs),
        select(args, transform.settings[0], transform.real_for),
    )
    choose = functools.partial(transform.choose_spec, selection.inputs(arguments))
    trace, results = recorded.run(arguments, choose)
    if transform.output(trace) < 0:
        return None
    spec = choose(trace)
    program = trace.program(spec)
    if isinstance(program, ForwardJacobianProgram) and program.chunk:
        raise Unsuited
    found = transform.to_output(selection, trace, *_slots(arguments, results))
    return Instance(arguments, (), trace, spec, results, found)


def _hessians(
    columns: Jacobian, gradient: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Instance | None:
    """Compute Hessians by a single argument, which is one leaf."""
    argnums = columns.settings[0]
    if isinstance(argnums, tuple) or select(args, argnums).definitions != [LEAF]:
        return None
    return _jacobians(columns, gradient, args, kwargs)


def _hessian_products(
    transform: HessianProduct, recorded: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Instance:
    """Compute the Hessian times a direction."""
    selection = select(args[:-1], *transform.settings)
    given = directions(selection, args[-1], "hvp")
    arguments = recorded.arguments(selection.args, kwargs)
    spec = ProgramSpec(JVP, selection.inputs(arguments))
    trace, results = recorded.run(arguments, spec, check_forward_rules, given=given)
    found = trace.tangents(*_slots(arguments, results))
    return Instance(arguments, given, trace, spec, results, found)


def _slots(arguments: Arguments, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return output slots that stand for the inputs and the results of a program."""
    inputs = [OutputSlot(k, is_input=True) for k in range(len(arguments.arrays))]
    return inputs, [OutputSlot(k) for k in range(len(results))]
