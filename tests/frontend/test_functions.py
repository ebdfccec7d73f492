"""Every case of the table of oracles: values are NumPy's, derivatives those of NumPy's function, replays the same.

The oracle of a derivative is a complex step through NumPy's function, where that is analytic, which is seen from
differences of NumPy's function; otherwise these differences alone.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from functions import CASES

import tapegrad as tg
from helpers.daily import daily
from helpers.functions import Case, operands, results
from helpers.table_loops import grouped

every_case = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{case.name}-{sum(other.name == case.name for other in CASES[:k])}")
        for k, case in enumerate(CASES)
    ],
)
by_function = grouped(lambda case: case.name)


_MAX_COLUMNS = 40  # of a matrix of derivatives
FIRST = {name: case for case in reversed(CASES) if (name := case.name)}.values()  # a case of each function


def plain(value: Any) -> np.ndarray:
    return value.data if isinstance(value, tg.Tensor) else np.asarray(value)


def check_same(found: Any, expected: Any, tolerance: float) -> None:
    """Values, shapes and dtypes of all results are the same."""
    given, wanted = results(found), results(expected)
    assert len(given) == len(wanted)
    for a, b in zip(given, wanted, strict=True):
        a, b = plain(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if b.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(a, b)


# --- values ----------------------------------------------------------------------------------------------------


@by_function
@every_case
def test_values_are_those_of_numpy(case: Case) -> None:
    for dtype in case.dtypes:
        arrays = operands(case, dtype)
        expected = case.call(np, *arrays)
        tolerance = case.tolerance if dtype == "float64" else 2e-6
        for xp in (tg, np) if case.by_numpy else (tg,):
            tensors = [tg.tensor(x) for x in arrays]
            found = case.call(xp, *tensors)
            check_same(found, expected, tolerance)
            if case.derivatives:
                carriers = [each for each in results(found) if np.asarray(plain(each)).dtype.kind == "f"]
                assert all(isinstance(each, tg.Tensor) for each in carriers)
                assert not all(each.constant for each in carriers)
            for tensor, array in zip(tensors, arrays, strict=True):
                np.testing.assert_array_equal(tensor.data, array)  # an operand is left as it is


def columns_first(x: np.ndarray) -> tg.Tensor:
    return tg.asarray(np.array(x, order="F"))


def backwards_with_gaps(x: np.ndarray) -> tg.Tensor:
    back = (*[slice(None, None, -1)] * x.ndim, Ellipsis)
    gaps = (Ellipsis, slice(None, None, 2)) if x.ndim else (1, Ellipsis)
    spread = np.repeat(x[back], 2, axis=-1)[back] if x.ndim else np.stack([x, x, x])
    return tg.asarray(spread)[gaps]


def shown_again(x: np.ndarray) -> tg.Tensor:
    """The first row again and again, without a copy."""
    return tg.broadcast_to(tg.tensor(x[:1] if x.ndim else x), x.shape)


@by_function
@daily("lay")
@every_case
@pytest.mark.parametrize("lay", [columns_first, backwards_with_gaps, shown_again])
def test_memory_may_lie_in_any_way(case: Case, lay: Callable[[np.ndarray], tg.Tensor]) -> None:
    if not case.layouts:
        pytest.skip("NumPy's result tells of the layout, or takes no ties")
    tensors = [lay(x) for x in operands(case)]
    expected = case.call(np, *[np.array(t.data, order="C") for t in tensors])
    check_same(case.call(tg, *tensors), expected, case.tolerance)


# --- derivatives -----------------------------------------------------------------------------------------------


def weighted(case: Case, xp: Any, *operands: Any) -> Any:
    """A number that depends on all results that have a derivative, and is linear in none."""
    total: Any = 0.0
    for k, y in enumerate(results(case.call(xp, *operands))):
        if y.dtype.kind in "fc":
            weights = np.linspace(0.4, 1.6, max(int(np.prod(y.shape)), 1))[: int(np.prod(y.shape))].reshape(
                y.shape
            )
            total = total + xp.sum((y + 0.25 * y * y) * (weights + 0.1 * k).astype(y.dtype.char.lower()))
    return total


def difference(function: Callable[..., Any], xs: list[np.ndarray], dots: list[np.ndarray], h: float) -> Any:
    ends = [function(*[x + s * h * d for x, d in zip(xs, dots, strict=True)]) for s in (1, -1)]
    return (np.asarray(ends[0]) - np.asarray(ends[1])) / (2 * h)


def extrapolated(function: Callable[..., Any], xs: list[np.ndarray], dots: list[np.ndarray]) -> Any:
    """The derivative along a direction from two differences."""
    return (4 * difference(function, xs, dots, 5e-4) - difference(function, xs, dots, 1e-3)) / 3


def slope_of_numpy(case: Case, xs: list[np.ndarray], dots: list[np.ndarray]) -> tuple[float, float]:
    """The derivative of NumPy's function along a direction, and how far it can be trusted."""

    def function(*xs: Any) -> Any:
        return weighted(case, np, *xs)

    about = extrapolated(function, xs, dots)
    with np.errstate(all="ignore"):
        try:
            stepped = function(*[x + 1e-30j * d for x, d in zip(xs, dots, strict=True)])
        except (TypeError, ValueError, np.exceptions.ComplexWarning):
            return float(about), 1e-7
    exact = np.imag(stepped) / 1e-30
    return (float(exact), 1e-11) if np.isclose(exact, about, rtol=1e-7, atol=1e-7) else (float(about), 1e-7)


def directions(case: Case, count: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(11)
    return [[np.asarray(rng.standard_normal(x.shape)) for x in operands(case)] for _ in range(count)]


def along(gradients: Any, dots: list[np.ndarray]) -> float:
    return float(sum(np.sum(g * d) for g, d in zip(gradients, dots, strict=True)))


differentiable = pytest.mark.parametrize(
    "case", [pytest.param(*p.values, id=p.id) for p in every_case.args[1] if p.values[0].derivatives]
)


@by_function
@differentiable
def test_gradient(case: Case) -> None:
    xs, (dots, others) = operands(case), directions(case, 2)
    every = tuple(range(len(xs)))
    for xp in (tg, np) if case.by_numpy else (tg,):
        gradients = tg.grad(lambda *xs, xp=xp: weighted(case, xp, *xs), every)(*xs)
        assert [(g.shape, g.dtype) for g in gradients] == [(x.shape, x.dtype) for x in xs]
        for direction in (dots, others):
            expected, trusted = slope_of_numpy(case, xs, direction)
            tolerance = max(case.tolerance, trusted)
            assert along(gradients, direction) == pytest.approx(expected, rel=tolerance, abs=tolerance)
    value, slope = tg.jvp(lambda *xs: weighted(case, tg, *xs), xs, dots)
    assert slope == pytest.approx(along(gradients, dots), rel=1e-11, abs=1e-11)
    assert value == pytest.approx(weighted(case, np, *xs), rel=1e-11, abs=1e-11)


@by_function
@daily(every=8)
@differentiable
def test_gradient_in_single_precision(case: Case) -> None:
    if "float32" not in case.dtypes:
        pytest.skip("in double precision only")
    every = tuple(range(len(case.makers)))
    gradient = tg.grad(lambda *xs: weighted(case, tg, *xs), every)
    single = operands(case, np.float32)
    found, expected = gradient(*single), gradient(*[x.astype(np.float64) for x in single])
    for g, e in zip(found, expected, strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-4 * max(1.0, float(np.abs(e).max(initial=0.0))))


@grouped(lambda case: case.name, limit=6)
@daily(every=3)
@differentiable
def test_second_derivatives(case: Case) -> None:
    if case.derivatives < 2:
        pytest.skip("first derivatives only")
    xs, (dots, others) = operands(case), directions(case, 2)
    every = tuple(range(len(xs)))

    def function(*xs: Any) -> Any:
        return weighted(case, tg, *xs)

    def slope(*xs: Any) -> Any:
        gradients = tg.grad(function, every)(*xs)
        return sum(tg.sum(g * d) for g, d in zip(gradients, dots, strict=True))

    product = tg.hvp(function, every)(*xs, tuple(dots))
    by_differences = extrapolated(lambda *xs: along(tg.grad(function, every)(*xs), others), xs, dots)
    assert along(product, others) == pytest.approx(float(by_differences), rel=3e-7, abs=3e-7)
    for way in (tg.grad(slope, every), tg.grad(tg.jit(slope), every)):  # reverse over reverse
        assert along(way(*xs), others) == pytest.approx(along(product, others), rel=1e-10, abs=1e-10)
    replayed = tg.hvp(tg.jit(function), every)(*xs, tuple(dots))
    assert along(replayed, others) == pytest.approx(along(product, others), rel=1e-10, abs=1e-10)


@pytest.mark.filterwarnings("ignore:.*may be other than zero")
@grouped(lambda case: case.name, limit=2)
@daily(every=32)
@differentiable
def test_sparse_derivatives(case: Case) -> None:
    """Patterns have all entries, for other numbers than those they were found with as well."""
    if sum(x.size for x in operands(case)) > _MAX_COLUMNS:
        pytest.skip("takes long")
    every = tuple(range(len(case.makers)))

    def function(*xs: Any) -> Any:
        found = [y for y in results(case.call(tg, *xs)) if isinstance(y, tg.Tensor) and y.dtype.kind == "f"]
        return tg.concatenate([tg.ravel(y) for y in found])

    def gradient(*xs: Any) -> Any:
        return tg.concatenate([tg.ravel(g) for g in tg.grad(lambda *xs: weighted(case, tg, *xs), every)(*xs)])

    for differentiated in (function, gradient)[: case.derivatives]:
        sparse = tg.jacobian(differentiated, every, sparse=True)
        for seed in (5, 6):
            xs = operands(case, seed=seed)
            value, pull = tg.vjp(differentiated, *xs)
            y_bar = np.cos(np.arange(value.size))
            for block, x_bar in zip(sparse(*xs), pull(y_bar), strict=True):
                found, size = block.T @ y_bar, float(abs(block).sum(axis=0).max(initial=1.0))
                np.testing.assert_allclose(found, x_bar.reshape(-1), rtol=1e-8, atol=1e-9 * size)


# --- replays ---------------------------------------------------------------------------------------------------


@by_function
@daily(every=3)
@every_case
def test_a_replay_is_the_eager_call(case: Case) -> None:
    counted = Counter[str]()

    @tg.jit
    def function(*xs: Any) -> Any:
        counted["recorded"] += 1
        return case.call(tg, *xs)

    for seed in (5, 6, 7):
        arrays = operands(case, seed=seed)
        expected = case.call(np, *arrays)
        check_same(function(*arrays), expected, case.tolerance)
    if case.replays:
        assert counted["recorded"] == 1
    if case.derivatives:
        counted.clear()
        xs, every = operands(case, seed=6), tuple(range(len(case.makers)))

        def number(*xs: Any) -> Any:
            counted["recorded"] += 1
            return weighted(case, tg, *xs)

        replayed, eager = tg.grad(tg.jit(number), every), tg.grad(number, every)
        replayed(*operands(case, seed=5))
        found = replayed(*xs)
        if case.replays:
            assert counted["recorded"] == 1
        for a, b in zip(found, eager(*xs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
