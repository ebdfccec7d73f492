"""Sums over parts of a function of a vector, with derivatives of all orders."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.custom_op import custom_op
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.optimize.sharding.engines.engine import Engine
from tapegrad.optimize.sharding.journal import Journal
from tapegrad.optimize.sharding.recordings import EvaluationPoint, Makes, PartRecordings, compiled_by
from tapegrad.optimize.sharding.tree import Value
from tapegrad.transforms.grad import value_and_grad
from tapegrad.transforms.jacobians.hessian import hessian, hvp
from tapegrad.transforms.jit import Jit, jit
from tapegrad.transforms.jvp import jvp

_VALUE, _GRADIENT, _PRODUCT, _HESSIAN = (
    ("value", compiled_by(lambda function: function)),
    ("gradient", compiled_by(value_and_grad)),
    ("product", compiled_by(hvp)),
    ("hessian", compiled_by(hessian)),
)


class PartsSum:
    """Sum over parts of a function of a vector.

    Parameters
    ----------
    function
        Takes a vector, a part and further arguments, and returns a scalar.
    engine
        What evaluates the parts.
    journal
        The file of evaluations; `None` if there is none.
    name
        What tells it apart from other sums in the journal.
    """

    def __init__(self, function: Jit[..., Any], engine: Engine, journal: Journal | None, name: str) -> None:
        self._function, self._engine, self._journal, self._name = function, engine, journal, name
        self._recordings: dict[tuple[str, bool], PartRecordings] = {}

    def evaluate(
        self, kind: tuple[str, Makes], point: EvaluationPoint, function: Jit[..., Any] | None = None
    ) -> Value:
        """Return the sum of what an evaluator gives of each part.

        Parameters
        ----------
        kind
            The name of what is computed, and what makes its evaluators.
        point
            Where.
        function
            What evaluators are made of; by default the function.
        """
        name, make = kind
        key = name, thread.mode.nan_on_failure
        recordings = self._recordings.get(key)
        if recordings is None:
            made = PartRecordings(function or self._function, make)
            recordings = self._recordings.setdefault(key, made)  # of another thread's, if that was faster
        recordings.refresh()
        compute = partial(self._engine.total, recordings)
        if self._journal is None:
            return compute(point)
        mode = ", nan on failure" if thread.mode.nan_on_failure else ""
        return self._journal.answer(f"{name} of {self._name}{mode}", point, compute)

    def value(self, x: np.ndarray, *args: Any) -> Any:
        return self.evaluate(_VALUE, EvaluationPoint(x, args))[0]

    def value_and_grad(self, x: np.ndarray, *args: Any) -> tuple[Any, np.ndarray]:
        value, gradient = self.evaluate(_GRADIENT, EvaluationPoint(x, args))
        return value, gradient

    def product(self, x: np.ndarray, direction: np.ndarray, *args: Any) -> np.ndarray:
        product: np.ndarray = self.evaluate(_PRODUCT, EvaluationPoint(x, args, (direction,)))[0]
        return product

    def hessian(self, x: np.ndarray, *args: Any) -> np.ndarray:
        matrix: np.ndarray = self.evaluate(_HESSIAN, EvaluationPoint(x, args))[0]
        return matrix

    # --- as an op ------------------------------------------------------------------------------------------------

    @cached_property
    def op(self) -> Callable[..., Any]:
        """The op of value and gradient. A gradient needs no second evaluation, and has derivatives by another op."""
        return custom_op(
            "sharded", self.value_and_grad, self._pull_back, self._push_forward, differentiable=True
        )

    def _pull_back(self, y_bar: Any, y: Any, x: Any) -> Any:
        value_bar, gradient_bar = y_bar
        x_bar = value_bar * y[1]
        if is_tensor(gradient_bar) or gradient_bar.any():
            x_bar = x_bar + self._second(x, gradient_bar)
        return x_bar

    def _push_forward(self, x_dots: Any, y: Any, x: Any) -> Any:
        (x_dot,) = x_dots
        return reductions.sum(y[1] * x_dot), self._second(x, x_dot)

    def _second(self, x: Any, direction: Any) -> Any:
        """Return the product of the Hessian with a direction."""
        if not is_tensor(x) and not is_tensor(direction):
            return self.product(x, direction)
        return self._along.op(concatenate((x, direction)))[1][: x.shape[0]]

    @cached_property
    def _along(self) -> "PartsSum":
        """The derivative along a direction, a function of the point and the direction in one vector."""
        function = self._function

        def along(both: Any, part: Any) -> Any:
            size = both.shape[0] // 2
            return jvp(lambda x: function(x, part), (both[:size],), (both[size:],))[1]

        return PartsSum(jit(along), self._engine, self._journal, f"{self._name} along a direction")
