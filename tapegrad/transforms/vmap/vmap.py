"""`vmap`: a function of one instance as a function of many."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import NoForwardModeError, OuterTensorError, name_of
from tapegrad.frontend.functions.reductions.predicates import array_equal
from tapegrad.frontend.functions.shapes.joining import stack
from tapegrad.frontend.recording.shape import moveaxis
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import Transform, of_arrays, replayable
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.vmap.lane_call import LaneCall
from tapegrad.transforms.vmap.lane_goals import Goal, Instance, Unsuited, goals_of
from tapegrad.transforms.vmap.lane_op import over_tensors
from tapegrad.transforms.vmap.lane_section import as_instructions
from tapegrad.transforms.vmap.mapped_axes import Axes, Mapped, checked_axes, hashable, is_numeric, spread

_MAX_KNOWN_CALLS = 16  # cache keys of calls that are kept
_MIN_OP_INSTANCES = 8  # of Tensors: smaller batches call the function for each instance


def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> "Vmap":
    """Make a function that computes many instances of `function` at once.

    Parameters
    ----------
    function : callable
        A function of one instance: a ``jit(f)``, or a transform of one, such as ``value_and_grad(jit(f))``. Another
        function is recorded as by `jit`.
    in_axes : int, None, or a tuple of these, default 0
        For each positional argument the axis along which the instances lie; `None` for an argument that all instances
        share. For an argument that is a structure of arrays it may be a structure itself. Keyword arguments are mapped
        over their first axis.
    out_axes : int, None, or a structure of these, default 0
        The axis of the results along which the instances shall lie; `None` for a result that is the same for all.

    Returns
    -------
    callable
        Takes the arguments of `function` with one more axis, and returns its results with one more axis.

    Raises
    ------
    ValueError
        If the mapped axes differ in length or do not exist; or if instances return different shapes.

    Notes
    -----
    The recording of one instance is executed over *lanes*: each of its instructions is executed for up to 128 instances
    at once, and blocks of these are dealt out to threads. An instance that takes another branch than the first one is
    computed by a recording of its own branch, and never by both; one with an error, such as a singular matrix, raises
    it. Singular vectors have the signs that they have in a stack. Sums over lanes add in another order than those of a
    single instance, so last digits may differ from a loop.

    Within a function that is recorded (by `jit`, `compile`, or another `vmap`), all instances are instructions of the
    recording: a replay runs no Python, and is differentiated, compiled and saved like any other. There the instances go
    one branch, which is guarded. Where they do not, for ops of one's own, and with more than 64 instances for the few
    ops that run lane by lane (`convolve` and `correlate`, `searchsorted` among numbers that differ, products with
    sparse matrices that differ, `slogdet` of a stack), all instances are one op of Python's, whose derivatives are
    computed over lanes to any order; fewer than eight are computed one by one. So it is with Tensors outside of a
    recording.

    Without instances results are empty; shapes and dtypes are those for an instance that is made up.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> f = tg.jit(lambda x, w: tg.sum(tg.sin(x) * w))
    >>> x, w = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), np.array([1.0, 10.0])
    >>> tg.vmap(f, in_axes=(0, None))(x, w)
    array([  8.41470985,   2.32049751, -10.34604524])
    >>> tg.vmap(tg.grad(f), in_axes=(0, None))(x, w)
    array([[ 1.        ,  5.40302306],
           [-0.41614684, -9.89992497],
           [-0.65364362,  2.83662185]])
    """
    return Vmap(of_arrays(function), in_axes, out_axes)


class _Known(NamedTuple):
    """Instance of an earlier call, and the captured state of its function."""

    goal: Goal
    instance: Instance
    captured: CapturedState


class Vmap(Transform):
    """Function made by `vmap`."""

    name = "vmap"

    def __init__(self, function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> None:
        super().__init__(function)
        self._known: dict[Any, _Known] = {}  # by the cache keys of calls
        self._in_axes = checked_axes(in_axes, "in_axes")
        self._out_axes = checked_axes(out_axes, "out_axes")

    @functools.cached_property
    def _recorded(self) -> Jit[..., Any]:
        """The function to replay, recorded for this transform if it is not replayed elsewhere."""
        return replayable(self.function) or Jit(self.function)

    def _recorder(self) -> Jit[..., Any]:
        return super()._recorder() or self._recorded

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._in_axes, self._out_axes

    @property
    def key(self) -> Any:
        return type(self), hashable(self._in_axes), hashable(self._out_axes)

    @hides_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mapped = Mapped(args, kwargs, self._in_axes)
        outside = thread.over_lanes
        try:
            thread.over_lanes = (*outside, thread.mode.recorder)
            leaves, definition = self._at_once(mapped) or self._one_by_one(mapped)
        finally:
            thread.over_lanes = outside
        value = unflatten(definition, leaves)
        axes = spread(self._out_axes, value, "out_axes")
        moved = [_moved_out(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)]
        return unflatten(definition, moved)

    def _at_once(self, mapped: Mapped) -> tuple[list[Any], Any] | None:
        """Compute all instances together; `None` if the function must be called for each."""
        inside = mapped.on_tensors or thread.mode.nested
        if mapped.size == 0:
            return _of_none(self.function if inside else self._recorded, mapped)
        if not inside:
            return self._over_lanes(mapped)
        found = None if thread.mode.recorder is None else as_instructions(self.function, mapped)
        if found is None and mapped.size >= _MIN_OP_INSTANCES:
            found = over_tensors(self._recorded, mapped, vmap)
        return found

    def _over_lanes(self, mapped: Mapped) -> tuple[list[Any], Any] | None:
        """Compute all instances by programs over lanes, if the function can be replayed."""
        key = mapped.cache_key
        known = self._known.get(key)
        if known is not None and known.captured is known.goal.recorded.captured and known.captured.holds():
            found = LaneCall(known.goal, mapped, known.instance).results()
            if found is not None:
                return found
        for goal in goals_of(self.function, self._recorded):
            try:
                call = LaneCall(goal, mapped)
                found = call.results()
            except (OuterTensorError, NoForwardModeError):
                continue
            except Unsuited:
                return None
            if found is not None:
                self._remember(key, goal, call.instance)
                return found
        return None

    def _remember(self, key: Any, goal: Goal, instance: Instance | None) -> None:
        """Keep the instance of a call with plain arrays, for the next call with the same cache key."""
        captured = goal.recorded.captured
        if key is None or instance is None or captured is None or (goal.directions and key[-1][-1]):
            return
        if len(self._known) >= _MAX_KNOWN_CALLS:
            self._known.clear()
        self._known[key] = _Known(goal, instance, captured)

    def _one_by_one(self, mapped: Mapped) -> tuple[list[Any], Any]:
        """Call the function for each instance, and stack the leaves of the results."""
        columns: list[list[Any]] = []
        definition = None
        for i in range(mapped.size):
            args, kwargs = mapped.instance(i)
            leaves, found = flatten(self.function(*args, **kwargs))
            if i == 0:
                columns, definition = [[] for _ in leaves], found
            if found != definition:
                raise ValueError("vmap: some instances return another structure than others")
            for column, leaf in zip(columns, leaves, strict=True):
                column.append(leaf)
        return [_stacked(column) for column in columns], definition


def _stacked(values: list[Any]) -> Any:
    """Return the results of all instances as one array or Tensor; other values must be equal."""
    if any(map(is_tensor, values)):
        return stack(values)
    if is_numeric(values[0]):
        return np.stack([np.asarray(value) for value in values])
    if any(value != values[0] for value in values):
        raise ValueError(f"vmap: some instances return {values[0]!r}, others something else")
    return values[0]


def _of_none(function: Callable[..., Any], mapped: Mapped) -> tuple[list[Any], Any]:
    """Return the leaves of the results, each with a first axis of length 0, and their structure.

    Shapes and dtypes are those of the function's results for a made-up instance.

    Raises
    ------
    ValueError
        If the function raises for the made-up instance.
    """
    parts = [None if stack is None else _made_up(stack.shape[1:], stack.dtype) for stack in mapped.stacks]
    args, kwargs = mapped.with_parts(parts)
    try:
        with np.errstate(all="ignore"):
            leaves, definition = flatten(function(*args, **kwargs))
    except (ValueError, IndexError, ArithmeticError) as error:
        raise ValueError(
            "vmap: the mapped axes have length 0, and what the function returns cannot be found out:"
            f" {name_of(function)} has an error for an instance that is made up ({error})"
        ) from error
    return [_none_like(leaf) for leaf in leaves], definition


def _made_up(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return an instance for which few functions have an error: integers are 0, square matrices diag(1, 2, ...)."""
    if dtype.kind not in DIFFERENTIABLE_KINDS:
        return np.zeros(shape, dtype)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        return np.broadcast_to(np.diag(np.arange(1.0, shape[-1] + 1)), shape).astype(dtype)
    return np.ones(shape, dtype)


def _none_like(leaf: Any) -> Any:
    if is_tensor(leaf):
        return from_array(np.zeros((0, *leaf.shape), leaf.dtype), constant=True)
    if not is_numeric(leaf):
        return leaf
    array = np.asarray(leaf)
    return np.zeros((0, *array.shape), array.dtype)


def _moved_out(leaf: Any, axis: int | None) -> Any:
    """Return a result with the instances along an axis, or their common value for the axis `None`."""
    if not is_tensor(leaf) and not isinstance(leaf, np.ndarray):
        return leaf
    if axis is None:
        return _common(leaf)
    if not -leaf.ndim <= axis < leaf.ndim:
        raise ValueError(
            f"vmap: out_axes has the axis {axis} for a result of shape {leaf.shape[1:]} of each instance"
        )
    if axis == 0:
        return leaf
    return moveaxis(leaf, 0, axis) if is_tensor(leaf) else np.moveaxis(np.asarray(leaf), 0, axis)


def _common(leaf: Any) -> Any:
    """Return the result that all instances have in common."""
    if leaf.shape[0] == 0:
        raise ValueError("vmap: out_axes is None for a result, and there is no instance that has one")
    equal = (
        array_equal if thread.mode.recorder is not None else np.array_equal
    )  # recorded, so that replays check it
    values = leaf.data_or_traced() if equal is np.array_equal and is_tensor(leaf) else leaf
    if not equal(values[1:], values[:-1], equal_nan=values.dtype.kind in DIFFERENTIABLE_KINDS):
        raise ValueError("vmap: out_axes is None for a result that differs between instances")
    return leaf[0]
