"""Concatenation of Tensors: each piece is copied to its part of the result, and its cotangent is read from there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.frontend.indexing.writes import setitem
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers, in_common_dtype, record_joined
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.derived_docs import like

_SEQUENCES = (list, tuple, Tensor, np.ndarray, Sequence)


def concatenate(
    arrays: Sequence[Any],
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Tensor:
    """Join a sequence of Tensors along an existing axis.

    Parameters
    ----------
    arrays : sequence of Tensor or array_like
        They agree in all extents but the one along `axis`.
    axis : int or None, default 0
        Axis along which to join. If None, the arrays are flattened first.
    out : Tensor, optional
        Destination of the result, of the same shape; instead of `dtype`.
    dtype : data-type, optional
        Dtype of the result. By default the one that the arrays promote to.
    casting : str, default 'same_kind'
        Which conversions to `dtype`, or to that of `out`, are allowed, as for ``numpy.concatenate``.

    Returns
    -------
    Tensor
        The joined elements. The cotangent of each array is its part of the result's.

    Raises
    ------
    ValueError
        If there is nothing to join, an array is 0-dimensional, or other extents differ.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.concatenate([tg.zeros(2), tg.ones(1)])
    Tensor([0., 0., 1.])
    """
    pieces = _pieces(arrays, out, dtype, casting, "numpy.concatenate")
    joined = concatenated(pieces, axis)
    return joined if out is None else deliver(joined, out, casting=casting, name="numpy.concatenate")


def concatenated(pieces: list[Tensor], axis: int | None) -> Tensor:
    """Join Tensors along an existing axis."""
    if axis is None:
        pieces, axis = [p.reshape(-1) for p in pieces], 0
    return _join(pieces, axis, False, np.concatenate)


def pieces_of(arrays: Any, name: str) -> list[Tensor]:
    """Return the pieces to join: the Tensors of a sequence, or the rows of an array."""
    if not (isinstance(arrays, _SEQUENCES)):
        raise TypeError(
            f"{name}: the arrays must be given as a list or a tuple, not as a {type(arrays).__name__}"
        )
    pieces = [x if type(x) is Tensor else as_numbers(x, name) for x in arrays]
    if not pieces:
        raise ValueError(f"{name}: need at least one array to join")
    return pieces


def _pieces(arrays: Any, out: Any, dtype: Any, casting: Any, name: str) -> list[Tensor]:
    """Return the pieces in the requested dtype."""
    if out is not None and dtype is not None:
        raise TypeError(f"{name}: give 'out' or 'dtype', not both")
    pieces = pieces_of(arrays, name)
    return pieces if dtype is None else [x.astype(dtype, casting=casting, copy=False) for x in pieces]


def _join(pieces: list[Tensor], axis: int, is_new: bool, function: Any) -> Tensor:
    """Join Tensors along an existing or a new axis; `function` is NumPy's, which joins integers."""
    tape, name = thread.mode.tape, function.__name__
    if not [x for x in pieces if x._tape is not tape]:  # most often they have one dtype, too
        joined = record_joined(pieces, axis, is_new, name)
        if joined is not None:
            return joined
    if all(p.dtype.kind not in DIFFERENTIABLE_KINDS for p in pieces):
        return _of_integers(pieces, axis, is_new, function)
    _check_shapes([p.shape for p in pieces], axis, is_new, f"numpy.{name}")
    joined = record_joined(in_common_dtype(*pieces), axis, is_new, name)
    assert joined is not None
    return joined


def _of_integers(pieces: list[Tensor], axis: int, is_new: bool, function: Any) -> Tensor:
    """Join integers or booleans: by NumPy, or while recording by writes that each replay repeats."""
    dtype = np.result_type(*[p.dtype for p in pieces])
    replayed = thread.mode.recorder is not None and any(p._traced() for p in pieces)
    if not replayed or dtype not in DTYPE_CODES:
        return from_array(function([np.asarray(p) for p in pieces], axis), constant=True)
    whole = from_array(function([np.zeros(p.shape, dtype) for p in pieces], axis), constant=True)
    axis = normalize_axis_index(axis, whole.ndim)
    begin = 0
    for piece in pieces:
        end = begin + (1 if is_new else piece.shape[axis])
        setitem(whole, (*(slice(None),) * axis, begin if is_new else slice(begin, end)), piece)
        begin = end
    return whole


def _check_shapes(shapes: list[tuple[int, ...]], axis: int, is_new: bool, name: str) -> None:
    """Raise for shapes that cannot be joined."""
    first = shapes[0]
    if is_new:
        if any(shape != first for shape in shapes):
            raise ValueError(
                f"{name}: all shapes must be the same, not {', '.join(map(str, sorted(set(shapes))))}"
            )
    elif not first:
        raise ValueError(f"{name}: 0-dimensional arrays cannot be joined; stack() them")
    axis = normalize_axis_index(axis, len(first) + is_new)
    for shape in shapes:
        if len(shape) != len(first) or any(e != f for k, (e, f) in enumerate(zip(shape, first)) if k != axis):  # noqa: B905
            raise ValueError(f"{name}: shapes {first} and {shape} differ in more than axis {axis}")


@like(
    concatenate,
    ("They agree in all extents but the one along `axis`.", "All have the same shape."),
    (
        """int or None, default 0
    Axis along which to join. If None, the arrays are flattened first.""",
        "int, default 0\n    Position of the new axis in the result.",
    ),
    ("numpy.concatenate", "numpy.stack"),
    (", an array is 0-dimensional, or other extents differ", " or the shapes differ"),
    summary="Join a sequence of Tensors along a new axis.",
    returns="Tensor\n    Has one dimension more than the arrays.",
    examples=""">>> tg.stack([tg.zeros(2), tg.ones(2)], axis=1)
Tensor([[0., 1.],
        [0., 1.]])""",
)
def stack(
    arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Tensor:
    pieces = _pieces(arrays, out, dtype, casting, "numpy.stack")
    joined = _join(pieces, axis, True, np.stack)
    return joined if out is None else deliver(joined, out, casting=casting, name="numpy.stack")


FUNCTIONS = {"concatenate": concatenate, "concat": concatenate, "stack": stack}
