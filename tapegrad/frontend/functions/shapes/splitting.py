"""Splitting of Tensors into views of their parts."""

import operator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.conversions.conversion import concrete_array
from tapegrad.frontend.indexing.indexing import getitem
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import like


def _parts(name: str, a: Any, sections: Any, axis: int, equal: bool) -> list[Tensor]:
    """Split along an axis: into a number of parts, or at the given positions."""
    x = a if isinstance(a, Tensor) else as_numbers(a, name)
    axis = normalize_axis_index(axis, x.ndim)
    ends = _ends(sections, x.shape[axis], equal, name)
    before = (slice(None),) * axis
    return [getitem(x, (*before, slice(begin, end))) for begin, end in pairwise(ends)]


def _ends(sections: Any, extent: int, equal: bool, name: str) -> list[int]:
    """Return the start and the end of each part."""
    positions = np.asarray(
        concrete_array(sections, f"sections of {name}") if is_tensor(sections) else sections
    )
    if positions.ndim:
        return [0, *[operator.index(position) for position in positions.tolist()], extent]
    count = operator.index(positions.item())
    if count <= 0:
        raise ValueError(f"{name}: the number of parts must be positive, not {count}")
    each, longer = divmod(extent, count)
    if equal and longer:
        raise ValueError(f"{name}: an axis of {extent} cannot be divided into {count} equal parts")
    return [k * each + min(k, longer) for k in range(count + 1)]


def _check_ndim(a: Any, least: int, name: str) -> Tensor:
    x = as_numbers(a, name)
    if x.ndim < least:
        raise ValueError(f"{name}: shape {x.shape} has fewer than {least} dimensions")
    return x


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Return consecutive parts along an axis, as views.

    Parameters
    ----------
    ary : Tensor or array_like
        Input.
    indices_or_sections : int or sequence of int
        Number of equal parts, or the start of each but the first.
    axis : int, default 0
        The axis along which to split.

    Returns
    -------
    list of Tensor
        Views of `ary`.

    Raises
    ------
    ValueError
        If the axis cannot be divided into so many equal parts.

    See Also
    --------
    array_split : The parts may differ in length.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.split(tg.arange(4.0), 2)
    [Tensor([0., 1.]), Tensor([2., 3.])]
    """
    return _parts("numpy.split", ary, indices_or_sections, axis, True)


@like(
    split,
    ("equal parts,", "parts,"),
    summary="Return consecutive parts along an axis, which may differ in length by one, as views.",
    raises="",
    see_also="",
    examples=">>> tg.array_split(tg.arange(3.0), 2)\n[Tensor([0., 1.]), Tensor([2.])]",
)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    return _parts("numpy.array_split", ary, indices_or_sections, axis, False)


@like(
    split,
    ("Input.", "Array of one dimension or more."),
    ("\naxis : int, default 0\n    The axis along which to split.", ""),
    summary="Return consecutive parts along the second axis, or along that of a vector, as views.",
    raises="",
    see_also="",
    examples=""">>> tg.hsplit(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), 2)[1]
Tensor([[2.],
        [4.]])""",
)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    x = _check_ndim(ary, 1, "numpy.hsplit")
    return _parts("numpy.hsplit", x, indices_or_sections, min(x.ndim, 2) - 1, True)


@like(
    hsplit,
    ("second axis, or along that of a vector", "first axis"),
    ("one dimension", "two dimensions"),
    examples=""">>> tg.vsplit(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), 2)[1]
Tensor([[3., 4.]])""",
)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    x = _check_ndim(ary, 2, "numpy.vsplit")
    return _parts("numpy.vsplit", x, indices_or_sections, 0, True)


@like(
    hsplit,
    ("second axis, or along that of a vector", "third axis"),
    ("one dimension", "three dimensions"),
    examples=""">>> [part.shape for part in tg.dsplit(tg.zeros((2, 2, 3)), [1])]
[(2, 2, 1), (2, 2, 2)]""",
)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    x = _check_ndim(ary, 3, "numpy.dsplit")
    return _parts("numpy.dsplit", x, indices_or_sections, 2, True)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts that each index along an axis selects, without that axis.

    Parameters
    ----------
    x : Tensor or array_like
        Array of one dimension or more.
    axis : int, default 0
        The axis along which to split.

    Returns
    -------
    tuple of Tensor
        Views of `x`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.unstack(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    (Tensor([1., 2.]), Tensor([3., 4.]))
    """
    operand = as_numbers(x, "numpy.unstack")
    if operand.ndim == 0:
        raise ValueError("numpy.unstack: the Tensor has no dimension to split")
    before = (slice(None),) * normalize_axis_index(axis, operand.ndim)
    return tuple([getitem(operand, (*before, k)) for k in range(operand.shape[axis])])


FUNCTIONS = {
    function.__name__: function
    for function in (split, array_split, hsplit, vsplit, dsplit, unstack)
}  # fmt: skip
