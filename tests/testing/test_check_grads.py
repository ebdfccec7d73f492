"""`check_grads`: right derivatives pass, wrong ones are named."""

import re

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from tapegrad.testing import numerical


def rng():
    return np.random.default_rng(7)


MATRIX = rng().normal(size=(3, 2))
RIGHT = {
    "numpy's names": (lambda x, y: np.sin(x) * y, (np.array([0.5, 2.0]), 3.0)),
    "our names": (lambda x: tg.logaddexp(x[0], x[1] ** 2), (np.array([0.3, 1.2]),)),
    "matrices": (lambda a, b: tg.tanh(a @ b), (MATRIX, rng().normal(size=(2, 2)))),
    "in Fortran order": (lambda a: a @ a.T, (np.asfortranarray(MATRIX),)),
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


@daily("dtype", "modes")
@pytest.mark.parametrize("modes", [("fwd", "rev"), ("rev",)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("total", [np.sum, np.asarray])
def test_one_wrong_element_among_many_does_not_hide_behind_the_others(total, dtype, modes):
    def squares(factor, k):
        def slope(x):
            return 2 * x * np.where(np.arange(x.size) == k, factor, 1).astype(x.dtype)

        return tg.custom_op(
            "squares",
            lambda x: total(x * x),
            lambda y_bar, y, x: slope(x) * y_bar,
            lambda x_dots, y, x: total(slope(x) * x_dots[0]),
        )

    for seed in range(4):
        x = np.random.default_rng(100 + seed).normal(size=1000).astype(dtype)
        k = (173 * seed + 17) % 1000
        tg.check_grads(squares(1.0, k), x, seed=seed, order=1, modes=modes)
        with pytest.raises(AssertionError, match="wrong derivative"):
            tg.check_grads(squares(1.1, k), x, seed=seed, order=1, modes=modes)


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
    assert "area by argument 0['h'][0], element [0]\n" in text
    assert re.search(
        rf"\n  {title}: -?0\.0\n  differences: -?[\d.]+, with an estimated error of \S+e-1\d\n", text
    )
    assert re.search(r"\n  off by [\d.]+, where \S+e-0\d is allowed\n  direction: \[-?3\. -?0\.\]", text)
    assert "result 1, element [0]\n" in text
    assert ("  tangent of " in text) == (mode == "fwd")


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
    ("function", "x", "why"),
    [
        (lambda x: tg.where(x > 1.0, x, x + 1), 1.0, "no numerical derivative|the noise"),
        (lambda x: 1 / (x - 1), 1.0, "not finite"),
        (lambda x: tg.log(x), -1.0, "not finite"),
        (lambda x: x + 1e3 * tg.sin(1e12 * x), 1.0, "something else at small steps"),
        (lambda x: tg.floor(1e6 * x) * 1e-6, 0.7000004, "something else at small steps"),
    ],
)
def test_where_numbers_say_nothing_that_is_said(function, x, why):
    with pytest.raises(
        tg.InconclusiveError, match=f"cannot tell whether this is right(.|\n)*({why})"
    ) as caught:
        tg.check_grads(function, x, order=1)
    assert not isinstance(caught.value, AssertionError)
    assert "forward mode: " in str(caught.value)
    assert re.search(r"\n  and \d more that cannot be told$", str(caught.value))


def test_a_wrong_derivative_is_told_before_what_cannot_be():
    with pytest.raises(AssertionError, match="reverse mode, order 1"):
        tg.check_grads(
            lambda x, y: [tg.where(x > 1.0, x, x + 1), y * y.detach()], (1.0, 2.0), order=1, modes="rev"
        )


def test_what_is_smaller_than_atol_need_not_be_told():
    def function(x):
        return x + 1e-2 * tg.sin(1e12 * x).detach()

    with pytest.raises(tg.InconclusiveError):
        tg.check_grads(function, 1.0, order=1)
    tg.check_grads(function, 1.0, order=1, atol=0.5)


def test_points_beyond_the_domain_are_left_out():
    def function(x):
        if x < 0.99 or x > 1.01:
            raise ValueError("beyond the domain")
        return x**3

    tg.check_grads(function, 1.0, order=1)


def test_second_derivatives_are_held_against_each_other():
    """A field that rotates: its derivative is that by differences, and yet it is no gradient."""
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])

    def field(x):
        return x + turn @ (x - np.array([0.4, 0.9]))

    op = tg.custom_op(
        "field", lambda x: np.sum(x * x) / 2, lambda y_bar, y, x: y_bar * field(x), differentiable=True
    )
    tg.check_grads(op, np.array([0.4, 0.9]), order=1, modes=["rev"])
    with pytest.raises(
        AssertionError, match=r"second derivatives are symmetric: .* by argument 0 and argument 0"
    ):
        tg.check_grads(op, np.array([0.4, 0.9]), modes=["rev"])


def test_modes_are_held_against_each_other_where_the_noise_hides_both():
    def noise(x):
        return 0.1 * np.sin(1e13 * x)

    op = tg.custom_op(
        "noisy",
        lambda x: np.sin(x) + noise(x),
        lambda y_bar, y, x: 1.05 * np.cos(x) * y_bar,
        lambda x_dots, y, x: np.cos(x) * x_dots[0],
    )
    with pytest.raises(
        AssertionError, match="and forward mode: a wrong derivative of noisy by argument 0 in one"
    ):
        tg.check_grads(op, 0.7, order=1)


def test_a_kink_is_passed_through_in_the_middle():
    tg.check_grads(lambda x: abs(x) + tg.maximum(x, 0.0), 0.0, order=1)


@pytest.mark.parametrize(
    ("function", "args", "options", "message"),
    [
        (lambda x: x, (1,), {}, "no argument is a float"),
        (lambda x: 1, (1.0,), {}, "returned no float"),
        (lambda x: x, (1.0,), {"modes": ["forward"]}, "'forward' is not a mode"),
        (lambda x: x, (1.0,), {"modes": "reverse"}, "'reverse' is not a mode"),
        (lambda x: x, (1.0,), {"modes": ()}, "modes is empty"),
        (lambda x: x, (1.0,), {"order": 0}, "order=0"),
        (lambda x: x, (1.0,), {"order": -1}, "order=-1"),
        (lambda x: x, (1.0,), {"order": True}, "order=True"),
    ],
)
def test_nothing_to_check_is_an_error(function, args, options, message):
    with pytest.raises(ValueError, match=message):
        tg.check_grads(function, args, **options)


def test_the_step_is_the_callers():
    points = []

    def function(x):
        points.append(float(x.detach().data))
        return x * x

    for options in ({}, {"eps": 1e-3}):
        points.append(None)
        tg.check_grads(function, 1.0, order=1, modes=["fwd"], **options)
    runs = [list(map(float, run.split())) for run in " ".join(map(str, points)).split("None")[1:]]
    assert 0.02 < max(abs(x - 1) for x in runs[0]) < 0.04
    assert max(abs(x - 1) for x in runs[1]) < 1.01e-3


def test_the_seed_makes_the_directions():
    points = []

    def function(x):
        points.append(x.detach().data.tobytes())
        return tg.sum(x * x)

    for seed in (0, 0, 1):
        points.append(b"new")
        tg.check_grads(function, np.arange(1.0, 40.0), order=1, modes=["rev"], seed=seed)
    runs = b"".join(points).split(b"new")[1:]
    assert runs[0] == runs[1] != runs[2]


# --- numerical derivatives ----------------------------------------------------------------------------------------


SMOOTH = {
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "steep": (lambda x: np.tanh(50 * x), lambda x: 50 / np.cosh(50 * x) ** 2),
    "fast": (lambda x: np.sin(1e4 * x), lambda x: 1e4 * np.cos(1e4 * x)),
    "flat": (lambda x: x * 0 + 3, lambda x: x * 0),
}


def estimates(function, x):
    """At the scales from a quarter down."""
    scales = [2.0**-k for k in (2, 5, 12, 19, 33)]
    return numerical.estimates(
        [numerical.sample(lambda t: function(x + t), step, 2.2e-16) for step in scales]
    )


@pytest.mark.parametrize("name", SMOOTH)
def test_differences_and_their_error(name):
    function, derivative = SMOOTH[name]
    x = np.array([0.1, 0.4])
    found = estimates(function, x)
    best = np.argmin([estimate.error for estimate in found], axis=0)
    for k, of, exact in zip(best, range(2), derivative(x), strict=True):
        assert abs(found[k].number[of] - exact) <= numerical.MARGIN * found[k].error[of]
        assert found[k].error[of] <= 1e-9 * (1 + np.max(np.abs(derivative(x))))


@pytest.mark.parametrize("amplitude", [1e-12, 1e-9, 1e-6, 1e-3])
def test_noise_is_estimated(amplitude):
    noise = np.random.default_rng(3)
    x = np.linspace(0.2, 1.2, 500)
    for estimate in estimates(lambda x: np.sin(x) + amplitude * noise.normal(size=x.shape), x):
        assert np.mean(np.isfinite(estimate.noise)) > 0.95
        assert 0.5 < np.median(estimate.noise) / amplitude * np.sqrt(6) < 2
        within = np.abs(estimate.number - np.cos(x)) <= numerical.MARGIN * estimate.error
        assert np.mean(within) > 0.99


def test_small_steps_in_a_rounded_function_are_suspect():
    found = estimates(lambda x: np.float64(np.float32(np.sin(x))), np.array([0.7]))
    assert [bool(estimate.suspect[0]) for estimate in found] == [False, False, False, False, True]
    assert not any(estimate.suspect[0] for estimate in estimates(lambda x: 0 * x, np.array([0.7])))


def test_complex_step_is_exact_and_refuses_what_is_not_analytic_or_not_numpy():
    x, d = np.array([0.1, 0.4]), np.array([1.0, 2.0])
    np.testing.assert_allclose(
        numerical.complex_step(lambda x: [np.sin(x)], [x], [d]), np.cos(x) * d, rtol=1e-15
    )
    for function in (lambda x: [np.abs(x)], lambda x: [tg.sin(x)], lambda x: [x.detach()]):
        assert numerical.complex_step(function, [x], [d]) is None


def test_complex_step_counts_only_where_differences_agree():
    """The parts of |x| by a complex step are those of no derivative: x itself, times zero."""
    tg.check_grads(lambda x: np.real(x) if isinstance(x, np.ndarray) else x * 1.0, 2.0, order=1)
    tg.check_grads(lambda x: x * np.abs(x), -2.0, order=1)


@pytest.mark.parametrize("lay", [np.asfortranarray, lambda x: x[::-1, ::2], lambda x: x.swapaxes(0, 1)])
def test_arguments_lie_in_any_order(lay):
    x = lay(np.linspace(0.5, 2, 240).reshape(12, 20))
    tg.check_grads(lambda x: tg.sum(tg.sin(x), 0), x, order=1)
    with pytest.raises(AssertionError, match="a wrong derivative"):
        tg.check_grads(lambda x: tg.sum(tg.sin(x), 0) + x[0, 0].detach(), x, order=1)
