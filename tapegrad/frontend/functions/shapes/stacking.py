"""Stacks: joins after dimensions are added (horizontal, vertical, columns, blocks)."""

from typing import Any

from tapegrad.frontend.functions.shapes.joining import concatenate, concatenated, pieces_of, stack
from tapegrad.frontend.functions.shapes.views import (
    with_one_dimension,
    with_three_dimensions,
    with_two_dimensions,
)
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import contiguous, ravel, reshape, transpose
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Tensor:
    """Join along the second axis; vectors and numbers along the only one.

    Parameters
    ----------
    tup : sequence of Tensor or array_like
        They agree in all extents but the one along the axis.
    dtype : data-type, optional
        Dtype of the result. By default the one that the arrays promote to.
    casting : str, default 'same_kind'
        Which conversions to `dtype` are allowed.

    Returns
    -------
    Tensor
        The joined elements.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.hstack([tg.zeros(2), 1.0])
    Tensor([0., 0., 1.])
    """
    pieces = [with_one_dimension(x) for x in pieces_of(tup, "numpy.hstack")]
    axis = 0 if pieces[0].ndim == 1 else 1
    return (
        concatenated(pieces, axis)
        if dtype is None
        else concatenate(pieces, axis, dtype=dtype, casting=casting)
    )


@like(
    hstack,
    ("one along the axis.", "first; vectors have the same length."),
    ("elements.", "elements, of two dimensions or more."),
    summary="Join along the first axis; vectors are rows.",
    examples=">>> tg.vstack([tg.zeros(2), tg.ones(2)])\nTensor([[0., 0.],\n        [1., 1.]])",
)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Tensor:
    pieces = pieces_of(tup, "numpy.vstack")
    if _are_alike_vectors(pieces):
        return stack(pieces, 0, dtype=dtype, casting=casting)
    return concatenate([with_two_dimensions(x) for x in pieces], 0, dtype=dtype, casting=casting)


def _are_alike_vectors(pieces: list[Tensor]) -> bool:
    """Return whether one join along a new axis stacks the pieces: they are vectors of one shape."""
    shape = pieces[0].shape
    return len(shape) == 1 and all(x.shape == shape for x in pieces)


def dstack(tup: Any) -> Tensor:
    """Join along the third axis; vectors and matrices are layers of it.

    Parameters
    ----------
    tup : sequence of Tensor or array_like
        They agree in all extents but the third; vectors and matrices have the same shape.

    Returns
    -------
    Tensor
        The joined elements, of three dimensions or more.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.dstack([tg.zeros(2), tg.ones(2)])
    Tensor([[[0., 1.],
             [0., 1.]]])
    """
    return concatenate([with_three_dimensions(x) for x in pieces_of(tup, "numpy.dstack")], 2)


def column_stack(tup: Any) -> Tensor:
    """Join vectors as the columns of a matrix.

    Parameters
    ----------
    tup : sequence of Tensor or array_like
        Vectors, and matrices with as many rows as these have elements.

    Returns
    -------
    Tensor
        A matrix.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.column_stack([tg.zeros(2), tg.ones(2)])
    Tensor([[0., 1.],
            [0., 1.]])
    """
    pieces = pieces_of(tup, "numpy.column_stack")
    if _are_alike_vectors(pieces):
        return stack(pieces, 1)
    return concatenate([transpose(with_two_dimensions(x)) if x.ndim < 2 else x for x in pieces], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Join values behind the end.

    Parameters
    ----------
    arr : Tensor or array_like
        Array to append to.
    values : Tensor or array_like
        Agrees with `arr` in all extents but the one along `axis`.
    axis : int, optional
        Axis along which to join. By default both are flattened.

    Returns
    -------
    Tensor
        A copy, as by `concatenate`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.append(tg.zeros(2), 1.0)
    Tensor([0., 0., 1.])
    """
    pieces = [as_numbers(each, "numpy.append") for each in (arr, values)]
    if axis is None:
        pieces = [x if x.ndim == 1 else ravel(x) for x in pieces]
    return concatenated(pieces, axis or 0)


def block(arrays: Any) -> Tensor:
    """Join nested lists of blocks: the innermost along the last axis, those around them along the one before.

    Parameters
    ----------
    arrays : nested list of Tensor or array_like
        All nested equally deep, but no tuples. Blocks of fewer dimensions are given further ones in front.

    Returns
    -------
    Tensor
        The joined elements; a copy of a single block.

    Raises
    ------
    ValueError
        If a list is empty, blocks are nested unequally deep, or shapes do not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a, b = tg.eye(2), tg.ones((2, 1))
    >>> tg.block([[a, b], [0.0, 0.0, 5.0]])
    Tensor([[1., 0., 1.],
            [0., 1., 1.],
            [0., 0., 5.]])
    """
    depth = _depth(arrays)
    blocks = _as_tensors(arrays)
    if depth == 0:
        return contiguous(blocks)
    ndim = max(depth, *(x.ndim for x in _flat(blocks)))
    return _joined(blocks, depth, ndim)


def _depth(arrays: Any, index: str = "arrays") -> int:
    """Return the nesting depth of lists."""
    if isinstance(arrays, tuple):
        raise TypeError(f"numpy.block: {index} is a tuple; only lists can be used to arrange blocks")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError(f"numpy.block: {index} is an empty list")
    depths = [_depth(each, f"{index}[{k}]") for k, each in enumerate(arrays)]
    for k, depth in enumerate(depths):
        if depth != depths[0]:
            raise ValueError(
                f"numpy.block: {index}[0] is nested {depths[0]} deep, and {index}[{k}] is nested {depth} deep"
            )
    return depths[0] + 1


def _as_tensors(arrays: Any) -> Any:
    return (
        [_as_tensors(each) for each in arrays]
        if isinstance(arrays, list)
        else as_numbers(arrays, "numpy.block")
    )


def _flat(blocks: Any) -> list[Tensor]:
    return [x for each in blocks for x in _flat(each)] if isinstance(blocks, list) else [blocks]


def _joined(blocks: Any, depth: int, ndim: int) -> Tensor:
    """Join blocks, which are nested `depth` deep, in a result of `ndim` dimensions."""
    if depth == 0:
        missing = ndim - blocks.ndim
        return reshape(blocks, (1,) * missing + blocks.shape) if missing else blocks
    return concatenate([_joined(each, depth - 1, ndim) for each in blocks], ndim - depth)


FUNCTIONS = {
    function.__name__: function
    for function in (hstack, vstack, dstack, column_stack, append, block)
} | {"row_stack": vstack}  # fmt: skip
