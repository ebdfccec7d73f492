"""`least_squares(method="native", sparse=True)`: one problem by compiled code, and the result as SciPy has it."""

import functools
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.autodiff.sparsity.pattern import Pattern
from tapegrad.engine.kernels.language.status import CALL_FAILED, OUT_OF_MEMORY
from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.optimize.native.blocks import Block
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.sparse import sparse_fields, sparse_fit
from tapegrad.optimize.native.recorded import Session
from tapegrad.optimize.native.settings import SparseFitSettings
from tapegrad.optimize.native.sharing import reporting_one
from tapegrad.optimize.native.single_fit import begun, check_start, result_of, run_to_end, text_of
from tapegrad.optimize.native.slices import Slices
from tapegrad.optimize.native.sparse.entries import SparseResiduals
from tapegrad.optimize.native.sparse.system_plan import SystemPlan

_WHO = 'least_squares(method="native", sparse=True)'


def _block(n: int, x0: np.ndarray, settings: SparseFitSettings) -> Block:
    k = len(x0)
    by_parameter = ("x", "gradient", "slopes", "step", "scratch")
    shapes = {
        **dict.fromkeys(("values", "r", "factors", "curvatures", "along"), n),
        **dict.fromkeys(by_parameter, k),
    }
    numbers, arrays = begun(n, x0, settings, sparse_fields.PAUSE + 1)
    arrays |= {"held": np.zeros(k, np.int64), "settings": np.append(settings.numbers, 0.0)}  # with BASE
    return Block(sparse_fields.SparseFitFields, shapes, numbers, arrays)


class _Layout(NamedTuple):
    """A pattern, and what has its layout: normal equations, and entries at the trial and at `x`."""

    pattern: Pattern
    plan: SystemPlan
    system: Block
    entries: np.ndarray
    matrix: np.ndarray

    def enter(self, block: Block) -> None:
        """Enter the arrays in the record of a fit."""
        for name, array in (("entries", self.entries), ("matrix", self.matrix)):
            block.add(name, array)
        for name, array in (("starts", self.pattern.indptr), ("columns", self.pattern.indices)):
            block.add(name, array)
        block.set_field("system", self.system.address)


class _SparseFit(Uncopied):
    """A fit, its arrays, and the plan of its normal equations."""

    def __init__(self, residuals: SparseResiduals, x0: np.ndarray, settings: SparseFitSettings) -> None:
        self._residuals, self._eliminate = residuals, settings.eliminate
        self.block = _block(residuals.size, x0, settings)
        self.layout = self._make_layout()
        self.layout.enter(self.block)

    def _make_layout(self) -> _Layout:
        """Return the layout for the pattern of the residuals."""
        pattern = self._residuals.pattern
        plan = self._find_plan(pattern)
        return _Layout(pattern, plan, plan.system(), np.zeros(pattern.nnz), np.zeros(pattern.nnz))

    def _find_plan(self, pattern: Pattern) -> SystemPlan:
        """Return the plan for a pattern; the last one is kept with the function."""
        kept, key = self._residuals.recorder.loops, ("normal equations", self._eliminate)
        known = kept.get(key)
        if known is None or known[0] != pattern:
            made = SystemPlan(pattern.shape, pattern.indptr, pattern.indices, self._eliminate)
            known = kept[key] = pattern, made
        plan: SystemPlan = known[1]
        return plan

    def _session(self) -> Session:
        block = self.block
        results = block.addresses("values", "entries")
        session = Session(self._residuals.replayed, block.addresses("trial"), results)
        block.set_field("session", session.address)
        return session

    def run(self, line: Progress) -> None:
        """Go on with the fit until it is finished."""
        block, self._open = self.block, self._session()
        slices = Slices(block["counts"], line, functools.partial(text_of, block), first=1)
        try:
            run_to_end(lambda: sparse_fit.run_sparse_fit(block.address), block["counts"], slices, self._act)
        finally:
            self._open.close()

    def _act(self, status: int) -> None:
        """Handle a status of compiled code: record a specialization at the trial, or raise an exception."""
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"{_WHO}: not enough memory for the factor of the normal equations")
        if status == CALL_FAILED:
            raise failure()
        if not self._residuals.cover(self.block["trial"]):
            self._open.go_on(status, self.block["trial"])
            return
        self._open.close()
        before, made = self.layout, self._make_layout()
        made.matrix[_places(before.pattern, made.pattern)] = before.matrix
        self._exchange(made)
        self._open = self._session()

    def _exchange(self, made: _Layout) -> None:
        """Take another layout, as a whole even if an interrupt comes, for then the fit ends with it."""
        try:
            self._take(made)
        except KeyboardInterrupt:
            self._take(made)
            raise

    def _take(self, made: _Layout) -> None:
        self.layout = made
        made.enter(self.block)
        self.block["counts"][fields.FACTORED] = 0


def _places(part: Pattern, whole: Pattern) -> np.ndarray:
    """Return the places of the entries of a pattern in one that has them all."""
    keys = [pattern.rows.astype(np.int64) * pattern.shape[1] + pattern.indices for pattern in (part, whole)]
    found: np.ndarray = np.searchsorted(keys[1], keys[0])
    return found


def fit(target: Any, x0: np.ndarray, args: Any, kwargs: Any, options: dict[str, Any]) -> Any:
    """Fit the residuals of a vector, and return a `scipy.optimize.OptimizeResult`."""
    if not x0.size:
        raise ValueError(f"{_WHO}: x0 has no elements")
    progress = options.pop("progress", None)
    settings = SparseFitSettings(_WHO, x0, options)
    residuals = SparseResiduals(target.replayed, x0, args, kwargs)
    made = _SparseFit(residuals, x0, settings)
    if settings.eliminate and not made.layout.plan.eliminated:
        raise ValueError(
            f"{_WHO}: solver='schur', but no columns can be eliminated as blocks; leave solver out"
        )
    block = made.block
    with reporting_one(progress, functools.partial(text_of, block)) as line:
        made.run(line)
    check_start(block, target.function, _WHO)
    fun = block["r"].copy() if not settings.loss else target.fun(block["x"], *args, **(kwargs or {}))
    return result_of(block, fun, made.layout.pattern.matrix(made.layout.matrix.copy()), settings)
