"""Recursive filters: SciPy's values, derivatives by lines, states and coefficients."""

from typing import Any

import numpy as np
import pytest
import scipy.signal

import tapegrad as tg
from helpers.linear_maps import check_transpose

LINES = np.random.default_rng(6).standard_normal((3, 40))
FILTERS = {
    "first": scipy.signal.butter(1, 0.3),
    "fourth": scipy.signal.butter(4, 0.2),
    "numerator": ([0.2, 0.3, 0.5], [2.0]),
    "denominator": ([1.0], [2.0, -0.4, 0.3]),
    "gain": ([0.7], [2.0]),
    "longer_numerator": ([1.0, 2.0, 0.5, 0.1], [1.0, -0.3]),
}
SECTIONS = {n: scipy.signal.butter(n, 0.3, output="sos") for n in (1, 2, 3, 4)}


def near(found: Any, expected: Any, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(found.numpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("name", FILTERS)
def test_difference_equations(name: str, rng: np.random.Generator) -> None:
    b, a = FILTERS[name]
    order = max(len(b), len(a)) - 1
    near(tg.signal.lfilter(b, a, LINES), scipy.signal.lfilter(b, a, LINES))
    near(tg.signal.lfilter(b, a, LINES[0]), scipy.signal.lfilter(b, a, LINES[0]))
    if order == 0:  # SciPy gives no states
        return
    near(tg.signal.lfilter_zi(b, a), scipy.signal.lfilter_zi(b, a), 1e-9)
    for axis, shape in ((0, (order, 40)), (1, (3, order)), (1, (1, order))):
        zi = rng.standard_normal(shape)
        expected = scipy.signal.lfilter(b, a, LINES, axis, zi)
        for found, each in zip(tg.signal.lfilter(b, a, LINES, axis, zi), expected, strict=True):
            near(found, each)


@pytest.mark.parametrize("count", SECTIONS)
def test_cascades(count: int, rng: np.random.Generator) -> None:
    sos = SECTIONS[count]
    near(tg.signal.sosfilt(sos, LINES), scipy.signal.sosfilt(sos, LINES))
    zi = rng.standard_normal((len(sos), 3, 2))
    for found, each in zip(
        tg.signal.sosfilt(sos, LINES, zi=zi), scipy.signal.sosfilt(sos, LINES, zi=zi), strict=True
    ):
        near(found, each)


@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
def test_both_ways(padtype: str | None) -> None:
    for name in sorted(set(FILTERS) - {"gain"}):
        b, a = FILTERS[name]
        for padlen in (None, 0, 5):
            expected = scipy.signal.filtfilt(b, a, LINES, 1, padtype, padlen)
            near(tg.signal.filtfilt(b, a, LINES, 1, padtype, padlen), expected, 1e-9)
    for sos in SECTIONS.values():
        expected = scipy.signal.sosfiltfilt(sos, LINES.T, 0, padtype)
        near(tg.signal.sosfiltfilt(sos, LINES.T, 0, padtype), expected, 1e-9)


def test_single_precision_stays() -> None:
    b, a = (np.float32(each) for each in FILTERS["fourth"])
    found = tg.signal.lfilter(b, a, np.float32(LINES))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.numpy(), scipy.signal.lfilter(b, a, np.float32(LINES)), 1e-4, 1e-4)
    assert tg.signal.lfilter(b, a, LINES).dtype == np.float64
    near(tg.signal.lfilter([1, 1], [1], np.arange(3)), [0.0, 1.0, 3.0])


def test_derivatives_by_lines_and_coefficients(rng: np.random.Generator) -> None:
    x, zi, sos = LINES[0, :9], np.array([0.3, -0.2]), np.array([[1.0, 0.5, 0.2, 1.0, -0.4, 0.1]])
    b, a = np.array([1.0, 0.5]), np.array([2.0, -0.4, 0.3])
    functions: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
        "equation": (lambda b, a, x, zi: tg.signal.lfilter(b, a, x, zi=zi)[0], (b, a, x, zi)),
        "last state": (lambda b, a, x, zi: tg.signal.lfilter(b, a, x, zi=zi)[1], (b, a, x, zi)),
        "both ways": (lambda b, a: tg.signal.filtfilt(b, a, x, padlen=3), (b, a)),
        "sections": (lambda sos, x: tg.signal.sosfilt(sos, x), (sos, x)),
        "sections both ways": (lambda sos: tg.signal.sosfiltfilt(sos, x, padlen=3), (sos,)),
    }
    for name, (function, point) in functions.items():
        loss = tg.jit(lambda *args, function=function: tg.sum(tg.sin(function(*args))))
        slopes = tg.jit(tg.grad(loss, argnums=tuple(range(len(point)))))
        along = [rng.standard_normal(each.shape) for each in point]
        ahead, behind = ([p + s * d for p, d in zip(point, along, strict=True)] for s in (1e-5, -1e-5))
        expected = sum(np.vdot(g, d) for g, d in zip(slopes(*point), along, strict=True))
        np.testing.assert_allclose((loss(*ahead) - loss(*behind)) / 2e-5, expected, 1e-7, err_msg=name)
        _, found = tg.jvp(slopes, point, tuple(along))
        for g, plus, minus in zip(found, slopes(*ahead), slopes(*behind), strict=True):
            np.testing.assert_allclose(g, (plus - minus) / 2e-5, 1e-6, 1e-6, err_msg=name)


def test_cotangents_are_of_the_transpose(rng: np.random.Generator) -> None:
    for b, a in FILTERS.values():
        for f in (
            lambda x, b=b, a=a: tg.signal.lfilter(b, a, x),
            lambda x, b=b, a=a: tg.signal.filtfilt(b, a, x, padlen=7),
        ):
            check_transpose(f, LINES, rng, 1e-12)


def test_replays_and_instances() -> None:
    f = tg.jit(lambda a, x: tg.signal.lfilter([1.0], tg.stack([1.0, a]), x))
    poles = np.array([-0.9, 0.1, 0.4])
    expected = np.stack([scipy.signal.lfilter([1.0], [1.0, a], x) for a, x in zip(poles, LINES, strict=True)])
    np.testing.assert_allclose([f(a, x) for a, x in zip(poles, LINES, strict=True)], expected, 1e-12)
    np.testing.assert_allclose(tg.vmap(f)(poles, LINES), expected, 1e-12)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("lfilter", ([], [1.0], LINES), {}),
        ("lfilter", ([1.0], [[1.0]], LINES), {}),
        ("lfilter", ([1.0], [0.0, 1.0], LINES), {}),
        ("lfilter", ([1.0], [1.0, 0.5], LINES), {"zi": np.zeros((3, 2))}),
        ("lfilter", ([1.0], [1.0, 0.5], LINES), {"zi": np.zeros(1)}),
        ("lfilter", ([1.0], [1.0, 0.5], LINES), {"axis": 2}),
        ("sosfilt", (np.ones((1, 5)), LINES), {}),
        ("sosfilt", (np.ones((1, 6)) * 2, LINES), {}),
        ("sosfilt", (np.ones((1, 6)), LINES), {"zi": np.zeros((1, 3, 3))}),
        ("filtfilt", ([1.0], [1.0, 0.5], LINES), {"padtype": "none"}),
        ("filtfilt", ([1.0], [1.0, 0.5], LINES), {"padlen": 40}),
        ("filtfilt", ([1.0], [1.0, 0.5], LINES), {"method": "fast"}),
    ],
)
def test_errors_are_scipys(name: str, args: Any, kwargs: Any) -> None:
    for module in (scipy.signal, tg.signal):
        with pytest.raises(ValueError):  # noqa: PT011
            getattr(module, name)(*args, **kwargs)


def test_refusals_say_what_to_write() -> None:
    with pytest.raises(tg.UnsupportedError, match="write method='pad'"):
        tg.signal.filtfilt([1.0], [1.0, 0.5], LINES, method="gust")
    with pytest.raises(ValueError, match="give padlen="):
        tg.signal.sosfiltfilt(tg.tensor(SECTIONS[2]), LINES)
