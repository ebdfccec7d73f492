"""`vmap` of Tensors: all instances as one instruction, a custom op whose functions are computed over lanes.

The derivatives of the op are `vmap` of the derivatives of an instance, so they have derivatives of any order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.errors import TracedValueError, name_of
from tapegrad.frontend.functions.reductions.reductions import sum as sum_of
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten, replaced, unflatten
from tapegrad.transforms.base import ConfiguredTransform
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp
from tapegrad.transforms.vmap.lane_goals import goals_of
from tapegrad.transforms.vmap.mapped_axes import Mapped

Over = Callable[[Callable[..., Any], Any], Callable[..., Any]]  # `vmap`, which is above this module


class NoOp(Exception):
    """Raised for results that are no floats, which a custom op cannot have."""


@dataclass(frozen=True)
class Structure:
    """Arguments of an instance, and the numbers of the leaves that are operands of the op.

    Attributes
    ----------
    definition
        The structure of ``(args, kwargs)``.
    fixed
        Value of each leaf that is no array; `None` for operands.
    operands, floats
        Numbers of the leaves that are operands; numbers of the operands that are floats.
    """

    definition: Any
    fixed: tuple[Any, ...]
    operands: tuple[int, ...]
    floats: tuple[int, ...]

    def arguments(self, operands: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and keyword arguments with these operands."""
        args, kwargs = unflatten(self.definition, replaced(self.fixed, self.operands, operands))
        return args, kwargs

    def of_floats(self, function: Callable[..., Any], operands: Sequence[Any]) -> Callable[..., Any]:
        """Return a function of the operands that are floats, which returns the leaves of `function`'s results."""

        def call(*floats: Any) -> tuple[Any, ...]:
            args, kwargs = self.arguments(replaced(operands, self.floats, floats))
            return tuple(flatten(function(*args, **kwargs))[0])

        return call


class _Pull(ConfiguredTransform):
    """Cotangents of the operands of an instance that are floats, given those of the results."""

    name = "vmap"

    def __call__(self, y_bars: Any, operands: Any) -> tuple[Any, ...]:
        (structure,) = self.settings
        function = structure.of_floats(self.function, operands)
        primals = [operands[number] for number in structure.floats]
        return vjp(function, *primals)[1](tuple(y_bars))


class _Push(ConfiguredTransform):
    """Tangents of the results of an instance, given those of the operands that are floats."""

    name = "vmap"

    def __call__(self, operands: Any, x_dots: Any) -> tuple[Any, ...]:
        (structure,) = self.settings
        function = structure.of_floats(self.function, operands)
        primals = tuple(operands[number] for number in structure.floats)
        found: tuple[Any, ...] = jvp(function, primals, tuple(x_dots))[1]
        return found


class LaneOp:
    """Custom op of all instances of a recorded function.

    Parameters
    ----------
    function
        A recorded function of an instance.
    structure
        Arguments of the function.
    axes
        For each operand 0 if the instances are its first dimension, `None` if it is unbatched.
    over
        `vmap`.

    Attributes
    ----------
    definition
        The structure of the results, from the first call on.
    """

    def __init__(
        self, function: Jit[..., Any], structure: Structure, axes: tuple[int | None, ...], over: Over
    ) -> None:
        self._function, self._structure, self._axes = function, structure, axes
        by_argument, _ = replace(structure, fixed=(None,) * len(structure.fixed)).arguments(axes)
        floats = tuple(axes[number] for number in structure.floats)
        self._all = over(function, tuple(by_argument))
        self._pull = over(_Pull(function, structure), (0, axes))
        self._push = over(_Push(function, structure), (axes, floats))
        self.definition: Any = None
        self._checked = False
        name = f"vmap({name_of(function)})"
        self.op = CustomOp(Functions(name, self._forward, self._vjp, self._jvp, True))

    def _forward(self, *operands: Any) -> tuple[Any, ...]:
        args, kwargs = self._structure.arguments(operands)
        if not self._checked:
            self._check(operands)
        results, self.definition = flatten(self._all(*args, **kwargs))
        if not results or not all(isinstance(y, np.ndarray) and y.dtype.kind == "f" for y in results):
            raise NoOp
        return tuple(results)

    def _check(self, operands: Sequence[Any]) -> None:
        """Record one instance, which raises where the function closes over Tensors that are differentiated by."""
        first = [x if axis is None else x[0] for x, axis in zip(operands, self._axes, strict=True)]
        args, kwargs = self._structure.arguments(first)
        goals_of(self._function)[0].instance(args, kwargs)
        self._checked = True

    def _vjp(self, y_bars: Any, ys: Any, *operands: Any) -> tuple[Any, ...]:
        """Return the cotangents of all operands; of an unbatched one, the sum over the instances."""
        found: list[Any] = [None] * len(operands)
        bars = self._pull(tuple(y_bars), tuple(operands))
        for number, x_bar in zip(self._structure.floats, bars, strict=True):
            if self._axes[number] is None:
                x_bar = sum_of(x_bar, 0) if is_tensor(x_bar) else np.sum(x_bar, 0)
            found[number] = x_bar
        return tuple(found)

    def _jvp(self, x_dots: Any, ys: Any, *operands: Any) -> tuple[Any, ...]:
        given = tuple(x_dots[number] for number in self._structure.floats)
        found: tuple[Any, ...] = self._push(tuple(operands), given)
        return found


def over_tensors(function: Jit[..., Any], mapped: Mapped, over: Over) -> tuple[list[Any], Any] | None:
    """Compute all instances as one instruction. Return the leaves of the results, and their structure.

    `None` for results that are no floats, and for a function that cannot be recorded or closes over Tensors that
    gradients may flow to.
    """
    structure = _structure_of(mapped)
    if structure is None:
        return None
    axes = tuple(None if mapped.stacks[k] is None else 0 for k in structure.operands)
    made = LaneOp(function, structure, axes, over)
    try:
        results = made.op(*map(mapped.operand, structure.operands))
    except (NoOp, TracedValueError):
        return None
    return list(results), made.definition


def _structure_of(mapped: Mapped) -> Structure | None:
    """Return the arguments of an instance; `None` if an op cannot have them."""
    operands: list[int] = []
    floats: list[int] = []
    fixed: list[Any] = []
    for k, leaf in enumerate(mapped.leaves):
        if is_tensor(leaf) or isinstance(leaf, np.ndarray | np.generic):
            if leaf.dtype.kind == "f":
                floats.append(len(operands))
            elif leaf.dtype.kind not in "biu":
                return None
            operands.append(k)
            fixed.append(None)
        elif leaf is None or isinstance(leaf, bool | int | float | str):
            fixed.append(leaf)
        else:
            return None
    found = Structure(mapped.definition, tuple(fixed), tuple(operands), tuple(floats))
    return found if floats else None
