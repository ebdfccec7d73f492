"""Calls of solvers: on arrays, as one instruction that Python executes, or recorded if they compute with Tensors."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import TracedValueError, UnsupportedError, name_of
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.modes import no_grad, restoring, thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.body import LoopBody
from tapegrad.loops.run import loops_run
from tapegrad.program.recording.signature import numpy_scalar
from tapegrad.pytree import flatten, paths, replaced, unflatten
from tapegrad.transforms.base import without_jit
from tapegrad.transforms.stop_gradient import stop_gradient

Solver = Callable[..., Any]


def called(name: str, solver: Solver, args: Any, kwargs: Any, inline: bool | None = None) -> Any:
    """Call a solver, whose arguments may be Tensors. What it returns has no derivatives.

    Parameters
    ----------
    name
        What messages call it.
    inline
        Whether a recording has its instructions; `None` to find out whether it can.
    """
    if thread.mode.recorder is None:
        return _call_on_arrays(name, solver, args, kwargs)
    return _call_recorded(name, solver, *stop_gradient((args, kwargs)), inline)


def _call_on_arrays(name: str, solver: Solver, args: Any, kwargs: Any) -> Any:
    """Call a solver with arrays in place of Tensors. What it computes has no derivatives."""
    leaves, definition = flatten((args, kwargs))
    arrays = [numpy_scalar(np.array(leaf.data_or_traced())) if is_tensor(leaf) else leaf for leaf in leaves]
    own, by_name = unflatten(definition, arrays)
    if not all(_is_array(leaf) or isinstance(leaf, Hashable) for leaf in arrays):
        solver = without_jit(solver)  # it cannot be recorded with these
    with no_grad():
        return Functions(name, partial(_called, solver), None, None).call("forward", *own, statics=by_name)


def _called(solver: Solver, *args: Any, **kwargs: Any) -> Any:
    """Call a solver with arrays."""
    try:
        return solver(*args, **kwargs)
    except (TracedValueError, UnsupportedError) as error:
        error.add_note(
            f"{name_of(solver)} gets arrays in place of Tensors among its arguments, but what it closes over stays a"
            " Tensor: pass that as an argument, of the residual as well"
        )
        raise


def _call_recorded(name: str, solver: Solver, args: Any, kwargs: Any, inline: bool | None) -> Any:
    """Call a solver in a function that is recorded."""
    if inline is None:
        inline = _runs_loops(name, solver, args, kwargs) and _is_recordable(solver, args, kwargs)
    if inline:
        return stop_gradient(without_jit(solver)(*args, **kwargs))
    return _as_instruction(name, solver, args, kwargs)


def _runs_loops(name: str, solver: Solver, args: Any, kwargs: Any) -> bool:
    """Return whether a solver runs loops of the library, which are instructions in a recording.

    Others are not tried with Tensors: SciPy's print the exceptions of functions that they call from compiled code.
    """
    before = loops_run.count
    _call_on_arrays(name, solver, args, kwargs)
    return loops_run.count != before


@restoring
def _is_recordable(solver: Solver, args: Any, kwargs: Any) -> bool:
    """Return whether a solver computes with Tensors alone, and takes no branch by their values."""
    leaves, definition = flatten((args, kwargs))
    places = [k for k, leaf in enumerate(leaves) if is_tensor(leaf)]

    def flat(*given: Any) -> list[Any]:
        own, by_name = unflatten(definition, replaced(leaves, places, given))
        return [leaf for leaf in flatten(solver(*own, **by_name))[0] if is_tensor(leaf)]

    try:
        body = LoopBody(flat, solver, [np.array(leaves[k].data_or_traced()) for k in places], None)
    except Exception:  # what is wrong with it will be raised where it is called with arrays
        return False
    return not body.branches and bool(body.results)


def _as_instruction(name: str, solver: Solver, args: Any, kwargs: Any) -> Any:
    """Record one instruction that calls a solver with arrays."""
    call = _SolverCall(name, solver, args, kwargs)
    functions = Functions(name, call.forward, lambda _, y, *xs: (None,) * len(xs), _no_tangents, True)
    return call.result(CustomOp(functions)(*call.operands))


def _no_tangents(x_dots: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
    return tuple(np.zeros(each.shape, each.dtype) for each in y)


class _SolverCall:
    """Call of a solver as an op whose operands are the arrays among its arguments."""

    def __init__(self, name: str, solver: Solver, args: Any, kwargs: Any) -> None:
        self._name, self._solver = name, solver
        self._leaves, self._definition = flatten((args, kwargs))
        self._places = [k for k, leaf in enumerate(self._leaves) if _is_array(leaf)]
        self.operands = [self._leaves[k] for k in self._places]
        self._leaves = [None if k in self._places else leaf for k, leaf in enumerate(self._leaves)]
        self._structure: Any = None
        self._dtypes: list[np.dtype[Any]] = []

    def forward(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the leaves of what the solver returns, as floats."""
        leaves = replaced(self._leaves, self._places, [numpy_scalar(np.array(each)) for each in arrays])
        args, kwargs = unflatten(self._definition, leaves)
        with no_grad():
            returned = _called(self._solver, *args, **kwargs)
        results, structure = flatten(returned)
        found = [self._array(leaf, k, returned) for k, leaf in enumerate(results)]
        dtypes = [array.dtype for array in found]
        if self._structure is None:
            self._structure, self._dtypes = structure, dtypes
        if (structure, dtypes) != (self._structure, self._dtypes):
            raise TypeError(
                f"{self._name}: {name_of(self._solver)} returned another structure, or other dtypes, than when it was"
                " recorded"
            )
        return tuple(
            array if array.dtype.kind in DIFFERENTIABLE_KINDS else array.astype(float) for array in found
        )

    def _array(self, leaf: Any, k: int, returned: Any) -> np.ndarray:
        array = np.asarray(leaf.data if is_tensor(leaf) else leaf)
        if array.dtype.kind not in "biufc":
            raise UnsupportedError(
                f"{self._name}: {name_of(self._solver)} returned {type(leaf).__name__} at result{paths(returned)[k]},"
                " which a replay cannot return; return arrays and numbers from a solver in a recorded function"
            )
        check_dtype(array.dtype, self._name, takes_complex=True)
        return array.astype(np.int64) if array.dtype.kind in "iu" else array

    def result(self, found: Sequence[Any]) -> Any:
        """Return what the solver has returned, with Tensors in place of arrays."""
        typed = [y.astype(dtype, copy=False) for y, dtype in zip(found, self._dtypes, strict=True)]
        return stop_gradient(unflatten(self._structure, typed))


def _is_array(leaf: Any) -> bool:
    return is_tensor(leaf) or isinstance(leaf, np.ndarray | np.generic | float | complex)
