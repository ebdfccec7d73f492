"""Reductions, scans and sorting where the table of oracles cannot say it: kinks, warnings, errors, `out`, replays."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

MODES = {"eager": lambda f: f, "replayed": tg.jit}
in_both_modes = pytest.mark.parametrize("mode", MODES)


def gradient(function: Callable[..., Any], x: Any, mode: str = "eager") -> np.ndarray:
    """The gradient of the sum of what a function gives."""
    total = MODES[mode](lambda x: tg.sum(function(x)))
    return tg.grad(total)(np.array(x, float))


# --- derivatives at kinks and where factors are zero -----------------------------------------------------------

INFINITY = np.inf
KINKS = {
    "std of a constant": (tg.std, [0.1, 0.1, 0.1], [0.0, 0.0, 0.0]),
    "std of a chosen constant": (lambda x: tg.std(x, where=[True, True, False]), [0.1, 0.1, 3.0], [0.0] * 3),
    "nanstd of a constant": (tg.nanstd, [0.3, np.nan, 0.3], [0.0, 0.0, 0.0]),
    "std of one": (lambda x: tg.std(x, axis=0), [2.0], [0.0]),
    "ties of ptp": (tg.ptp, [1.0, 1.0, 3.0, 3.0], [-0.5, -0.5, 0.5, 0.5]),
    "ties of nanmax": (tg.nanmax, [3.0, np.nan, 3.0], [0.5, 0.0, 0.5]),
    "ties of median": (tg.median, [2.0, 2.0, 2.0], [0.0, 1.0, 0.0]),
    "ties of sort": (lambda x: tg.sort(x) * [1.0, 2.0, 3.0], [2.0, 1.0, 2.0], [2.0, 1.0, 3.0]),
    "nothing but zeros": (lambda x: tg.cumprod(x)[-1], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "one zero": (lambda x: tg.cumprod(x)[-1], [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "exponentials of -inf": (tg.logsumexp, [-INFINITY, -INFINITY], [0.0, 0.0]),
    "an exponential of -inf": (tg.logsumexp, [-INFINITY, 1.0], [0.0, 1.0]),
    "an exponential of inf": (tg.logsumexp, [INFINITY, 1.0], [1.0, 0.0]),
    "an exponential that counts nothing": (lambda x: tg.logsumexp(x, b=[1.0, 0.0]), [1.0, INFINITY], [1.0, 0.0]),
    "a factor of zero": (lambda b: tg.logsumexp([0.0, 0.0], b=b), [0.0, 2.0], [0.5, 0.5]),
    "left out": (tg.nansum, [1.0, np.nan], [1.0, 0.0]),
    "left out of a product": (tg.nanprod, [3.0, np.nan, 2.0], [2.0, 0.0, 3.0]),
    "a number below infinity": (tg.median, [1.0, INFINITY, 2.0, 3.0], [0.0, 0.0, 0.5, 0.5]),
}  # fmt: skip


@in_both_modes
@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks(name: str, mode: str) -> None:
    function, x, expected = KINKS[name]
    np.testing.assert_array_equal(gradient(function, x, mode), expected)


@in_both_modes
@pytest.mark.parametrize("x", [[0.0, 2.0, 3.0], [0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0]], ids=str)
def test_second_derivatives_of_running_products_with_zeros(x: list[float], mode: str) -> None:
    n = len(x)

    def partial(j: int, k: int, i: int) -> float:
        return 0.0 if j == k or max(j, k) > i else float(np.prod(np.delete(x[: i + 1], [j, k])))

    for i in range(n):
        expected = [[partial(j, k, i) for k in range(n)] for j in range(n)]
        hessian = tg.hessian(MODES[mode](lambda x, i=i: tg.cumprod(x)[i]))(np.array(x))
        np.testing.assert_array_equal(hessian, expected)


@in_both_modes
@pytest.mark.parametrize("name", [name for name in KINKS if "std" in name])
def test_second_derivatives_of_a_deviation_are_zero_at_a_constant(name: str, mode: str) -> None:
    function, x, _ = KINKS[name]
    np.testing.assert_array_equal(tg.hessian(MODES[mode](function))(np.array(x)), np.zeros((len(x), len(x))))


def test_ties_have_second_derivatives_in_a_sum_of_exponentials() -> None:
    hessian = tg.hessian(tg.logsumexp)(np.array([1.0, 1.0, -np.inf]))
    np.testing.assert_allclose(hessian, [[0.25, -0.25, 0.0], [-0.25, 0.25, 0.0], [0.0, 0.0, 0.0]])


# --- digits ------------------------------------------------------------------------------------------------------


def test_a_variance_far_from_zero_keeps_its_digits() -> None:
    x = 1e8 + np.array([4.0, 7.0, 13.0, 16.0])
    assert tg.var(x, ddof=1).item() == 30.0
    np.testing.assert_allclose(tg.grad(lambda x: tg.var(x, ddof=1))(x), [-4.0, -2.0, 2.0, 4.0])


def test_the_logarithm_of_a_sum_near_one_keeps_its_digits() -> None:
    assert tg.logsumexp([0.0, -40.0]).item() == pytest.approx(np.exp(-40.0), rel=1e-15)
    assert tg.logsumexp([-1e-20, -1000.0]).item() == -1e-20
    assert tg.logsumexp([1000.0, 1000.0]).item() == pytest.approx(1000 + np.log(2.0), rel=1e-15)


@daily(every=3)
@pytest.mark.parametrize("order", ["rows", "columns", "of a stack"])
def test_sums_of_exponentials_of_many_short_lines_are_those_of_each(order: str) -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((300, 5)), rng.standard_normal(300)
    x[3, 2], x[4], x[5, 1], x[6, 0], weights[7] = np.nan, -np.inf, np.inf, -np.inf, 0.0
    made = {"rows": x, "columns": np.asfortranarray(x), "of a stack": x.reshape(2, 150, 5).swapaxes(0, 1)}[
        order
    ]
    lines, bars = made.reshape(300, 5), weights.reshape(made.shape[:-1])
    t, each = tg.tensor(made), [tg.tensor(line) for line in lines]
    y = tg.logsumexp(t, -1)
    values = [tg.logsumexp(line) for line in each]
    np.testing.assert_array_equal(y.data.ravel(), [value.item() for value in values])
    y.backward(bars)
    for value, bar in zip(values, bars.ravel(), strict=True):
        value.backward(bar)
    np.testing.assert_array_equal(t.grad.reshape(300, 5), [line.grad for line in each])
    fine = np.isfinite(lines).all(1)
    tangent = tg.jvp(lambda x: tg.logsumexp(x, -1), (made,), (np.ones_like(made),))[1].ravel()
    np.testing.assert_allclose(tangent[fine], 1.0, rtol=1e-13)


def test_large_lines() -> None:
    x = np.random.default_rng(0).standard_normal(100_000)
    np.testing.assert_allclose(tg.var(x).item(), np.var(x), rtol=1e-13)
    np.testing.assert_allclose(tg.logsumexp(x).item(), np.log(np.sum(np.exp(x))), rtol=1e-13)
    np.testing.assert_array_equal(tg.sort(x).data, np.sort(x))
    tied = np.round(x[:5000])
    np.testing.assert_array_equal(tg.jit(tg.argsort)(tied), np.argsort(tied, kind="stable"))


# --- recordings --------------------------------------------------------------------------------------------------

POSITIONS: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: x[np.argmax(x)],
    "argmin of rows": lambda x: np.argmin(np.reshape(x, (2, 3)), axis=1) * 1.0,
    "argsort": lambda x: x[np.argsort(-x)] * np.arange(6.0),
    "ranks": lambda x: x[np.argsort(np.argsort(x))],
    "argsort, the first": lambda x: x[np.argsort(x)[:2]],
    "argpartition": lambda x: x[np.argpartition(x, 3)[3]],
    "lexsort": lambda x: x[np.lexsort((x, np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])))],
    "count_nonzero": lambda x: x / np.count_nonzero(x > 1.0),
    "nanargmin": lambda x: x[np.nanargmin(x)] * x,
    "median": lambda x: abs(x - np.median(x)),
    "percentiles": lambda x: np.percentile(x, [25, 75]),
    "nanmedian": lambda x: np.nanmedian(x) * x,
    "sort": lambda x: np.sort(x)[::-1].cumsum(),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_other_positions_are_replayed(name: str) -> None:
    counted = Counter[str]()

    def function(x: Any) -> Any:
        counted["recorded"] += 1
        return POSITIONS[name](x) * 1.0

    replayed = tg.jit(function)
    for seed in range(4):
        x = np.random.default_rng(seed).permutation(6) + 0.5
        np.testing.assert_allclose(replayed(x), POSITIONS[name](x), rtol=1e-14)
    assert counted["recorded"] == 1


def test_a_position_that_python_uses_is_guarded() -> None:
    function = tg.jit(lambda x: x * [10.0, 20.0, 30.0][np.argmax(x)] if np.argmax(x) > 0 else x)
    for x in ([1.0, 2.0, 0.0], [3.0, 2.0, 0.0], [1.0, 2.0, 5.0], [0.0, 2.0, 0.5]):
        np.testing.assert_array_equal(function(np.array(x)), np.array(x) * {0: 1, 1: 20, 2: 30}[np.argmax(x)])


def test_another_number_of_nan_is_recorded_anew() -> None:
    function = tg.jit(tg.nanmedian)
    for x in (
        [1.0, np.nan, 3.0, 4.0],
        [np.nan, 2.0, 3.0, 5.0],
        [1.0, 2.0, 3.0, 5.0],
        [np.nan, np.nan, 3.0, 5.0],
    ):
        assert function(np.array(x)) == np.nanmedian(x)


@pytest.mark.parametrize(
    "special", [[], [0.0], [-0.0, 0.0, -0.0], [-0.0], [np.nan], [np.nan, -np.nan, 0.0]], ids=str
)
@pytest.mark.parametrize(("shape", "axis"), [((700,), 0), ((30, 40), 0), ((30, 40), -1), ((30, 40), None)])
def test_constants_are_sorted_as_leaves_are(
    special: list[float], shape: tuple[int, ...], axis: int | None
) -> None:
    x = np.random.default_rng(0).integers(-40, 40, shape) + 0.5
    x.flat[3 : 3 + len(special)] = special
    wanted = tg.sort(tg.tensor(x), axis).data
    with tg.no_grad():
        undifferentiated = tg.sort(tg.tensor(x), axis)
    for found in (tg.sort(tg.tensor(x, constant=True), axis), tg.sort(x, axis), undifferentiated):
        assert found.constant
        assert found.data.flags.c_contiguous
        assert found.data.tobytes() == wanted.tobytes()
    np.testing.assert_array_equal(wanted, np.sort(x, axis))


LONG_LINES: dict[str, Callable[[Any, int], Any]] = {
    "told apart by their highest bytes": lambda rng, n: rng.normal(size=n),
    "close together": lambda rng, n: 1.0 + 1e-12 * rng.normal(size=n),
    "in tight bundles": lambda rng, n: (
        1.0 + rng.integers(0, 128, n) * 2.0**-20 + rng.uniform(size=n) * 2.0**-21
    ),
    "in order but for a few": lambda rng, n: np.where(rng.uniform(size=n) < 0.01, -1.0, np.arange(n) * 1.0),
    "often equal": lambda rng, n: rng.choice(rng.normal(size=n // 9), n),
    "round numbers": lambda rng, n: rng.integers(-9, 9, n) * 1.0,
    "with nan, infinities and zeros": lambda rng, n: rng.choice([np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0], n),
    "single precision": lambda rng, n: rng.normal(size=n).astype(np.float32),
}


@pytest.mark.parametrize("size", [64, 300, 5000, 70_000])
@pytest.mark.parametrize("name", LONG_LINES)
def test_long_lines_are_sorted_stably(name: str, size: int) -> None:
    x = LONG_LINES[name](np.random.default_rng(size), size)
    order = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(tg.jit(tg.argsort)(x), order)
    assert tg.jit(tg.sort)(x).tobytes() == x[order].tobytes()


# --- in place, and `out` -----------------------------------------------------------------------------------------


def test_a_tensor_is_sorted_in_place() -> None:
    leaf = tg.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    x = leaf * 1.0
    assert x.sort(axis=1) is None
    np.testing.assert_array_equal(x.data, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    (x * [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).sum().backward()
    np.testing.assert_array_equal(leaf.grad, [[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    numbers = tg.tensor([3, 1, 2])
    numbers.partition(1)
    np.testing.assert_array_equal(numbers.data, [1, 2, 3])


INTO: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, out: np.sum(x, 0, out=out),
    "mean": lambda x, out: np.mean(x, 0, out=out),
    "prod": lambda x, out: x.prod(0, out=out),
    "max": lambda x, out: x.max(axis=0, out=out),
    "ptp": lambda x, out: np.ptp(x, 0, out=out),
    "var": lambda x, out: np.var(x, 0, out=out),
    "std": lambda x, out: x.std(0, out=out),
    "median": lambda x, out: np.median(x, 0, out=out),
    "quantile": lambda x, out: np.quantile(x, 0.3, 0, out),
    "nanmean": lambda x, out: np.nanmean(x, 0, out=out),
    "nanmin": lambda x, out: np.nanmin(x, 0, out=out),
    "nanvar": lambda x, out: np.nanvar(x, 0, out=out),
    "cumsum": lambda x, out: np.cumsum(x[:, 0], out=out),
    "cumprod": lambda x, out: np.cumprod(x[:, 0], out=out),
    "cumulative_sum": lambda x, out: np.cumulative_sum(x[:, 0], out=out),
}


@in_both_modes
@pytest.mark.parametrize("name", INTO)
def test_results_are_written_into_out(name: str, mode: str) -> None:
    x = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 7.0], [6.0, 9.0, 8.0]])
    expected = INTO[name](x, np.zeros(3))

    def function(x: Any) -> Any:
        out = tg.zeros(3)
        assert INTO[name](x, out) is out
        return tg.sum(out**2)

    assert tg.jit(function)(x) == pytest.approx(np.sum(expected**2))
    plain = MODES[mode](lambda x: tg.sum(INTO[name](x, None) ** 2))
    np.testing.assert_allclose(tg.grad(MODES[mode](function))(x), tg.grad(plain)(x))
    with pytest.raises(tg.errors.UnsupportedError, match=rf"numpy\.{name}: 'out' is a plain array"):
        INTO[name](tg.tensor(x), np.zeros(3))


# --- what NumPy refuses, and what it warns of --------------------------------------------------------------------

VECTOR = [3.0, 1.0, 2.0]
REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "axis of argmax": (lambda xp, x: xp.argmax(x, axis=1), np.exceptions.AxisError, "out of bounds"),
    "axis of sort": (lambda xp, x: xp.sort(x, axis=1), np.exceptions.AxisError, "out of bounds"),
    "axis of median": (lambda xp, x: xp.median(x, axis=1), np.exceptions.AxisError, "out of bounds"),
    "axis of var": (lambda xp, x: xp.var(x, axis=(0, 0)), ValueError, "repeated axis"),
    "sort of a number": (lambda xp, x: xp.sort(x[0]), np.exceptions.AxisError, "out of bounds"),
    "kind of sort": (lambda xp, x: xp.sort(x, kind="bogus"), ValueError, "kind"),
    "order of sort": (lambda xp, x: xp.sort(x, order="name"), ValueError, "fields"),
    "kth": (lambda xp, x: xp.partition(x, 7), ValueError, "out of bounds"),
    "percentage": (lambda xp, x: xp.percentile(x, 101), ValueError, "Percentiles must be in the range"),
    "fraction": (lambda xp, x: xp.quantile(x, -0.1), ValueError, "Quantiles must be in the range"),
    "method": (lambda xp, x: xp.quantile(x, 0.1, method="best"), ValueError, "is not a valid method"),
    "weights of a method": (lambda xp, x: xp.quantile(x, 0.1, weights=[1, 2, 3]), ValueError, "inverted_cdf"),
    "percentile of nothing": (lambda xp, x: xp.percentile(x[:0], 50), IndexError, "."),
    "maximum of nothing": (lambda xp, x: xp.max(x[:0]), ValueError, "zero-size"),
    "position in nothing": (lambda xp, x: xp.argmax(x[:0]), ValueError, "empty sequence"),
    "two corrections": (lambda xp, x: xp.var(x, ddof=1, correction=1), ValueError, "simultaneously"),
    "weights that cancel": (lambda xp, x: xp.average(x, weights=[1, -1, 0]), ZeroDivisionError, "sum to zero"),
    "other weights": (lambda xp, x: xp.average(x, weights=[1, 2]), TypeError, "Axis must be specified"),
    "weights along": (lambda xp, x: xp.average(x, 0, weights=[1, 2]), ValueError, "consistent"),
    "differences": (lambda xp, x: xp.diff(x, n=-1), ValueError, "non-negative"),
    "differences of a number": (lambda xp, x: xp.diff(x[0]), ValueError, "at least one dimension"),
    "an end that does not fit": (lambda xp, x: xp.ediff1d(x.astype("f4"), 1j), (TypeError, ValueError), "."),
    "running sum": (lambda xp, x: xp.cumulative_sum(x[None]), ValueError, "axis"),
    "degrees": (lambda xp, x: xp.cov(x, ddof=0.5), ValueError, "ddof must be integer"),
    "dimensions of cov": (lambda xp, x: xp.cov(x[None, None]), ValueError, "more than 2 dimensions"),
    "fweights": (lambda xp, x: xp.cov(x, fweights=[0.5, 1, 1]), TypeError, "fweights must be integer"),
    "negative aweights": (lambda xp, x: xp.cov(x, aweights=[-1, 1, 1]), ValueError, "negative"),
    "only nan": (lambda xp, x: xp.nanargmax(x * np.nan), ValueError, "All-NaN"),
    "a shape of weights": (lambda xp, x: xp.bincount([0, 1], x), ValueError, "."),
    "dtype": (lambda xp, x: xp.nanmean(x, dtype=int), TypeError, "."),
    "which elements": (lambda xp, x: xp.sum(x, where=np.ones((2, 3), bool)), ValueError, "."),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    call, kind, message = REFUSED[name]
    x = np.array(VECTOR)
    with pytest.raises(kind):
        call(np, x)
    for xp in (tg, np):
        with pytest.raises(kind, match=message):
            call(xp, tg.tensor(x))
    with pytest.raises(kind, match=message):
        tg.jit(lambda x: call(tg, x))(x)


WARNED: dict[str, Callable[[Any, Any], Any]] = {
    "var": lambda xp, x: xp.var(x, ddof=3),
    "std": lambda xp, x: xp.std(x, ddof=3, where=[True, True, False]),
    "median": lambda xp, x: xp.median(x[:0]),
    "nanmean": lambda xp, x: xp.nanmean(x * np.nan),
    "nanvar": lambda xp, x: xp.nanvar(x, ddof=3),
    "nanmax": lambda xp, x: xp.nanmax(x * np.nan),
    "nanmedian": lambda xp, x: xp.nanmedian(x * np.nan),
    "nanquantile": lambda xp, x: xp.nanquantile(x * np.nan, 0.5),
    "cov": lambda xp, x: xp.cov(x[:1]),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_numpy_warns_of_is_warned_of(name: str) -> None:
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        expected = WARNED[name](np, np.array(VECTOR))
    with pytest.warns(RuntimeWarning, match=r"freedom|empty slice|All-NaN"):
        found = WARNED[name](tg, tg.tensor(VECTOR))
    np.testing.assert_array_equal(found.data, expected)


# --- integers and booleans ---------------------------------------------------------------------------------------

CONSTANT: dict[str, Callable[[Any, Any], Any]] = {
    name: (lambda xp, x, name=name: getattr(xp, name)(x))
    for name in (
        "sum", "mean", "prod", "max", "min", "var", "std", "median", "cumsum", "cumprod", "cumulative_sum", "average",
        "nansum", "nanmean", "nanmax", "nancumsum", "nanmedian", "diff", "ediff1d", "trapezoid", "sort", "cov",
        "count_nonzero", "argmax", "argsort",
    )
} | {
    "percentile": lambda xp, x: xp.percentile(x, [10, 50], method="higher"),
    "partition": lambda xp, x: xp.partition(x, 1),
    "bincount": lambda xp, x: xp.bincount(xp.asarray(x).astype(int)),
    "percentile, axis kept": lambda xp, x: xp.percentile(x, 10, method="higher", keepdims=True),
    "nanpercentile, axis kept": lambda xp, x: xp.nanpercentile(x, 10, method="higher", keepdims=True),
    **{
        f"{name}, axis kept": lambda xp, x, name=name: getattr(xp, name)(x, axis=0, keepdims=True)
        for name in ("sum", "mean", "prod", "max", "min", "std", "median", "nansum", "nanmax", "argmax")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nancumsum", "nancumprod"])
def test_a_nan_is_left_out_before_numbers_become_integers(name: str) -> None:
    x = np.array([3.5, np.nan, 2.0])
    found, expected = getattr(tg, name)(tg.tensor(x), dtype=int), getattr(np, name)(x, dtype=int)
    np.testing.assert_array_equal(found.data, expected, strict=True)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_a_result_with_digits_has_no_dtype_of_integers(name: str) -> None:
    with pytest.raises(TypeError, match=rf"numpy\.{name}: 'dtype' must be of floats, not int64"):
        getattr(tg, name)(tg.tensor(VECTOR), dtype=int)


@grouped("name")
@pytest.mark.parametrize("name", CONSTANT)
@pytest.mark.parametrize("x", [[3, 1, 2, 1], [True, False, True, True]], ids=["int", "bool"])
def test_integers_and_booleans_give_constants(name: str, x: list[Any]) -> None:
    if name == "ediff1d" and x[0] is True:
        pytest.skip("NumPy does not subtract booleans")
    expected = np.asarray(CONSTANT[name](np, np.array(x)))
    for given in (np.array(x), tg.tensor(x)):
        found = CONSTANT[name](tg, given)
        assert not isinstance(found, tg.Tensor) or found.constant
        array = found.data if isinstance(found, tg.Tensor) else np.asarray(found)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    "count",
    [
        lambda np, x: np.histogram2d(x, x[::-1], bins=2),
        lambda np, x: np.histogram2d(x, x[::-1], bins=[2, 3], range=[[-5, 5], [-6, 6]], density=True),
        lambda np, x: np.histogramdd(x[:, None], bins=3),
        lambda np, x: np.histogramdd((x, x[::-1], x), bins=2),
        lambda np, x: np.histogram_bin_edges(x, bins="sturges"),
        lambda np, x: np.histogram_bin_edges(x, 4, (-1.0, 1.0)),
    ],
)
def test_counts_in_bins_are_plain_and_guarded(count: Any) -> None:
    def flat(result: Any) -> list[Any]:
        return (
            [each for part in result for each in flat(part)] if isinstance(result, tuple | list) else [result]
        )

    values = np.array(VECTOR)
    expected = flat(count(np, values))
    replayed = tg.jit(lambda x: sum(tg.sum(part) for part in flat(count(tg, x))) + tg.sum(x) * 0)
    for library in (np, tg):
        for found, part in zip(flat(count(library, tg.tensor(values))), expected, strict=True):
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, part)
    for x in (values, values * 2 + 1, values):
        np.testing.assert_allclose(replayed(x), sum(np.sum(part) for part in flat(count(np, x))))


WEIGHTED: dict[str, Callable[[Any], Any]] = {
    "bins": lambda w: np.histogram(SAMPLES, 4, weights=w),
    "range, density": lambda w: np.histogram(SAMPLES, 3, (0.2, 0.9), weights=w, density=True),
    "edges": lambda w: np.histogram(SAMPLES, [0.1, 0.3, 0.5, 0.9, 0.9], weights=w),
    "rows": lambda w: np.histogram(SAMPLES.reshape(2, 4), 4, weights=w.reshape(2, 4)),
    "2d": lambda w: np.histogram2d(SAMPLES, SAMPLES[::-1], [2, 3], weights=w),
    "2d, density": lambda w: np.histogram2d(
        SAMPLES, SAMPLES**2, [2, [0.0, 0.2, 0.7]], weights=w, density=True
    ),
    "points": lambda w: np.histogramdd(
        np.stack([SAMPLES, SAMPLES**2], 1), 3, [(0.0, 0.6), (0.0, 1.0)], weights=w
    ),
    "dimensions": lambda w: np.histogramdd([SAMPLES, SAMPLES[::-1], SAMPLES**2], 2, weights=w),
    "a line": lambda w: np.histogramdd([SAMPLES], 4, weights=w),
}
SAMPLES = np.array([0.1, 0.5, 0.3, 0.9, 0.4, np.nextafter(0.3, 0.0), 0.7, 0.2])


@pytest.mark.parametrize("name", WEIGHTED)
def test_sums_of_weights_in_bins(name: str, rng: np.random.Generator) -> None:
    count, weights = WEIGHTED[name], rng.random(8)
    expected, *edges = count(weights)
    found, *same = count(tg.tensor(weights))
    np.testing.assert_allclose(found.data, expected, rtol=1e-14)
    assert str(same) == str(edges)  # in the same lists and tuples
    factors = rng.random(expected.shape)

    def total(w: Any) -> Any:
        return np.sum(factors * count(w)[0])

    along = rng.standard_normal(8)
    slope = (
        total(weights + 1e-3 * along) - total(weights - 1e-3 * along)
    ) / 2e-3  # of a quotient of linear functions
    for function in (total, tg.jit(total)):
        assert np.sum(tg.grad(function)(weights) * along) == pytest.approx(slope, rel=1e-5)


def test_bins_of_samples_are_guarded() -> None:
    f = tg.jit(lambda x, w: np.sum(np.histogram(x, [0.0, 1.0, 2.0], weights=w)[0] ** 2))
    weights = np.array([1.0, 2.0, 3.0])
    for x in ([0.5, 1.5, 1.7], [0.6, 1.4, 1.7], [0.6, 0.4, 1.7], [5.0, 0.1, np.nan]):
        assert f(np.array(x), weights) == np.sum(np.histogram(x, [0.0, 1.0, 2.0], weights=weights)[0] ** 2)
    single = np.histogram(np.array([0.5]), 2, weights=tg.tensor(np.ones(1, np.float32)))[0]
    assert single.dtype == np.float32


def test_what_histograms_refuse() -> None:
    x, weights = tg.tensor(VECTOR), tg.tensor(VECTOR)
    for found, expected in zip(np.histogram(x, 2), np.histogram(VECTOR, 2), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(tg.errors.UnsupportedError, match=r"numpy\.histogram_bin_edges: weights"):
        np.histogram_bin_edges(x, weights=weights)
    for bins, w in ((2, weights[1:]), ("auto", weights)):
        with pytest.raises((ValueError, TypeError), match="weight"):
            np.histogram(x, bins, weights=w)
    with pytest.raises(tg.errors.UnsupportedError, match=r"numpy\.sort_complex"):
        np.sort_complex(x)


def test_quantiles_outside_of_their_range_are_named():
    x = tg.tensor([1.0, 2.0])
    for function, q, text in (
        (tg.quantile, [0.5, 1.5], r"range \[0, 1\]; numpy.quantile: q has 1.5"),
        (tg.nanquantile, -1, "numpy.nanquantile: q has -1"),
        (tg.percentile, 150, r"range \[0, 100\]; numpy.percentile: q has 150"),
        (tg.quantile, np.nan, "numpy.quantile: q has nan"),
    ):
        with pytest.raises(ValueError, match=text):
            function(x, q)
