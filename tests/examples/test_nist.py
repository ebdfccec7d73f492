"""The NIST problems: their models, their certified values, and all 54 fits."""

import re

import numpy as np
import pytest

import tapegrad
from tapegrad.examples import nist

NAMES = nist.names()
# Its data have 14 digits and its parameters 11: at those, its residuals of 1e-13 cannot be seen.
EXACT_DATA = "Lanczos1"


def from_text(problem, b):
    """The right-hand side of the model as NIST writes it."""
    scope = {name: getattr(np, name) for name in ("exp", "log", "sin", "cos", "arctan", "pi")}
    scope |= {f"b{i}": value for i, value in enumerate(b, 1)}
    scope |= {"x": problem.x} if problem.x.ndim == 1 else {"x1": problem.x[0], "x2": problem.x[1]}
    return eval(problem.text.partition(" = ")[2], {"__builtins__": {}}, scope)


def near(problem):
    """Parameters near the certified ones, the same in every run."""
    rng = np.random.default_rng(sum(map(ord, problem.name)))
    return problem.certified * (1 + rng.uniform(-0.05, 0.05, problem.certified.shape))


def complex_step(function, b, step=1e-30):
    """The Jacobian to rounding, of a function that is analytic."""
    columns = []
    for j in range(b.size):
        moved = b.astype(complex)
        moved[j] += 1j * step
        columns.append(function(moved).imag / step)
    return np.stack(columns, axis=1)


def test_there_are_27_problems_in_three_levels():
    levels = [nist.load(name).level for name in NAMES]
    assert {level: levels.count(level) for level in levels} == {"lower": 8, "average": 11, "higher": 8}


def test_names_are_found_in_any_case():
    assert nist.load("misra1A") is nist.load("Misra1a")
    with pytest.raises(KeyError, match="Misra2"):
        nist.load("Misra2")


def test_problems_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        nist.load("Misra1a").certified[0] = 1.0


@pytest.mark.parametrize("name", NAMES)
def test_problem_is_complete(name):
    problem = nist.load(name)
    count = len(set(re.findall(r"\bb\d", problem.text)))
    assert problem.certified.shape == problem.starts[0].shape == problem.starts[1].shape == (count,)
    assert problem.x.shape[-1:] == problem.response.shape
    assert len(problem.labels) == problem.x.ndim + 1
    assert np.all(np.isfinite(problem.x))
    assert np.all(np.isfinite(problem.response))


@pytest.mark.parametrize("name", NAMES)
def test_model_is_the_one_of_the_text(name):
    problem = nist.load(name)
    b = near(problem)
    expected = from_text(problem, b)
    np.testing.assert_allclose(problem.model(b, problem.x), expected, rtol=1e-12, atol=1e-13)
    assert problem.text.startswith("log(y) = " if name == "Nelson" else "y = ")


@pytest.mark.parametrize("name", NAMES)
def test_certified_parameters_give_the_certified_residuals(name):
    problem = nist.load(name)
    rss = np.sum(problem.residuals(problem.certified) ** 2)
    if name == EXACT_DATA:
        assert rss < 1e-18
    else:
        assert rss == pytest.approx(problem.rss, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_replay_gives_the_residuals_and_their_jacobian(name):
    problem = nist.load(name)
    residuals = tapegrad.jit(problem.residuals)
    jacobian = tapegrad.jacobian(residuals)
    for b in (problem.certified, near(problem)):
        expected = problem.residuals(b)
        scale = np.max(np.abs(problem.response))
        np.testing.assert_allclose(residuals(b), expected, rtol=1e-12, atol=1e-13 * scale)
        columns = complex_step(problem.residuals, b)
        scales = np.max(np.abs(columns), axis=0)
        np.testing.assert_allclose(jacobian(b) / scales, columns / scales, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("start", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_fit_agrees_with_the_certified_parameters(name, start):
    problem = nist.load(name)
    fit = nist.fit(problem, start)
    assert fit.success
    assert fit.digits >= 6
    assert (fit.name, fit.level, fit.start) == (name, problem.level, start)
    assert fit.nfev >= fit.njev > 1
    assert fit.milliseconds > fit.function_milliseconds > 0
    assert fit.native_digits >= 6
    assert fit.native_milliseconds > 0 < fit.native_nfev
    np.testing.assert_allclose(fit.parameters, problem.certified, rtol=1e-6)
    np.testing.assert_allclose(fit.native_parameters, problem.certified, rtol=1e-6)
    assert fit.rss == pytest.approx(problem.rss, rel=1e-2 if name == EXACT_DATA else 1e-9)


@pytest.mark.parametrize("start", [0, 3, -1, "1", None])
def test_there_are_two_starting_points(start):
    with pytest.raises(ValueError, match="starting points 1 and 2"):
        nist.fit(nist.load("Misra1a"), start)


@pytest.mark.parametrize(
    ("fitted", "digits"),
    [
        ([1.0, -2.0], 11.0),
        ([1.001, -2.0], 3.0),
        ([1.0, -2.0002], 4.0),
        ([1.0, 5.0], 0.0),
        ([np.nan, 1.0], 0.0),
    ],
)
def test_digits_are_those_of_the_worst_parameter(fitted, digits):
    assert nist.agreeing_digits(np.array(fitted), np.array([1.0, -2.0])) == pytest.approx(digits, abs=1e-6)
