"""`curve_fit`: each of many fits is SciPy's, whatever becomes of the others."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tapegrad as tg
from tapegrad.optimize.native import many_fits, recorded

T = np.linspace(0, 10, 40)
COUNT = 60


def peak(t: Any, height: Any, center: Any, width: Any, offset: Any) -> Any:
    return height * np.exp(-0.5 * ((t - center) / width) ** 2) + offset


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noisy peaks, and parameters near theirs."""
    draws = np.random.default_rng(seed)
    low, high = [5, 4, 0.7, 0.5], [10, 6, 1.5, 1]
    true = draws.uniform(low, high, (COUNT, 4))
    noisy = peak(T, *true.T[:, :, None]) + 0.1 * draws.standard_normal((COUNT, len(T)))
    return noisy, true * draws.uniform(0.9, 1.1, true.shape)


def assert_same_fit(fits: Any, number: int, x: np.ndarray, cov: np.ndarray, tol: float = 1e-5) -> None:
    errors = np.sqrt(np.diag(cov))
    np.testing.assert_allclose(fits.x[number] / errors, x / errors, atol=tol * 10)
    np.testing.assert_allclose(
        fits.cov[number] / np.outer(errors, errors), cov / np.outer(errors, errors), atol=tol
    )


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_are_scipys(weighted: bool, absolute: bool) -> None:
    noisy, starts = data()
    sigma = np.random.default_rng(1).uniform(0.5, 2, noisy.shape) if weighted else None
    fits = tg.optimize.curve_fit(peak, T, noisy, starts, sigma, absolute)
    assert fits.success.all()
    assert len(fits) == COUNT
    for k in range(5):
        x, cov = scipy.optimize.curve_fit(
            peak, T, noisy[k], starts[k], sigma=None if sigma is None else sigma[k],
            absolute_sigma=absolute and weighted, xtol=1e-12, ftol=1e-12,
        )  # fmt: skip
        if absolute and not weighted:
            cov = cov / (2 * fits.cost[k] / (len(T) - 4))
        assert_same_fit(fits, k, x, cov)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_robust_fits_are_scipys(loss: str) -> None:
    noisy, starts = data()
    noisy[:, 3] += 5.0
    settings: dict[str, Any] = {"loss": loss, "f_scale": 0.2, "ftol": 1e-12, "xtol": 1e-10, "gtol": 1e-10}
    fits = tg.optimize.curve_fit(peak, T, noisy, starts, **settings)
    for k in range(3):
        x, cov = scipy.optimize.curve_fit(
            peak, T, noisy[k], starts[k], method="trf", x_scale="jac", **settings
        )
        assert_same_fit(fits, k, x, cov, 1e-3)


def test_bounds_are_kept_and_fits_are_scipys() -> None:
    noisy, starts = data()
    bounds = np.array([0, 0, 0, 0.7]), np.array([8, 10, 10, np.inf])
    starts = np.clip(starts, bounds[0] + 0.01, bounds[1] - 0.01)
    fits = tg.optimize.curve_fit(peak, T, noisy, starts, bounds=bounds)
    assert np.all((bounds[0] <= fits.x) & (fits.x <= bounds[1]))
    assert fits.success.all()
    assert (fits.x[:, 0] == 8).any()
    assert (fits.x[:, 3] == 0.7).any()
    for k in range(10):
        x, _ = scipy.optimize.curve_fit(
            peak, T, noisy[k], starts[k], bounds=bounds, xtol=1e-12, ftol=1e-12, gtol=1e-12
        )
        np.testing.assert_allclose(fits.x[k], x, rtol=1e-4)


@pytest.mark.parametrize("alike", [False, True], ids=["each its own", "all alike"])
def test_points_behind_a_mask_do_not_count(alike: bool) -> None:
    noisy, starts = data()
    out = np.random.default_rng(2).uniform(size=noisy.shape) < 0.2
    if alike:
        out = np.broadcast_to(out[0], noisy.shape)
    holes = np.where(out, np.nan, noisy)
    fits = tg.optimize.curve_fit(peak, T, holes, starts, mask=out[0] if alike else out)
    for k in range(4):
        x, cov = scipy.optimize.curve_fit(
            peak, T[~out[k]], noisy[k][~out[k]], starts[k], xtol=1e-12, ftol=1e-12
        )
        assert_same_fit(fits, k, x, cov)


def test_a_fit_that_fails_has_a_status_and_no_others_are_lost() -> None:
    noisy, starts = data()
    expected = tg.optimize.curve_fit(peak, T, noisy, starts)
    noisy, starts = noisy.copy(), starts.copy()
    noisy[7, 3], starts[11, 2], starts[13] = np.nan, np.nan, np.inf
    fits = tg.optimize.curve_fit(peak, T, noisy, starts)
    failed = [7, 11, 13]
    np.testing.assert_array_equal(fits.status[failed], -3)
    assert np.isnan(fits.cov[failed]).all()
    rest = np.delete(np.arange(COUNT), failed)
    np.testing.assert_array_equal(fits.x[rest], expected.x[rest])
    assert "finite" in fits.message[7]
    assert "57 converged" in repr(fits)


def test_results_do_not_depend_on_threads_or_neighbours() -> None:
    noisy, starts = data()
    fits = tg.optimize.curve_fit(peak, T, noisy, starts, threads=1)
    for other in (
        tg.optimize.curve_fit(peak, T, noisy, starts, threads=3),
        tg.optimize.curve_fit(peak, T, noisy[::-1], starts[::-1], threads=2),
    ):
        order = slice(None) if other.x[0, 0] == fits.x[0, 0] else slice(None, None, -1)
        np.testing.assert_array_equal(other.x[order], fits.x)
        np.testing.assert_array_equal(other.cov[order], fits.cov)
        np.testing.assert_array_equal(other.nfev[order], fits.nfev)


def test_images_are_fitted() -> None:
    y, x = np.mgrid[:5, :5].astype(float)

    def spot(at: Any, height: Any, cx: Any, cy: Any) -> Any:
        return height * np.exp(-0.5 * ((at[0] - cx) ** 2 + (at[1] - cy) ** 2))

    true = np.random.default_rng(3).uniform(1.5, 2.5, (7, 3))
    images = np.stack([spot((x, y), *p) for p in true])
    fits = tg.optimize.curve_fit(spot, (x, y), images, [2.0, 2.0, 2.0])
    np.testing.assert_allclose(fits.x, true, rtol=1e-6)


def test_branches_are_recorded_on_the_way() -> None:
    def model(t: Any, a: Any) -> Any:
        return a * t if a < 2 else (a * a - 2) * t

    fits = tg.optimize.curve_fit(
        model, T, np.outer([1.0, 7.0, 1.5, 23.0], T), [[1.8], [1.9], [3.0], [2.5]], threads=1
    )
    np.testing.assert_allclose(fits.x[:, 0], [1, 3, 1.5, 5], rtol=1e-6)


def test_a_model_is_recorded_once_for_all_calls(capsys: pytest.CaptureFixture[str]) -> None:
    def model(t: Any, a: Any, b: Any) -> Any:
        print("recorded")
        return a + b * t["x"] ** t["power"]

    def was_recorded(power: int, start: float) -> bool:
        given = {"x": np.arange(5.0), "power": power}
        fits = tg.optimize.curve_fit(model, given, np.ones((20, 5)), [start, 0.5])
        np.testing.assert_allclose(fits.x, np.tile([1.0, 0.0], (20, 1)), atol=1e-8)
        return "recorded" in capsys.readouterr().out

    assert was_recorded(2, 0.0)
    assert not was_recorded(2, 1.0)
    assert was_recorded(3, 1.0)
    assert not was_recorded(2, 2.0)


class Scaled:
    """A model with what it reads: all that may change between two calls."""

    by_class = 1.0

    def __init__(self) -> None:
        self.by_attribute, self.by_entry, self.by_array = 1.0, {"value": 1.0}, np.ones(1)

    def __call__(self, t: Any, a: Any) -> Any:
        read_by_numpy = float(np.sqrt(self.by_array[0]) ** 2)
        return a * t * self.by_attribute * self.by_entry["value"] * self.by_class * read_by_numpy * FACTORS[0]

    def method(self, t: Any, a: Any) -> Any:
        return self(t, a)


FACTORS = [1.0]


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize(
    "change",
    ["by_attribute", "by_entry", "by_class", "by_array", "global", "t in place", "another t"],
)
def test_what_a_kept_model_reads_may_change(change: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled, t, rows = Scaled(), np.arange(1.0, 5.0), np.tile(np.arange(1.0, 5.0), (count, 1))
    for model in (scaled, scaled.method):
        assert tg.optimize.curve_fit(model, t, rows, [0.3]).x == pytest.approx(1.0)
    if change == "by_entry":
        scaled.by_entry["value"] = 2.0
    elif change == "by_array":
        scaled.by_array[0] = 2.0
    elif change == "global":
        monkeypatch.setitem(globals(), "FACTORS", [2.0])
    elif change == "t in place":
        t *= 2
    elif change == "another t":
        t = 2 * t
    else:
        monkeypatch.setattr(Scaled if change == "by_class" else scaled, change, 2.0)
    for model in (scaled, scaled.method):
        assert tg.optimize.curve_fit(model, t, rows, [0.3]).x == pytest.approx(0.5)


def test_what_a_model_is_handed_may_be_anything() -> None:
    def model(at: Any, a: Any) -> Any:
        return a * at.points

    handed = SimpleNamespace(points=np.arange(1.0, 5.0))
    for factor in (1.0, 2.0):
        handed.points = factor * np.arange(1.0, 5.0)
        fits = tg.optimize.curve_fit(model, handed, [np.arange(1.0, 5.0)], [0.3])
        assert fits.x == pytest.approx(1 / factor)


def test_fits_that_take_another_way_are_done_by_themselves() -> None:
    def model(t: Any, a: Any) -> Any:
        return a * t if a < 2 else (a * a - 2) * t

    slopes = np.linspace(0.5, 30, 80)
    fits = tg.optimize.curve_fit(model, T, np.outer(slopes, T), [[1.9]] * 80, threads=1)
    np.testing.assert_allclose(fits.x[:, 0], np.where(slopes < 2, slopes, np.sqrt(slopes + 2)), rtol=1e-6)
    assert fits.success.all()


def test_lanes_take_the_way_of_the_first_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(t: Any, a: Any) -> Any:
        return a * t if a < 2.0 else 2 * a * t

    alone: list[int] = []
    worker = many_fits.FittingWorker
    monkeypatch.setattr(
        many_fits, "FittingWorker", lambda *given: alone.append(len(given) - 3) or worker(*given)
    )
    for start, slope in ((1.0, 1.1), (3.0, 6.6), (1.0, 1.2), (3.0, 6.8)):
        fits = tg.optimize.curve_fit(model, T, np.tile(slope * T, (50, 1)), [start], threads=1)
        np.testing.assert_allclose(fits.x, slope if slope < 2 else slope / 2)
    assert alone == [1] * 4  # with a program over lanes each time, and nothing left to do one by one


@pytest.mark.parametrize("count", [6, 100])
def test_errors_of_matrices_are_those_of_single_fits(count: int) -> None:
    def model(t: Any, a: Any, b: Any) -> Any:
        return tg.linalg.solve(tg.diag(tg.stack([a, b])), t)

    true = np.random.default_rng(0).uniform(0.5, 2, (count, 2))
    starts = 1.2 * true
    starts[[0, 4]] = 0.0
    fits = tg.optimize.curve_fit(model, np.ones(2), 1 / true, starts)
    rest = np.delete(np.arange(count), [0, 4])
    assert not fits.success[[0, 4]].any()
    np.testing.assert_allclose(fits.x[rest], true[rest], rtol=1e-6)


def test_errors_on_the_way_are_steps_that_are_rejected() -> None:
    def model(t: Any, a: Any, b: Any) -> Any:
        return tg.linalg.cholesky(tg.diag(tg.stack([a, b]))) @ t

    draws = np.random.default_rng(0)
    true, starts = draws.uniform(0.05, 0.5, (300, 2)), draws.uniform(0.1, 9, (300, 2))
    starts[[7, 8, 250]] = -1.0  # the others meet matrices that are not positive definite after the first step
    rows = np.sqrt(true) * np.array([1.0, 2.0])
    fits = tg.optimize.curve_fit(model, np.array([1.0, 2.0]), rows, starts, threads=1)
    assert (np.flatnonzero(~fits.success) == [7, 8, 250]).all()
    np.testing.assert_allclose(fits.x[fits.success], true[fits.success], rtol=1e-4)
    np.testing.assert_array_equal(fits.x[[7, 8, 250]], starts[[7, 8, 250]])
    alone = tg.optimize.curve_fit(model, np.array([1.0, 2.0]), rows[5:9], starts[5:9], threads=1)
    np.testing.assert_array_equal(alone.status, fits.status[5:9])
    np.testing.assert_array_equal(alone.nfev, fits.nfev[5:9])


def test_more_parameters_than_points_have_no_covariance() -> None:
    fits = tg.optimize.curve_fit(lambda t, a, b: a + b * t, np.array([1.0]), [[2.0], [3.0]], [0.0, 0.0])
    np.testing.assert_allclose(fits.x.sum(axis=1), [2, 3])
    assert np.isinf(fits.cov).all()
    assert fits.success.all()


def test_no_fits_are_no_fits() -> None:
    fits = tg.optimize.curve_fit(peak, T, np.zeros((0, len(T))), np.ones(4))
    assert fits.x.shape == (0, 4)
    assert fits.cov.shape == (0, 4, 4)
    assert len(fits.summary()) == 0


def test_the_summary_is_a_table_with_names() -> None:
    noisy, starts = data()
    fits = tg.optimize.curve_fit(peak, T, noisy, starts)
    table = fits.summary(["height", "center", "width", "offset"])
    np.testing.assert_array_equal(table["center"], fits.x[:, 1])
    np.testing.assert_array_equal(table["width_error"], np.sqrt(fits.cov[:, 2, 2]))
    assert table.dtype.names[-3:] == ("cost", "status", "nfev")
    with pytest.raises(ValueError, match="2 names"):
        fits.summary(["a", "b"])


def test_chosen_fits_are_drawn() -> None:
    noisy, starts = data()
    starts[3] = np.nan
    mask = np.zeros(noisy.shape, bool)
    mask[0, 5:7] = True
    fits = tg.optimize.curve_fit(peak, T, noisy, starts, 0.1, mask=mask)
    figure = fits.plot([0, 3, 1, -1])
    first, failed, *_ = figure.axes
    lines = {line.get_label(): line.get_xydata() for line in first.lines}
    np.testing.assert_array_equal(lines["left out"], np.column_stack([T[5:7], noisy[0, 5:7]]))
    np.testing.assert_allclose(lines["fit"], np.column_stack([T, peak(T, *fits.x[0])]))
    assert len(figure.axes) == 4
    assert "not finite" in failed.get_title()
    assert figure.axes[3].get_title().startswith(f"fit {COUNT - 1}: cost")
    with pytest.raises(IndexError, match=f"there are {COUNT}"):
        fits.plot(COUNT)
    with pytest.raises(ValueError, match="numbers of fits"):
        fits.plot([])


def test_images_are_drawn_beside_what_was_fitted() -> None:
    y, x = np.mgrid[:4.0, :5.0]
    slopes = np.array([1.0, 2.0])
    fits = tg.optimize.curve_fit(
        lambda t, a: a * t[0] + t[1], (y, x), slopes[:, None, None] * y + x + 0.5, [1.5]
    )
    figure = fits.plot([1])
    seen, fitted, left = (np.asarray(axes.images[0].get_array()) for axes in figure.axes[:3])
    np.testing.assert_allclose(fitted, fits.x[1, 0] * y + x)
    np.testing.assert_allclose(left, seen - fitted)


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    noisy, starts = data()
    tg.optimize.curve_fit(peak, T, noisy, starts, progress=True)
    assert f"{COUNT} of {COUNT}" in capsys.readouterr().err


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_ends_with_all_once(threads: int) -> None:
    noisy, starts = data()
    told: list[tuple[int, ...]] = []
    tg.optimize.curve_fit(peak, T, noisy, starts, threads=threads, progress=lambda *done: told.append(done))
    assert told.index((COUNT, COUNT)) == len(told) - 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"P0": np.ones((3, 4))}, ValueError, "60 rows of data, but 3"),
        ({"P0": 1.0}, ValueError, "P0 of shape"),
        ({"Y": 1.0}, ValueError, "Y of shape"),
        ({"t": T[:5]}, ValueError, r"returned shape \(5,\), but a row of Y has shape \(40,\)"),
        ({"sigma": np.ones(3)}, ValueError, "broadcast"),
        ({"sigma": 0.0}, ValueError, "positive"),
        ({"mask": np.ones(40)}, TypeError, "bools"),
        ({"bounds": (0, [1, 1])}, ValueError, "upper bounds of shape"),
        ({"bounds": (0, 0.5)}, ValueError, "infeasible"),
        ({"loss": "tukey"}, ValueError, "soft_l1"),
        ({"max_nfev": 0}, ValueError, "max_nfev"),
        ({"threads": 1.5}, ValueError, "threads"),
        ({"method": "newton"}, ValueError, "method='newton'; it must be one of 'lm', 'trf'"),
        ({"method": "lm", "bounds": (-9, 99)}, ValueError, "lm' takes no bounds"),
        ({"full_output": True}, ValueError, "one row"),
        ({"nan_policy": "propagate"}, ValueError, "nan_policy='propagate'; it must be 'omit'"),
        ({"mask": np.zeros(3, bool)}, ValueError, r"mask of shape \(3,\) .* Y of shape \(60, 40\)"),
        ({"diff_step": 0.1}, TypeError, "no argument diff_step; options are bounds, loss"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    noisy, starts = data()
    given = {"t": T, "Y": noisy, "P0": starts, **options}
    with pytest.raises(error, match=message):
        tg.optimize.curve_fit(peak, **given)


# --- one row, as SciPy -------------------------------------------------------------------------------------------


def gauss(t: Any, height: Any, center: Any, width: Any) -> Any:
    return height * np.exp(-0.5 * ((t - center) / width) ** 2)


def one_row(seed: int = 0) -> np.ndarray:
    return gauss(T, 2.0, 5.0, 1.3) + 0.05 * np.random.default_rng(seed).standard_normal(len(T))


SPREAD = np.linspace(0.5, 2.0, len(T))
SCIPYS_CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "p0": (([1.0, 4.0, 1.0],), {}),
    "p0 by name": ((), {"p0": [1.0, 4.0, 1.0]}),
    "integers": (([1, 4, 1],), {}),
    "no p0": ((), {"bounds": ([0, 3, 0.1], [np.inf, 7, np.inf])}),
    "sigma": (([1.0, 4.0, 1.0], SPREAD), {}),
    "one sigma": (([1.0, 4.0, 1.0], 0.1, True), {}),
    "absolute": (([1.0, 4.0, 1.0], SPREAD, True), {}),
    "infinite sigma": (([1.0, 4.0, 1.0], np.where(np.arange(len(T)) % 7, SPREAD, np.inf)), {}),
    "infinite sigma, absolute": (
        ([1.0, 4.0, 1.0], np.where(np.arange(len(T)) % 7, SPREAD, np.inf), True),
        {},
    ),
    "absolute without sigma": (([1.0, 4.0, 1.0], None, True), {}),
    "loss": (([1.0, 4.0, 1.0],), {"loss": "soft_l1", "f_scale": 0.1}),
    "maxfev": (([1.0, 4.0, 1.0],), {"maxfev": 200, "check_finite": True}),
    "method": (([1.0, 4.0, 1.0],), {"method": "trf", "jac": None, "verbose": 0}),
}


@pytest.mark.parametrize("call", SCIPYS_CALLS.values(), ids=SCIPYS_CALLS)
@pytest.mark.parametrize("t", [T, T.tolist(), np.arange(len(T))], ids=["floats", "list", "integers"])
def test_one_row_is_scipys_call(t: Any, call: Any) -> None:
    args, options = call
    scale = np.max(t) / 10.0
    row = gauss(np.asarray(t) / scale, 2.0, 5.0, 1.3) + one_row() - gauss(T, 2.0, 5.0, 1.3)

    def model(t: Any, height: Any, center: Any, width: Any) -> Any:
        return gauss(t / scale, height, center, width)

    tight = {"ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-12}
    popt, pcov = tg.optimize.curve_fit(model, t, row, *args, **options, **tight)
    tight = {} if "maxfev" in options else tight
    options = {"method": "trf" if "loss" in options else None, **options}
    known = scipy.optimize.curve_fit(model, t, row, *args, **options, **tight)
    np.testing.assert_allclose(popt, known[0], rtol=1e-5)
    np.testing.assert_allclose(pcov, known[1], rtol=1e-3, atol=1e-7)


def test_one_parameter_may_start_at_a_number() -> None:
    for p0 in (1.0, 2, np.float64(3.0)):
        assert tg.optimize.curve_fit(lambda t, a: a * t, T, 3 * T, p0)[0] == pytest.approx([3.0])


def test_fits_without_points_have_no_parameters() -> None:
    row = one_row()
    for y, options in (
        (row[:0], {}),
        (row, {"mask": True}),
        (np.ma.masked_all(len(T)), {}),
        (np.full(len(T), np.nan), {"nan_policy": "omit"}),
    ):
        with pytest.raises(ValueError, match="there are no points in Y"):
            tg.optimize.curve_fit(gauss, T[: len(y)], y, [1.0, 4.0, 1.0], **options)
    rows = np.stack([row, np.full(len(T), np.nan)])
    fits = tg.optimize.curve_fit(gauss, T, rows, [1.0, 4.0, 1.0], nan_policy="omit")
    assert (fits.status[0] > 0, fits.status[1], fits.message[1][:19]) == (True, -5, "There are no points")
    np.testing.assert_array_equal(fits.x[0], tg.optimize.curve_fit(gauss, T, rows[:1], [1.0, 4.0, 1.0]).x[0])
    assert np.isnan(fits.x[1]).all()
    assert np.isnan(fits.cov[1]).all()


def test_one_row_gives_a_pair_with_names(tmp_path: Any) -> None:
    fit = tg.optimize.curve_fit(gauss, T, one_row(), [1.0, 4.0, 1.0])
    assert fit[0] is fit.x
    assert fit[1] is fit.cov
    assert (len(fit), fit.x.shape, fit.cov.shape, fit.status > 0) == (2, (3,), (3, 3), True)
    assert fit.summary(["height", "center", "width"])["center"] == fit.x[1]
    assert "3 parameters" in repr(fit)
    many = tg.optimize.curve_fit(gauss, T, one_row()[None], [1.0, 4.0, 1.0])
    np.testing.assert_array_equal(many.x[0], fit.x)
    with pytest.raises(RuntimeError, match=r"not found.*maximum number"):
        tg.optimize.curve_fit(gauss, T, one_row(), [1.0, 4.0, 1.0], maxfev=2)
    with pytest.warns(scipy.optimize.OptimizeWarning, match="covariance") as warned:
        tg.optimize.curve_fit(lambda t, a, b: a + 0 * b * t, T, one_row(), [1.0, 4.0])
    assert warned[0].filename == __file__


def test_one_row_says_how_it_ended_and_what_is_left() -> None:
    row, out = one_row(), np.arange(len(T)) == 5
    fit = tg.optimize.curve_fit(gauss, T, row, [1.0, 4.0, 1.0], SPREAD, mask=out)
    assert (fit.success, fit.message) == (True, "`ftol` termination condition is satisfied.")
    left = fit.residuals()
    assert np.isnan(left[5])
    np.testing.assert_allclose(left[~out], ((gauss(T, *fit.x) - row) / SPREAD)[~out])
    np.testing.assert_allclose(0.5 * np.nansum(left**2), fit.cost)
    rows = np.stack([row, 2 * row])
    fits = tg.optimize.curve_fit(gauss, T, rows, [1.0, 4.0, 1.0])
    np.testing.assert_allclose(fits.residuals(1), gauss(T, *fits.x[1]) - rows[1])


def test_the_full_output_is_scipys() -> None:
    row = np.where(T > 9, np.nan, one_row())
    options: dict[str, Any] = {"sigma": SPREAD, "full_output": True, "nan_policy": "omit"}
    found = tg.optimize.curve_fit(gauss, T, row, [1.0, 4.0, 1.0], **options)
    known = scipy.optimize.curve_fit(gauss, T, row, [1.0, 4.0, 1.0], method="trf", **options)
    assert len(found) == 5
    assert found[2].keys() == known[2].keys() == {"nfev", "fvec"}
    np.testing.assert_allclose(found[2]["fvec"], known[2]["fvec"], atol=1e-6)
    assert isinstance(found[3], str)
    assert 1 <= found[4] <= 4


@pytest.mark.parametrize("rows", [1, 3])
def test_points_without_a_number_are_left_out(rows: int) -> None:
    """In the data, in `t`, or in both; and what a standard deviation is there does not matter."""
    row, t, sigma = one_row(), T.copy(), SPREAD.copy()
    row[[3, 4]], t[[4, 9]], sigma[[3, 9]] = np.nan, np.nan, [np.nan, 0.0]
    keep = np.isfinite(row) & np.isfinite(t)
    data = row if rows == 1 else np.tile(row, (rows, 1))
    fit = tg.optimize.curve_fit(gauss, t, data, [1.0, 4.0, 1.0], sigma, nan_policy="omit")
    known, cov = scipy.optimize.curve_fit(gauss, T[keep], row[keep], [1.0, 4.0, 1.0], SPREAD[keep])
    np.testing.assert_allclose(fit.x.reshape(rows, 3), [known] * rows, rtol=1e-5)
    np.testing.assert_allclose(fit.cov.reshape(rows, 3, 3), [cov] * rows, rtol=1e-3)
    masked = tg.optimize.curve_fit(gauss, T, data, [1.0, 4.0, 1.0], sigma, mask=~keep)
    np.testing.assert_allclose(masked.x, fit.x, rtol=1e-12)


def test_one_row_is_drawn_with_a_legend() -> None:
    figure = tg.optimize.curve_fit(gauss, T, one_row(), [1.0, 4.0, 1.0]).plot()
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["fit", "data"]
    assert axes.get_title().startswith("cost ")
    assert tuple(figure.get_size_inches()) == (6.4, 4.2)


def test_a_plot_without_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = tg.optimize.curve_fit(gauss, T, one_row(), [1.0, 4.0, 1.0])
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ModuleNotFoundError, match="plot needs the package matplotlib: pip install matplotlib"
    ):
        fit.plot()


def test_columns_of_pandas_are_data() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"t": T, "y": one_row(), "sigma": SPREAD}, index=np.arange(len(T)) + 7)
    fit = tg.optimize.curve_fit(gauss, table["t"], table["y"], [1.0, 4.0, 1.0], table["sigma"])
    plain = tg.optimize.curve_fit(gauss, T, one_row(), [1.0, 4.0, 1.0], SPREAD)
    np.testing.assert_array_equal(fit.x, plain.x)
    line = next(line for line in fit.plot().axes[0].lines if line.get_label() == "fit")
    np.testing.assert_array_equal(line.get_xdata(), T)


def test_an_element_each_is_told_from_one_row() -> None:
    """Elements of one dimension are one fit; with a row of parameters for each they are a fit each."""
    values = np.array([1.0, 4.0, 9.0])
    fits = tg.optimize.curve_fit(lambda t, a: a**2, None, values, np.ones((3, 1)))
    np.testing.assert_allclose(fits.x[:, 0], [1.0, 2.0, 3.0], rtol=1e-6)
    with pytest.raises(ValueError, match=r"returned shape \(\).*shape \(3,\).*P0 of shape \(len\(Y\), k\)"):
        tg.optimize.curve_fit(lambda t, a: a**2, None, values, [1.0])


NOT_ONE_ROW: dict[str, tuple[Any, type[Exception], str]] = {
    "nan": (
        lambda y: tg.optimize.curve_fit(gauss, T, np.where(T > 9, np.nan, y)),
        ValueError,
        "nan or inf.*mask=",
    ),
    "covariances": (
        lambda y: tg.optimize.curve_fit(gauss, T, y, sigma=np.eye(len(T))),
        ValueError,
        "solve_triangular",
    ),
    "any number": (
        lambda y: tg.optimize.curve_fit(lambda t, *p: p[0] * t, T, y),
        ValueError,
        "how many parameters",
    ),
    "outside": (
        lambda y: tg.optimize.curve_fit(gauss, T, y, [0, 1, 1], bounds=(0.5, 9)),
        ValueError,
        "outside",
    ),
    "jac": (lambda y: tg.optimize.curve_fit(gauss, T, y, jac="2-point"), TypeError, "jac; .*leave jac out"),
    "verbose": (lambda y: tg.optimize.curve_fit(gauss, T, y, verbose=2), TypeError, "verbose; progress=True"),
    "nan, refused": (
        lambda y: tg.optimize.curve_fit(gauss, T, np.where(T > 9, np.nan, y), nan_policy="raise"),
        ValueError,
        "nan_policy='raise'",
    ),
    "infinite beside nan": (
        lambda y: tg.optimize.curve_fit(gauss, T, np.where(T > 9, np.inf, y), nan_policy="omit"),
        ValueError,
        "inf",
    ),
    "sigma of another length": (
        lambda y: tg.optimize.curve_fit(gauss, T, y, sigma=SPREAD[1:]),
        ValueError,
        r"sigma of shape \(39,\) does not broadcast to Y of shape \(40,\)",
    ),
    "sigma": (
        lambda y: tg.optimize.curve_fit(gauss, T, y, sigma=np.where(T > 9, np.nan, 1.0), mask=T > 9.5),
        ValueError,
        "but for points that mask= leaves out",
    ),
}


@pytest.mark.parametrize("case", NOT_ONE_ROW.values(), ids=NOT_ONE_ROW)
def test_what_scipy_has_and_we_have_not_raises(case: Any) -> None:
    call, error, words = case
    with pytest.raises(error, match=words):
        call(one_row())


@pytest.mark.parametrize("rows", [1, 3])
def test_what_a_masked_array_hides_is_left_out(rows: int) -> None:
    row = one_row()
    row[5] = 1e6
    far = np.ma.masked_greater(row, 100.0)
    given = far if rows == 1 else np.ma.stack([far] * rows)
    keep = ~np.ma.getmaskarray(far)
    fit = tg.optimize.curve_fit(gauss, T, given, [1.0, 4.0, 1.0])
    known, _ = scipy.optimize.curve_fit(gauss, T[keep], row[keep], [1.0, 4.0, 1.0])
    np.testing.assert_allclose(fit.x.reshape(rows, 3), [known] * rows, rtol=1e-5)
    with_nan = np.ma.array(np.where(keep, row, np.nan), mask=~keep)
    same = tg.optimize.curve_fit(gauss, T, with_nan, [1.0, 4.0, 1.0], mask=T > 9.5)
    also = tg.optimize.curve_fit(gauss, T, row, [1.0, 4.0, 1.0], mask=~keep | (T > 9.5))
    np.testing.assert_array_equal(same.x, also.x)
    plain = tg.optimize.curve_fit(gauss, T, np.where(keep, row, np.nan), [1.0, 4.0, 1.0], mask=~keep)
    np.testing.assert_allclose(plain.x, known, rtol=1e-5)


@pytest.mark.parametrize("part", ["Handle", "Specialization"])
def test_an_interrupt_while_a_model_is_recorded_breaks_no_later_fit(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(t: Any, a: Any, b: Any) -> Any:
        return a * np.exp(-b * t) if part else t  # of each part another function

    def fit() -> Any:
        return tg.optimize.curve_fit(model, T, 2 * np.exp(-0.3 * T), p0=[1.0, 1.0])[0]

    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recorded, part, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit()
    np.testing.assert_allclose(fit(), [2.0, 0.3], rtol=1e-8)
