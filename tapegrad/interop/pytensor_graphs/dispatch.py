"""Conversion of PyTensor's Ops to functions: `tapegrad_funcify`, which users extend, and the text that it may give."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tapegrad.frontend.tensor.tensor import is_tensor


@dataclass(frozen=True)
class Expression:
    """A node as Python text.

    Parameters
    ----------
    text
        The expression, with ``{0}``, ``{1}``, ... for the inputs of the node: ``"np.exp({0})"``.
    values
        What the text names as ``<name>``, by these names. `np` and `special` are there.
    dtypes
        The dtypes that operands are cast to first, by their numbers.
    """

    text: str
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    dtypes: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))


@functools.singledispatch
def tapegrad_funcify(op: Any, node: Any = None, **kwargs: Any) -> Callable[..., Any] | Expression:
    """Return a function that computes an Op of PyTensor's with Tensors.

    A `functools.singledispatch` by the class of the Op, as PyTensor's other backends have one. Register a function for
    a class of your own with ``tapegrad_funcify.register(MyOp)``.

    Parameters
    ----------
    op : pytensor.graph.Op
        The Op.
    node : pytensor.graph.Apply, optional
        Its use in a graph, with types of inputs and outputs.
    **kwargs
        Nothing yet.

    Returns
    -------
    callable
        A function of the node's inputs, arrays or Tensors, that returns its output, or a tuple of several. It is
        written with NumPy's, SciPy's or tapegrad's functions.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> @tg.interop.tapegrad_funcify.register(MyOp)  # doctest: +SKIP
    ... def _(op, node=None, **kwargs):
    ...     return lambda x, scale: np.sin(x) / scale
    """
    return Unknown(op, node)


def listed(count: int, first: int = 0) -> str:
    """Return the text of the inputs from `first` on, with commas between."""
    return ", ".join(f"{{{j}}}" for j in range(first, count))


def axes_text(axes: Any) -> Any:
    """Return axes as NumPy's functions take them: a number for a single one."""
    return axes[0] if len(axes) == 1 else tuple(axes)


def register_texts(texts: Mapping[type, str], **values: Any) -> None:
    """Register texts of Ops by their classes, with ``{op.axis}`` for an attribute, and the values that they name."""
    for kind, text in texts.items():
        named = {name: value for name, value in values.items() if f"<{name}>" in text}
        tapegrad_funcify.register(kind)(functools.partial(_filled, text, named))


def _filled(text: str, values: Mapping[str, Any], op: Any, node: Any = None, **_: Any) -> Expression:
    return Expression(re.sub(r"\{op\.(\w+)\}", lambda found: str(getattr(op, found[1])), text), values)


class Unknown:
    """An Op without a function here. PyTensor computes it of arrays; Tensors are refused.

    Parameters
    ----------
    op
        The Op.
    node
        Its use in a graph.
    """

    def __init__(self, op: Any, node: Any) -> None:
        self._op, self._node = op, node

    def __call__(self, *values: Any) -> Any:
        """Compute the outputs of arrays: one, or a tuple."""
        if any(map(is_tensor, values)):
            kind = type(getattr(self._op, "scalar_op", self._op))
            raise NotImplementedError(
                f"tapegrad.interop has no function for PyTensor's {kind.__name__} ({kind.__module__}), which computes"
                f" {self._node}. Register one, by functions of NumPy's or tapegrad's:"
                f" @tg.interop.tapegrad_funcify.register({kind.__name__})"
            )
        storage = {variable: [value] for variable, value in zip(self._node.inputs, values, strict=True)}
        storage |= {variable: [None] for variable in self._node.outputs}
        computed = {variable: [variable in self._node.inputs] for variable in storage}
        self._op.make_thunk(self._node, storage, computed, [], impl="py")()
        outputs = tuple(storage[variable][0] for variable in self._node.outputs)
        return outputs if len(outputs) > 1 else outputs[0]
