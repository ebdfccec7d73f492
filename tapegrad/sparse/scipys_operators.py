"""Operators of a sparse matrix of SciPy and a Tensor: what SciPy computes with an array in the Tensor's place.

``S + t`` and ``S - t`` are dense, ``S * t`` and ``S / t`` are sparse; ``*`` of a `scipy.sparse.spmatrix` multiplies
matrices.
"""

from collections.abc import Callable
from typing import Any

from tapegrad.engine import kernel_table
from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_sparse, is_sparse_matrix
from tapegrad.frontend.functions.products.sparse import product
from tapegrad.sparse import matrices as matrices
from tapegrad.sparse.arrays import as_sparse_array


def operate(code: int, operands: tuple[Any, Any]) -> Any:
    """Compute an operator of two operands, one of which is a sparse matrix of SciPy.

    Parameters
    ----------
    code
        The number of the operator's op.
    operands
        A sparse matrix and a Tensor, in the order in which they are written.
    """
    name = kernel_table.op_name(code)
    first, second = operands
    matrix, x = operands if is_sparse(first) else (second, first)
    if name == "multiply" and is_sparse_matrix(matrix) and x.ndim:
        return product(first, second)
    operator = _OPERATORS.get(name)
    if operator is None or (name == "divide" and matrix is second):
        raise UnsupportedError(
            f"{name}: a sparse matrix and a Tensor have the operators S @ t, S * t, S / t, S + t and S - t; write"
            " S.toarray() to compute with all elements"
        )
    return operator(*(as_sparse_array(each, name) if each is matrix else each for each in operands))


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "divide": lambda a, b: a / b,
    "multiply": lambda a, b: a * b,
    "subtract": lambda a, b: a - b,
}
