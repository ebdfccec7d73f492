"""Joint density of data and random effects, as a function of one vector of effects."""

from collections.abc import Callable
from typing import Any

from tapegrad.autodiff.sparsity.pattern import Pattern
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky, SparseFactor
from tapegrad.transforms.grad import grad, value_and_grad
from tapegrad.transforms.jacobians.sparse import lower_hessian


class Joint:
    """Negative logarithm of a joint density, with its derivatives by the effects.

    Parameters
    ----------
    function
        Takes the vector of effects, and returns a scalar. Parameters are Tensors that it closes over.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.value = function
        self.gradient = grad(function)
        self.value_and_gradient = value_and_grad(function)
        self._hessian = lower_hessian(function, 0)
        self._factorizations: dict[Pattern, SparseCholesky] = {}

    def entries(self, effects: Any) -> tuple[Any, SparseCholesky]:
        """Return the entries of the Hessian's lower triangle, and what factorises it."""
        entries, layout, _ = self._hessian.values.with_layout((effects,), {})
        pattern = layout.patterns
        known = self._factorizations.get(pattern)
        if known is None:
            known = self._factorizations[pattern] = SparseCholesky(pattern)
        return entries, known

    def factor(self, effects: Any) -> SparseFactor:
        """Return the factor of the Hessian."""
        entries, cholesky = self.entries(effects)
        return cholesky.factor(entries)
