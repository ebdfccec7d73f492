"""Docstrings of functions that are made from NumPy's at run time: summaries and examples, by name."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple


class NumpyDoc(NamedTuple):
    """Summary, and an example: an expression and the output of Python for it."""

    summary: str
    expression: str
    printed: str


CREATION: dict[str, NumpyDoc] = {
    "zeros": NumpyDoc("Return a new Tensor of zeros.", "tg.zeros(2)", "Tensor([0., 0.])"),
    "ones": NumpyDoc("Return a new Tensor of ones.", "tg.ones(2)", "Tensor([1., 1.])"),
    "empty": NumpyDoc("Return a new Tensor whose contents are not set.", "tg.empty((2, 3)).shape", "(2, 3)"),
    "eye": NumpyDoc(
        "Return a new matrix with ones on the `k`-th diagonal and zeros elsewhere.",
        "tg.eye(2)",
        "Tensor([[1., 0.],\n        [0., 1.]])",
    ),
    "identity": NumpyDoc(
        "Return a new square matrix with ones on the diagonal and zeros elsewhere.",
        "tg.identity(2)",
        "Tensor([[1., 0.],\n        [0., 1.]])",
    ),
    "tri": NumpyDoc(
        "Return a new matrix with ones at and below the `k`-th diagonal and zeros elsewhere.",
        "tg.tri(2)",
        "Tensor([[1., 0.],\n        [1., 1.]])",
    ),
    "frombuffer": NumpyDoc(
        "Return a new Tensor on the memory of a buffer.",
        "tg.frombuffer(bytearray(16))",
        "Tensor([0., 0.])",
    ),
    "bartlett": NumpyDoc("Return the Bartlett window.", "tg.bartlett(3)", "Tensor([0., 1., 0.])"),
    "blackman": NumpyDoc("Return the Blackman window.", "tg.blackman(3).shape", "(3,)"),
    "hamming": NumpyDoc("Return the Hamming window.", "tg.hamming(3)", "Tensor([0.08, 1.  , 0.08])"),
    "hanning": NumpyDoc("Return the Hann window.", "tg.hanning(3)", "Tensor([0., 1., 0.])"),
    "kaiser": NumpyDoc("Return the Kaiser window.", "tg.kaiser(3, 0.0)", "Tensor([1., 1., 1.])"),
    "zeros_like": NumpyDoc(
        "Return a new Tensor of zeros with the shape and dtype of `a`.",
        "tg.zeros_like(tg.ones(2))",
        "Tensor([0., 0.])",
    ),
    "ones_like": NumpyDoc(
        "Return a new Tensor of ones with the shape and dtype of `a`.",
        "tg.ones_like(tg.zeros(2))",
        "Tensor([1., 1.])",
    ),
    "empty_like": NumpyDoc(
        "Return a new Tensor with the shape and dtype of `prototype` whose contents are not set.",
        "tg.empty_like(tg.zeros((2, 3))).shape",
        "(2, 3)",
    ),
}

LOOKS: dict[str, NumpyDoc] = {
    "isin": NumpyDoc(
        "Test which elements are among others.",
        "tg.isin(tg.tensor([1.0, 2.0]), [2.0, 3.0])",
        "array([False,  True])",
    ),
    "min_scalar_type": NumpyDoc(
        "Return the smallest dtype that holds the elements.",
        "tg.min_scalar_type(tg.tensor([1.0, 2.0]))",
        "dtype('float64')",
    ),
    "array2string": NumpyDoc(
        "Return the elements as text.", "tg.array2string(tg.tensor([1.0, 2.0]))", "'[1. 2.]'"
    ),
    "array_repr": NumpyDoc(
        "Return the text that represents the elements as an array.",
        "tg.array_repr(tg.tensor([1.0, 2.0]))",
        "'array([1., 2.])'",
    ),
    "array_str": NumpyDoc(
        "Return the elements as the text that `print` shows.",
        "tg.array_str(tg.tensor([1.0, 2.0]))",
        "'[1. 2.]'",
    ),
    "nonzero": NumpyDoc(
        "Return the indices of the elements that are not zero.",
        "tg.nonzero(tg.tensor([0.0, 5.0, 6.0]))",
        "(array([1, 2]),)",
    ),
    "flatnonzero": NumpyDoc(
        "Return the indices of the elements that are not zero, in the flattened Tensor.",
        "tg.flatnonzero(tg.tensor([[0.0, 5.0], [6.0, 0.0]]))",
        "array([1, 2])",
    ),
    "argwhere": NumpyDoc(
        "Return the indices of the elements that are not zero, a row for each.",
        "tg.argwhere(tg.tensor([[0.0, 5.0], [6.0, 0.0]]))",
        "array([[0, 1],\n       [1, 0]])",
    ),
}

TESTS: dict[str, NumpyDoc] = {
    "logical_and": NumpyDoc(
        "Compute the logical AND of two operands, element by element.",
        "tg.logical_and(tg.tensor([0.0, 2.0]), True)",
        "array([False,  True])",
    ),
    "logical_or": NumpyDoc(
        "Compute the logical OR of two operands, element by element.",
        "tg.logical_or(tg.tensor([0.0, 2.0]), False)",
        "array([False,  True])",
    ),
    "logical_xor": NumpyDoc(
        "Compute the logical XOR of two operands, element by element.",
        "tg.logical_xor(tg.tensor([0.0, 2.0]), True)",
        "array([ True, False])",
    ),
    "logical_not": NumpyDoc(
        "Test which elements are zero.", "tg.logical_not(tg.tensor([0.0, 2.0]))", "array([ True, False])"
    ),
    "isposinf": NumpyDoc(
        "Test which elements are positive infinity.",
        "tg.isposinf(tg.tensor([1.0, tg.inf]))",
        "array([False,  True])",
    ),
    "isneginf": NumpyDoc(
        "Test which elements are negative infinity.",
        "tg.isneginf(tg.tensor([1.0, -tg.inf]))",
        "array([False,  True])",
    ),
}

STRUCTURE: dict[str, NumpyDoc] = {
    "shape": NumpyDoc("Return the shape of a Tensor.", "tg.shape(tg.zeros((2, 3)))", "(2, 3)"),
    "ndim": NumpyDoc("Return the number of dimensions of a Tensor.", "tg.ndim(tg.zeros((2, 3)))", "2"),
    "size": NumpyDoc(
        "Return the number of elements of a Tensor, or along an axis.", "tg.size(tg.zeros((2, 3)), 1)", "3"
    ),
    "result_type": NumpyDoc(
        "Return the dtype that the arguments promote to.",
        "tg.result_type(tg.zeros(2, dtype='float32'), 'float64')",
        "dtype('float64')",
    ),
    "can_cast": NumpyDoc(
        "Test whether a dtype can be converted to another one.", "tg.can_cast('float32', 'float64')", "True"
    ),
    "common_type": NumpyDoc(
        "Return the floating-point type that the arguments have in common.",
        "tg.common_type(tg.zeros(2, dtype='float32'))",
        "<class 'numpy.float32'>",
    ),
    "iscomplexobj": NumpyDoc(
        "Test whether the dtype is complex, which that of a Tensor never is.",
        "tg.iscomplexobj(tg.zeros(2))",
        "False",
    ),
    "isrealobj": NumpyDoc(
        "Test whether the dtype is not complex, which holds of every Tensor.",
        "tg.isrealobj(tg.zeros(2))",
        "True",
    ),
    "iscomplex": NumpyDoc(
        "Test which elements have an imaginary part: of a Tensor, none.",
        "tg.iscomplex(tg.zeros(2))",
        "array([False, False])",
    ),
    "isreal": NumpyDoc(
        "Test which elements have no imaginary part: of a Tensor, all.",
        "tg.isreal(tg.zeros(2))",
        "array([ True,  True])",
    ),
    "shares_memory": NumpyDoc(
        "Test whether two Tensors or arrays share memory.",
        "x = tg.zeros(4)\n>>> tg.shares_memory(x, x[1:])",
        "True",
    ),
    "may_share_memory": NumpyDoc(
        "Test whether the memory bounds of two Tensors or arrays overlap.",
        "x = tg.zeros(4)\n>>> tg.may_share_memory(x, x[1:])",
        "True",
    ),
    "diag_indices_from": NumpyDoc(
        "Return the indices of the main diagonal.",
        "tg.diag_indices_from(tg.zeros((2, 2)))",
        "(array([0, 1]), array([0, 1]))",
    ),
    "tril_indices_from": NumpyDoc(
        "Return the indices of the lower triangle.",
        "tg.tril_indices_from(tg.zeros((2, 2)))",
        "(array([0, 1, 1]), array([0, 0, 1]))",
    ),
    "triu_indices_from": NumpyDoc(
        "Return the indices of the upper triangle.",
        "tg.triu_indices_from(tg.zeros((2, 2)))",
        "(array([0, 0, 1]), array([0, 1, 1]))",
    ),
}

OF_MATRICES: dict[str, NumpyDoc] = {
    "matrix_rank": NumpyDoc(
        "Return the number of singular values of matrices that are not negligible.",
        "tg.linalg.matrix_rank(tg.tensor([[1.0, 2.0], [2.0, 4.0]]))",
        "np.int64(1)",
    ),
}

HISTOGRAMS: dict[str, NumpyDoc] = {
    "histogram2d": NumpyDoc(
        "Count pairs of numbers in the bins of a plane.",
        "tg.histogram2d(tg.tensor([1.0, 2.0]), [1.0, 3.0], bins=2)[0]",
        "array([[1., 0.],\n       [0., 1.]])",
    ),
    "histogramdd": NumpyDoc(
        "Count points in the bins of a space of several dimensions.",
        "tg.histogramdd(tg.tensor([[1.0, 1.0], [2.0, 3.0]]), bins=2)[0]",
        "array([[1., 0.],\n       [0., 1.]])",
    ),
    "histogram_bin_edges": NumpyDoc(
        "Return the edges of the bins that a histogram would have.",
        "tg.histogram_bin_edges(tg.tensor([1.0, 2.0]), bins=2)",
        "array([1. , 1.5, 2. ])",
    ),
}

_PLAIN = "    As ``{full}`` returns it: plain numbers, through which no gradient flows."
_RETURNS = (
    (CREATION, "Tensor\n    A leaf of the graph, or a constant."),
    (LOOKS, f"numpy.ndarray, number or text\n{_PLAIN}"),
    (
        HISTOGRAMS,
        f"numpy.ndarray, or tuple of them\n{_PLAIN} Sums of weights that have a gradient are a Tensor.",
    ),
    (OF_MATRICES, f"numpy.ndarray or number\n{_PLAIN}"),
    (
        TESTS,
        "numpy.ndarray of bool\n    While a function is being recorded, a Tensor of booleans that each replay"
        " computes.",
    ),
    (STRUCTURE, f"object\n{_PLAIN}"),
)
_GUARDED = (
    "While a function is being recorded, the result becomes a guard: a replay computes it again, and other data\n"
    "are replayed as long as it is the same."
)
_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_TENSORS = "; Tensors may stand for arrays"
_SAME, _OTHER = "Does the same when it is called with a Tensor.", "Returns an array instead."
_CONSTANT = "\nconstant : bool, optional\n    If True, no gradient flows into the Tensor."


def describe(function: Callable[..., Any], name: str, home: str = "numpy") -> None:
    """Set the docstring of a function by its name in a module of NumPy."""
    full = f"{home}.{name}"
    table, returns = next((table, returns) for table, returns in _RETURNS if name in table)
    makes = table is CREATION and not name.endswith("_like")
    sections = (
        table[name].summary,
        _section("Parameters", f"{_parameters(function)}\n    As for ``{full}``{'' if makes else _TENSORS}.")
        + (_CONSTANT if table is CREATION else ""),
        _section("Returns", returns.format(full=full)),
        _section("See Also", f"{full} : {_OTHER if makes else _SAME}"),
        *((_section("Notes", _GUARDED),) if table in (LOOKS, HISTOGRAMS, OF_MATRICES) else ()),
        _section(
            "Examples", f">>> import tapegrad as tg\n>>> {table[name].expression}\n{table[name].printed}\n"
        ),
    )
    function.__doc__ = "\n\n".join(sections)


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}"


def _parameters(function: Callable[..., Any]) -> str:
    """Return the names of NumPy's arguments."""
    try:
        known = inspect.signature(function).parameters.values()
    except ValueError:  # NumPy before 2.4 has no signature of functions written in C
        return "*args, **kwargs"
    return ", ".join(_STARS.get(p.kind, "") + p.name for p in known if p.name != "constant")
