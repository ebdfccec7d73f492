"""Nested derivatives: the function and its derivative run on the current tape of the thread.

The arguments to differentiate by are copied, and the sweep goes back to the copies only. Tensors that the function
closes over may depend on other arguments, of an outer transform; the derivatives then depend on these, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tapegrad.autodiff.backward import pull_back
from tapegrad.autodiff.graph_view import tensor_on
from tapegrad.autodiff.tensor_sweeps import forward, reverse
from tapegrad.engine.sweep.derivatives import subgraph
from tapegrad.engine.tape.fields.layout import TRACED
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.frontend.conversions.complex_views import made_complex, pairs_of
from tapegrad.frontend.functions.shapes.joining import stack
from tapegrad.frontend.recording.layouts import copied_in_order
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.memory_order import copy_with_strides, is_reordered
from tapegrad.frontend.tensor.modes import EAGER, current, differentiating, restoring
from tapegrad.frontend.tensor.tensor import Tensor, copy_of, from_array, is_tensor
from tapegrad.program.recording.calling import call
from tapegrad.program.recording.signature import numpy_scalar
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import without_jit
from tapegrad.transforms.calling.argnums import Selection, native


class NestedCall:
    """Call of a function, to be differentiated by the leaves of some of its arguments.

    Parameters
    ----------
    function
        The function. Of a ``jit(f)`` it is `f` that is called.
    selection
        Its arguments, and the leaves to differentiate by: Tensors, arrays and floats.
    kwargs
        Its keyword arguments.
    """

    @restoring
    def __init__(
        self, function: Callable[..., Any], selection: Selection, kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self.tape = current()[0]
        copies = [_leaf_on(self.tape, leaf) for leaf in selection.leaves]
        # The function may write to its arguments in place; these Tensors stay on the slots from before.
        self._leaves = [tensor_on(self.tape, copy._slot) for copy in copies]
        with differentiating(self._leaves):
            self.value = call(without_jit(function), selection.substitute(copies), kwargs)

    @property
    def leaves(self) -> list[Tensor]:
        """The leaves, as they were before the call."""
        return self._leaves

    @property
    def slots(self) -> list[int]:
        """The slots of the leaves, from before the call."""
        return [leaf._slot for leaf in self._leaves]

    def pull(self, seeds: Iterable[tuple[Tensor, Any]]) -> list[Tensor]:
        """Return the cotangents of the leaves, given those of some results."""
        roots = [
            (y._slot_on(self.tape), y_bar if type(y_bar) is float else _as_tensor(y_bar, y))
            for y, y_bar in seeds
            if is_tensor(y) and not y.constant
        ]
        if not roots:
            return [_zeros(leaf) for leaf in self._leaves]
        bars = reverse(self.tape, roots, self.slots)
        return [
            _zeros(leaf) if x_bar is None else x_bar for leaf, x_bar in zip(self._leaves, bars, strict=True)
        ]

    def pull_arrays(self, seeds: Iterable[tuple[Tensor, Any]]) -> list[np.ndarray]:
        """Do the same as `pull` by the compiled sweep, and return arrays. The graph is kept."""
        for leaf in self._leaves:
            leaf.null_grad()  # an earlier call may have failed half way
        for y, y_bar in seeds:
            if is_tensor(y) and y.dtype.kind in DIFFERENTIABLE_KINDS:
                pull_back(y, self._leaves, np.array(y_bar, y.dtype, order="C"))
        found = [leaf.grad for leaf in self._leaves]
        return [
            x_bar if isinstance(x_bar, np.ndarray) else np.zeros(leaf.shape, leaf.dtype)
            for leaf, x_bar in zip(self._leaves, found, strict=True)
        ]

    def push(self, tangents: list[Any], results: list[Any]) -> list[Any]:
        """Return the tangents of some results, given those of the leaves."""
        reached = [y for y in results if is_tensor(y) and not y.constant]
        roots = [y._slot_on(self.tape) for y in reached]
        dots = [_as_tensor(x_dot, leaf) for x_dot, leaf in zip(tangents, self._leaves, strict=True)]
        found = dict(zip(roots, forward(self.tape, roots, self.slots, dots), strict=True)) if roots else {}
        known = {id(y): found[slot] for y, slot in zip(reached, roots, strict=True)}
        return [_or_zeros(known.get(id(y)), y) for y in results]

    def jacobian(self, forward: bool) -> list[Tensor]:
        """Return the Jacobian of the result by each leaf, of the shape of the result followed by that of the leaf."""
        y = self.value
        if forward:
            return [self._by_columns(y, k) for k in range(len(self._leaves))]
        rows = [self.pull([(y, seed)]) for seed in _one_hot(y)]
        return [
            _stack_derivatives([row[k] for row in rows], y.shape + leaf.shape, 0, leaf.dtype)
            for k, leaf in enumerate(self._leaves)
        ]

    def _by_columns(self, y: Tensor, k: int) -> Tensor:
        leaf = self._leaves[k]
        columns = []
        for seed in _one_hot(leaf):
            tangents = [seed if j == k else _zeros(other) for j, other in enumerate(self._leaves)]
            columns.append(self.push(tangents, [y])[0])
        return _stack_derivatives(columns, y.shape + leaf.shape, y.ndim, leaf.dtype)

    def to_output(self, results: list[Any], as_tensors: bool) -> list[Any]:
        """Return results as Tensors if the caller passed some, otherwise as arrays where possible."""
        return results if as_tensors else [self.to_array(each) for each in results]

    def aux_to_output(self, aux: Any, as_tensors: bool) -> Any:
        """Do the same for the leaves of what the function returned beside its value."""
        leaves, definition = flatten(aux)
        return unflatten(definition, self.to_output(leaves, as_tensors))

    def to_array(self, value: Any) -> Any:
        """Return a result as an array, unless it depends on Tensors that the function closes over.

        While tracing it stays a Tensor, for it may depend on arrays that differ in a replay. It is made a constant.
        """
        if not is_tensor(value) or self._depends_on_others(value):
            return value
        if self.tape.recording:
            return value if value.constant else value.detach()
        return numpy_scalar(value.data_or_traced().copy())

    def _depends_on_others(self, value: Tensor) -> bool:
        if value._slot < 0:
            return False
        slot = value._slot_on(self.tape)
        if self.tape.recording:
            return bool(value._describe().flags & TRACED)
        own = np.array(self.slots, np.int64)
        return bool(subgraph.has_other_leaf(self.tape.header, slot, id(own)))


def new_leaf(value: Any) -> Tensor:
    """Return a new eager Tensor to differentiate by, with a copy of an array or a number."""
    array = np.asarray(value)
    plain = array.dtype in DTYPE_CODES and not is_reordered(array)
    made = copy_of(array, False) if plain else None
    if made is None:
        made = from_array(copy_with_strides(array).astype(native(array.dtype), copy=False), constant=False)
        made._slot_on(EAGER)
    return made


def _leaf_on(tape: Any, leaf: Any) -> Tensor:
    """Return a differentiable copy of an argument on the tape."""
    if tape is EAGER and not is_tensor(leaf):
        return new_leaf(leaf)
    tensor = leaf if is_tensor(leaf) else from_array(np.asarray(leaf), constant=True)
    with differentiating():
        copy = copied_in_order(tensor, "K", "copy")
    subgraph.make_differentiable(tape.header, copy._slot_on(tape))
    return copy


def _zeros(like: Any) -> Tensor:
    return from_array(np.zeros(like.shape, like.dtype), constant=True)


def _as_tensor(value: Any, like: Tensor) -> Tensor:
    """Return a tangent or a cotangent of `like` as a Tensor of the same dtype."""
    if is_tensor(value):
        return value if value.dtype == like.dtype else value.astype(like.dtype)
    return from_array(np.array(value, like.dtype), constant=True)


def _or_zeros(tangent: Any, like: Any) -> Any:
    """Return the tangent of a result, or zeros if it has none."""
    if tangent is not None:
        return tangent
    array = like if is_tensor(like) else np.asarray(like)
    return _zeros(array if array.dtype.kind in DIFFERENTIABLE_KINDS else np.asarray(array, float))


def _one_hot(like: Tensor) -> Iterator[Tensor]:
    """Yield for each element a Tensor of the same shape that is 1 there and 0 elsewhere."""
    for k in range(like.size):
        seed = np.zeros(like.size, like.dtype)
        seed[k] = 1
        yield from_array(seed.reshape(like.shape), constant=True)


def _stack_derivatives(
    derivatives: list[Tensor], shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]
) -> Tensor:
    """Stack the derivatives by single elements along an axis, and reshape that axis to the elements' shape."""
    if not derivatives:
        return from_array(np.zeros(shape, dtype), constant=True)
    if dtype.kind == "c":
        pairs = stack([pairs_of(each) for each in derivatives], axis)
        return reshape(made_complex(pairs), shape)
    return reshape(stack(derivatives, axis), shape)
