"""`RegularGridInterpolator`: SciPy's numbers, and derivatives by values and places."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
from scipy.sparse.linalg import spsolve

import tapegrad as tg
from tapegrad.errors import UnsupportedError
from tapegrad.interpolate import RegularGridInterpolator

STEPS = np.random.default_rng(7).uniform(0.5, 1.0, (2, 7))
LINES = (np.cumsum(STEPS[0]), np.cumsum(STEPS[1, :6])[::-1], np.arange(6.0))
SPLINES = ("slinear", "cubic", "quintic")
METHODS = ("linear", "nearest", *SPLINES)


def grid(
    rng: np.random.Generator, dims: int, behind: tuple[int, ...] = ()
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    points = LINES[:dims]
    return points, rng.standard_normal((*map(len, points), *behind))


def places(rng: np.random.Generator, points: tuple[np.ndarray, ...], beyond: float) -> np.ndarray:
    """Return places within a distance of the grid, among them corners and grid points."""
    inside = [rng.uniform(line.min() - beyond, line.max() + beyond, (2, 8)) for line in points]
    found = np.stack(inside, axis=-1)
    found[1, :3] = np.stack([line[[0, -1, 2]] for line in points], axis=-1)
    return found


def inside_cells(rng: np.random.Generator, points: tuple[np.ndarray, ...], count: int) -> np.ndarray:
    """Return places in cells of the grid, away from their borders, where slopes jump."""
    cells = [rng.integers(0, len(line) - 1, count) for line in points]
    shares = rng.uniform(0.2, 0.8, (len(points), count))
    columns = [
        line[cell] + share * np.diff(line)[cell]
        for line, cell, share in zip(points, cells, shares, strict=True)
    ]
    return np.stack(columns, axis=-1)


def theirs(points: Any, values: Any, method: str, **options: Any) -> Any:
    """Return SciPy's interpolator, with exact solutions for splines."""
    solver = {"solver": spsolve} if method in SPLINES else {}
    return scipy.interpolate.RegularGridInterpolator(points, values, method, **options, **solver)


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dims", "behind"), [(1, ()), (2, ()), (3, (2,))])
def test_values_are_scipys(method, dims, behind, rng):
    points, values = grid(rng, dims, behind)
    at = places(rng, points, 0.5)
    at[0, 0, 0] = np.nan
    for fill_value in (np.nan, None, 3.0):
        options = {"bounds_error": False, "fill_value": fill_value}
        found = RegularGridInterpolator(points, values, method, **options)
        expected = theirs(points, values, method, **options)
        np.testing.assert_allclose(found(at), expected(at), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(found(at[0, 1]), expected(at[0, 1]), rtol=1e-7, atol=1e-7)
        if dims > 1:
            columns = tuple(np.moveaxis(at, -1, 0))
            np.testing.assert_array_equal(found(columns), found(at))
        if method in SPLINES:
            nu = (1,) * dims
            np.testing.assert_allclose(found(at, nu=nu), expected(at, nu=nu), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(
        found(at, "nearest"), RegularGridInterpolator(points, values, "nearest", **options)(at)
    )


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_derivatives(method, rng):
    points, values = grid(rng, 2)
    at = inside_cells(rng, points, 4)

    def function(values: Any, at: Any) -> Any:
        return RegularGridInterpolator(points, values, method)(at)

    replayed = tg.jit(function)
    tg.check_grads(replayed, (values, at), order=2 if method == "linear" else 1)
    other = at[::-1] * 0.9 + 0.2
    np.testing.assert_array_equal(replayed(values, other), function(values, other))
    by_values = tg.grad(lambda v: tg.sum(replayed(v, other)))(values)
    np.testing.assert_allclose(by_values, tg.grad(lambda v: tg.sum(function(v, other)))(values), atol=1e-14)


def test_the_nearest_value_alone_has_a_derivative(rng):
    points, values = grid(rng, 1)

    def function(values: Any, at: Any) -> Any:
        return np.sum(RegularGridInterpolator(points, values, "nearest")(at))

    at = points[0][[2, 2, 5]][:, None] + 0.01
    by_values, by_places = tg.grad(tg.jit(function), argnums=(0, 1))(values, at)
    np.testing.assert_array_equal(by_values, [0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(by_places, np.zeros((3, 1)))


def test_places_outside(rng):
    points, values = grid(rng, 2)
    inside = np.array([points[0][:2].mean(), points[1][:2].mean()])
    outside = inside + np.array([0.0, 99.0])
    strict = RegularGridInterpolator(points, values)
    for function in (strict, tg.jit(lambda at: strict(at))):
        function(inside)
        with pytest.raises(ValueError, match="outside of the grid in dimension 1"):
            function(outside)
        with pytest.raises(ValueError, match="outside of the grid in dimension 0"):
            function(inside * np.nan)
    by_fill = tg.grad(lambda fill: strictless(points, values, fill)(outside)[0])(2.0)
    assert by_fill == 1.0


def strictless(points: Any, values: Any, fill: Any) -> RegularGridInterpolator:
    return RegularGridInterpolator(points, values, bounds_error=False, fill_value=fill)


def test_instances(rng):
    points, values = grid(rng, 2)
    at = np.stack([places(rng, points, 0.0)[0] for _ in range(3)])
    spline = tg.jit(lambda at: RegularGridInterpolator(points, values, "cubic", False)(at))
    np.testing.assert_allclose(tg.vmap(spline)(at), [spline(each) for each in at], atol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RegularGridInterpolator(LINES[:2], np.ones((7, 5))), "values have shape"),
        (lambda: RegularGridInterpolator(LINES[:1], np.ones(7), "pchip"), "method must be one of"),
        (lambda: RegularGridInterpolator(([0.0, 1.0],), np.ones(2), "cubic"), "needs 4 points"),
        (lambda: RegularGridInterpolator(([0.0, 1.0, 1.0],), np.ones(3)), "strictly increasing"),
        (lambda: RegularGridInterpolator(LINES[:2], np.ones((7, 6)))([1.0, 2.0, 3.0]), "shape"),
        (lambda: RegularGridInterpolator(LINES[:1], np.ones(7))([1.0], nu=(1,)), "nu needs a spline"),
        (lambda: RegularGridInterpolator(LINES[:1], np.ones(7), "cubic")([1.0], nu=(-1,)), "not negative"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_points_are_constants():
    with pytest.raises(UnsupportedError, match=r"points\[0\] is a Tensor"):
        RegularGridInterpolator((tg.tensor(LINES[0]),), np.ones(7))
