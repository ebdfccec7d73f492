"""Conventions of Python, notebooks and plots for a Tensor: containers, numbers, HTML, drawings."""

import math
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import tapegrad as tg

mpl.use("Agg")
x = np.array([1.0, -2.5, 3.0])

# --- a container -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.0, -2.5, 4.0, 1, True, None, "a", np.float64(3.0)])
def test_in_is_numpys(value):
    assert (value in tg.tensor(x)) == (value in x)
    matrix = x[:, None] * x
    assert (value in tg.tensor(matrix)) == (value in matrix)


def test_iteration_unpacking_and_length():
    def function(t):
        a, b, c = t
        first, *rest = t
        assert len(t) == 3
        assert len(rest) == 2
        return a * b * c + sum(first * each for each in reversed(t)) + max(t) * min(t)

    expected = tg.grad(lambda t: t[0] * t[1] * t[2] + t[0] * (t[0] + t[1] + t[2]) + t[2] * t[1])(x)
    for f in (function, tg.jit(function)):
        np.testing.assert_allclose(tg.grad(f)(x), expected)
    np.testing.assert_array_equal([row.data for row in tg.tensor(x[:, None] * x)], x[:, None] * x)


def test_what_has_no_dimensions_has_no_length():
    for use in (len, iter, list):
        with pytest.raises(TypeError, match="0-dimensional"):
            use(tg.tensor(1.0))
    with pytest.raises(ValueError, match="unpack"):
        _, _ = tg.tensor(x)


# --- another import ----------------------------------------------------------------------------------------------

# What looks at an installation of NumPy, not at arrays; types that not every machine has; old names of modules.
LEFT_OUT = {
    "__array_namespace_info__", "__version__", "complex256", "complex192", "core", "ctypeslib", "f2py", "float128",
    "float96", "get_include", "info", "show_config", "show_runtime", "test", "typing",
}  # fmt: skip


def test_every_public_name_of_numpys_is_found_under_the_other_import():
    missing = {name for name in np.__all__ if hasattr(np, name)} - {*dir(tg), "testing"} - LEFT_OUT
    assert missing == set()


def test_what_is_numpys_own_computes_with_plain_arrays_and_refuses_tensors():
    rng = tg.random.default_rng(0)
    assert type(rng.normal(size=2)) is np.ndarray
    np.testing.assert_array_equal(tg.polydiv(x, [2.0])[0], x / 2)
    assert tg.ma.masked_array(x, x > 2).count() == 2
    assert tg.zeros(2, dtype=tg.bool).dtype is tg.dtype(bool)
    for function in (tg.packbits, tg.unpackbits):
        with pytest.raises(TypeError, match=r"Tensor"):
            function(tg.tensor(x))


def test_modules_of_numpys_dispatch_as_under_its_name():
    windows = tg.lib.stride_tricks.sliding_window_view(tg.tensor(x), 2)
    assert type(windows) is tg.Tensor
    coefficients = np.array([1.0, 2.0, 3.0])
    gradient = tg.grad(lambda t: tg.sum(tg.polynomial.polynomial.polyval(t, coefficients)))(x)
    np.testing.assert_allclose(gradient, 2 + 6 * x)


# --- a number ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [abs, lambda t: t % 1, lambda t: t // 1, lambda t: 7 % t, lambda t: 7 // t, lambda t: divmod(t, 2)[1],
     lambda t: t.round(1), lambda t: +t, lambda t: -t, lambda t: t.std(), lambda t: t.sum(), lambda t: t.mean()],
)  # fmt: skip
def test_operators_are_numpys(function):
    np.testing.assert_allclose(function(tg.tensor(x)).data, function(x))
    np.testing.assert_allclose(tg.jit(function)(x), function(x))


@pytest.mark.parametrize("function", [int, math.floor, math.ceil, math.trunc, round, bool])
def test_whole_numbers_are_pythons(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.LostGradientWarning)
        found = function(tg.tensor(2.5))
    assert found == function(2.5)
    assert type(found) is type(function(2.5))


# --- a notebook --------------------------------------------------------------------------------------------------


def test_html_says_what_a_tensor_is():
    t = tg.tensor(x)
    assert t._repr_html_() == (
        "<div><pre>Tensor([ 1. , -2.5,  3. ])</pre><small>shape (3,), float64, differentiable</small></div>"
    )
    assert "float32, constant" in t.detach().astype("f4")._repr_html_()
    assert "shape (2,), float64, differentiable, view" in t[1:]._repr_html_()
    assert "int64, constant" in tg.tensor([1])._repr_html_()


def test_html_of_a_large_tensor_is_short():
    text = tg.zeros((300, 300))._repr_html_()
    assert "..." in text
    assert len(text) < 2000


def test_html_is_escaped_and_shows_no_value_of_a_recording():
    seen = []
    tg.jit(lambda t: seen.append(t._repr_html_()) or tg.sum(t))(x)
    assert seen == [
        "<div><pre>Tensor(shape=(3,), dtype=float64, being recorded)</pre>"
        "<small>shape (3,), float64, differentiable</small></div>"
    ]
    with np.printoptions(formatter={"float": lambda value: f"<{value}>"}):
        assert "&lt;1.0&gt;" in tg.tensor([1.0])._repr_html_()


# --- a plot ------------------------------------------------------------------------------------------------------

DRAWINGS = {
    "plot": lambda t: plt.plot(t),
    "plot over": lambda t: plt.plot([0, 1, 2], t),
    "scatter": lambda t: plt.scatter(t, t),
    "hist": lambda t: plt.hist(t),
    "bar": lambda t: plt.bar([0, 1, 2], t),
    "errorbar": lambda t: plt.errorbar([0, 1, 2], t, yerr=abs(t)),
    "fill_between": lambda t: plt.fill_between([0, 1, 2], t),
    "imshow": lambda t: plt.imshow(t[None]),
    "step": lambda t: plt.step([0, 1, 2], t),
    "a list": lambda t: plt.plot([t[0], t[1]]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_constant_is_drawn_and_anything_else_is_refused_with_what_to_write(name):
    t = tg.tensor(x)
    for constant in (t.detach(), tg.tensor([1, 2, 3])):
        draw(DRAWINGS[name], constant)
    for other in (t, t * 2):
        with pytest.raises(TypeError, match=r"to draw it, t\.data"):
            draw(DRAWINGS[name], other)


def draw(drawing, t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.LostGradientWarning)  # it looks at the first number
        try:
            drawing(t)
            plt.gcf().canvas.draw()
        finally:
            plt.close("all")


def test_the_line_that_is_drawn_has_the_numbers():
    (line,) = plt.plot(tg.tensor(x, constant=True))
    np.testing.assert_array_equal(line.get_ydata(), x)
    plt.close("all")
