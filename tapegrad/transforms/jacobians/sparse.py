"""Sparse Jacobians and Hessians: the pattern is detected, coloured, and the entries alone are recorded and replayed."""

import copy
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from tapegrad.autodiff.custom.tensor_rules import all_have_forward_rules
from tapegrad.autodiff.sparsity.compressed import CompressedDerivative, Symmetric
from tapegrad.autodiff.sparsity.pattern import Pattern, given_pattern, matrix_of
from tapegrad.autodiff.sparsity.plan import DENSE_SHARE
from tapegrad.errors import RecordingWarning, name_of
from tapegrad.frontend.indexing.indexing import gather
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.words.frames import program_level
from tapegrad.program.recording.calling import one_array, value_and_aux
from tapegrad.program.recording.signature import has_tensor
from tapegrad.pytree import flatten
from tapegrad.transforms.base import Transform, replayable, without_jit
from tapegrad.transforms.calling.argnums import Argnums, Selection, checked_argnums, select
from tapegrad.transforms.calling.callables import UnlessNested
from tapegrad.transforms.calling.fast_path import first_part
from tapegrad.transforms.calling.known_paths import AlternatingCalls
from tapegrad.transforms.grad import Grad
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.nested import NestedCall

Format = Literal["csr", "csc", "coo"]
_FORMATS = ("csr", "csc", "coo")
_MIN_WARNED_EXTENT = 64  # rows and columns


def jacobian(
    function: Callable[..., Any], argnums: Any, mode: str, has_aux: bool, sparse: Any, pattern: Any
) -> "SparseDerivative":
    """Make the function that `tapegrad.jacobian` returns for a sparse matrix."""
    return SparseDerivative(function, argnums, mode, has_aux, False, *_checked("jacobian", sparse, pattern))


def hessian(
    function: Callable[..., Any], argnums: Any, has_aux: bool, sparse: Any, pattern: Any
) -> "SparseDerivative":
    """Make the function that `tapegrad.hessian` returns for a sparse matrix."""
    made = _checked("hessian", sparse, pattern)
    gradient = Grad(function, argnums, has_aux).named("hessian")
    return SparseDerivative(gradient, argnums, "auto", has_aux, True, *made)


def lower_hessian(function: Callable[..., Any], argnums: Any) -> "SparseDerivative":
    """Make the function that returns the lower triangle of a Hessian: what interior-point solvers take."""
    gradient = Grad(function, argnums, False).named("hessian")
    return SparseDerivative(gradient, argnums, "auto", False, "lower", "csr", None)


def detected_pattern(function: Callable[..., Any], x: Any) -> Pattern:
    """Return where the Jacobian of a function by its argument may be other than zero, on the tape of the thread.

    Raises
    ------
    DensePatternError
        If elements depend on so many inputs that their lists do not fit into memory, or on more than half of many.
    """
    run = NestedCall(function, select((x,), 0, "jacobian"), {})
    derivative = CompressedDerivative(run.tape, run.leaves, [run.value], False, "auto", None)
    return Pattern(derivative.pattern, derivative.plan.columns)


def entries_of(function: Callable[..., Any], x: Any, pattern: Pattern) -> Any:
    """Return the entries of a Jacobian of a known pattern as a Tensor, on the tape of the thread."""
    return Entries(function, 0, "auto", False, False, "csr", pattern)(x)[0]


def _checked(name: str, sparse: Any, pattern: Any) -> tuple[Format, Pattern | None]:
    """Return the format that the argument `sparse` of a transform asks for, and the pattern.

    Raises
    ------
    ValueError
        For anything but `True` or the name of a format; if there is a pattern, but no format.
    """
    if sparse is False:
        raise ValueError(f"{name}: pattern= is that of a sparse matrix: pass sparse=True, too")
    if sparse is True or sparse in _FORMATS:
        known = None if pattern is None else given_pattern(pattern)
        return "csr" if sparse is True else sparse, known
    raise ValueError(f"{name}: sparse={sparse!r}; it must be True, False, {', '.join(map(repr, _FORMATS))}")


class SparseLayout:
    """Patterns of a derivative by blocks, as a result of a recording that no replay computes.

    Parameters
    ----------
    structure
        Puts one value for each block together, as the entries are.
    blocks
        For each block its pattern, as a matrix of ones.
    colors
        For each block, the sweeps of its columns.
    format_
        The format of the matrices.
    """

    def __init__(
        self,
        structure: Callable[[list[Any]], Any],
        blocks: list[csr_array],
        colors: list[np.ndarray],
        format_: Format,
    ) -> None:
        self._structure = structure
        self.patterns = structure([Pattern(*each) for each in zip(blocks, colors, strict=True)])
        # With the place of each entry in the order of the rows for data
        placed = [csr_array((np.arange(each.nnz), each.indices, each.indptr), each.shape) for each in blocks]
        in_format = [each.asformat(format_) for each in placed]
        self.orders = [None if format_ != "csc" else each.data for each in in_format]
        self._matrices = [_of_ones(each) for each in in_format]

    def matrices(self, entries: Any) -> Any:
        """Return entries as sparse matrices, which share their index arrays."""
        return self._structure(list(map(_with_entries, self._matrices, flatten(entries)[0])))


def _of_ones(matrix: Any) -> Any:
    """Return a sparse matrix of ones, with read-only index arrays of int32."""
    made = copy.copy(matrix)
    made.data = np.ones(matrix.nnz)
    if matrix.format == "coo":
        made.coords = tuple(np.asarray(each, np.int32) for each in matrix.coords)
        arrays = made.coords
    else:
        made.indices, made.indptr = (np.asarray(each, np.int32) for each in (matrix.indices, matrix.indptr))
        made.has_canonical_format = True
        arrays = made.indices, made.indptr
    for each in arrays:
        each.flags.writeable = False
    return made


def _with_entries(matrix: Any, entries: np.ndarray) -> Any:
    made = copy.copy(matrix)
    made.data = entries
    return made


class Entries(Transform):
    """Entries of a sparse derivative, the layout of the matrix, and what else the function returned."""

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: Argnums | list[int],
        mode: str,
        has_aux: bool,
        symmetric: Symmetric,
        format_: Format,
        pattern: Pattern | None,
    ) -> None:
        self.name = "hessian" if symmetric else "jacobian"
        super().__init__(function)
        self.argnums = checked_argnums(argnums)
        self._mode, self.has_aux, self.symmetric = mode, has_aux, symmetric
        self._format, self._pattern = format_, pattern

    @property
    def settings(self) -> tuple[Any, ...]:
        return self.argnums, self._mode, self.has_aux, self.symmetric, self._format, self._pattern

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        selection = select(args, self.argnums, self.name)
        run = NestedCall(self.function, selection, kwargs)
        value, aux = value_and_aux(self.name, run.value, self.has_aux)
        results = flatten(value)[0] if self.symmetric else [value]
        for result in results:
            one_array(self.name, result)
        derivative = CompressedDerivative(
            run.tape, run.leaves, results, self.symmetric, self._mode_of(run), self._known(run, results)
        )
        if self._pattern is None:
            _warn_if_dense(self.name, derivative.pattern)
        entries, blocks = (
            derivative.entries(run.pull, f"{self.name} of {name_of(self._differentiated)}"),
            derivative.blocks(),
        )
        structure = _structure(selection, bool(self.symmetric))
        colors = [
            derivative.plan.columns[slice(*bounds)] for _ in blocks for bounds in derivative.column_bounds
        ]
        flat = [block for row in blocks for block in row]
        layout = SparseLayout(structure, [pattern for pattern, _ in flat], colors, self._format)
        parts = [
            _part(entries, taken if order is None else taken[order])
            for (_, taken), order in zip(flat, layout.orders, strict=True)
        ]
        kinds = [leaf.dtype for _ in blocks for leaf in run.leaves]
        parts = [
            part if part.dtype == kind else part.astype(kind) for part, kind in zip(parts, kinds, strict=True)
        ]
        return structure(parts), layout, aux

    @property
    def _differentiated(self) -> Any:
        """The user's function: a Hessian is recorded as the derivative of a gradient."""
        return without_jit(self.function.function if self.symmetric else self.function)

    def _mode_of(self, run: NestedCall) -> str:
        return self._mode if all_have_forward_rules(run.tape) else "reverse"

    def _known(self, run: NestedCall, results: list[Any]) -> csr_array | None:
        if self._pattern is None:
            return None
        shape = sum(np.size(each) for each in results), sum(leaf.size for leaf in run.leaves)
        return matrix_of(self._pattern, shape)


def _warn_if_dense(name: str, pattern: csr_array) -> None:
    m, n = pattern.shape
    if min(m, n) >= _MIN_WARNED_EXTENT and pattern.nnz > DENSE_SHARE * m * n:
        warnings.warn(
            f"{name}: {100 * pattern.nnz / (m * n):.0f} % of the entries may be other than zero, so sparse=False is"
            " faster; a product with a dense array makes everything depend on everything: use a matrix of scipy.sparse"
            " there",
            RecordingWarning,
            stacklevel=program_level(),
        )


def _structure(selection: Selection, symmetric: bool) -> Callable[[list[Any]], Any]:
    """Return what puts one value for each block together: by leaves, and of Hessians by leaves of leaves."""
    if not symmetric:
        return selection.unflatten_results

    count = len(selection.leaves)

    def by_pairs(values: list[Any]) -> Any:
        rows = [
            selection.unflatten_results(values[k : k + count]) for k in range(0, count * count, max(count, 1))
        ]
        return selection.unflatten_results(rows)

    return by_pairs


def _part(entries: Any, taken: np.ndarray) -> Any:
    """Return some of the entries."""
    if len(taken) == entries.size and np.array_equal(taken, np.arange(len(taken))):
        return entries
    return gather(in_c_order(entries), taken, taken.shape, 1)


class SparseDerivative(FunctionWrapper):
    """Function made by `jacobian` and `hessian` with `sparse`: it returns sparse matrices.

    Attributes
    ----------
    values
        The function that returns the entries alone.
    """

    def __init__(self, function: Callable[..., Any], *settings: Any) -> None:
        self.function = function
        self._settings = settings
        self.values = SparseValues(Entries(function, *settings))

    @property
    def values_of_matrix(self) -> "SparseValues":
        """The function for what takes arrays alone: `vmap` and `compile`."""
        return self.values

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._settings

    def __repr__(self) -> str:
        entries: Any = self.values.entries
        inner = self.function.function if entries.symmetric else self.function
        return f"sparse {entries.name}({described(inner)})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative as a sparse matrix, or a structure of them.

        Raises
        ------
        TypeError
            For Tensors: SciPy's matrices hold numbers; `values` takes Tensors.
        """
        if has_tensor(args, kwargs):
            raise TypeError(
                "a sparse matrix of SciPy holds numbers, no Tensors: use .values(x) for the entries as a Tensor, with"
                " .pattern(x) for their places"
            )
        entries, layout, aux = self.values.with_layout(args, kwargs)
        found = layout.matrices(entries)
        return (found, aux) if self.values.entries.has_aux else found

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return where entries may be other than zero, for arguments like these.

        Returns
        -------
        Pattern, or a structure of them
            Print it to see it; it may be passed as `pattern` to another transform.
        """
        return self.values.with_layout(args, kwargs)[1].patterns


class SparseValues(UnlessNested, AlternatingCalls, FunctionWrapper):
    """Function that returns the entries of a sparse derivative, in the order of its pattern.

    It takes the arguments of the function, and `out` by keyword: an array for the entries of a single matrix. They
    come row by row; for "csc" column by column. Of Tensors they are a Tensor.

    Attributes
    ----------
    entries
        What is recorded.
    recorded
        What replays it.
    """

    def __init__(self, entries: Entries) -> None:
        AlternatingCalls.__init__(self)
        self.function = self.entries = entries
        self.recorded: Any = replayable(entries) or Jit(entries)

    def with_layout(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, SparseLayout, Any]:
        """Return the entries, their layout, and what else the function returned."""
        found: tuple[Any, SparseLayout, Any] = self.recorded(*args, **kwargs)
        return found

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = kwargs.pop("out", None)
        if out is not None:
            return _copied(self(*args, **kwargs), out)
        entries = self.with_layout(args, kwargs)[0]
        path = self.recorded.latest
        if path is not None and not has_tensor(args, kwargs):
            self._keep(first_part(path))
        return entries


def _copied(entries: Any, out: Any) -> Any:
    """Copy entries into an array of the caller's.

    Raises
    ------
    TypeError, ValueError
        If there are several matrices, or the array has another shape or dtype.
    """
    if not isinstance(entries, np.ndarray) or not isinstance(out, np.ndarray):
        raise TypeError("values: out= takes the entries of one matrix, in one array")
    if (out.shape, out.dtype) != (entries.shape, entries.dtype):
        raise ValueError(
            f"values: out has the shape {out.shape} and the dtype {out.dtype}, but there are {len(entries)} entries of"
            f" {entries.dtype}"
        )
    np.copyto(out, entries)
    return out
