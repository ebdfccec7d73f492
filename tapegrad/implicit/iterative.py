"""Systems with the Jacobian of a residual by products alone: conjugate gradients, GMRES, or simple iteration.

The iterations are loops in compiled code. The derivatives of a solution are those of its linear equation, by further
systems of the same kind.

References: Saad, "Iterative Methods for Sparse Linear Systems", 2003, sections 6.5 and 6.7.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.frontend.functions.matrices.least_squares import lstsq
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.equation import Equation, Residual
from tapegrad.implicit.recorded_root import implied
from tapegrad.loops.scan import scanned
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.stop_gradient import stop_gradient
from tapegrad.transforms.vjp import vjp

Product = Callable[[Any], Any]
_TOLERANCES = {
    np.dtype(np.float64): 1e-12,
    np.dtype(np.float32): 1e-6,
}  # of the residual, relative to the right side
_MAX_BASIS = 30  # vectors of GMRES between restarts
_MAX_RESTARTS, _MAX_PRODUCTS_PER_UNKNOWN = 20, 10
_MAX_ITERATIONS = 10_000  # of a contraction


@dataclass(frozen=True)
class IterativeSystem:
    """Systems with the Jacobian, by an iteration.

    Attributes
    ----------
    name
        What messages call it.
    kind
        "gmres"; "cg" for Jacobians that are symmetric and positive definite; or "iterate" for those of ``f(x) - x``
        where f is a contraction.
    """

    name: str
    kind: str

    def __call__(
        self, residual: Residual, root: Any, operands: Sequence[Any], right: Any, transposed: bool
    ) -> Any:
        def product(root: Any, operands: Sequence[Any], v: Any) -> Any:
            def of_root(root: Any) -> Any:
                return residual(root, *operands)

            return vjp(of_root, root)[1](v)[0] if transposed else jvp(of_root, (root,), (v,))[1]

        fixed_root, fixed, fixed_right = stop_gradient((root, list(operands), right))
        found = stop_gradient(_KINDS[self.kind](lambda v: product(fixed_root, fixed, v), fixed_right))
        if thread.mode.recorder is None and all(
            not is_tensor(x) or x.constant for x in (root, right, *operands)
        ):
            return found

        def linear(v: Any, root: Any, right: Any, *operands: Any) -> Any:
            return product(root, operands, v) - right

        def solved(linear: Residual, v: Any, given: Sequence[Any], side: Any, again: bool) -> Any:
            root, _, *operands = given
            return self(residual, root, operands, side, transposed != again)

        return implied(Equation(self.name, linear, solved), found, [root, right, *operands], residual)


def conjugate_gradients(product: Product, right: Any) -> Any:
    """Solve a system with a symmetric positive definite matrix."""
    n = right.shape[0]
    least = _TOLERANCES[right.dtype] ** 2 * np.sum(right * right)

    def improved(state: Any) -> Any:
        count, x, r, p, size = state
        moved = product(p)
        step = size / np.sum(p * moved)
        x, r = x + step * p, r - step * moved
        after = np.sum(r * r)
        return count + 1, x, r, r + after / size * p, after

    begin = np.zeros((), np.int64), right * 0, right, right, np.sum(right * right)
    return repeated(
        lambda state: state[4] > least, improved, begin, _MAX_RESTARTS + _MAX_PRODUCTS_PER_UNKNOWN * n
    )[1]


def gmres(product: Product, right: Any) -> Any:
    """Solve a system by GMRES, which is started again after `_MAX_BASIS` products."""
    n, dtype = right.shape[0], right.dtype
    m = min(_MAX_BASIS, n)
    wanted = _TOLERANCES[dtype] * np.sqrt(np.sum(right * right))
    tiny = np.asarray(np.finfo(dtype).tiny, dtype)

    def extended(basis: Any, k: Any) -> Any:
        new = product(basis[k])
        column = np.zeros(m + 1, dtype)
        for _ in range(2):  # once more, for orthogonality to rounding
            part = basis @ new
            column, new = column + part, new - basis.T @ part
        size = np.sqrt(np.sum(new * new))
        is_next = (np.arange(m + 1) == k + 1).astype(dtype)
        # beyond an invariant space nothing is left but rounding
        grows = size > 10 * np.finfo(dtype).eps * np.sqrt(np.sum(column * column))
        new = np.where(grows, new / np.maximum(size, tiny), 0.0)
        return basis + is_next[:, None] * new, column + is_next * np.where(grows, size, 0.0)

    def restarted(state: Any) -> Any:
        count, x, r, size = state
        first = (np.arange(m + 1) == 0).astype(dtype)
        basis, columns = scanned(extended, first[:, None] * (r / np.maximum(size, tiny)), np.arange(m))
        weights = lstsq(columns.T, first * size)[0]
        x = x + basis[:m].T @ weights
        r = right - product(x)
        return count + 1, x, r, np.sqrt(np.sum(r * r))

    begin = np.zeros((), np.int64), right * 0, right, np.sqrt(np.sum(right * right))
    most = _MAX_RESTARTS + _MAX_PRODUCTS_PER_UNKNOWN * n // m
    return repeated(lambda state: state[3] > wanted, restarted, begin, most)[1]


def iterate(product: Product, right: Any) -> Any:
    """Solve a system with a matrix ``G - I``, where powers of G vanish."""
    wanted = _TOLERANCES[right.dtype] * np.sqrt(np.sum(right * right))

    def improved(state: Any) -> Any:
        x, r, _ = state
        x = x + r
        r = product(x) - right
        return x, r, np.sqrt(np.sum(r * r))

    begin = right * 0, -right, np.sqrt(np.sum(right * right))
    return repeated(lambda state: state[2] > wanted, improved, begin, _MAX_ITERATIONS)[0]


_KINDS = {"cg": conjugate_gradients, "gmres": gmres, "iterate": iterate}
