"""Jacobians, by forward or by reverse sweeps, each a single call into compiled code."""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from tapegrad.autodiff.custom.tensor_rules import all_have_forward_rules
from tapegrad.errors import name_of
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.frontend.words.other_names import knows_argnum
from tapegrad.program.recording.calling import one_array, value_and_aux
from tapegrad.program.recording.signature import flatten_args, has_tensor, numpy_scalar
from tapegrad.program.streams.spec import FORWARD, JACFWD, JACREV, ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.transforms.analytic import AnalyticDerivative, RealPart
from tapegrad.transforms.base import DerivativeTransform
from tapegrad.transforms.calling.argnums import Argnums, Selection, checked_argnums, select
from tapegrad.transforms.calling.call_structures import call_arguments
from tapegrad.transforms.calling.equal_recordings import lender, own_recordings
from tapegrad.transforms.calling.fast_path import jacobian_path
from tapegrad.transforms.calling.reports import ReportingFunction
from tapegrad.transforms.jacobians import sparse as sparse_derivatives
from tapegrad.transforms.jit import Jit, run_once
from tapegrad.transforms.nested import NestedCall

_MODES = ("auto", "forward", "reverse")


@overload
def jacobian(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    mode: Literal["auto", "forward", "reverse"] = "auto",
    has_aux: bool = False,
    sparse: Literal[False] = False,
    pattern: None = None,
    holomorphic: bool = False,
) -> ReportingFunction[Any]: ...
@overload
def jacobian(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    mode: Literal["auto", "forward", "reverse"] = "auto",
    has_aux: bool = False,
    *,
    sparse: Literal[True, "csr", "csc", "coo"],
    pattern: Any = None,
    holomorphic: Literal[False] = False,
) -> "sparse_derivatives.SparseDerivative": ...
@knows_argnum
def jacobian(
    function: Callable[..., Any],
    argnums: Argnums | list[int] = 0,
    mode: Literal["auto", "forward", "reverse"] = "auto",
    has_aux: bool = False,
    sparse: bool | Literal["csr", "csc", "coo"] = False,
    pattern: Any = None,
    holomorphic: bool = False,
) -> Any:
    """Make a function that returns the derivatives of every element of `function`'s result.

    Parameters
    ----------
    function : callable
        Its result is one Tensor, or constant numbers. Of a ``jit(f)`` the Jacobian is replayed. Other functions are
        run at each call, and what follows is prepared anew only if they have computed something else than before.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by, as for `grad`.
    mode : {'auto', 'forward', 'reverse'}, default 'auto'
        "forward" computes it column by column, in time proportional to the number of elements of the arguments;
        "reverse" row by row, in time proportional to that of the result; "auto" takes the smaller of these numbers.
        With `holomorphic` it is always computed row by row.
    has_aux : bool, default False
        Whether `function` returns a pair of the value and of anything else, which is not differentiated.
    sparse : bool or {'csr', 'csc', 'coo'}, default False
        Whether the Jacobian is a sparse matrix of SciPy, with a row for each element of the result and a column for
        each element of an argument; `True` is "csr". The function is recorded as by `jit`, and its pattern is found
        out; see Notes.
    pattern : sparse matrix or Pattern, optional
        Where entries of the sparse Jacobian may be other than zero, if that is known.
    holomorphic : bool, default False
        Whether `function` is an analytic function of complex arguments with a complex result, whose complex derivative
        is wanted. That it is one is not checked.

    Returns
    -------
    callable
        Takes the arguments of `function`. For a result of shape ``r`` and an argument of shape ``s`` it returns an
        array of shape ``r + s`` and the argument's dtype; structures of arguments, and several `argnums`, give
        structures of such arrays. With `has_aux` it returns ``(jacobian, aux)``. With `sparse` it has two methods:
        ``J.values(x)``, the entries alone, and ``J.pattern(x)``, their places.

    Raises
    ------
    ValueError
        For another `mode`; if a `pattern` lacks entries, when it is first used.
    CertificateError
        If a Jacobian whose columns share sweeps disagrees with a tangent: a fault of tapegrad, or of a custom op.
    DensePatternError
        With `sparse`, if elements depend on so many inputs that their lists do not fit into memory, or if a matrix of
        4,096 rows and columns or more has more than half of its entries.
    TypeError
        When the result is not one array of real numbers, or an argument to differentiate by is no float. With
        `holomorphic`, when one of them is not complex.

    Notes
    -----
    A sparse Jacobian is computed by as many sweeps as its columns have colours, where two columns of one colour have
    no entry in the same row [1]_, or by reverse sweeps for rows if these are fewer. Entries that are the same at all
    inputs are computed once, and take no part in that. If the function begins and ends with linear maps, such as lists
    of places, and what lies between takes fewer sweeps, that is swept, and multiplied by their constant matrices [2]_.
    Of the same entries, other values are a replay: ``J.values`` is recorded and replayed, differentiated, mapped and
    compiled like any other function.

    References
    ----------
    .. [1] A. H. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian? Graph coloring for computing
       derivatives", SIAM Review 47(4), 2005.
    .. [2] A. Griewank, P. L. Toint, "On the unconstrained optimization of partially separable functions", in
       "Nonlinear Optimization 1981", Academic Press, 1982.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])

    Of a hundred thousand inputs that go into two results each, two sweeps find all entries:

    >>> J = tg.jacobian(lambda x: x[1:] * x[:-1], sparse=True)
    >>> J(np.arange(5.0)).toarray()
    array([[1., 0., 0., 0., 0.],
           [0., 2., 1., 0., 0.],
           [0., 0., 3., 2., 0.],
           [0., 0., 0., 4., 3.]])
    >>> J.values(np.arange(5.0))
    array([1., 0., 2., 1., 3., 2., 4., 3.])
    """
    if mode not in _MODES:
        raise ValueError(f"jacobian: mode={mode!r}; it must be one of {', '.join(map(repr, _MODES))}")
    if holomorphic:
        return _analytic(function, argnums, has_aux, bool(sparse) or pattern is not None)
    if sparse or pattern is not None:
        return sparse_derivatives.jacobian(function, argnums, mode, has_aux, sparse, pattern)
    return Jacobian(function, argnums, mode, has_aux)


def _analytic(
    function: Callable[..., Any], argnums: Argnums | list[int], has_aux: bool, sparse: bool
) -> AnalyticDerivative:
    """Return the Jacobian of an analytic function: row by row, that of its real part."""
    if sparse:
        raise TypeError(
            "jacobian: holomorphic=True has no sparse matrices: differentiate by z.view(float) instead"
        )
    found = Jacobian(RealPart(function, "jacobian", argnums, has_aux), argnums, "reverse", True, "")
    return AnalyticDerivative(function, found, has_aux)


@knows_argnum
def jacfwd(
    function: Callable[..., Any], argnums: Argnums | list[int] = 0, has_aux: bool = False
) -> ReportingFunction[Any]:
    """Make a function that returns the Jacobian of `function`, computed column by column by forward sweeps.

    Parameters
    ----------
    function : callable
        As for `jacobian`.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by.
    has_aux : bool, default False
        As for `jacobian`.

    Returns
    -------
    callable
        The same as of ``jacobian(function, argnums, mode="forward")``.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacfwd(tg.cumsum)(np.array([5.0, 6.0]))
    array([[1., 0.],
           [1., 1.]])
    """
    return Jacobian(function, argnums, "forward", has_aux)


@knows_argnum
def jacrev(
    function: Callable[..., Any], argnums: Argnums | list[int] = 0, has_aux: bool = False
) -> ReportingFunction[Any]:
    """Make a function that returns the Jacobian of `function`, computed row by row by reverse sweeps.

    Parameters
    ----------
    function : callable
        As for `jacobian`.
    argnums : int or sequence of int, default 0
        Which positional arguments to differentiate by.
    has_aux : bool, default False
        As for `jacobian`.

    Returns
    -------
    callable
        The same as of ``jacobian(function, argnums, mode="reverse")``.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.jacrev(tg.cumsum)(np.array([5.0, 6.0]))
    array([[1., 0.],
           [1., 1.]])
    """
    return Jacobian(function, argnums, "reverse", has_aux)


class Jacobian(DerivativeTransform):
    """Function made by `jacobian`, `jacfwd` and `jacrev`."""

    name = "jacobian"

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: Argnums | list[int],
        mode: str,
        has_aux: bool = False,
        real_for: str = "jacobian",
    ) -> None:
        super().__init__(function)
        self._argnums = checked_argnums(argnums)
        self._mode = mode
        self._has_aux = has_aux
        self._recordings = own_recordings()
        self.real_for = (
            real_for  # name of a transform that takes no complex arguments; empty for gradients by these
        )

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._argnums, self._mode, self._has_aux, self.real_for

    def _nested(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the Jacobian as a Tensor on the current tape, by one sweep for each row or column."""
        selection = select(args, self._argnums, self.real_for)
        run = NestedCall(function, selection, kwargs)
        run.value, aux = value_and_aux("jacobian", run.value, self._has_aux)
        array = one_array("jacobian", run.value)
        if not is_tensor(run.value) or array.dtype.kind != "f":
            run.value = from_array(array.astype(float), constant=True)
        inputs = sum(math.prod(np.shape(leaf)) for leaf in selection.leaves)
        forward = self._mode == "forward" or (
            self._mode == "auto" and inputs <= run.value.size and all_have_forward_rules(run.tape)
        )
        as_tensors = has_tensor(args, kwargs)
        found = selection.unflatten_results(run.to_output(run.jacobian(forward), as_tensors))
        return (found, run.aux_to_output(aux, as_tensors)) if self._has_aux else found

    def _replay(self, function: Jit[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay the Jacobian."""
        arguments = function.arguments(args, kwargs)
        selection = select(args, self._argnums, self.real_for)
        choose = functools.partial(self.choose_spec, selection.inputs(arguments))
        trace, results = function.run(arguments, choose)
        if self.output(trace) >= 0:
            call = call_arguments(arguments, args, kwargs)
            self._keep(jacobian_path(function, trace, choose(trace), call, selection))
        return self.to_output(selection, trace, arguments.arrays, results)

    def _eager(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the function with these arguments, and replay that trace, or an equal one of an earlier call."""
        selection = select(args, self._argnums, self.real_for)
        arguments = flatten_args(tuple(selection.leaves), {})

        def of_leaves(*leaves: Any) -> Any:
            return function(*selection.substitute(list(leaves)), **kwargs)

        of_leaves.__qualname__ = name_of(function)  # for messages
        trace = Trace(of_leaves, arguments)
        equal = lender(trace, self._recordings)
        results = run_once(equal, arguments, functools.partial(self.choose_spec, tuple(arguments.positions)))
        return self.to_output(selection, trace, arguments.arrays, results)

    def choose_spec(self, wrt: tuple[int, ...], trace: Trace) -> ProgramSpec:
        """Choose columns (forward) or rows (reverse), whichever are fewer. Forward sweeps are cheaper for as many."""
        if self.output(trace) < 0:
            return ProgramSpec(FORWARD)
        if self._mode == "reverse" or not all_have_forward_rules(trace.recording):
            return ProgramSpec(JACFWD if self._mode == "forward" else JACREV, wrt, self._has_aux)
        inputs = sum(math.prod(trace.input_shape(k)) for k in wrt)
        forward = self._mode == "forward" or inputs <= math.prod(trace.output_shape)
        sweeps = inputs if forward else math.prod(trace.output_shape)
        shared = trace.shared_columns(wrt, sweeps, self._has_aux)
        return ProgramSpec(JACFWD if forward or shared else JACREV, wrt, self._has_aux, shared)

    def output(self, trace: Trace) -> int:
        """Return the number of the output that is differentiated, -1 if the value depends on no float argument."""
        return trace.value_output if self._has_aux else trace.only_output

    def to_output(self, selection: Selection, trace: Trace, inputs: list[Any], results: list[Any]) -> Any:
        """Return the Jacobians of a replay; zeros if the value depends on no float argument."""
        if self.output(trace) < 0:
            value, aux = value_and_aux("jacobian", trace.result(inputs, results), self._has_aux)
            found = selection.zeros(one_array("jacobian", value).shape)
            return (found, aux) if self._has_aux else found
        count = len(results) - len(selection.leaves)  # of outputs, before the derivatives
        found = selection.unflatten_results([numpy_scalar(array) for array in results[count:]])
        return (found, trace.result(inputs, results[:count])[1]) if self._has_aux else found
