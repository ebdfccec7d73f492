"""`check_grads`: right derivatives pass, wrong ones are named."""

import re

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.checking import numerical


def rng():
    return np.random.default_rng(7)


MATRIX = rng().normal(size=(3, 2))
RIGHT = {
    "numpy's names": (lambda x, y: np.sin(x) * y, (np.array([0.5, 2.0]), 3.0)),
    "our names": (lambda x: tg.logaddexp(x[0], x[1] ** 2), (np.array([0.3, 1.2]),)),
    "matrices": (lambda a, b: tg.tanh(a @ b), (MATRIX, rng().normal(size=(2, 2)))),
    "structures": (
        lambda p: {"u": p["a"] * p["b"][0], "v": [tg.sum(p["b"][1]) ** 2]},
        ({"a": 2.0, "b": [np.arange(1.0, 4.0), MATRIX]},),
    ),
    "fixed arguments": (lambda x, n, name, k: (x**n)[k], (np.array([1.5, -2.0]), 3, "s", np.array([1, 1]))),
    "reductions": (lambda x: tg.prod(x) + tg.max(x), (np.array([1.5, -2.0, 0.5]),)),
    "scales": (lambda x: tg.sum(tg.log(x)), (np.array([1e-7, 1.0, 1e9]),)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name):
    tg.check_grads(*RIGHT[name])


@pytest.mark.parametrize("name", ["numpy's names", "structures"])
def test_replays_are_checked(name):
    function, args = RIGHT[name]
    tg.check_grads(tg.jit(function), args)


def test_one_argument_needs_no_tuple():
    tg.check_grads(lambda x: x["a"] ** 2, {"a": np.ones(2)}, order=1)


def test_third_order():
    tg.check_grads(lambda x: tg.exp(x) * x, 0.7, order=3)


def test_single_precision_has_wider_tolerances():
    x = np.array([0.5, 2.0], np.float32)
    tg.check_grads(lambda x: tg.sin(x) * x, x)
    with pytest.raises(AssertionError, match="wrong derivative"):
        tg.check_grads(lambda x: 1.01 * x.detach() * x + tg.sin(x), x, order=1)


def test_a_derivative_that_is_slightly_off():
    def cube(x):
        value = x * x * x
        slope = 3.0001 * x.detach() ** 2
        return value.detach() + slope * (x - x.detach())

    with pytest.raises(AssertionError, match="forward mode, order 1"):
        tg.check_grads(cube, np.array([1.0, 2.0]), order=1)
    tg.check_grads(cube, np.array([1.0, 2.0]), order=1, rtol=1e-3)


@pytest.mark.parametrize(("mode", "title"), [("fwd", "forward mode"), ("rev", "reverse mode")])
def test_message_names_what_is_wrong(mode, title):
    def area(p, scale):
        return [scale * p["w"], p["w"] * p["h"][0].detach() * scale]

    args = ({"w": np.array([1.0, 2.0]), "h": [np.array([3.0, 4.0])]}, 2.0)
    with pytest.raises(AssertionError) as caught:
        tg.check_grads(area, args, modes=[mode])
    text = str(caught.value)
    assert text.startswith(f"check_grads: {title}, order 1: a wrong derivative of ")
    assert "area by argument 0['h'][0]\n" in text
    assert re.search(
        rf"\n  {title}: -?0\.0\n  differences: -?[\d.]+, with an estimated error of \S+e-1\d\n", text
    )
    assert re.search(r"\n  direction: \[ *-?[\d.]+ +-?[\d.]+ *\]", text)
    assert ("tangent of result 1, element [" in text) == (mode == "fwd")


def test_only_the_second_derivative_is_wrong():
    def right_slope(x):  # its slope is right at every point, but it does not depend on x
        return x.detach() ** 3 + 3 * x.detach() ** 2 * (x - x.detach())

    tg.check_grads(right_slope, 1.5, order=1)
    with pytest.raises(
        AssertionError, match=r"order 2: a wrong derivative of the (jvp|vjp) of .*right_slope"
    ):
        tg.check_grads(right_slope, 1.5)
    with pytest.raises(AssertionError, match="reverse mode over reverse mode, order 2"):
        tg.check_grads(right_slope, 1.5, modes=["rev"])


def test_exceptions_of_the_function_pass_through():
    class OwnError(Exception):
        pass

    error = OwnError("mine")

    def function(x):
        raise error

    with pytest.raises(OwnError) as caught:
        tg.check_grads(function, 1.0)
    assert caught.value is error


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: tg.where(x > 1.0, x, x + 1), 1.0),  # jumps
        (lambda x: 1 / (x - 1), 1.0),  # infinite
        (lambda x: tg.log(x), -1.0),  # not a number
        (lambda x: x + 1e3 * tg.sin(1e12 * x), 1.0),  # noise
    ],
)
def test_where_differences_say_nothing_nothing_passes(function, x):
    with pytest.raises(AssertionError, match="no numerical derivative could be found"):
        tg.check_grads(function, x, order=1)


def test_a_kink_is_passed_through_in_the_middle():
    tg.check_grads(lambda x: abs(x) + tg.maximum(x, 0.0), 0.0, order=1)


@pytest.mark.parametrize(
    ("function", "args", "options", "message"),
    [
        (lambda x: x, (1,), {}, "no argument is a float"),
        (lambda x: 1, (1.0,), {}, "returned no float"),
        (lambda x: x, (1.0,), {"modes": ["forward"]}, "'forward' is not a mode"),
    ],
)
def test_nothing_to_check_is_an_error(function, args, options, message):
    with pytest.raises(ValueError, match=message):
        tg.check_grads(function, args, **options)


def test_seed_and_step_are_the_callers():
    points = []

    def function(x):
        points.append(float(x.data))
        return x * x

    for options in ({}, {}, {"seed": 1}, {"eps": 1e-3}):
        points.append(None)
        tg.check_grads(function, 1.0, order=1, modes=["fwd"], **options)
    runs = " ".join(map(str, points)).split("None")[1:]
    assert runs[0].split() == runs[1].split() != runs[2].split()
    assert max(abs(float(x) - 1) for x in runs[3].split()) < 5e-3


# --- numerical derivatives ----------------------------------------------------------------------------------------


SMOOTH = {
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "steep": (lambda x: np.tanh(50 * x), lambda x: 50 / np.cosh(50 * x) ** 2),
    "fast": (lambda x: np.sin(1e4 * x), lambda x: 1e4 * np.cos(1e4 * x)),
    "flat": (lambda x: x * 0 + 3, lambda x: x * 0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_differences_and_their_error(name):
    function, derivative = SMOOTH[name]
    x = np.array([0.1, 0.4])
    found = numerical.differences(lambda step: function(x + step), numerical.steps(None), 2.2e-16, 1e-9)
    off = np.abs(found.number - derivative(x))
    assert np.all(off <= 10 * found.error)
    assert np.all(found.error <= 1e-6 * (1 + np.max(np.abs(derivative(x)))))


def test_complex_step_is_exact_and_refuses_what_is_not_analytic_or_not_numpy():
    x, d = np.array([0.1, 0.4]), np.array([1.0, 2.0])
    found = numerical.complex_step(lambda x: [np.sin(x)], [x], [d], 2.2e-16)
    np.testing.assert_allclose(found.number, np.cos(x) * d, rtol=1e-15)
    for function in (lambda x: [np.abs(x)], lambda x: [tg.sin(x)], lambda x: [x.detach()]):
        assert numerical.complex_step(function, [x], [d], 2.2e-16) is None


def test_complex_step_counts_only_where_differences_agree():
    """The parts of |x| by a complex step are those of no derivative: x itself, times zero."""
    tg.check_grads(lambda x: np.real(x) if isinstance(x, np.ndarray) else x * 1.0, 2.0, order=1)
    tg.check_grads(lambda x: x * np.abs(x), -2.0, order=1)
