"""Matrix products through BLAS."""

from typing import Any

import numpy as np

from tapegrad.engine.sweep.eager import eager_products
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.foreign import is_sparse, is_sparse_tensor
from tapegrad.frontend.conversions.complex_views import adjoint, complex_of, pairs_of
from tapegrad.frontend.functions.products import sparse
from tapegrad.frontend.recording.record_structural import (
    as_numbers,
    in_common_dtype,
    record_product_of,
    record_two_by,
)
from tapegrad.frontend.recording.rules import rules_of_product, state_rules
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.ops import CODES

_MATMUL = CODES["matmul"]
_DENSE = (Tensor, np.ndarray)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Multiply matrices, vectors, or batches of matrices.

    Parameters
    ----------
    x1 : Tensor or array_like, shape (..., m, k) or (k,)
        Left operand. A vector is taken as a row.
    x2 : Tensor or array_like, shape (..., k, n) or (k,)
        Right operand. A vector is taken as a column. Leading dimensions broadcast.

    Returns
    -------
    Tensor, shape (..., m, n)
        The product, without the dimensions that vectors do not have.

    Raises
    ------
    ValueError
        If an operand is 0-dimensional, the inner extents differ, or leading dimensions do not broadcast.

    Notes
    -----
    The product is computed by BLAS, and so are the cotangents ``y_bar @ x2.T`` and ``x1.T @ y_bar``, of complex numbers
    with conjugate transposes. A zero cotangent times an infinite element of a matrix is nan there, while elsewhere zero
    times anything is zero. A real factor on the left of a complex one stays real, at half the cost.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tg.matmul(a, tg.tensor([1.0, 10.0]))
    Tensor([21., 43.])
    >>> (a @ a).sum().backward()
    >>> a.grad
    array([[ 7., 11.],
           [ 9., 13.]])
    """
    both = type(x1) is Tensor and type(x2) is Tensor
    product = None if both else record_product_of(_MATMUL, x1, x2)
    if product is not None:
        return product
    if not (isinstance(x1, _DENSE) and isinstance(x2, _DENSE)):
        if is_sparse_tensor(x1) or is_sparse_tensor(x2):
            made: Tensor = x1 @ x2 if is_sparse_tensor(x1) else x2.__rmatmul__(x1)
            return made
        if is_sparse(x1) or is_sparse(x2):
            return sparse.product(x1, x2)
    a = x1 if type(x1) is Tensor else as_numbers(x1, "matmul")
    b = x2 if type(x2) is Tensor else as_numbers(x2, "matmul")
    tape = thread.mode.tape
    if a._tape is tape and b._tape is tape:  # most often the operands have one dtype, too
        product = record_two_by(eager_products.record_product, _MATMUL, a, b, "matmul")
        if product is not None:
            return product
    return _converted(a, b)


def _converted(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of operands of any dtypes; raise if the shapes do not match."""
    _check_shapes(a.shape, b.shape)
    kinds = a.dtype.kind, b.dtype.kind
    if not any(kind in DIFFERENTIABLE_KINDS for kind in kinds):
        return from_array(np.matmul(np.asarray(a), np.asarray(b)), constant=True)
    if kinds == ("f", "c"):
        return _real_times_complex(a, b)
    a, b = in_common_dtype(a, b)
    product = record_two_by(eager_products.record_product, _MATMUL, a, b, "matmul")
    assert product is not None
    return product


def _real_times_complex(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of a real and a complex factor: that of the real one and the other's parts, side by side."""
    parts = pairs_of(b)
    if b.ndim > 1:
        parts = reshape(parts, (*b.shape[:-1], 2 * b.shape[-1]))
    product = matmul(a, parts)
    if b.ndim > 1:
        product = reshape(product, (*product.shape[:-1], b.shape[-1], 2))
    return complex_of(product)


def _check_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Raise for shapes that cannot be multiplied."""
    if not a or not b:
        raise ValueError(
            "matmul: operands must have at least one dimension; write x * y to multiply by a scalar"
        )
    if a[-1] != b[-2:][0]:
        raise ValueError(
            f"matmul: the last extent of {a} and the {'only' if len(b) == 1 else 'second-to-last'} extent of {b}"
            " differ"
        )
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ValueError(f"matmul: the leading dimensions of {a} and {b} do not broadcast") from None


def _reflected_matmul(x: Tensor, other: Any) -> Tensor:
    return matmul(other, x)


bind_methods(__matmul__=matmul, __rmatmul__=_reflected_matmul)


# --- derivatives -----------------------------------------------------------------------------------------------


state_rules(
    "matmul",
    *rules_of_product(
        lambda step, a, b: matmul(a, b),
        lambda step, y_bar, b: matmul(y_bar, adjoint(b)),
        lambda step, a, y_bar: matmul(adjoint(a), y_bar),
    ),
)
