"""Nodes of PyTorch's graph: calls of replayed functions, over the memory of tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.interop.frameworks.derived import Derived
from tapegrad.interop.packages import needed
from tapegrad.pytree import flatten, unflatten

_torch: Any = needed("torch", "torch")
# PyTorch asks it itself; without the name `torch.func` raises PyTorch's own error.
_in_transform = getattr(_torch.__dict__["_C"], "_are_functorch_transforms_active", lambda: False)


def call(operation: Derived, leaves: Sequence[Any]) -> Any:
    """Call an operation with tensors and other values; return its result with tensors in place of arrays."""
    this = _NodeCall(operation)
    node = _TransformedNode if _in_transform() else _Node
    results = node.apply(this, *leaves)
    if this.definition is None:
        return results
    return unflatten(this.definition, list(results) if type(results) is tuple else [results])


class _NodeCall:
    """Call of an operation: what its forward step leaves to the others.

    Attributes
    ----------
    operation
        The operation.
    definition
        Structure of the result; `None` for an array.
    wanted
        Positions of the tensors that have derivatives.
    gradient
        The gradient by these, if the result is a number and the gradient may be asked for.
    """

    __slots__ = ("definition", "gradient", "operation", "wanted")

    def __init__(self, operation: Derived) -> None:
        self.operation = operation
        self.definition: Any = None
        self.wanted: tuple[int, ...] = ()
        self.gradient: Any = None

    def run(self, leaves: Sequence[Any], wanted: tuple[int, ...]) -> Any:
        """Compute the result as tensors: one, or a tuple."""
        arrays = [_array(leaf) if _is_tensor(leaf) else leaf for leaf in leaves]
        self.wanted = wanted
        if wanted:
            value, self.gradient = self.operation.value_and_gradient(arrays, wanted)
        else:
            value = self.operation.value(arrays)
        if type(value) is np.float64:
            return _torch.from_numpy(np.asarray(value))
        results, self.definition = flatten(value)
        tensors = tuple([_tensor(each) for each in results])
        return tensors[0] if len(tensors) == 1 else tensors

    def pull(self, ctx: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Return the cotangents of the arguments of a node, `None` for those without one; the call itself has none."""
        if self.gradient is not None and not _torch.is_grad_enabled():
            pulled = [_torch.from_numpy(np.asarray(each)) * cotangents[0] for each in self.gradient]
        else:
            leaves = _saved(ctx)
            pulled = call(self.operation.pullback(len(leaves), self.wanted), (*leaves, *cotangents))
        count = len(ctx.needs_input_grad) - 1
        if len(pulled) == count:
            return None, *pulled
        given = dict(zip(self.wanted, pulled, strict=True))
        return None, *[given.get(k) for k in range(count)]


def is_differentiable(tensor: Any) -> bool:
    """Return whether PyTorch differentiates by tensors of this dtype."""
    found: bool = tensor.is_floating_point() or tensor.is_complex()
    return found


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _torch.Tensor)


def _array(tensor: Any) -> np.ndarray:
    """Return the memory of a tensor as an array; a copy if PyTorch has not yet conjugated or negated it."""
    try:
        array: np.ndarray = tensor.detach().numpy()
    except (TypeError, RuntimeError) as error:
        if tensor.is_conj() or tensor.is_neg():
            return _array(tensor.resolve_conj().resolve_neg())
        raise TypeError(
            f"interop.torch: a tensor of {tensor.dtype}, {tensor.layout}, on {tensor.device} is no NumPy array: {error}"
        ) from None
    return array


def _tensor(value: Any) -> Any:
    """Return a result as a tensor that has its memory for itself."""
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.copy()  # a constant of the function
    return _torch.from_numpy(np.asarray(value))


class _Pulled(_torch.autograd.Function):  # type: ignore[misc]  # PyTorch's classes are not known here
    """A node whose call pulls cotangents back."""

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        """Pull cotangents back."""
        pulled: tuple[Any, ...] = ctx.this.pull(ctx, cotangents)
        return pulled


class _Node(_Pulled):
    """A call outside of the transforms of `torch.func`: the gradient of a number comes with it."""

    @staticmethod
    def forward(ctx: Any, this: _NodeCall, *leaves: Any) -> Any:
        """Run the operation."""
        needed = ctx.needs_input_grad[1:]
        _save(ctx, this, leaves)
        return this.run(leaves, tuple([k for k, need in enumerate(needed) if need]))


class _TransformedNode(_Pulled):
    """A call in a transform of `torch.func`, which PyTorch calls some 100 us later: it inspects signatures."""

    @staticmethod
    def forward(this: _NodeCall, *leaves: Any) -> Any:
        """Run the operation."""
        return this.run(leaves, ())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep the arguments, and which of them have derivatives: a call over a batch has not run `forward`."""
        this, *leaves = inputs
        this.wanted = tuple([k for k, x in enumerate(leaves) if _is_tensor(x) and is_differentiable(x)])
        _save(ctx, this, leaves)
        ctx.save_for_forward(*filter(_is_tensor, leaves))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        """Push tangents forward."""
        this, leaves = ctx.this, _saved(ctx)
        wanted = tuple([k for k in this.wanted if tangents[k] is not None])
        derived = this.operation.pushforward(len(leaves), wanted)
        pushed = call(derived, (*leaves, *[tangents[k] for k in wanted]))
        return pushed[0] if len(pushed) == 1 else tuple(pushed)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], this: _NodeCall, *leaves: Any) -> Any:
        """Run the operation over a batch."""
        result = call(this.operation.batched(tuple(in_dims[1:])), leaves)
        results, this.definition = flatten(result)
        return (results[0], 0) if len(results) == 1 else (tuple(results), (0,) * len(results))


def _save(ctx: Any, this: _NodeCall, leaves: Sequence[Any]) -> None:
    """Keep a call and its arguments for the steps backwards: tensors as PyTorch wants, which frees them."""
    tensors = [leaf for leaf in leaves if _is_tensor(leaf)]
    ctx.this, ctx.others = this, None
    if len(tensors) != len(leaves):
        ctx.others = [None if _is_tensor(leaf) else (leaf,) for leaf in leaves]
    ctx.save_for_backward(*tensors)


def _saved(ctx: Any) -> Sequence[Any]:
    """Return the arguments of the call."""
    if ctx.others is None:
        saved: tuple[Any, ...] = ctx.saved_tensors
        return saved
    tensors = iter(ctx.saved_tensors)
    return [next(tensors) if other is None else other[0] for other in ctx.others]
