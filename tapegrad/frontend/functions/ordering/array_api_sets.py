"""Set functions of the array API: different elements, in results with named fields."""

from typing import Any, NamedTuple

from tapegrad.frontend.functions.ordering.sets import unique
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


class UniqueAllResult(NamedTuple):
    """Result of `unique_all`."""

    values: Tensor
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """Result of `unique_counts`."""

    values: Tensor
    counts: Any


class UniqueInverseResult(NamedTuple):
    """Result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Any


def unique_all(x: Any) -> UniqueAllResult:
    """Return the different elements, their first positions, how to restore `x` from them, and their counts.

    Parameters
    ----------
    x : Tensor or array_like
        Elements; each nan differs from the others.

    Returns
    -------
    values, indices, inverse_indices, counts
        The elements in ascending order, which take the gradient, and arrays of integers.

    See Also
    --------
    unique : The same for an axis, with a choice of results.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.unique_all(tg.tensor([3.0, 1.0, 3.0])).values
    Tensor([1., 3.])
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@like(
    unique_all,
    summary="Return the different elements and their counts.",
    returns="""values, counts
    The elements in ascending order, which take the gradient, and an array of integers.""",
    see_also="",
    examples=">>> tg.unique_counts(tg.tensor([3.0, 1.0, 3.0])).counts\narray([1, 2])",
)
def unique_counts(x: Any) -> UniqueCountsResult:
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@like(
    unique_all,
    summary="Return the different elements and how to restore `x` from them.",
    returns="""values, inverse_indices
    The elements in ascending order, which take the gradient, and an array of integers: ``values[inverse_indices]``
    has the elements of `x`.""",
    see_also="",
    examples=""">>> tg.unique_inverse(tg.tensor([3.0, 1.0, 3.0])).inverse_indices
array([1, 0, 1])""",
)
def unique_inverse(x: Any) -> UniqueInverseResult:
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@like(
    unique_all,
    summary="Return the different elements.",
    returns="""Tensor
    In ascending order. The gradient of an element flows to its first occurrence.""",
    see_also="",
    examples=">>> tg.unique_values(tg.tensor([3.0, 1.0, 3.0]))\nTensor([1., 3.])",
)
def unique_values(x: Any) -> Tensor:
    values: Tensor = unique(x, equal_nan=False)
    return values


FUNCTIONS = {
    function.__name__: function for function in (unique_all, unique_counts, unique_inverse, unique_values)
}
