"""Residuals with the entries of their sparse Jacobian, recorded as one function, for compiled loops.

A branch has a pattern of its own. Where a fit comes to one with further entries, the function is recorded anew with the
union of both patterns, so that entries lie alike in all branches.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tapegrad.autodiff.sparsity.pattern import Pattern
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.optimize.native.recorded import SECOND_AND_FIRST, ReplayedFunction
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.transforms.base import Transform, without_jit
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import Jit


class _Twice(Transform):
    """A function that returns its value twice: to be differentiated, and as it is."""

    name = "least_squares"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        value = without_jit(self.function)(*args, **kwargs)
        return value, value


def _recorder(function: Jit[..., Any], pattern: Pattern | None) -> Jit[..., Any]:
    """Return the function of entries, their layout and the residuals."""
    derivative: Any = jacobian(_Twice(function), has_aux=True, sparse=True, pattern=pattern)
    found: Jit[..., Any] = derivative.values.recorded
    return found


def _pattern_of(trace: Trace) -> Pattern:
    """Return the pattern of the entries that a recording computes."""
    entries, layout, residuals = trace.results
    assert isinstance(entries, int), "entries are computed"
    assert isinstance(residuals, int), "residuals are computed"
    pattern: Pattern = layout.fixed.patterns
    return pattern


def _union(a: Pattern, b: Pattern) -> Pattern:
    matrices = [pattern.matrix(np.ones(pattern.nnz)) for pattern in (a, b)]
    united = csr_array(matrices[0] + matrices[1])
    united.sort_indices()
    return Pattern(united, np.full(united.shape[1], -1))


class SparseResiduals(Uncopied):
    """Residuals and the entries of their Jacobian, for arguments of one kind.

    Parameters
    ----------
    function
        The residuals of a vector.
    x, args, kwargs
        Arguments to record it with.

    Attributes
    ----------
    replayed
        The function whose results are the residuals and the entries.
    pattern
        The pattern of the entries.
    """

    def __init__(
        self, function: Jit[..., Any], x: np.ndarray, args: Any, kwargs: dict[str, Any] | None
    ) -> None:
        self._function, self._args, self._kwargs = function, tuple(args), kwargs or {}
        self._use(x, None)

    def _use(self, x: np.ndarray, pattern: Pattern | None) -> None:
        self.recorder = _recorder(self._function, pattern)
        self.replayed = ReplayedFunction(self.recorder, x, self._args, self._kwargs, SECOND_AND_FIRST)
        self.pattern = _pattern_of(self.replayed.first_trace)

    @property
    def size(self) -> int:
        """Number of residuals."""
        return self.replayed.size

    def cover(self, x: np.ndarray) -> bool:
        """Record the function anew if its pattern lacks entries at a point; return whether it did."""
        detected = _recorder(self._function, None)
        arguments = detected.arguments((x.copy(), *self._args), self._kwargs)
        pattern = _pattern_of(detected.run(arguments, ProgramSpec())[0])
        if pattern == self.pattern:
            return False
        united = _union(self.pattern, pattern)
        if united == self.pattern and self.recorder is not detected:
            return False
        self._use(x, united)
        return True
