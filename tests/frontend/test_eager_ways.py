"""Eager code looks at the contents and takes the short way; values and derivatives are those of the replay.

A replay has instructions that are right for all contents: that is the long way.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped

NAN, INF = np.nan, np.inf

CONTENTS = {
    "numbers": [[1.0, 4.0, 2.5], [-3.0, 0.5, 7.0]],
    "a nan": [[1.0, NAN, 2.5], [-3.0, 0.5, 7.0]],
    "a line of nan": [[NAN, NAN, NAN], [-3.0, 0.5, 7.0]],
    "nothing but nan": [[NAN, NAN, NAN], [NAN, NAN, NAN]],
    "infinite": [[INF, 1.0, 2.0], [-INF, NAN, -INF]],
    "ties": [[2.0, 2.0, 1.0], [2.0, NAN, 1.0]],
    "zeros": [[0.0, 0.0, 0.0], [0.0, -0.0, 3.0]],
    "no lines": np.zeros((0, 3)),
}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "norm": tg.linalg.norm,
    "norm along": lambda x: tg.linalg.norm(x, axis=1),
    "norm of another order": lambda x: tg.linalg.norm(x, 3, axis=-1, keepdims=True),
    "nansum": tg.nansum,
    "nanprod along": lambda x: tg.nanprod(x, axis=1),
    "nanmean": tg.nanmean,
    "nanmean along": lambda x: tg.nanmean(x, axis=1, keepdims=True),
    "nanvar": tg.nanvar,
    "nanvar along": lambda x: tg.nanvar(x, axis=1, ddof=1),
    "nanvar that loses all": lambda x: tg.nanvar(x, ddof=7),
    "var of some": lambda x: tg.var(x, axis=0, where=[[True], [False]]),
    "mean of some": lambda x: tg.mean(x, axis=1, where=[True, False, True]),
    "nanmax": lambda x: tg.nanmax(x),
    "nanmin along": lambda x: tg.nanmin(x, axis=1),
    "sort": lambda x: tg.sort(x, axis=None),
    "sort along": lambda x: tg.sort(x, axis=0),
    "median": tg.median,
    "median along": lambda x: tg.median(x, axis=1),
    "quantiles": lambda x: tg.quantile(x, [0.0, 0.3, 1.0], axis=1),
    "quantile by its neighbours": lambda x: tg.quantile(x, 0.3, method="nearest", keepdims=True),
    "nanmedian": tg.nanmedian,
    "nanmedian along": lambda x: tg.nanmedian(x, axis=1),
    "nanpercentile": lambda x: tg.nanpercentile(x, 40),
}  # fmt: skip


def outcome(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Return what a function gives, or the kind of the error that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # only eager code warns
        try:
            return function(x)
        except (ValueError, IndexError) as error:
            return type(error)


@grouped("function")
@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_eager_results_are_those_of_a_replay(function: Callable[[Any], Any], contents: Any) -> None:
    x = np.asarray(contents, float)

    def total(t: Any) -> Any:
        return tg.sum(function(t))

    for eager, replayed in (
        (lambda x: function(tg.tensor(x)).data, tg.jit(function)),
        (tg.grad(total), tg.grad(tg.jit(total))),
        (lambda x: tg.hvp(total)(x, np.ones_like(x)), lambda x: tg.hvp(tg.jit(total))(x, np.ones_like(x))),
    ):
        found, expected = outcome(eager, x), outcome(replayed, x)
        if isinstance(expected, type):
            assert found is expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_of_two_vectors(dtype: str) -> None:
    a, b = np.array([1.0, 2.0, 4.0], dtype), np.array([3.0, -1.0, 0.5], dtype)
    assert tg.cross(tg.tensor(a), b).dtype == dtype
    for function in (tg.cross, tg.jit(tg.cross)):
        np.testing.assert_array_equal(function(tg.tensor(a), tg.tensor(b)).data, np.cross(a, b))
        np.testing.assert_array_equal(function(tg.tensor(a[::-1])[::-1], tg.tensor(b)).data, np.cross(a, b))
    np.testing.assert_allclose(tg.jacobian(tg.cross)(a, b), np.cross(np.eye(3), b).T)
    with pytest.raises(np.exceptions.AxisError):
        tg.cross(tg.tensor(a), b, axisc=1)
    np.testing.assert_array_equal(
        tg.cross(tg.tensor([1, 2, 4]), [3, -1, 5]).data, np.cross([1, 2, 4], [3, -1, 5])
    )


@pytest.mark.parametrize("shape", [(700,), (3, 400)])
@pytest.mark.parametrize("name", ["sort along", "nanmedian", "quantiles of all"])
def test_order_of_many_elements_is_that_of_a_replay(name: str, shape: tuple[int, ...]) -> None:
    function = {**FUNCTIONS, "quantiles of all": lambda x: tg.quantile(x, [0.2, 0.5])}[name]
    x = np.random.default_rng(5).integers(0, 50, shape).astype(float)  # with ties
    x.flat[7] = np.nan

    def weighted(t: Any) -> Any:
        result = function(t)
        return tg.sum(result * np.arange(1.0, 1.0 + result.size).reshape(result.shape))

    np.testing.assert_array_equal(function(tg.tensor(x)).data, tg.jit(function)(x))
    np.testing.assert_array_equal(tg.grad(weighted)(x), tg.grad(tg.jit(weighted))(x))
