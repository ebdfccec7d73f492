"""The examples of maximum likelihood: what they find, their derivatives, and their pictures."""

from importlib import import_module

import numpy as np
import pytest
import scipy.special
import scipy.stats

import tapegrad as tg
from tapegrad.cli import main
from tapegrad.examples import gaussian_process, robust_line, survival

EXAMPLES = ("gaussian_process", "survival", "robust_line")
every_example = pytest.mark.parametrize("name", EXAMPLES)


def loaded(name):
    """An example, its data, and its true parameters."""
    example = import_module(f"tapegrad.examples.{name}")
    return example, example.observe(), np.array(list(example.TRUTH.values()))


def complex_step(f, p):
    """The gradient to rounding, of a function that is analytic."""
    return np.array([f(p + 1e-30j * direction).imag for direction in np.eye(p.size)]) * 1e30


@every_example
def test_true_parameters_are_found_within_three_standard_errors(name):
    example, data, truth = loaded(name)
    estimate = example.fit(*data)
    assert np.all(np.linalg.eigvalsh(estimate.covariance) > 0)
    assert np.all(np.abs(estimate.parameters - truth) < 3 * estimate.errors)
    assert np.all(estimate.errors < 0.5)
    slope = tg.grad(example.negative_log_likelihood)(estimate.parameters, *data)
    np.testing.assert_array_less(np.abs(slope * estimate.errors), 1e-4)


def test_the_gradient_of_the_marginal_likelihood_is_that_of_the_textbook():
    """Rasmussen and Williams (2006), equation 5.9."""
    example, (x, y), p = loaded("gaussian_process")
    squares = (x[:, np.newaxis] - x) ** 2
    signal = np.exp(-0.5 * squares)
    noise = 0.2**2 * np.eye(len(x))
    inverse = np.linalg.inv(signal + noise)
    inner = inverse - np.outer(inverse @ y, inverse @ y)
    expected = [0.5 * np.sum(inner * change) for change in (2 * signal, squares * signal, 2 * noise)]
    value, gradient = tg.value_and_grad(example.negative_log_likelihood)(p, x, y)
    assert value == pytest.approx(
        -scipy.stats.multivariate_normal.logpdf(y, np.zeros(60), signal + noise), 1e-11
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-9)


def test_the_prediction_is_that_of_the_textbook():
    """Rasmussen and Williams (2006), equations 2.25 and 2.26."""
    _, (x, y), p = loaded("gaussian_process")
    at = np.array([-3.0, 2.5, 40.0])
    known = gaussian_process.covariance(p, at, x)
    weights = known @ np.linalg.inv(gaussian_process.covariance(p, x, x) + 0.2**2 * np.eye(60))
    mean, deviation = gaussian_process.predict(p, x, y, at)
    np.testing.assert_allclose(mean, weights @ y, rtol=1e-9)
    np.testing.assert_allclose(deviation**2, 1 - np.sum(weights * known, axis=1), rtol=1e-9)


def test_the_gradient_of_the_survival_times_is_that_of_a_complex_step():
    example, (covariates, times, seen), p = loaded("survival")

    def by_hand(p):
        z = times / np.exp(covariates @ p[1:])
        shape = np.exp(p[0])
        return np.sum(z**shape) - np.sum(seen * (np.log(shape / times) + shape * np.log(z)))

    value, gradient = tg.value_and_grad(example.negative_log_likelihood)(p, covariates, times, seen)
    assert value == pytest.approx(by_hand(p), 1e-12)
    np.testing.assert_allclose(gradient, complex_step(by_hand, p), rtol=1e-11)


def test_without_covariates_the_survival_fit_is_scipys():
    _, times, seen = survival.observe()
    shape, scale = np.exp(survival.fit(np.ones((300, 1)), times, seen).parameters)
    data = scipy.stats.CensoredData.right_censored(times, ~seen)
    expected, _, expected_scale = scipy.stats.weibull_min.fit(data, floc=0.0)
    np.testing.assert_allclose([shape, scale], [expected, expected_scale], rtol=1e-4)


def test_bands_of_survival_curves_are_about_the_curve():
    data = survival.observe()
    curve, lower, upper = survival.survival_curve(survival.fit(*data), data[0], np.arange(1.0, 6.0))
    assert np.all(np.diff(curve) < 0)
    assert np.all((lower > 0) & (lower < curve) & (curve < upper) & (upper < 1))


def test_the_gradient_of_the_mixture_is_that_of_a_complex_step():
    example, (x, y), p = loaded("robust_line")

    def by_hand(p):
        line = np.exp(-0.5 * ((y - p[0] - p[1] * x) / np.exp(p[2])) ** 2) / np.exp(p[2])
        outliers = np.exp(-0.5 * ((y - p[3]) / np.exp(p[4])) ** 2) / np.exp(p[4])
        share = 1 / (1 + np.exp(-p[5]))
        return -np.sum(np.log(((1 - share) * line + share * outliers) / np.sqrt(2 * np.pi)))

    value, gradient = tg.value_and_grad(example.negative_log_likelihood)(p, x, y)
    assert value == pytest.approx(by_hand(p), 1e-12)
    np.testing.assert_allclose(gradient, complex_step(by_hand, p), rtol=1e-10)


def test_responsibilities_tell_outliers_from_the_line():
    example, (x, y), p = loaded("robust_line")
    shares = robust_line.responsibilities(example.fit(x, y).parameters, x, y)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    distance = np.abs(y - p[0] - p[1] * x) / 0.3
    assert shares[1, distance > 5].min() > 0.9
    assert shares[1, distance < 2].max() < 0.5


@every_example
def test_the_command_prints_and_draws(name, tmp_path, capsys):
    file = tmp_path / "picture.svg"
    assert main(["example", name, "--plot", str(file)]) == 0
    out, err = capsys.readouterr()
    title, *rows = out.splitlines()
    assert title.split() == ["parameter", "true", "estimate", "error"]
    assert len(rows) == len(loaded(name)[2])
    assert f"wrote {file}" in err
    assert "<svg" in file.read_text(encoding="utf-8")
