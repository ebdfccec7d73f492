"""Reductions and scans of -0.0 have NumPy's signs, in every tier: behind ``1/x`` and `arctan2` these are numbers."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

Call = Callable[[Any, Any, Any], Any]
SHAPES = ((1,), (2,), (20,), (1, 1), (1, 20), (20, 1), (2, 20), (20, 2), (3, 1, 3), (0, 2))


def reduced(name: str, **options: Any) -> Call:
    return lambda xp, x, axis: getattr(xp, name)(x, axis=axis, **options)


def along(name: str) -> Call:
    return lambda xp, x, axis: getattr(xp, name)(x, axis=axis or 0)


def of_vectors(call: Callable[[Any, Any, Any], Any]) -> Call:
    """A call with an array and ones along its last axis; the axis is of no effect."""
    return lambda xp, x, axis: call(xp, x, np.ones(x.shape[-1], x.dtype))


LINEAR: dict[str, Call] = {
    "sum": reduced("sum"),
    "sum keepdims": reduced("sum", keepdims=True),
    "sum initial": reduced("sum", initial=0.0),
    "sum where": lambda xp, x, axis: xp.sum(x, axis=axis, where=np.ones(x.shape, bool)),
    "add.reduce": lambda xp, x, axis: np.add.reduce(x, axis=axis),
    "mean": lambda xp, x, axis: xp.mean(x, axis=axis) if x.size else xp.sum(x),
    "average": lambda xp, x, axis: xp.average(x, axis=axis) if x.size else xp.sum(x),
    "nansum": reduced("nansum"),
    "nanmean": lambda xp, x, axis: xp.nanmean(x, axis=axis) if x.size else xp.nansum(x),
    "cumsum": reduced("cumsum"),
    "nancumsum": reduced("nancumsum"),
    "cumulative_sum": along("cumulative_sum"),
    "add.accumulate": lambda xp, x, axis: np.add.accumulate(x, axis=axis or 0),
    "trapezoid": lambda xp, x, axis: xp.trapezoid(x),
    "trace": lambda xp, x, axis: xp.trace(x) if x.ndim == 2 else xp.sum(x),
    "einsum": lambda xp, x, axis: xp.einsum("...i->...", x),
    "dot": of_vectors(lambda xp, x, ones: xp.dot(x, ones)),
    "inner": of_vectors(lambda xp, x, ones: xp.inner(x, ones)),
    "tensordot": of_vectors(lambda xp, x, ones: xp.tensordot(x, ones, 1)),
    "matmul": of_vectors(lambda xp, x, ones: xp.matmul(x, np.stack([ones, ones], 1))),
    "products": of_vectors(lambda xp, x, ones: xp.einsum("...i,i->...", x, ones)),
}
OTHERS: dict[str, Call] = {
    "prod": reduced("prod"),
    "cumprod": reduced("cumprod"),
    "max": reduced("max", initial=-0.0),
    "min": reduced("min", initial=-0.0),
    "median": lambda xp, x, axis: xp.median(x, axis=axis) if x.size else xp.sum(x),
    "nanmedian": lambda xp, x, axis: xp.nanmedian(x, axis=axis) if x.size else xp.sum(x),
    "var": lambda xp, x, axis: xp.var(x, axis=axis) if x.size else xp.sum(x),
    "fsum of squares": lambda xp, x, axis: xp.linalg.norm(x),
}


def applied(call: Call) -> Callable[[Any], Any]:
    """A function of arrays of all shapes: what a call makes of each, along each axis, end to end."""

    def function(arrays: list[Any]) -> Any:
        xp = tg if any(isinstance(x, tg.Tensor) for x in arrays) else np
        parts = [call(xp, x, axis) for x in arrays for axis in (None, *range(x.ndim))]
        return xp.concatenate([xp.ravel(part) for part in parts])

    return function


def zeros(dtype: Any) -> list[np.ndarray]:
    return [np.full(shape, -0.0, dtype) for shape in SHAPES]


def pushed(f: Any, arrays: list[np.ndarray]) -> Any:
    return tg.jvp(f, (arrays,), (arrays,))[1]


TIERS: dict[str, Callable[[Any], Callable[[list[np.ndarray]], Any]]] = {
    "eager": lambda f: lambda xs: f([tg.tensor(x) for x in xs]).data,
    "rows": lambda f: tg.jit(f, fuse=False),
    "fused": lambda f: tg.jit(lambda xs: f([x * 1.0 for x in xs]), fuse=True),
    "lanes": lambda f: lambda xs: tg.vmap(f)([np.stack([x] * 9) for x in xs])[8],
}
TANGENTS = {
    "tangents": lambda f: lambda xs: pushed(f, xs),
    "tangents of replays": lambda f: lambda xs: pushed(tg.jit(f), xs),
}


SINGLE = ("sum", "mean", "cumsum", "dot", "median")  # in float32 as well


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, np.float64) for name in (*LINEAR, *OTHERS)), *((name, np.float32) for name in SINGLE)],
)
def test_zeros_have_numpys_signs_in_all_tiers(name: str, dtype: Any) -> None:
    function = applied((LINEAR | OTHERS)[name])
    expected, wrong = function(zeros(dtype)), {}
    for tier, make in (TIERS | (TANGENTS if name in LINEAR else {})).items():
        found = np.asarray(make(function)(zeros(dtype)))
        np.testing.assert_array_equal(found, expected)
        different = np.flatnonzero(np.signbit(found) != np.signbit(expected))
        if different.size:
            wrong[tier] = different.tolist()
    assert not wrong


def test_a_sum_over_one_element_is_the_same_number_behind_a_quotient() -> None:
    x = np.full((1, 3), -0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for f in (lambda x: 1.0 / np.sum(x, axis=0), lambda x: np.arctan2(np.cumsum(x, axis=0), -1.0)):
            np.testing.assert_array_equal(tg.jit(f)(x), f(x))


# --- zeros among other numbers -----------------------------------------------------------------------------------

ROWS = np.array(
    [
        [-1.0, 1.0, 1.0, -0.0, -0.0],
        [0.0, 1.0, -0.0, -0.0, -1.0],
        [0.0, 0.0, 0.0, 0.0, -1.0],
        [1.0, -1.0, 1.0, 1.0, -1.0],
    ]
)
PLACES, AT = np.arange(-2.0, 3.0), np.array([-3.0, -2.0, -0.5, 0.0, 1.0, 1.5, 2.0, 4.0])
UNEVEN = np.array([-2.0, -1.0, 0.5, 1.0, 2.0])
AMONG_OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "diag": lambda xp, x: [xp.diag(row, k) for row in x for k in (0, 1, -2)],
    "diagflat": lambda xp, x: [xp.diagflat(x[:2])],
    "pad": lambda xp, x: [xp.pad(x, 1)],
    "interp": lambda xp, x: [xp.interp(AT, PLACES, row) for row in x],
    "interp at": lambda xp, x: [xp.interp(x.real, UNEVEN, ROWS[0]), xp.interp(x.real, PLACES, -ROWS[0])],
    "gradient": lambda xp, x: [xp.gradient(x, d, axis=1) for d in (1.0, PLACES, UNEVEN)],
    "gradient at edges": lambda xp, x: [
        xp.gradient(x, d, axis=1, edge_order=2) for d in (0.5, PLACES, UNEVEN)
    ],
    "cross": lambda xp, x: [xp.cross(x[:, :3], x[:, 2:])],
    "prod": lambda xp, x: [xp.prod(x, axis) for axis in (None, 0, 1)] + [xp.prod(x[:, :2], 1)],
    "cumprod": lambda xp, x: [xp.cumprod(x, axis) for axis in (None, 0, 1)],
}


@pytest.mark.parametrize("name", AMONG_OTHERS)
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_zeros_among_others_have_numpys_signs(name: str, kind: str) -> None:
    x = ROWS.copy() if kind == "real" else np.empty(ROWS.shape, complex)
    if kind == "complex":
        x.real, x.imag = ROWS, ROWS[:, ::-1]
    parts = AMONG_OTHERS[name]
    expected = np.concatenate([np.ravel(part) for part in parts(np, x)]).view(float)

    def joined(x: Any) -> Any:
        return tg.concatenate([tg.ravel(part) for part in parts(tg, x)])

    batch = np.stack([x + 2.0, x])
    for found in (joined(tg.tensor(x)).data, tg.jit(joined)(x), tg.vmap(joined)(batch)[1]):
        numbers = np.ascontiguousarray(found).view(float)
        np.testing.assert_allclose(numbers, expected, rtol=1e-15)
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(numbers[zero]), np.signbit(expected[zero]))


def test_slopes_between_points_are_those_of_a_zero_of_either_sign() -> None:
    def gradient(f: Any, values: Any) -> Any:
        weighted = f(lambda x, xp, fp: tg.sum(tg.interp(x, xp, fp) * np.arange(len(AT))))
        return tg.grad(weighted, (0, 1, 2))(AT, PLACES, values)

    for f in (lambda f: f, tg.jit):
        for found, expected in zip(gradient(f, ROWS[0]), gradient(f, ROWS[0] + 0.0), strict=True):
            np.testing.assert_array_equal(found, expected)
