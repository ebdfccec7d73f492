"""Marginal density as an instruction, with its derivatives by the parameters.

With the joint density's negative logarithm f, its Hessian H by the n effects and the mode u, Laplace's approximation
is ``f + log(det(H)) / 2 - n * log(2 * pi) / 2``. Its gradient is exact: by the parameters directly, and through the
mode by the implicit function theorem. The gradient of the log-determinant is one reverse sweep over the entries of H,
weighted by the inverse of H on its pattern (Kristensen et al., *J. Stat. Softw.* 70(5), 2016; Skaug and Fournier,
*Comput. Stat. Data Anal.* 51, 2006).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.implicit.equation import Equation
from tapegrad.implicit.recorded_root import implied
from tapegrad.implicit.ruled import RuledBody, ruled
from tapegrad.latent.joint import Joint
from tapegrad.latent.mode import FOUND, ModeSearch, find_mode
from tapegrad.pytree import replaced
from tapegrad.transforms.vjp import vjp

_LOG_2_PI = float(np.log(2 * np.pi))


@restoring
def marginal(function: Callable[[Any], Any], start: Any) -> tuple[Any, ModeSearch]:
    """Record minus the logarithm of a marginal density, given that of a joint density as a function of the effects."""
    thread.mode = thread.mode.but(nan_on_failure=True)
    joint = Joint(function)
    search = find_mode(joint, start)
    effects = np.where(search.status == FOUND, search.best, np.nan)  # nan goes into all derivatives
    value = search.value + 0.5 * search.log_det - 0.5 * effects.size * _LOG_2_PI
    constants = np.where(search.status == FOUND, value, np.inf), effects
    return ruled("laplace", _MarginalBody(joint, constants), constants), search


@restoring
def implied_mode(function: Callable[[Any], Any], start: Any) -> tuple[Any, ModeSearch]:
    """Record the mode, with derivatives, and the search for it."""
    thread.mode = thread.mode.but(nan_on_failure=True)
    joint = Joint(function)
    search = find_mode(joint, start)
    return _root(joint, search.best), search


def _root(joint: Joint, effects: Any) -> Any:
    """Return the mode as a function of the parameters."""

    def solved(_: Any, effects: Any, operands: Sequence[Any], right: Any, transposed: bool) -> Any:
        return joint.factor(effects).solve(right)

    return implied(Equation("laplace", joint.gradient, solved), effects, (), joint.value)


class _MarginalBody(RuledBody):
    """Body that hands on a marginal density; its operands are that, and the mode."""

    def __init__(self, joint: Joint, operands: Sequence[Any]) -> None:
        self._joint = joint
        super().__init__(self._used, joint.value, operands)

    def _used(self, value: Any, effects: Any) -> Any:
        return self._joint.value(effects)

    def anew(self, *values: Any) -> Sequence[Any]:
        """Return the operands with the mode as a function of the parameters."""
        value, effects, *outer = values
        with self.standing_in(outer):
            return [value, _root(self._joint, effects), *outer]

    def gradient(self, values: Sequence[Any]) -> list[Any]:
        """Return the gradient by the operands from outside that are floats."""
        joint, effects = self._joint, values[1]
        numbers = [k for k in self.floats if k >= self.given]
        floats = [values[k] for k in numbers]

        def density(effects: Any, *given: Any) -> Any:
            """Return the joint density and the entries of its Hessian, which one reverse sweep differentiates."""
            with self.standing_in(replaced(values, numbers, given)[self.given :]):
                entries, cholesky = joint.entries(effects)
                return (joint.value(effects), entries), cholesky

        def slope(*given: Any) -> Any:
            with self.standing_in(replaced(values, numbers, given)[self.given :]):
                return joint.gradient(effects)

        (_, entries), pull, cholesky = vjp(density, effects, *floats, has_aux=True)
        factor = cholesky.factor(entries)
        weights = np.where(cholesky.rows == cholesky.columns, 0.5, 1.0) * factor.inverse_on_pattern()
        by_effects, *direct = pull((1.0, weights))
        _, pull = vjp(slope, *floats)
        through_mode = pull(-factor.solve(by_effects))
        return [a + b for a, b in zip(direct, through_mode, strict=True)]

    def pull(self, *values: Any) -> Sequence[Any]:
        """Return the cotangents of all operands."""
        *operands, y_bar = values
        zeros = [np.zeros(view.shape, view.dtype) for view in self.inputs[: self.given]]
        return [*zeros, *(y_bar * each for each in self.gradient(operands))]

    def push(self, *values: Any) -> Sequence[Any]:
        """Return the value and its tangent."""
        count = len(self.inputs)
        operands, dots = values[:count], values[count + self.given :]
        terms = [np.sum(a * b) for a, b in zip(self.gradient(operands), dots, strict=True)]
        return [values[0], sum(terms, 0.0 * values[0])]
