"""Sums of products by subscripts: `einsum`."""

from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.guarded_results import at_once
from tapegrad.frontend.functions.products.contraction import plan, run
from tapegrad.frontend.functions.products.subscripts import split_arguments
from tapegrad.frontend.recording.layouts import in_order
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers, in_common_dtype
from tapegrad.frontend.tensor.tensor import Tensor, from_array, view_of

_NAME = "numpy.einsum"


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: Any = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> Any:
    """Compute sums of products of elements, which subscripts describe.

    Parameters
    ----------
    *operands : str, then Tensor or array_like
        Subscripts, such as ``'ij,jk->ik'``, and an operand for each of their terms; or each operand followed by a list
        of numbers, and the list of the result last. A label that the result lacks is summed over. A label that stands
        twice in a term takes the diagonal. Without an arrow, the result has the labels that occur once, in the order
        of the alphabet. ``...`` stands for dimensions that broadcast.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.
    dtype : data-type, optional
        Dtype to compute in.
    order : {'K', 'A', 'C', 'F'}, default 'K'
        Memory order of the result.
    casting : str, default 'safe'
        Which conversions to `dtype` are allowed.
    optimize : bool, str or sequence, default False
        As for ``numpy.einsum_path``: in which order more than two operands are contracted. By default in a good one.

    Returns
    -------
    Tensor
        A view of the operand if there is one and nothing is summed.

    Raises
    ------
    ValueError
        If the subscripts are malformed, or do not fit the operands.

    See Also
    --------
    einsum_path : The order in which operands are contracted.

    Notes
    -----
    Pairs that are summed over common labels are multiplied as matrices, by BLAS; see `matmul` for infinite elements.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a, v = tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, 10.0])
    >>> tg.einsum("i,ij,j->", v, a, v)
    Tensor(451.)
    >>> tg.einsum("ii->i", a)
    Tensor([1., 4.])
    """
    text, values = split_arguments(operands)
    factors = [as_numbers(value, _NAME) for value in values]
    factors = factors if dtype is None else [_cast(x, dtype, casting) for x in factors]
    result = _evaluated(text, factors, optimize)
    if order not in ("K", "A"):
        result = in_order(result, order, _NAME)
    return result if out is None else deliver(result, out, casting=casting, name=_NAME)


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """Return an order in which `einsum` contracts its operands with little work.

    Parameters
    ----------
    *operands : str, then Tensor or array_like
        As for `einsum`; only the shapes of the operands count.
    optimize : bool, str or sequence, default 'greedy'
        As for ``numpy.einsum_path``.
    einsum_call : bool, default False
        As for ``numpy.einsum_path``.

    Returns
    -------
    list and str
        The path, and a table that describes it.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.einsum_path("ij,jk,k", tg.ones((2, 3)), tg.ones((3, 4)), tg.ones(4))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    return at_once(np.einsum_path, operands, {"optimize": optimize, "einsum_call": einsum_call})


def _cast(x: Tensor, dtype: Any, casting: Any) -> Tensor:
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(
            f"{_NAME}: cannot convert {x.dtype} to {np.dtype(dtype)} by the casting rule {casting!r}"
        )
    return x.astype(dtype, copy=False)


def _evaluated(text: str, factors: list[Tensor], optimize: Any) -> Tensor:
    order = _hashable(optimize) if len(factors) > 2 else False
    steps = plan(text, tuple([x.shape for x in factors]), order)
    dtypes = {x.dtype for x in factors}
    if len(dtypes) > 1 or next(iter(dtypes)).kind not in DIFFERENTIABLE_KINDS:
        if all(dtype.kind not in DIFFERENTIABLE_KINDS for dtype in dtypes):
            return _of_integers(text, factors)
        factors = in_common_dtype(*factors)
    if not steps:
        return view_of(factors[0], factors[0].data_or_traced()[...])
    result: Tensor = run(steps, factors)
    return result


def _of_integers(text: str, factors: list[Tensor]) -> Tensor:
    arrays: list[Any] = [np.asarray(x) for x in factors]
    return from_array(np.array(np.einsum(text, *arrays)), constant=True)


def _hashable(optimize: Any) -> Any:
    """Return an argument `optimize` with its lists as tuples."""
    return tuple(map(_hashable, optimize)) if isinstance(optimize, list | tuple) else optimize


FUNCTIONS = {"einsum": einsum, "einsum_path": einsum_path}
