"""`jvp`: derivatives along a direction, by one forward sweep."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from tapegrad.autodiff import tensor_sweeps
from tapegrad.engine import kernel_table
from tapegrad.engine.status import raise_for
from tapegrad.engine.sweep.derivatives import tangent
from tapegrad.engine.tape.fields.layout import E_KERNEL, E_STATUS
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.errors import check_function
from tapegrad.frontend.recording.shape import contiguous, transpose
from tapegrad.frontend.tensor.array_checks import as_direction, refuse_complex
from tapegrad.frontend.tensor.memory_order import axes_as_they_lie
from tapegrad.frontend.tensor.modes import EAGER, differentiating, eager_mode, no_grad, restoring, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.frontend.words.frames import hide_frames
from tapegrad.program.recording.calling import aux_arrays, call, check_numbers, value_and_aux
from tapegrad.program.recording.constant_results import zeros_like
from tapegrad.program.recording.signature import has_tensor, numpy_scalar
from tapegrad.program.streams.spec import JVP, ProgramSpec
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import Derivative
from tapegrad.transforms.calling.argnums import Selection, select
from tapegrad.transforms.calling.call_structures import call_arguments
from tapegrad.transforms.calling.fast_path import direction_path
from tapegrad.transforms.jit import Jit, error_of
from tapegrad.transforms.nested import NestedCall


@overload
def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[Any, Any]: ...
@overload
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[Any, Any, Any]: ...
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute the value of a function and its derivative along a direction, in one forward sweep.

    Parameters
    ----------
    function : callable
        A function of any structure of floats and float arrays. A ``jit(f)`` is replayed.
    primals : tuple or list
        Its arguments, with one entry for each.
    tangents : tuple or list
        The direction: the same structure as `primals`, with arrays of the same shapes.
    has_aux : bool, default False
        Whether `function` returns a pair of the value and of anything else, which is not differentiated.

    Returns
    -------
    value, tangent
        Both in the structure of the function's result. The tangent is the Jacobian times the direction; where the
        result does not depend on the arguments, it is zero.
    aux
        With `has_aux` only: what else `function` returned.

    Raises
    ------
    ValueError
        When structure or shapes of primals and tangents differ.
    TypeError
        When a primal or a tangent is not a float or an array of floats.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jvp(lambda x, y: tg.sum(x * y), (np.array([1.0, 2.0]), 3.0), (np.array([1.0, 0.0]), 10.0))
    (np.float64(9.0), np.float64(33.0))
    """
    result = _short(function, primals, tangents) if type(function) is Jit and not has_aux else None
    if result is not None:
        return result
    check_function("jvp", function)
    try:
        selection, directions = _paired(primals, tangents)
        on_tensors = has_tensor((primals, tangents), {})
        value, tangent, aux = _JVP.compute(
            function, on_tensors, selection, directions, tuple(tangents), has_aux
        )
    except Exception as error:
        hide_frames(error)
        raise
    return (value, tangent, aux) if has_aux else (value, tangent)


def _short(
    function: Jit[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any] | None:
    """Replay a function by its fast path, if there is one."""
    path = function.direction
    if path is None or len(primals) != len(tangents) or thread.mode.no_fast_derivative:
        return None
    found: tuple[Any, Any] | None = path(*primals, *tangents)
    return found


# --- arguments ---------------------------------------------------------------------------------------------------


def _paired(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Selection, list[np.ndarray]]:
    """Return the primals as arguments to differentiate by, and the tangents as arrays of the same shapes and dtypes."""
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple | list):
            raise TypeError(f"jvp: {name} must be a tuple or a list of arguments, not {type(value).__name__}")
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    selection = select(tuple(primals), tuple(range(len(primals))))
    return selection, directions(selection, tuple(tangents), "jvp")


def directions(selection: Selection, given: Any, name: str) -> list[Any]:
    """Return the tangents of the arguments that were selected, in order, if their structures match."""
    parts = given if isinstance(selection.argnums, tuple) else (given,)
    if not isinstance(parts, tuple | list) or len(parts) != len(selection.numbers):
        raise ValueError(f"{name}: there must be a tangent for each of {len(selection.numbers)} arguments")
    found = []
    for number, part in zip(selection.numbers, parts, strict=True):
        (leaves, definition), (dots, other) = flatten(selection.args[number]), flatten(part)
        if definition != other:
            raise ValueError(
                f"{name}: the tangent of argument {number} has another structure than the argument"
            )
        found += [_direction(leaf, dot, number, name) for leaf, dot in zip(leaves, dots, strict=True)]
    return found


def _direction(leaf: Any, value: Any, k: int, name: str) -> Any:
    """Return a tangent in the primal's shape and dtype: a Tensor, or an array in C order."""
    primal = leaf if is_tensor(leaf) else np.asarray(leaf)
    what = f"{name}: the tangent of argument {k}"
    array = value if is_tensor(value) else as_direction(value, what, primal.dtype)
    if array.dtype.kind == "c" and primal.dtype.kind != "c":
        refuse_complex(array.dtype, what)
    if array.dtype.kind not in DIFFERENTIABLE_KINDS:
        raise TypeError(
            f"{name}: the tangent of argument {k} is of dtype {array.dtype}; convert it with astype(float)"
        )
    if array.shape != primal.shape:
        raise ValueError(
            f"{name}: the tangent of argument {k} has shape {array.shape}, but the argument shape {primal.shape}"
        )
    if is_tensor(array):
        return array
    dtype = (primal if primal.dtype.kind in DIFFERENTIABLE_KINDS else array).dtype.newbyteorder("=")
    return np.array(array, dtype if dtype in DTYPE_CODES else np.float64, order="C")


# --- on Tensors --------------------------------------------------------------------------------------------------


def nested_jvp(
    function: Callable[..., Any], selection: Selection, directions: list[Any], has_aux: bool = False
) -> tuple[Any, Any, Any]:
    """Compute value and tangent as Tensors, on the current tape of the thread; and what else the function returned."""
    run = NestedCall(function, selection)
    own, aux = value_and_aux("jvp", run.value, has_aux)
    results, definition = flatten(own)
    check_numbers("jvp", results)
    as_tensors = has_tensor((selection.args, directions), {})
    value, tangent = (run.to_output(each, as_tensors) for each in (results, run.push(directions, results)))
    aux = run.aux_to_output(aux, as_tensors)
    return unflatten(definition, value), unflatten(definition, tangent), aux


# --- by replay ---------------------------------------------------------------------------------------------------


def _replayed_jvp(
    function: Jit[..., Any], selection: Selection, directions: list[np.ndarray], tangents: Any, has_aux: bool
) -> tuple[Any, Any, Any]:
    """Replay value and tangent, and what else the function returned."""
    arguments = function.arguments(selection.args, {})
    spec = ProgramSpec(JVP, selection.inputs(arguments), values=True)
    trace, results = function.run(arguments, spec, given=directions)
    half = len(results) // 2
    if not has_aux and not thread.mode.nan_on_failure:
        call = call_arguments(arguments, selection.args, {}, tangents)
        function.direction = direction_path(function, trace, spec, call)
    value, aux = value_and_aux("jvp", trace.result(arguments.arrays, results[:half]), has_aux)
    check_numbers("jvp", flatten(value)[0])
    tangent = trace.tangents(arguments.arrays, results[half:])
    return value, tangent[0] if has_aux else tangent, aux


def _by_steps(array: np.ndarray, axes: list[int] | None) -> np.ndarray:
    """Return an array with its axes in another order, in C order."""
    return array if axes is None else np.asarray(array.transpose(axes), order="C")


def _copied_like(leaf: Tensor, axes: list[int] | None, given: np.ndarray) -> Tensor:
    """Return a copy of a leaf with its axes in their places, in the memory order of the array that it is made of.

    Of an array with gaps it is in C order: 'A' would tell the two apart.
    """
    if axes is None:
        return contiguous(leaf)
    back = np.argsort(axes).tolist()
    if given.transpose(axes).flags.c_contiguous:
        return transpose(contiguous(leaf), back)
    return contiguous(transpose(leaf, back))


# --- by a sweep over the eager tape ------------------------------------------------------------------------------


@restoring
def eager_jvp(
    function: Callable[..., Any], selection: Selection, directions: list[np.ndarray], has_aux: bool = False
) -> tuple[Any, Any, Any]:
    """Run the function on the eager tape, and compute the tangent by a sweep over it."""
    with eager_mode():
        given = [
            np.asarray(leaf, x_dot.dtype) for leaf, x_dot in zip(selection.leaves, directions, strict=True)
        ]
        # Tangents lie as whole buffers do, so the axes of both are in the order of their steps.
        orders = [None if array.flags.c_contiguous else axes_as_they_lie(array) for array in given]
        directions = [_by_steps(*each) for each in zip(directions, orders, strict=True)]
        leaves = [
            from_array(np.array(_by_steps(*each)), constant=False) for each in zip(given, orders, strict=True)
        ]
        with differentiating(leaves):
            # The function may write to its arguments.
            copies = [_copied_like(*each) for each in zip(leaves, orders, given, strict=True)]
            returned = call(function, selection.substitute(copies))
        value, aux = value_and_aux("jvp", returned, has_aux)
        results, definition = flatten(value)
        check_numbers("jvp", results)
        found = [y for y in results if is_tensor(y) and not y.constant]
        arrays = iter(push(leaves, directions, found))
        dots = [numpy_scalar(next(arrays)) if is_tensor(y) and not y.constant else _fixed(y) for y in results]
        values = [numpy_scalar(np.array(y.data_or_traced() if is_tensor(y) else y)) for y in results]
        aux = aux_arrays(aux)
    return unflatten(definition, values), unflatten(definition, dots), aux


def push(leaves: list[Any], directions: list[np.ndarray], results: list[Any]) -> list[np.ndarray]:
    """Return the tangents of eager results, given those of leaves, each of which is a whole buffer."""
    tangents = [np.zeros(y.shape, y.dtype) for y in results]
    addresses = [_ids(directions), _ids(tangents)]
    slots = [np.array([t._slot_on(EAGER) for t in group], np.int64) for group in (leaves, results)]
    missing = np.zeros(2, np.int64)
    status = E_KERNEL
    while status == E_KERNEL:
        status = tangent.tangent_sweep(
            EAGER.header,
            id(slots[0]),
            id(addresses[0]),
            id(slots[1]),
            id(addresses[1]),
            1,
            id(missing),
        )
        if status == E_KERNEL and kernel_table.row(int(missing[0])).kind == "callback":
            return _push_by_rules(leaves, directions, results)
        if status == E_KERNEL:
            kernel_table.load_code(int(missing[0]), int(missing[1]), 2)
    if status <= E_STATUS:
        raise error_of(E_STATUS - status)
    if status < 0:
        raise_for(status, "jvp", [])
    return tangents


def _push_by_rules(leaves: list[Any], directions: list[np.ndarray], results: list[Any]) -> list[np.ndarray]:
    """Do the same as `push` through custom ops, whose functions may change the tape meanwhile."""
    roots, inputs = ([t._slot_on(EAGER) for t in group] for group in (results, leaves))
    with no_grad():
        dots = tensor_sweeps.forward(
            EAGER, roots, inputs, [from_array(x_dot, constant=True) for x_dot in directions]
        )
    return [
        np.zeros(y.shape, y.dtype) if y_dot is None else np.array(y_dot.data)
        for y, y_dot in zip(results, dots, strict=True)
    ]


def _ids(arrays: list[np.ndarray]) -> np.ndarray:
    return np.array([id(array) for array in arrays], np.int64)


def _fixed(value: Any) -> Any:
    """Return the tangent of a result that does not depend on the arguments."""
    return zeros_like(value.data_or_traced() if is_tensor(value) else value)


class _Jvp(Derivative[tuple[Any, Any, Any]]):
    """Value and tangent, and what else the function returned."""

    def _nested(
        self,
        function: Callable[..., Any],
        selection: Selection,
        directions: list[Any],
        given: Any,
        has_aux: bool,
    ) -> tuple[Any, Any, Any]:
        return nested_jvp(function, selection, directions, has_aux)

    def _replay(
        self, function: Jit[..., Any], selection: Selection, directions: list[Any], given: Any, has_aux: bool
    ) -> tuple[Any, Any, Any]:
        return _replayed_jvp(function, selection, directions, given, has_aux)

    def _eager(
        self,
        function: Callable[..., Any],
        selection: Selection,
        directions: list[Any],
        given: Any,
        has_aux: bool,
    ) -> tuple[Any, Any, Any]:
        return eager_jvp(function, selection, directions, has_aux)


_JVP = _Jvp()
