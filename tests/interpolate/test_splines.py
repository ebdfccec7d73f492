"""Interpolators in one dimension: SciPy's numbers, and derivatives by values, conditions and places."""

import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import scipy.interpolate

import tapegrad as tg
from tapegrad import interpolate
from tapegrad.errors import UnsupportedError
from tapegrad.interpolate.intervals import intervals_of

KNOTS = np.cumsum(np.random.default_rng(5).uniform(0.3, 1.0, 7))
VALUES = np.random.default_rng(6).standard_normal(7)
CLOSED = np.append(VALUES[:-1], VALUES[0])
PLACES = np.random.default_rng(7).uniform(KNOTS[0], KNOTS[-1], 4)
# outside, at the ends, at knots, twice, not a number
EVERYWHERE = np.array([KNOTS[0] - 0.4, *KNOTS, KNOTS[-1] + 0.7, *PLACES, PLACES[0], np.nan, KNOTS[-1] + 50.0])
ENDS: list[Any] = [
    "not-a-knot", "clamped", "natural", "periodic",
    ("natural", "not-a-knot"), ((1, 0.3), (2, -0.4)), ((2, 1.0), "clamped"),
]  # fmt: skip
OUTSIDE: list[Any] = [None, True, False, "periodic"]


def pair(name: str, *args: Any, **options: Any) -> tuple[Any, Any]:
    """Return what our function or class makes, and what SciPy's makes."""
    return getattr(interpolate, name)(*args, **options), getattr(scipy.interpolate, name)(*args, **options)


def assert_same(found: Any, expected: Any) -> None:
    """Check values, shapes and dtypes; of numbers around 1."""
    expected = np.asarray(expected)
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    scale = np.nanmax(np.append(np.abs(expected), 1.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * scale)


def assert_same_function(ours: Any, theirs: Any, has_integrals: bool = True) -> None:
    """Check values, derivatives, integrals and what stands for them at all places."""
    for outside in OUTSIDE:
        assert_same(ours(EVERYWHERE, extrapolate=outside), theirs(EVERYWHERE, extrapolate=outside))
    for nu in range(1, 1 + min(getattr(theirs, "k", 3), 3)):  # beyond, SciPy's splines are 0 at nan
        assert_same(ours(EVERYWHERE, nu), theirs(EVERYWHERE, nu))
    assert_same(ours(EVERYWHERE.reshape(2, -1)), theirs(EVERYWHERE.reshape(2, -1)))
    assert_same(ours(PLACES[0]), theirs(PLACES[0]))
    assert ours.extrapolate == theirs.extrapolate
    assert_same(ours.c, theirs.c)
    if not has_integrals:
        return
    first, last = KNOTS[[0, -1]]
    ends = (
        (first + 0.1, last - 0.3),
        (last, first),
        (first - 0.5, last + 0.2),
        (last + 9, first + 1),
        (1.0, 1.0),
    )
    for a, b in ends:
        for outside in OUTSIDE:
            assert_same(ours.integrate(a, b, outside), theirs.integrate(a, b, outside))
    assert_same(ours.antiderivative(2)(EVERYWHERE), theirs.antiderivative(2)(EVERYWHERE))
    assert_same(ours.derivative()(EVERYWHERE), theirs.derivative()(EVERYWHERE))


@pytest.mark.parametrize("bc_type", ENDS, ids=str)
@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_cubic_splines_are_scipys(bc_type, count):
    x, y = KNOTS[:count], VALUES[:count].copy()
    y[-1] = y[0] if bc_type == "periodic" else y[-1]
    assert_same_function(*pair("CubicSpline", x, y, bc_type=bc_type))


@pytest.mark.parametrize(
    ("name", "options", "counts"),
    [
        ("PchipInterpolator", {}, (2, 3, 7)),
        ("PchipInterpolator", {"extrapolate": False}, (7,)),
        ("Akima1DInterpolator", {}, (3, 7)),  # two points are a parabola in SciPy 1.13
        ("Akima1DInterpolator", {"method": "makima"}, (3, 7)),
    ],
)
def test_slopes_of_values_are_scipys(name, options, counts):
    for y in (VALUES, np.round(VALUES), np.array([0.0, 0.0, 1.0, 1.0, 1.0, 3.0, 2.0]), np.arange(7.0)):
        for count in counts:
            assert_same_function(*pair(name, KNOTS[:count], y[:count], **options))


def test_two_points_are_a_line():
    line = interpolate.Akima1DInterpolator([0.0, 2.0], [1.0, 3.0], extrapolate=True)
    assert_same(line([-1.0, 0.5, 3.0]), np.array([0.0, 1.5, 4.0]))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("bc_type", [None, "clamped", "natural", "periodic", "pairs"])
def test_b_splines_are_scipys(k, bc_type):
    given = ([(1, 0.3)], [(2, -0.4)]) if bc_type == "pairs" else bc_type
    arguments = KNOTS, CLOSED if bc_type == "periodic" else VALUES, k
    try:
        expected = scipy.interpolate.make_interp_spline(*arguments, bc_type=given)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            interpolate.make_interp_spline(*arguments, bc_type=given)
        return
    found = interpolate.make_interp_spline(*arguments, bc_type=given)
    np.testing.assert_array_equal(found.t, expected.t)
    assert_same_function(found, expected, has_integrals=k > 0)


def test_steps_are_integrated():
    """The integral of degree 0, for which SciPy takes 0 at the last knot."""
    steps = interpolate.make_interp_spline(KNOTS, VALUES, k=0)
    expected = np.sum(np.diff(KNOTS) * VALUES[:-1])
    np.testing.assert_allclose(steps.integrate(KNOTS[0], KNOTS[-1]), expected)
    np.testing.assert_allclose(steps.antiderivative()(KNOTS[-1]), expected)


def test_knots_of_b_splines():
    x, y = KNOTS, VALUES
    t = np.concatenate([[x[0]] * 4, x[[1, 3, 4]] + 0.1, [x[-1]] * 4])
    assert_same_function(*pair("make_interp_spline", x, y, t=t))
    repeated = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 4.0, 4.5, 5.0])
    found, expected = pair("BSpline", repeated, VALUES, 2)
    assert_same(found(EVERYWHERE), expected(EVERYWHERE))
    with pytest.raises(ValueError, match="not continuous"):
        found.derivative(2)
    assert found.tck[0] is found.t
    assert found.tck[2] == 2


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "make_interp_spline"])
def test_axes_and_vectors(name, rng):
    y = rng.standard_normal((2, 7, 3))
    found, expected = pair(name, KNOTS, y, axis=1)
    assert_same(found(EVERYWHERE.reshape(2, -1)), expected(EVERYWHERE.reshape(2, -1)))
    assert_same(found(PLACES[0], 1), expected(PLACES[0], 1))
    assert_same(found.integrate(0.5, 2.0), expected.integrate(0.5, 2.0))
    assert_same(found.derivative()(PLACES), expected.derivative()(PLACES))
    assert_same(found.antiderivative()(PLACES), expected.antiderivative()(PLACES))
    empty = getattr(interpolate, name)(KNOTS, y[:, :, :0], axis=-2)
    assert empty(PLACES).shape == (2, 4, 0)


def test_values_of_all_kinds(rng):
    many = np.repeat(VALUES, 2).astype(np.float32)
    found, expected = pair("CubicSpline", KNOTS.tolist(), many[::2])
    assert_same(found(PLACES.astype(np.float32)[::-1]), expected(PLACES.astype(np.float32)[::-1]))
    assert found(np.zeros((0, 2))).shape == (0, 2)
    assert_same(interpolate.CubicSpline(range(4), range(4))(2), np.array(2.0))
    assert interpolate.CubicSpline(KNOTS, VALUES)(np.inf) == np.copysign(np.inf, found.c[0, -1])
    polynomials, expected = pair("PPoly", rng.standard_normal((3, 2, 6, 2)), KNOTS, axis=1)
    assert_same(polynomials(PLACES), expected(PLACES))
    hermite, expected = pair("CubicHermiteSpline", KNOTS, VALUES[None], CLOSED[None], axis=1)
    assert_same(hermite(PLACES), expected(PLACES))


def test_many_knots(rng):
    """Unit vectors share columns; on uneven knots, too, and where a value is met in a circle."""
    x = np.cumsum(rng.uniform(0.01, 1.0, 700))
    y = rng.standard_normal((700, 2))
    y[-1] = y[0]
    x_far = np.concatenate([x[:300], 1e4 + 1e3 * x[300:]])
    for places in (x, x_far):
        for name, options in (
            ("CubicSpline", {}),
            ("CubicSpline", {"bc_type": "periodic"}),
            ("make_interp_spline", {"k": 5}),
        ):
            found, expected = pair(name, places, y, **options)
            at = rng.uniform(places[0], places[-1], 100)
            scale = np.abs(expected(at)).max()
            np.testing.assert_allclose(found(at), expected(at), rtol=0, atol=1e-11 * scale)


MESHES = {
    "even": np.linspace(-1.0, 2.0, 31),
    "uneven": np.cumsum(np.random.default_rng(8).uniform(0.1, 1.0, 40)),
    "far": 1e9 + np.cumsum(np.random.default_rng(9).uniform(0.1, 1.0, 40)),
    "close": 1.0 + np.arange(20.0) * np.spacing(1.0),
    "clustered": np.append(np.linspace(0.0, 1e-6, 20), 1.0),
    "tiny": np.arange(5.0) * 5e-324,
    "two": np.array([0.0, 1.0]),
}


@pytest.mark.parametrize("name", MESHES)
def test_replays_find_the_intervals_of_bisection(name, rng):
    """At knots and beside them, outside, at infinity and at nan."""
    knots = MESHES[name]
    beside = [np.nextafter(knots, -np.inf), knots, np.nextafter(knots, np.inf)]
    places = np.concatenate(
        [*beside, [-1e300, 1e300, np.inf, -np.inf, np.nan], rng.uniform(knots[0], knots[-1], 50)]
    )
    found = tg.jit(lambda x: intervals_of(knots, x))(places)
    np.testing.assert_array_equal(found, np.searchsorted(knots[1:-1], places, "right"))


# --- Derivatives -------------------------------------------------------------------------------------------------

Function = Callable[[Any, Any], Any]
FUNCTIONS: dict[str, Function] = {
    "cubic": lambda y, x: interpolate.CubicSpline(KNOTS, y)(x),
    "slope": lambda y, x: interpolate.CubicSpline(KNOTS, y, bc_type="natural")(x, 1),
    "ends": lambda y, x: interpolate.CubicSpline(
        KNOTS, np.stack([y, y**2], 1), bc_type=((1, y[:2]), (2, x[:2]))
    )(x.reshape(2, 2)),
    "periodic": lambda y, x: interpolate.CubicSpline(KNOTS, np.append(y[:-1], y[0]), bc_type="periodic")(3 * x),
    "pchip": lambda y, x: interpolate.PchipInterpolator(KNOTS, y)(x),
    "akima": lambda y, x: interpolate.Akima1DInterpolator(KNOTS, y)(x),
    "makima": lambda y, x: interpolate.Akima1DInterpolator(KNOTS, y, method="makima")(x),
    "quintic": lambda y, x: interpolate.make_interp_spline(KNOTS, y, 5)(x),
    "lines": lambda y, x: interpolate.make_interp_spline(KNOTS, y, 1)(x),
    "given": lambda y, x: interpolate.make_interp_spline(KNOTS, y, bc_type=([(1, y[0])], [(2, x[1])]))(x),
    "integral": lambda y, x: interpolate.CubicSpline(KNOTS, y).integrate(x[0], x[1]),
    "back": lambda y, x: interpolate.make_interp_spline(KNOTS, y).integrate(x[1], x[0] - 9.0, False),
    "periods": lambda y, x: interpolate.CubicSpline(KNOTS, y).integrate(x[0] - 7.0, x[1] + 12.0, "periodic"),
    "antiderivative": lambda y, x: interpolate.make_interp_spline(KNOTS, y).antiderivative(2)(x),
    "derivative": lambda y, x: interpolate.make_interp_spline(KNOTS, y).derivative(2)(x),
}  # fmt: skip


TWICE = ("cubic", "pchip", "given", "integral")  # others are of the same parts


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    function = FUNCTIONS[name]
    replayed = tg.jit(function)
    tg.check_grads(replayed, (VALUES, PLACES), order=2 if name in TWICE else 1)
    places = PLACES[::-1] * 0.9 + 0.1  # in other intervals
    np.testing.assert_array_equal(replayed(VALUES, places), function(VALUES, places))
    for transform in (tg.jacrev, tg.jacfwd):
        by_replay = transform(replayed, argnums=(0, 1))(VALUES, places)
        by_hand = transform(function, argnums=(0, 1))(VALUES, places)
        for found, expected in zip(by_replay, by_hand, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bc_type", ["not-a-knot", "clamped", "natural", "periodic"])
def test_derivatives_by_values_are_the_linear_map(bc_type):
    def function(y: Any) -> Any:
        return interpolate.CubicSpline(KNOTS, y, bc_type=bc_type)(EVERYWHERE[:-2])

    units = np.eye(7)
    if bc_type == "periodic":
        units[-1] = units[0]
    columns = scipy.interpolate.CubicSpline(KNOTS, units, bc_type=bc_type)(EVERYWHERE[:-2])
    if bc_type == "periodic":
        columns[:, -1] = 0.0  # the last value is the first one
    np.testing.assert_allclose(tg.jacrev(function)(CLOSED), columns, atol=1e-13)


def test_derivatives_at_knots_are_those_to_the_right():
    lines = interpolate.make_interp_spline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], k=1)
    at = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(tg.grad(lambda x: np.sum(lines(x)))(at), [1.0, 3.0, 3.0])


def test_kinks_of_slopes():
    """Where neighbouring secants are of no one sign, a slope is 0 and does not depend on them."""
    y = np.array([0.0, 1.0, 1.0, 2.0])
    slopes = tg.jacrev(lambda y: interpolate.PchipInterpolator(np.arange(4.0), y)(np.array([1.0, 2.0]), 1))(y)
    np.testing.assert_array_equal(slopes, np.zeros((2, 4)))
    flat = tg.grad(lambda y: interpolate.Akima1DInterpolator(np.arange(4.0), y)(1.5))(np.zeros(4))
    assert np.all(np.isfinite(flat))


def test_places_outside_do_not_spoil_the_gradient():
    def total(y: Any) -> Any:
        inside = interpolate.CubicSpline(KNOTS, y, extrapolate=False)(EVERYWHERE)
        return np.nansum(inside)

    assert np.all(np.isfinite(tg.grad(total)(VALUES)))


def test_instances_and_sparse_jacobians(rng):
    both = tg.jit(lambda y, x: interpolate.CubicSpline(KNOTS, y)(x))
    ys, xs = rng.standard_normal((3, 7)), rng.uniform(KNOTS[0], KNOTS[-1], (3, 4))
    np.testing.assert_array_equal(tg.vmap(both)(ys, xs), [both(y, x) for y, x in zip(ys, xs, strict=True)])
    by_places = tg.jacobian(both, argnums=1, sparse=True)(VALUES, PLACES)
    assert by_places.nnz == 4
    np.testing.assert_allclose(by_places.toarray(), tg.jacobian(both, argnums=1)(VALUES, PLACES))


def test_compiled_functions_find_other_intervals(tmp_path):
    def total(y: Any, x: Any) -> Any:
        return tg.sum(interpolate.CubicSpline(KNOTS, y)(x) ** 2)

    compiled = tg.compile(total, (VALUES, PLACES))
    places = PLACES[::-1] * 0.8 + 0.2

    @numba.njit
    def call(y, x):
        return compiled(y, x)

    assert call(VALUES, places) == total(VALUES, places).item()
    compiled.save(tmp_path / "spline.tape")
    assert tg.load(tmp_path / "spline.tape")(VALUES, places) == total(VALUES, places).item()


# --- Arrays and Tensors around a recording -----------------------------------------------------------------------


def test_changed_arrays_are_seen():
    x, y = KNOTS.copy(), VALUES.copy()
    function = tg.jit(lambda at: interpolate.CubicSpline(x, y)(at))
    function(PLACES)
    x[2] += 0.1
    np.testing.assert_allclose(function(PLACES), scipy.interpolate.CubicSpline(x, y)(PLACES))
    y[2] += 1.0
    np.testing.assert_allclose(function(PLACES), scipy.interpolate.CubicSpline(x, y)(PLACES))


def test_splines_of_tensors_are_tensors():
    y = tg.tensor(VALUES)
    spline = interpolate.CubicSpline(KNOTS, y)
    assert isinstance(spline.c, tg.Tensor)
    spline(PLACES[0]).backward()
    expected = tg.grad(lambda y: interpolate.CubicSpline(KNOTS, y)(PLACES[0]))(VALUES)
    np.testing.assert_array_equal(y.grad, expected)
    outer = interpolate.CubicSpline(KNOTS, VALUES)
    assert tg.grad(tg.jit(outer))(PLACES[0]) == pytest.approx(outer(PLACES[0], 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: interpolate.CubicSpline(x, VALUES),
        lambda x: interpolate.make_interp_spline(KNOTS, VALUES, t=[*x, *x]),
        lambda x: interpolate.PPoly(np.ones((2, 6)), x),
        lambda x: interpolate.BSpline(x, VALUES, 2),
    ],
)
def test_knots_are_constants(function):
    for call in (lambda x: function(tg.tensor(x)), tg.jit(function), tg.grad(function)):
        with pytest.raises(UnsupportedError, match="is a Tensor, but derivatives by it are not supported"):
            call(KNOTS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interpolate.CubicSpline(KNOTS[::-1], VALUES), "x must be strictly increasing"),
        (lambda: interpolate.CubicSpline(KNOTS[:1], VALUES[:1]), "at least 2"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES[:5]), "x has 7 elements"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES * np.nan), "y must contain only finite"),
        (lambda: interpolate.CubicSpline(KNOTS * np.inf, VALUES), "x must contain only finite"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES, axis=1), "axis=1 is not an axis"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES, bc_type="periodic"), "must be equal"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES, bc_type=((1, 0.0),)), "a string or a pair"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES, bc_type=(1, 2)), r"a pair \(order, value\)"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES, bc_type="bent"), "bent"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES, bc_type=((1, [0.0]), (1, 0.0))), "another shape"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES)(PLACES, -1), "must not be negative"),
        (lambda: interpolate.CubicSpline(KNOTS, VALUES).integrate(PLACES, 1.0), "must be numbers"),
        (lambda: interpolate.BSpline(KNOTS, VALUES[:2], 2), "need 4 coefficients"),
        (lambda: interpolate.BSpline(KNOTS, VALUES, -1), "must not be negative"),
        (lambda: interpolate.PPoly(np.ones((2, 5)), KNOTS), "has 5 polynomials"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_not_there():
    with pytest.raises(UnsupportedError, match="dtype complex128 is not supported"):
        interpolate.PchipInterpolator(KNOTS, VALUES * 1j)
    with pytest.raises(NotImplementedError, match="'makima'"):
        interpolate.Akima1DInterpolator(KNOTS, VALUES, method="other")
    with pytest.raises(AttributeError, match="CubicSpline"):
        _ = interpolate.interp1d


def test_a_recording_guards_the_period():
    function = tg.jit(lambda y: interpolate.CubicSpline(KNOTS, y, bc_type="periodic")(1.0))
    np.testing.assert_allclose(
        function(CLOSED), scipy.interpolate.CubicSpline(KNOTS, CLOSED, bc_type="periodic")(1.0)
    )
    with pytest.raises(ValueError, match="must be equal"):
        function(VALUES)
