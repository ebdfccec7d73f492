"""`vjp`: a value, and the function that pulls cotangents of it back to the arguments."""

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.errors import check_function
from tapegrad.frontend.tensor.array_checks import as_direction, refuse_complex
from tapegrad.frontend.tensor.modes import current, eager_mode, restoring
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.program.recording.calling import aux_arrays, check_numbers, value_and_aux
from tapegrad.program.recording.signature import has_tensor, numpy_scalar
from tapegrad.program.streams.spec import VJP, ProgramSpec
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import Derivative
from tapegrad.transforms.calling.argnums import Selection, select
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.nested import NestedCall
from tapegrad.transforms.primals import Primals


class Pullback(Uncopied):
    """Function that maps cotangents of a value to those of the arguments; made by `vjp`.

    It is copied as a function is, by being itself, and not pickled.
    """

    def __init__(self, pull: Callable[[Any], tuple[Any, ...]]) -> None:
        self._pull = pull

    @hides_frames
    def __call__(self, y_bar: Any) -> tuple[Any, ...]:
        return self._pull(y_bar)

    def __copy__(self) -> "Pullback":
        return self

    def __deepcopy__(self, memo: Any) -> "Pullback":
        return self


@overload
def vjp(
    function: Callable[..., Any], *primals: Any, has_aux: Literal[False] = False
) -> tuple[Any, Pullback]: ...
@overload
def vjp(function: Callable[..., Any], *primals: Any, has_aux: Literal[True]) -> tuple[Any, Pullback, Any]: ...
@hides_frames
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute the value of `function`, and a function that pulls a cotangent of it back to the arguments.

    Parameters
    ----------
    function : callable
        A function of arrays, or of structures of arrays, whose result is a Tensor or a structure of Tensors. Of a
        ``jit(f)`` both are replayed.
    *primals
        The arguments, all of which are differentiated by: floats, float arrays, or structures of them.
    has_aux : bool, default False
        Whether `function` returns a pair of the value and of anything else, which is not differentiated.

    Returns
    -------
    value
        The result of `function`.
    pullback : callable
        Takes a cotangent of the structure, shapes and dtypes of the value and returns a tuple with the cotangent of
        each argument. It may be called several times, and belongs to this value: later changes of the arguments, or of
        arrays and variables that the function sees, have no effect on it.
    aux
        With `has_aux` only: what else `function` returned.

    Raises
    ------
    ValueError
        By `pullback`, for a cotangent of another structure or shape than the value.
    TypeError
        For a cotangent that is no number, or complex of a real value, and where the function returns something that
        has no derivative.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> value, pullback = tg.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> value
    array([3., 6.])
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 3., 30.]), np.float64(21.0))
    """
    check_function("vjp", function)
    selection = select(primals, tuple(range(len(primals))))
    value, pullback, aux = _VJP.compute(function, has_tensor(primals, {}), selection, has_aux)
    return (value, pullback, aux) if has_aux else (value, pullback)


_ValueSpec = tuple[tuple[int, ...], np.dtype[Any]]  # shape and dtype of a leaf of the value


def _checked(y_bar: Any, values: list[_ValueSpec], definition: Any) -> list[Any]:
    """Return the leaves of a cotangent as Tensors or arrays, or raise if they do not fit the value."""
    given, own = flatten(y_bar)
    if own != definition:
        raise ValueError("pullback: the cotangent has another structure than the function's value")
    bars = [_numbers(bar, dtype) for bar, (_, dtype) in zip(given, values, strict=True)]
    for k, (bar, (shape, _)) in enumerate(zip(bars, values, strict=True)):
        which = f" (leaf {k})" if len(values) > 1 else ""
        if bar.shape != shape:
            raise ValueError(
                f"pullback: a cotangent of shape {bar.shape} for a value of shape {shape}{which}"
            )
    return bars


def _numbers(y_bar: Any, dtype: np.dtype[Any]) -> Any:
    """Return a cotangent of values of a dtype as a Tensor or an array."""
    if not is_tensor(y_bar):
        return as_direction(y_bar, "pullback: a cotangent", dtype)
    if y_bar.dtype.kind == "c" and dtype.kind != "c":
        refuse_complex(y_bar.dtype, "pullback: a cotangent")
    return y_bar


def _per_primal(selection: Selection, cotangents: list[Any]) -> tuple[Any, ...]:
    """Return the cotangents of the leaves as one for each primal."""
    pulled: tuple[Any, ...] = selection.unflatten_results(cotangents)
    return pulled


def _specs(values: list[Any]) -> list[_ValueSpec]:
    """Return shape and dtype of each value."""
    numbers = [value if is_tensor(value) else np.asarray(value) for value in values]
    return [(value.shape, value.dtype) for value in numbers]


class _Vjp(Derivative[tuple[Any, Pullback, Any]]):
    """Compute value, pullback, and what else the function returned."""

    def _nested(
        self, function: Callable[..., Any], selection: Selection, has_aux: bool
    ) -> tuple[Any, Pullback, Any]:
        """Run the function on the current tape of the thread."""
        run = NestedCall(function, selection)
        value, aux = value_and_aux("vjp", run.value, has_aux)
        values, definition = flatten(value)
        check_numbers("vjp", values)
        as_tensors, specs = has_tensor(selection.args, {}), _specs(values)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bars = _checked(y_bar, specs, definition)
            pulled = run.pull(zip(values, bars, strict=True))
            return _per_primal(selection, run.to_output(pulled, as_tensors or has_tensor((y_bar,), {})))

        value = unflatten(definition, run.to_output(values, as_tensors))
        return value, Pullback(pullback), run.aux_to_output(aux, as_tensors)

    @restoring
    def _eager(
        self, function: Callable[..., Any], selection: Selection, has_aux: bool
    ) -> tuple[Any, Pullback, Any]:
        """Run the function on the eager tape, which each call of the pullback sweeps."""
        with eager_mode():
            run = NestedCall(function, selection)
            value, aux = value_and_aux("vjp", run.value, has_aux)
            values, definition = flatten(value)
            check_numbers("vjp", values)
            aux = aux_arrays(aux)
            to_output = [numpy_scalar(np.array(y.data_or_traced() if is_tensor(y) else y)) for y in values]
        alone, specs = lock(), _specs(to_output)  # one sweep at a time: its gradients are in the leaves

        @restoring
        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bars = _checked(y_bar, specs, definition)
            if current()[0] is run.tape and any(is_tensor(bar) for bar in bars):
                return _per_primal(selection, run.pull(zip(values, bars, strict=True)))
            with alone, eager_mode():
                pulled = run.pull_arrays(zip(values, bars, strict=True))
            return _per_primal(selection, [numpy_scalar(g) for g in pulled])

        return unflatten(definition, to_output), Pullback(pullback), aux

    def _replay(
        self, function: Jit[..., Any], selection: Selection, has_aux: bool
    ) -> tuple[Any, Pullback, Any]:
        """Replay the forward sweep now, and the reverse sweep at each call of the pullback."""
        arguments = function.arguments(selection.args, {})
        arguments.arrays[:] = [array.copy() for array in arguments.arrays]  # the caller's may change
        spec = ProgramSpec(VJP, selection.inputs(arguments))
        trace, (primals,) = function.run(arguments, spec, by=Primals.computed)
        value, aux = value_and_aux("vjp", trace.result(arguments.arrays, primals.outputs()), has_aux)
        values, definition = flatten(value)
        check_numbers("vjp", values)
        specs = _specs(values)
        # Among the leaves, those of `aux` behind
        seeded = [trace.computed[k] for k in primals.program.seeded]
        outputs = [primals.program.outputs[k] for k in primals.program.seeded]

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bars = _checked(y_bar, specs, definition)
            seeds = [
                bars[k] if k < len(bars) else np.zeros(seed.shape, seed.dtype)
                for k, seed in zip(seeded, outputs, strict=True)
            ]
            pulled = primals.pull(seeds)
            return _per_primal(selection, [numpy_scalar(g) for g in pulled])

        return value, Pullback(pullback), aux


_VJP = _Vjp()
